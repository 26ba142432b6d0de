//! How many streams each user has.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::limits::CONNECTIONS_MAX;
use crate::problem::{Kind, Problem};
use exchange::ids::UserNo;

/// The streams of all users. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Seats(Arc<Mutex<FxHashMap<UserNo, u32>>>);

/// One of a user's streams, until it is dropped.
#[derive(Debug)]
pub struct Seat {
    seats: Seats,
    user: UserNo,
}

impl Seats {
    /// One more of this user.
    ///
    /// # Errors
    /// The user has as many as may be.
    pub fn take(&self, user: UserNo) -> Result<Seat, Problem> {
        let mut open = self.0.lock();
        let count = open.entry(user).or_insert(0);
        if *count >= CONNECTIONS_MAX {
            let detail = format!("this key's user has {CONNECTIONS_MAX} streams open; end one");
            return Err(Problem::new(Kind::StreamLimit, detail));
        }
        *count = count.saturating_add(1);
        Ok(Seat { seats: self.clone(), user })
    }

    /// How many streams all users have.
    pub fn taken(&self) -> u64 {
        self.0.lock().values().copied().map(u64::from).sum()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut open = self.seats.0.lock();
        if let Some(count) = open.get_mut(&self.user) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                open.remove(&self.user);
            }
        }
    }
}
