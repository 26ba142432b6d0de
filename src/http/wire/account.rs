//! The JSON of users, keys, money and positions.

use std::sync::Arc;

use serde::Serialize;

use super::catalogue::PositionMarketJson;
use super::{Number, OutcomeId, Paging, Text, Timestamp};
use exchange::command::{Role, TradingMode};
use exchange::ids::{KeyId, MarketId, UserId};
use exchange::restrictions::Heartbeat;
use exchange::units::{
    AveragePrice, LockedOdds, Lots, Money, MoneySum, Overflow, SettlementPrice, TimeMs,
};
use views::ReadModel;
use views::accounts::{Accounts, KeyRow, UserRow};
use views::catalogue::MarketRow;
use views::positions::{PositionRow, Resolution};

/// An account's money (semantics 8).
#[derive(Debug, Serialize)]
pub struct BalanceJson {
    available: Text<Money>,
    reserved: Text<Money>,
    currency: String,
}

impl BalanceJson {
    /// These amounts of the venue's currency.
    pub fn new(available: Money, reserved: Money, currency: &str) -> BalanceJson {
        let (available, reserved) = (Text(available), Text(reserved));
        BalanceJson { available, reserved, currency: currency.to_owned() }
    }
}

/// The fees collected by the venue, and those the operator has withdrawn.
#[derive(Debug, Serialize)]
pub struct FeesJson {
    collected: Text<MoneySum>,
    taken: Text<MoneySum>,
    balance: Text<MoneySum>,
    currency: String,
}

impl FeesJson {
    /// The venue's fees.
    pub fn of(accounts: &Accounts) -> Result<FeesJson, Overflow> {
        let (collected, taken) = (accounts.fees(), accounts.fees_taken());
        Ok(FeesJson {
            collected: Text(collected),
            taken: Text(taken),
            balance: Text(collected.less(taken)?),
            currency: accounts.currency().to_owned(),
        })
    }
}

/// A user, as the operator sees one.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserJson {
    id: Text<UserId>,
    profile_name: Text<Arc<str>>,
    profile_pic: Text<Arc<str>>,
    available: Text<Money>,
    reserved: Text<Money>,
    mode: &'static str,
    exposure_limit: Option<Text<Money>>,
    created_at: Timestamp,
}

impl From<&UserRow> for UserJson {
    fn from(row: &UserRow) -> Self {
        UserJson {
            id: Text(row.id),
            profile_name: Text(Arc::clone(&row.profile_name)),
            profile_pic: Text(Arc::clone(&row.profile_pic)),
            available: Text(row.balance.available),
            reserved: Text(row.balance.reserved),
            mode: row.standing.mode.name(),
            exposure_limit: row.standing.exposure_limit.map(Text),
            created_at: Timestamp(row.created_at),
        }
    }
}

/// A page of users.
#[derive(Debug, Serialize)]
pub struct UsersJson {
    /// Newest first.
    pub users: Vec<UserJson>,
    /// Its place.
    #[serde(flatten)]
    pub paging: Paging,
}

/// The venue's trading mode.
#[derive(Debug, Serialize)]
pub struct VenueModeJson {
    mode: &'static str,
}

impl From<TradingMode> for VenueModeJson {
    fn from(mode: TradingMode) -> Self {
        VenueModeJson { mode: mode.name() }
    }
}

/// The caller's heartbeat (dead man's switch).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatJson {
    expires_at: Option<Timestamp>,
    expired: bool,
}

impl From<Heartbeat> for HeartbeatJson {
    fn from(heartbeat: Heartbeat) -> Self {
        let Heartbeat { until, expired } = heartbeat;
        HeartbeatJson { expires_at: until.filter(|_| !expired).map(Timestamp), expired }
    }
}

/// An API key without the key.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyJson {
    key_id: Text<KeyId>,
    role: &'static str,
    label: Text<Arc<str>>,
    created_at: Timestamp,
    last_used_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
}

impl KeyJson {
    /// Of a key that was last used then, as far as the process knows.
    pub fn new(row: &KeyRow, last_used: Option<TimeMs>) -> KeyJson {
        KeyJson {
            key_id: Text(row.id),
            role: row.role.name(),
            label: Text(Arc::clone(&row.label)),
            created_at: Timestamp(row.created_at),
            last_used_at: last_used.map(Timestamp),
            revoked_at: row.revoked_at.map(Timestamp),
        }
    }

    /// A key as it was created.
    pub fn given(row: &KeyRow) -> KeyJson {
        KeyJson { revoked_at: None, ..KeyJson::new(row, None) }
    }
}

/// The scope's name in the user's API.
const fn scope_name(role: Role) -> &'static str {
    match role {
        Role::Reader => "read",
        Role::Trader => "trade",
        Role::Operator => "operator",
    }
}

/// An API key of the caller, without the key itself.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnKeyJson {
    key_id: Text<KeyId>,
    scope: &'static str,
    label: Text<Arc<str>>,
    created_at: Timestamp,
    last_used_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
}

impl OwnKeyJson {
    /// Of a key that was last used then, as far as the process knows.
    pub fn new(row: &KeyRow, last_used: Option<TimeMs>) -> OwnKeyJson {
        OwnKeyJson {
            key_id: Text(row.id),
            scope: scope_name(row.role),
            label: Text(Arc::clone(&row.label)),
            created_at: Timestamp(row.created_at),
            last_used_at: last_used.map(Timestamp),
            revoked_at: row.revoked_at.map(Timestamp),
        }
    }

    /// A key as it was created.
    pub fn given(row: &KeyRow) -> OwnKeyJson {
        OwnKeyJson { revoked_at: None, ..OwnKeyJson::new(row, None) }
    }
}

/// A user's keys.
#[derive(Debug, Serialize)]
pub struct KeysJson<T> {
    /// Oldest first, revoked ones too.
    pub keys: Vec<T>,
}

/// A new API key with the key itself, shown once.
#[derive(Serialize)]
pub struct NewKeyJson<'a, T> {
    /// The key itself; `None` for a repetition, since only its hash is known.
    pub key: Option<&'a str>,
    /// The key's row.
    #[serde(flatten)]
    pub row: &'a T,
}

/// A position (interface 2.6, semantics 6).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PositionJson {
    id: String,
    user_id: Text<UserId>,
    market_id: Text<MarketId>,
    outcome_id: OutcomeId,
    total_stake: Number<Money>,
    odd_locked: Number<LockedOdds>,
    potential_payout: Number<Money>,
    resolution: Option<&'static str>,
    updated_at: Timestamp,
    copy_from_trader_id: Option<Text<UserId>>,
    market: PositionMarketJson,
    quantity: Text<Lots>,
    average_price: Text<AveragePrice>,
    realised_pnl: Text<MoneySum>,
}

impl PositionJson {
    /// The position in its market; `None` if its user is missing or its size overflows.
    pub fn of(view: &ReadModel, row: &PositionRow, market: &MarketRow) -> Option<PositionJson> {
        let user = view.accounts.user(row.user)?;
        let payout = SettlementPrice::ONE.times(row.quantity).ok()?;
        let copied = row.copy_from.and_then(|trader| view.accounts.user(trader));
        Some(PositionJson {
            id: format!("{}:{}:{}", market.id, user.id, row.outcome.id()),
            user_id: Text(user.id),
            market_id: Text(market.id),
            outcome_id: OutcomeId(row.outcome),
            total_stake: Number(row.cost),
            odd_locked: Number(LockedOdds::of(payout, row.cost)),
            potential_payout: Number(payout),
            resolution: row.resolution.map(Resolution::name),
            updated_at: Timestamp(row.updated_at),
            copy_from_trader_id: copied.map(|trader| Text(trader.id)),
            market: market.into(),
            quantity: Text(row.quantity),
            average_price: Text(AveragePrice { notional: row.cost, quantity: row.quantity }),
            realised_pnl: Text(row.realised),
        })
    }
}

/// A page of positions (interface 4.7).
#[derive(Debug, Serialize)]
pub struct PositionsJson {
    /// The latest change first.
    pub positions: Vec<PositionJson>,
    /// Its place.
    #[serde(flatten)]
    pub paging: Paging,
}
