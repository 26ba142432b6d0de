//! Users, their API keys and their money.

mod image;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Projection;
use super::fault::{Fault, Faults, is_next};
use exchange::command::{KeyHash, Role, TradingMode};
use exchange::effect::{Applied, Effect};
use exchange::ids::{KeyId, KeyNo, UserId, UserNo};
use exchange::restrictions::{Heartbeat, UserRestrictions};
use exchange::units::{Money, MoneySum, TimeMs};

/// An account's money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Balance {
    /// Free to use.
    pub available: Money,
    /// Backs resting orders.
    pub reserved: Money,
}

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
}

/// The numbers of a user's keys, each list in the order the keys were created.
#[derive(Debug, Default)]
struct UserKeys {
    in_force: Vec<KeyNo>,
    revoked: Vec<KeyNo>,
}

/// Users, keys and balances. Ids grow with numbers, so a row is found by binary search over ids in
/// O(log n), without an index.
#[derive(Debug, Default)]
pub struct Accounts {
    currency: Box<str>,
    users: Vec<UserRow>,
    keys: Vec<KeyRow>,
    keys_of: Vec<UserKeys>,
    keys_by_hash: FxHashMap<KeyHash, KeyNo>,
    venue_mode: TradingMode,
    fees: MoneySum,
    fees_taken: MoneySum,
}

impl UserKeys {
    fn revoke(&mut self, key: KeyNo) {
        self.in_force.retain(|other| *other != key);
        if let Err(at) = self.revoked.binary_search(&key) {
            self.revoked.insert(at, key);
        }
    }
}

impl Accounts {
    /// Code of the venue's currency; empty before the venue opened.
    pub fn currency(&self) -> &str {
        &self.currency
    }

    /// The number of the user with this id. O(log n).
    pub fn user_no(&self, id: UserId) -> Option<UserNo> {
        let index = self.users.binary_search_by_key(&id, |row| row.id).ok()?;
        self.users.get(index).map(|row| row.no)
    }

    /// A user. O(1).
    pub fn user(&self, user: UserNo) -> Option<&UserRow> {
        self.users.get(user.index())
    }

    /// All users, the newest first.
    pub fn users_newest_first(
        &self,
    ) -> impl DoubleEndedIterator<Item = &UserRow> + ExactSizeIterator {
        self.users.iter().rev()
    }

    /// How many users there are.
    pub const fn users_count(&self) -> usize {
        self.users.len()
    }

    /// The key with this hash, unless it was revoked. O(1).
    pub fn key_by_hash(&self, hash: &KeyHash) -> Option<&KeyRow> {
        self.key(*self.keys_by_hash.get(hash)?)
    }

    /// The number of the key with this id. O(log n).
    pub fn key_no(&self, id: KeyId) -> Option<KeyNo> {
        let index = self.keys.binary_search_by_key(&id, |row| row.id).ok()?;
        self.keys.get(index).map(|row| row.no)
    }

    /// A key, revoked or not. O(1).
    pub fn key(&self, key: KeyNo) -> Option<&KeyRow> {
        self.keys.get(key.index())
    }

    /// A user's keys that are not revoked, oldest first.
    pub fn keys_in_force(&self, user: UserNo) -> impl DoubleEndedIterator<Item = &KeyRow> {
        let keys = self.keys_of.get(user.index()).map(|keys| keys.in_force.as_slice());
        keys.unwrap_or_default().iter().filter_map(|key| self.key(*key))
    }

    /// A user's revoked keys, oldest first.
    pub fn revoked_keys(&self, user: UserNo) -> impl DoubleEndedIterator<Item = &KeyRow> {
        let keys = self.keys_of.get(user.index()).map(|keys| keys.revoked.as_slice());
        keys.unwrap_or_default().iter().filter_map(|key| self.key(*key))
    }

    /// How many of a user's keys were created after a moment. Costs O(that many).
    pub fn keys_given_since(&self, user: UserNo, moment: TimeMs) -> usize {
        let since = |row: &&KeyRow| row.created_at > moment;
        let in_force = self.keys_in_force(user).rev().take_while(since).count();
        in_force.saturating_add(self.revoked_keys(user).rev().take_while(since).count())
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

    fn standing_mut(&mut self, user: UserNo) -> Result<&mut UserRestrictions, Fault> {
        let row = self.users.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
        Ok(&mut row.standing)
    }

    fn fold_effect(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match effect {
            Effect::VenueOpened(rules) => {
                self.currency = rules.currency.as_str().into();
                Ok(())
            }
            Effect::UserCreated { user, profile_name, profile_pic } => {
                is_next(user.index(), self.users.len())?;
                self.keys_of.push(UserKeys::default());
                self.users.push(UserRow {
                    no: *user,
                    id: UserId::derive(at.time, at.sequence, 0),
                    profile_name: profile_name.as_str().into(),
                    profile_pic: profile_pic.as_str().into(),
                    created_at: at.time,
                    balance: Balance::default(),
                    standing: UserRestrictions::default(),
                });
                Ok(())
            }
            Effect::KeyAdded { user, key, role, label, hash } => {
                is_next(key.index(), self.keys.len())?;
                let unknown = Fault::UnknownUser(*user);
                self.keys_of.get_mut(user.index()).ok_or(unknown)?.in_force.push(*key);
                self.keys_by_hash.insert(*hash, *key);
                self.keys.push(KeyRow {
                    no: *key,
                    id: KeyId::derive(at.time, at.sequence, 0),
                    user: *user,
                    role: *role,
                    label: label.as_str().into(),
                    hash: *hash,
                    created_at: at.time,
                    revoked_at: None,
                });
                Ok(())
            }
            Effect::KeyRevoked { key, .. } => {
                let row = self.keys.get_mut(key.index()).ok_or(Fault::UnknownKey(*key))?;
                row.revoked_at = Some(at.time);
                if self.keys_by_hash.get(&row.hash) == Some(key) {
                    self.keys_by_hash.remove(&row.hash);
                }
                let own = self.keys_of.get_mut(row.user.index());
                own.ok_or(Fault::UnknownUser(row.user))?.revoke(*key);
                Ok(())
            }
            Effect::AccountChanged { user, available, reserved } => {
                let row = self.users.get_mut(user.index()).ok_or(Fault::UnknownUser(*user))?;
                row.balance = Balance { available: *available, reserved: *reserved };
                Ok(())
            }
            Effect::FeesTaken { amount, .. } => {
                self.fees_taken = self.fees_taken.plus(*amount)?;
                Ok(())
            }
            Effect::SetsSettled { surplus, .. } => {
                self.fees = self.fees.plus(*surplus)?;
                Ok(())
            }
            Effect::TradeMade(trade) => {
                self.fees = self.fees.plus(trade.maker.fee)?.plus(trade.taker.fee)?;
                Ok(())
            }
            switched => self.fold_switch(switched),
        }
    }

    fn fold_switch(&mut self, effect: &Effect) -> Result<(), Fault> {
        match effect {
            Effect::VenueModeSet { mode } => self.venue_mode = *mode,
            Effect::UserModeSet { user, mode } => self.standing_mut(*user)?.mode = *mode,
            Effect::ExposureLimitSet { user, limit } => {
                self.standing_mut(*user)?.exposure_limit = *limit;
            }
            Effect::HeartbeatSet { user, until } => {
                self.standing_mut(*user)?.heartbeat = Heartbeat { until: *until, expired: false };
            }
            Effect::HeartbeatExpired { user } => {
                self.standing_mut(*user)?.heartbeat.expired = true;
            }
            _ => {}
        }
        Ok(())
    }
}

impl Projection for Accounts {
    fn fold(&mut self, applied: &Applied<'_>, faults: &mut Faults) {
        for effect in applied.effects {
            faults.check(self.fold_effect(applied, effect));
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/accounts.rs"]
mod tests;
