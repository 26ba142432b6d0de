//! The JSON of users, keys, money and positions.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use super::catalogue::PositionMarketJson;
use super::words::{ApiKey, Picture, Scope};
use super::{Number, OutcomeId, Paging, Text, Timestamp};
use crate::scopes::scope_name;
use exchange::command::{Role, TradingMode};
use exchange::ids::{Group, KeyId, MarketId, UserId};
use exchange::restrictions::Heartbeat;
use exchange::units::{AveragePrice, LockedOdds, Lots, Money, MoneySum, SettlementPrice, TimeMs};
use views::ReadModel;
use views::accounts::{Balance, KeyRow, UserRow};
use views::catalogue::MarketRow;
use views::positions::{PositionRow, Resolution};
use views::sign_ins::SessionRow;

answers! {
    /// An account's money.
    BalanceJson = "Balance" (balance: Balance, currency: &str) {
        available: Text<Money> = Text(balance.available);
        /// Set aside for open orders.
        reserved: Text<Money> = Text(balance.reserved);
        currency: String = currency.to_owned();
    }

    /// What trading has earned the operator.
    FeesJson = "CollectedFees" (
        collected: MoneySum, taken: MoneySum, left: MoneySum, currency: &str,
    ) {
        /// All fees of all fills, and what the sets of converted contracts left when the last
        /// market of their event ended.
        collected: Text<MoneySum> = Text(collected);
        /// Of that, what operators have moved to their accounts.
        taken: Text<MoneySum> = Text(taken);
        /// What can still be taken: collected - taken.
        balance: Text<MoneySum> = Text(left);
        currency: String = currency.to_owned();
    }

    /// A user as the operator sees one.
    UserJson = "User" (row: &UserRow) {
        id: Text<UserId> = Text(row.id);
        profile_name: Text<Arc<str>> = Text(Arc::clone(&row.profile_name));
        #[schemars(with = "Picture")]
        profile_pic: Text<Arc<str>> = Text(Arc::clone(&row.profile_pic));
        available: Text<Money> = Text(row.balance.available);
        reserved: Text<Money> = Text(row.balance.reserved);
        mode: Text<TradingMode> = Text(row.standing.mode);
        /// The most that open orders and positions may lose together.
        exposure_limit: Option<Text<Money>> = row.standing.exposure_limit.map(Text);
        created_at: Timestamp = Timestamp(row.created_at);
    }

    /// A trader as everyone sees one.
    PersonJson = "Person" (row: &UserRow) {
        id: Text<UserId> = Text(row.id);
        profile_name: Text<Arc<str>> = Text(Arc::clone(&row.profile_name));
        #[schemars(with = "Picture")]
        profile_pic: Text<Arc<str>> = Text(Arc::clone(&row.profile_pic));
    }

    /// What anybody may ask.
    VenueModeJson = "VenueMode" (mode: TradingMode) {
        mode: Text<TradingMode> = Text(mode);
    }

    /// A dead man's switch of the caller's.
    HeartbeatJson = "Heartbeat" (heartbeat: Heartbeat, group: Option<Group>) {
        /// The group whose orders it cancels; null for that of all the caller's orders.
        group: Option<Text<Group>> = group.map(Text);
        /// When it cancels them; null when it is off, or has run out.
        expires_at: Option<Timestamp> =
            heartbeat.until.filter(|_| !heartbeat.expired).map(Timestamp);
        /// It has run out: orders are refused until the next heartbeat.
        expired: bool = heartbeat.expired;
    }

    /// The caller's dead man's switches: that of all orders, and those of groups.
    HeartbeatsJson = "Heartbeats" (own: HeartbeatJson, groups: Vec<HeartbeatJson>) {
        #[serde(flatten)]
        own: HeartbeatJson = own;
        /// Those that are on or have run out, by name.
        groups: Vec<HeartbeatJson> = groups;
    }

    /// An API key without the key.
    KeyJson = "Key" (row: &KeyRow, last_used: Option<TimeMs>) {
        key_id: Text<KeyId> = Text(row.id);
        role: Text<Role> = Text(row.role);
        label: Text<Arc<str>> = Text(Arc::clone(&row.label));
        created_at: Timestamp = Timestamp(row.created_at);
        /// As far as the running process knows.
        last_used_at: Option<Timestamp> = last_used.map(Timestamp);
        revoked_at: Option<Timestamp> = row.revoked_at.map(Timestamp);
        /// When it ends by itself; null if it does not.
        expires_at: Option<Timestamp> = row.ends.map(Timestamp);
    }

    /// One of the caller's keys, without the key.
    OwnKeyJson = "OwnKey" (row: &KeyRow, last_used: Option<TimeMs>) {
        key_id: Text<KeyId> = Text(row.id);
        #[schemars(with = "Scope")]
        scope: &'static str = scope_name(row.role);
        label: Text<Arc<str>> = Text(Arc::clone(&row.label));
        created_at: Timestamp = Timestamp(row.created_at);
        /// As far as the running process knows.
        last_used_at: Option<Timestamp> = last_used.map(Timestamp);
        revoked_at: Option<Timestamp> = row.revoked_at.map(Timestamp);
        /// Whether it is a session of a browser's.
        session: bool = false;
        /// Whether the request came with it.
        current: bool = false;
        /// When it ends by itself; null if it does not.
        expires_at: Option<Timestamp> = row.ends.map(Timestamp);
    }
}

/// A page of users, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UserPage")]
pub struct UsersJson {
    pub users: Vec<UserJson>,
    #[serde(flatten)]
    pub paging: Paging,
}

impl KeyJson {
    /// A key as it was created.
    pub fn given(row: &KeyRow) -> KeyJson {
        KeyJson { revoked_at: None, ..KeyJson::of(row, None) }
    }
}

impl OwnKeyJson {
    /// A session among the keys.
    pub fn of_session(row: &SessionRow, role: Role) -> OwnKeyJson {
        OwnKeyJson {
            key_id: Text(row.id),
            scope: scope_name(role),
            label: Text("session".into()),
            created_at: Timestamp(row.created_at),
            last_used_at: None,
            revoked_at: None,
            session: true,
            current: false,
            expires_at: Some(Timestamp(row.until)),
        }
    }

    /// The same, of the key or session that asks, or not.
    #[must_use]
    pub fn current(self, current: bool) -> OwnKeyJson {
        OwnKeyJson { current, ..self }
    }

    /// A key as it was created.
    pub fn given(row: &KeyRow) -> OwnKeyJson {
        OwnKeyJson { revoked_at: None, ..OwnKeyJson::of(row, None) }
    }
}

/// A user's keys, oldest first, revoked ones too.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}List")]
pub struct KeysJson<T> {
    pub keys: Vec<T>,
}

/// A new API key with the key, shown this once.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "New{T}")]
pub struct NewKeyJson<'a, T> {
    /// null where the request is repeated under its Idempotency-Key: nobody can show a key twice.
    #[schemars(with = "Option<ApiKey>")]
    pub key: Option<&'a str>,
    #[serde(flatten)]
    pub row: &'a T,
}

answers! {
    /// What the caller holds, or held, of one outcome.
    PositionJson = "Position" (row: &PositionRow, shown: Shown<'_>) {
        /// Market, user and outcome, separated by colons.
        id: String = format!("{}:{}:{}", shown.market.id, shown.user, row.outcome.id());
        user_id: Text<UserId> = Text(shown.user);
        market_id: Text<MarketId> = Text(shown.market.id);
        outcome_id: OutcomeId = Text(row.outcome);
        total_stake: Number<Money> = Number(row.cost);
        odd_locked: Number<LockedOdds> = Number(LockedOdds::of(shown.payout, row.cost));
        potential_payout: Number<Money> = Number(shown.payout);
        resolution: Option<Text<Resolution>> = row.resolution.map(Text);
        updated_at: Timestamp = Timestamp(row.updated_at);
        copy_from_trader_id: Option<Text<UserId>> = shown.copied.map(Text);
        market: PositionMarketJson = PositionMarketJson::of(shown.market);
        quantity: Text<Lots> = Text(row.quantity);
        average_price: Text<AveragePrice> =
            Text(AveragePrice { notional: row.cost, quantity: row.quantity });
        /// The market's, the same on the yes and on the no row: do not add rows up. After fees.
        realised_pnl: Text<MoneySum> = Text(row.realised);
    }
}

/// What a position shows beside its row.
pub struct Shown<'a> {
    market: &'a MarketRow,
    user: UserId,
    copied: Option<UserId>,
    payout: Money,
}

impl PositionJson {
    /// The position in its market; `None` if its user is missing or its size overflows.
    pub fn in_market(
        view: &ReadModel,
        row: &PositionRow,
        market: &MarketRow,
    ) -> Option<PositionJson> {
        let id = |user| view.accounts.user(user).map(|row| row.id);
        let (user, copied) = (id(row.user)?, row.copy_from.and_then(id));
        let payout = SettlementPrice::ONE.times(row.quantity).ok()?;
        Some(PositionJson::of(row, Shown { market, user, copied, payout }))
    }
}

/// A page of positions, the latest change first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PositionPage")]
pub struct PositionsJson {
    pub positions: Vec<PositionJson>,
    #[serde(flatten)]
    pub paging: Paging,
}
