//! Users, their API keys and their money.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::fault::{Fault, View};
use super::saved::{Sizes, hold, saved};
use super::table::{Table, identified};
use exchange::command::{KeyHash, Role, TradingMode};
use exchange::effect::{Applied, Effect};
use exchange::ids::{Group, KeyId, KeyNo, UserId, UserNo};
use exchange::image::coding::BadImage;
use exchange::restrictions::{Guarded, Heartbeat, UserRestrictions};
use exchange::units::{Money, MoneySum, TimeMs};

/// An account's money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Balance {
    /// Free to use.
    pub available: Money,
    /// Backs resting orders.
    pub reserved: Money,
}

saved!(Balance { available, reserved });

/// A user.
#[derive(Debug, Clone)]
pub struct UserRow {
    /// Number.
    pub no: UserNo,
    /// Public id.
    pub id: UserId,
    /// Public name.
    pub profile_name: Arc<str>,
    /// Picture URL.
    pub profile_pic: Arc<str>,
    /// When the user was created.
    pub created_at: TimeMs,
    /// Money.
    pub balance: Balance,
    /// Trading mode, exposure limit and heartbeat.
    pub standing: UserRestrictions,
}

identified!(UserRow(UserNo, UserId));
saved!(UserRow { no, id, profile_name, profile_pic, created_at, balance, standing });

/// An API key, without the key.
#[derive(Debug, Clone)]
pub struct KeyRow {
    /// Number.
    pub no: KeyNo,
    /// Public id.
    pub id: KeyId,
    /// Owner.
    pub user: UserNo,
    /// Permissions.
    pub role: Role,
    /// Label given by whoever created it.
    pub label: Arc<str>,
    /// Hash of the key.
    pub hash: KeyHash,
    /// When it was created.
    pub created_at: TimeMs,
    /// When it was revoked.
    pub revoked_at: Option<TimeMs>,
    /// First moment at which it opens nothing any more.
    pub ends: Option<TimeMs>,
}

identified!(KeyRow(KeyNo, KeyId));
saved!(KeyRow { no, id, user, role, label, hash, created_at, revoked_at, ends });

/// The numbers of a user's keys, each list in the order the keys were created.
#[derive(Debug, Default)]
struct UserKeys {
    in_force: Vec<KeyNo>,
    revoked: Vec<KeyNo>,
}

/// Users, keys and balances.
#[derive(Debug, Default)]
pub struct Accounts {
    currency: Arc<str>,
    users: Table<UserNo, UserRow>,
    keys: Table<KeyNo, KeyRow>,
    keys_of: Table<UserNo, UserKeys>,
    keys_by_hash: FxHashMap<KeyHash, KeyNo>,
    /// Of the groups that have one.
    heartbeats: BTreeMap<(UserNo, Group), Heartbeat>,
    venue_mode: TradingMode,
    fees: MoneySum,
    fees_taken: MoneySum,
}

saved!(Accounts {
    venue_mode,
    fees,
    fees_taken,
    currency,
    users,
    keys,
    heartbeats,
} made { keys_of, keys_by_hash } by with_keys);

impl Accounts {
    /// Code of the venue's currency; empty before the venue opened.
    pub fn currency(&self) -> &str {
        &self.currency
    }

    /// The number of the user with this id. O(log n).
    pub fn user_no(&self, id: UserId) -> Option<UserNo> {
        self.users.no_of(id)
    }

    /// A user. O(1).
    pub fn user(&self, user: UserNo) -> Option<&UserRow> {
        self.users.get(user)
    }

    /// All users, the newest first.
    pub fn users_newest_first(
        &self,
    ) -> impl DoubleEndedIterator<Item = &UserRow> + ExactSizeIterator {
        self.users.rows().iter().rev()
    }

    /// How many users there are.
    pub const fn users_count(&self) -> usize {
        self.users.len()
    }

    /// How many keys there are, the revoked ones included.
    pub(super) const fn keys_count(&self) -> usize {
        self.keys.len()
    }

    /// The key with this hash, unless it was revoked. O(1).
    pub fn key_by_hash(&self, hash: &KeyHash) -> Option<&KeyRow> {
        self.key(*self.keys_by_hash.get(hash)?)
    }

    /// The number of the key with this id. O(log n).
    pub fn key_no(&self, id: KeyId) -> Option<KeyNo> {
        self.keys.no_of(id)
    }

    /// A key, revoked or not. O(1).
    pub fn key(&self, key: KeyNo) -> Option<&KeyRow> {
        self.keys.get(key)
    }

    /// A user's keys that are not revoked, oldest first.
    pub fn keys_in_force(&self, user: UserNo) -> impl DoubleEndedIterator<Item = &KeyRow> {
        let keys = self.keys_of.get(user).into_iter().flat_map(|keys| &keys.in_force);
        keys.filter_map(|key| self.key(*key))
    }

    /// A user's revoked keys, oldest first.
    pub fn revoked_keys(&self, user: UserNo) -> impl DoubleEndedIterator<Item = &KeyRow> {
        let keys = self.keys_of.get(user).into_iter().flat_map(|keys| &keys.revoked);
        keys.filter_map(|key| self.key(*key))
    }
    /// How many of a user's keys were created after a moment. Costs O(that many).
    pub fn keys_given_since(&self, user: UserNo, moment: TimeMs) -> usize {
        let since = |row: &&KeyRow| row.created_at > moment;
        let in_force = self.keys_in_force(user).rev().take_while(since).count();
        in_force.saturating_add(self.revoked_keys(user).rev().take_while(since).count())
    }

    /// A heartbeat: a user's, or that of a group.
    pub fn heartbeat(&self, (user, group): Guarded) -> Heartbeat {
        let own = || self.user(user).map(|row| row.standing.heartbeat);
        let of_group = |group| self.heartbeats.get(&(user, group)).copied();
        group.map_or_else(own, of_group).unwrap_or_default()
    }

    /// The heartbeats of a user's groups.
    pub fn heartbeats_of(&self, user: UserNo) -> impl Iterator<Item = (Group, Heartbeat)> {
        let from = self.heartbeats.range((user, Group::LEAST)..);
        from.take_while(move |((of, _), _)| *of == user).map(|((_, group), beat)| (*group, *beat))
    }

    /// The venue's trading mode.
    pub const fn venue_mode(&self) -> TradingMode {
        self.venue_mode
    }

    /// All fees ever charged on trades and left over by converted sets: the operator's income.
    pub const fn fees(&self) -> MoneySum {
        self.fees
    }

    /// The part of the fees that operators have moved to their accounts.
    pub const fn fees_taken(&self) -> MoneySum {
        self.fees_taken
    }

    fn standing(&mut self, user: UserNo) -> Result<&mut UserRestrictions, Fault> {
        self.users.row(user).map(|row| &mut row.standing)
    }

    /// With the indexes of the keys.
    fn with_keys(mut self, sizes: Sizes) -> Result<Accounts, BadImage> {
        self.users.check()?;
        self.keys.check()?;
        for (user, _) in self.heartbeats.keys() {
            sizes.has_user(*user)?;
        }
        self.keys_of = Table::of_empty(sizes.users);
        for row in self.keys.rows() {
            let Ok(own) = self.keys_of.row(row.user) else { continue };
            if row.revoked_at.is_some() {
                own.revoked.push(row.no);
            } else {
                own.in_force.push(row.no);
                let other = self.keys_by_hash.insert(row.hash, row.no);
                hold(other.is_none(), "one hash, two keys in force")?;
            }
        }
        Ok(self)
    }

    fn rename(&mut self, user: UserNo, profile_name: &str) -> Result<(), Fault> {
        self.users.row(user)?.profile_name = profile_name.into();
        Ok(())
    }

    fn create(&mut self, at: &Applied<'_>, no: UserNo, shown: [&String; 2]) -> Result<(), Fault> {
        let [profile_name, profile_pic] = shown.map(|text| text.as_str().into());
        let row = UserRow {
            no,
            id: UserId::derive(at.time, at.sequence, 0),
            profile_name,
            profile_pic,
            created_at: at.time,
            balance: Balance::default(),
            standing: UserRestrictions::default(),
        };
        self.users.add(no, row)?;
        self.keys_of.add(no, UserKeys::default())
    }

    fn revoke(&mut self, at: &Applied<'_>, key: KeyNo) -> Result<(), Fault> {
        let row = self.keys.row(key)?;
        row.revoked_at = Some(at.time);
        if self.keys_by_hash.get(&row.hash) == Some(&key) {
            self.keys_by_hash.remove(&row.hash);
        }
        let own = self.keys_of.row(row.user)?;
        own.in_force.retain(|other| *other != key);
        if let Err(place) = own.revoked.binary_search(&key) {
            own.revoked.insert(place, key);
        }
        Ok(())
    }
}

impl View for Accounts {
    fn see(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match effect {
            Effect::VenueOpened(rules) => self.currency = rules.currency.as_str().into(),
            Effect::UserCreated { user, profile_name, profile_pic } => {
                self.create(at, *user, [profile_name, profile_pic])?;
            }
            Effect::UserRenamed { user, profile_name } => self.rename(*user, profile_name)?,
            Effect::KeyAdded { user, key, role, label, hash, ends } => {
                let row = KeyRow {
                    no: *key,
                    id: KeyId::derive(at.time, at.sequence, 0),
                    user: *user,
                    role: *role,
                    label: label.as_str().into(),
                    hash: *hash,
                    created_at: at.time,
                    revoked_at: None,
                    ends: *ends,
                };
                let own = self.keys_of.row(*user)?;
                self.keys.add(*key, row)?;
                own.in_force.push(*key);
                self.keys_by_hash.insert(*hash, *key);
            }
            Effect::KeyRevoked { key, .. } => self.revoke(at, *key)?,
            Effect::AccountChanged { user, available, reserved } => {
                let balance = Balance { available: *available, reserved: *reserved };
                self.users.row(*user)?.balance = balance;
            }
            Effect::FeesTaken { amount, .. } => self.fees_taken = self.fees_taken.plus(*amount)?,
            Effect::DisputeEnded { bond, right: false, .. } => self.fees = self.fees.plus(*bond)?,
            Effect::SetsSettled { surplus, .. } => self.fees = self.fees.plus(*surplus)?,
            Effect::TradeMade(trade) => {
                self.fees = self.fees.plus(trade.maker.fee)?.plus(trade.taker.fee)?;
            }
            Effect::VenueModeSet { mode } => self.venue_mode = *mode,
            Effect::UserModeSet { user, mode } => self.standing(*user)?.mode = *mode,
            Effect::ExposureLimitSet { user, limit } => {
                self.standing(*user)?.exposure_limit = *limit;
            }
            Effect::HeartbeatSet { user, until } => {
                self.standing(*user)?.heartbeat = Heartbeat { until: *until, expired: false };
            }
            Effect::HeartbeatExpired { user } => self.standing(*user)?.heartbeat.expired = true,
            Effect::GroupHeartbeatSet { user, group, until: None } => {
                self.standing(*user)?;
                self.heartbeats.remove(&(*user, **group));
            }
            Effect::GroupHeartbeatSet { user, group, until } => {
                self.standing(*user)?;
                let armed = Heartbeat { until: *until, expired: false };
                self.heartbeats.insert((*user, **group), armed);
            }
            Effect::GroupHeartbeatExpired { user, group } => {
                let armed = self.heartbeats.get_mut(&(*user, **group));
                armed.ok_or(Fault::UnknownUser(*user))?.expired = true;
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/accounts.rs"]
mod tests;
