//! A hash table of each user's orders and fills in a market that has not ended. There may be as
//! many entries as orders, and most users place a few orders and trade nothing: such an entry takes
//! 16 bytes. The table grows by a quarter at a time.

use super::traders::InMarket;
use crate::history::chain::{RowChain, RowIndex};
use exchange::ids::UserNo;

/// At least one of this many slots stays empty, so that probe sequences are short.
const SLOTS_PER_EMPTY: usize = 6;
/// The least number of slots added when the table grows.
const ADDED_MIN: usize = 4;
/// In [`Entry::count`]: the entry does not fit in a slot and is in [`CompactUserMap::overflow`].
const OVERFLOW: u32 = u32::MAX;

/// A user's few orders, or the index of the user's data in the overflow.
#[derive(Debug, Clone, Copy)]
struct Entry {
    user: UserNo,
    /// Number of orders; 0 marks an empty slot.
    count: u32,
    /// The newest order, or the index in the overflow.
    newest: u32,
    oldest: u32,
}

const EMPTY: Entry = Entry { user: UserNo(0), count: 0, newest: 0, oldest: 0 };

impl Entry {
    /// The slot for these orders and fills, if they fit in one.
    fn of(user: UserNo, there: InMarket) -> Option<Entry> {
        let (newest, oldest, count) = there.orders.short()?;
        let narrow = |number: RowIndex| u32::try_from(number).ok();
        let (newest, oldest, count) = (narrow(newest)?, narrow(oldest)?, narrow(count)?);
        let fits = there.fills == RowChain::default();
        fits.then_some(Entry { user, count, newest, oldest })
    }
}

/// All users' orders and fills in one market.
#[derive(Debug, Default)]
pub(super) struct CompactUserMap {
    /// Open addressing with linear probing from the slot that the user number hashes to.
    slots: Vec<Entry>,
    used: usize,
    /// Entries that do not fit in a slot.
    overflow: Vec<InMarket>,
}

impl CompactUserMap {
    /// A user's orders and fills.
    pub(super) fn get(&self, user: UserNo) -> InMarket {
        let entry = self.slots.get(self.find(user)).copied().unwrap_or(EMPTY);
        self.in_market(entry)
    }

    /// Changes a user's orders and fills.
    pub(super) fn change<T>(&mut self, user: UserNo, change: impl FnOnce(&mut InMarket) -> T) -> T {
        let empty_min = (self.slots.len() / SLOTS_PER_EMPTY).max(1);
        if self.used + empty_min >= self.slots.len() {
            self.grow();
        }
        let at = self.find(user);
        let before = self.slots.get(at).copied().unwrap_or(EMPTY);
        if before.count == OVERFLOW
            && let Some(there) = self.overflow.get_mut(before.newest as usize)
        {
            return change(there);
        }
        let mut there = self.in_market(before);
        let result = change(&mut there);
        let after = self.entry(user, there);
        if let Some(entry) = self.slots.get_mut(at) {
            *entry = after;
        }
        self.used += usize::from(before.count == 0 && after.count > 0);
        result
    }

    /// All users, in no particular order.
    pub(super) fn all(&self) -> impl Iterator<Item = (UserNo, InMarket)> {
        let used = self.slots.iter().filter(|entry| entry.count > 0);
        used.map(|entry| (entry.user, self.in_market(*entry)))
    }

    fn in_market(&self, entry: Entry) -> InMarket {
        if entry.count == OVERFLOW {
            return self.overflow.get(entry.newest as usize).copied().unwrap_or_default();
        }
        let Entry { newest, oldest, count, .. } = entry;
        let orders = RowChain::of_short(newest.into(), oldest.into(), count.into());
        InMarket { orders, fills: RowChain::default() }
    }

    /// The slot for these orders and fills; adds them to the overflow if they do not fit.
    fn entry(&mut self, user: UserNo, there: InMarket) -> Entry {
        if let Some(entry) = Entry::of(user, there) {
            return entry;
        }
        let slot = u32::try_from(self.overflow.len()).unwrap_or(u32::MAX);
        if self.overflow.len() == self.overflow.capacity() {
            self.overflow.reserve_exact((self.overflow.len() / 4).max(1));
        }
        self.overflow.push(there);
        Entry { user, count: OVERFLOW, newest: slot, oldest: 0 }
    }

    /// The slot of a user, or the one to insert at. Ends because at least one slot is empty.
    fn find(&self, user: UserNo) -> usize {
        let hash = u64::from(user.0.wrapping_mul(0x9E37_79B9));
        let mut at = ((hash * self.slots.len() as u64) >> u32::BITS) as usize;
        while self.slots.get(at).is_some_and(|entry| entry.count > 0 && entry.user != user) {
            at = if at + 1 < self.slots.len() { at + 1 } else { 0 };
        }
        at
    }

    fn grow(&mut self) {
        let slots = self.slots.len() + (self.slots.len() / 4).max(ADDED_MIN);
        let before = std::mem::replace(&mut self.slots, vec![EMPTY; slots]);
        for entry in before.into_iter().filter(|entry| entry.count > 0) {
            let at = self.find(entry.user);
            if let Some(slot) = self.slots.get_mut(at) {
                *slot = entry;
            }
        }
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/views/orders/compact_user_map.rs"]
mod tests;
