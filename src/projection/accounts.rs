//! Users, their API keys and their money.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Projection;
use super::fault::{Fault, Faults, is_next};
use crate::exchange::command::{KeyHash, Role};
use crate::exchange::effect::{Applied, Effect};
use crate::exchange::ids::{KeyId, KeyNo, UserId, UserNo};
use crate::exchange::units::{Money, TimeMs};

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
    /// Outside id.
    pub id: UserId,
    /// Public name.
    pub profile_name: Arc<str>,
    /// Picture URL.
    pub profile_pic: Arc<str>,
    /// When the user was created.
    pub created_at: TimeMs,
    /// Money.
    pub balance: Balance,
}

/// An API key, without the key.
#[derive(Debug, Clone)]
pub struct KeyRow {
    /// Number.
    pub no: KeyNo,
    /// Outside id.
    pub id: KeyId,
    /// Owner.
    pub user: UserNo,
    /// What it may do.
    pub role: Role,
    /// The operator's note.
    pub label: Arc<str>,
    /// Hash of the key.
    pub hash: KeyHash,
    /// When it was given.
    pub created_at: TimeMs,
    /// When it was taken away.
    pub revoked_at: Option<TimeMs>,
}

/// Users, keys and balances. Ids grow with numbers, so an id is found by bisection of the rows:
/// O(log n), without a second table.
#[derive(Debug, Default)]
pub struct Accounts {
    currency: Box<str>,
    users: Vec<UserRow>,
    keys: Vec<KeyRow>,
    keys_of: Vec<Vec<KeyNo>>,
    keys_by_hash: FxHashMap<KeyHash, KeyNo>,
}

impl Accounts {
    /// Code of the venue's currency; empty before the venue opened.
    pub fn currency(&self) -> &str {
        &self.currency
    }

    /// The number behind a user's id. O(log n).
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

    /// The number behind a key's id. O(log n).
    pub fn key_no(&self, id: KeyId) -> Option<KeyNo> {
        let index = self.keys.binary_search_by_key(&id, |row| row.id).ok()?;
        self.keys.get(index).map(|row| row.no)
    }

    /// A key, revoked or not. O(1).
    pub fn key(&self, key: KeyNo) -> Option<&KeyRow> {
        self.keys.get(key.index())
    }

    /// A user's keys, oldest first, revoked ones too.
    pub fn keys_of(&self, user: UserNo) -> impl DoubleEndedIterator<Item = &KeyRow> {
        let keys = self.keys_of.get(user.index()).map_or(&[][..], Vec::as_slice);
        keys.iter().filter_map(|key| self.key(*key))
    }

    fn fold_effect(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match effect {
            Effect::VenueOpened(rules) => {
                self.currency = rules.currency.as_str().into();
                Ok(())
            }
            Effect::UserCreated { user, profile_name, profile_pic } => {
                is_next(user.index(), self.users.len())?;
                self.keys_of.push(Vec::new());
                self.users.push(UserRow {
                    no: *user,
                    id: UserId::derive(at.time, at.sequence, 0),
                    profile_name: profile_name.as_str().into(),
                    profile_pic: profile_pic.as_str().into(),
                    created_at: at.time,
                    balance: Balance::default(),
                });
                Ok(())
            }
            Effect::KeyAdded { user, key, role, label, hash } => {
                is_next(key.index(), self.keys.len())?;
                let unknown = Fault::UnknownUser(*user);
                self.keys_of.get_mut(user.index()).ok_or(unknown)?.push(*key);
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
                Ok(())
            }
            Effect::AccountChanged { user, available, reserved } => {
                let row = self.users.get_mut(user.index()).ok_or(Fault::UnknownUser(*user))?;
                row.balance = Balance { available: *available, reserved: *reserved };
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Projection for Accounts {
    fn fold(&mut self, applied: &Applied<'_>, faults: &mut Faults) {
        for effect in applied.effects {
            faults.check(self.fold_effect(applied, effect));
        }
    }
}
