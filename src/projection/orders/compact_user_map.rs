//! What each user has in a market that has not ended. There may be as many of these as orders, and
//! most are of somebody who placed a few and traded nothing: that takes 16 bytes, in a hash table
//! that grows by quarters.

use super::traders::InMarket;
use crate::exchange::ids::UserNo;
use crate::projection::history::chain::{RowChain, RowIndex};

/// Of so many places one at least stays empty, so that searches are short.
const ONE_EMPTY_OF: usize = 6;
/// Places that are added at least.
const ADDED_MIN: usize = 4;
/// In place of a count: all of it stands apart.
const APART: u32 = u32::MAX;

/// What a user has, if it is orders and few, or where it stands.
#[derive(Debug, Clone, Copy)]
struct Entry {
    user: UserNo,
    /// How many orders; of none, nobody is here.
    count: u32,
    /// The newest order, or where all of it is among what stands apart.
    newest: RowIndex,
    oldest: RowIndex,
}

const NOBODY: Entry = Entry { user: UserNo(0), count: 0, newest: 0, oldest: 0 };

/// What all users have in one market.
#[derive(Debug, Default)]
pub(super) struct CompactUserMap {
    /// A user stands at the place that the number hashes to, or at the next ones if those before
    /// are taken.
    places: Vec<Entry>,
    taken: usize,
    /// What does not fit into a place.
    apart: Vec<InMarket>,
}

impl CompactUserMap {
    /// What a user has.
    pub(super) fn get(&self, user: UserNo) -> InMarket {
        let entry = self.places.get(self.find(user)).copied().unwrap_or(NOBODY);
        self.in_market(entry)
    }

    /// Changes what a user has.
    pub(super) fn change<T>(&mut self, user: UserNo, change: impl FnOnce(&mut InMarket) -> T) -> T {
        let empty_min = (self.places.len() / ONE_EMPTY_OF).max(1);
        if self.taken + empty_min >= self.places.len() {
            self.grow();
        }
        let at = self.find(user);
        let before = self.places.get(at).copied().unwrap_or(NOBODY);
        if before.count == APART
            && let Some(there) = self.apart.get_mut(before.newest as usize)
        {
            return change(there);
        }
        let mut there = self.in_market(before);
        let told = change(&mut there);
        let after = self.entry(user, there);
        if let Some(entry) = self.places.get_mut(at) {
            *entry = after;
        }
        self.taken += usize::from(before.count == 0 && after.count > 0);
        told
    }

    /// Everybody, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = (UserNo, InMarket)> {
        let taken = self.places.iter().filter(|entry| entry.count > 0);
        taken.map(|entry| (entry.user, self.in_market(*entry)))
    }

    fn in_market(&self, entry: Entry) -> InMarket {
        if entry.count == APART {
            return self.apart.get(entry.newest as usize).copied().unwrap_or_default();
        }
        let orders = RowChain::of_short(entry.newest, entry.oldest, entry.count);
        InMarket { orders, fills: RowChain::default() }
    }

    /// What is kept in a place for this; puts it apart if it must be.
    fn entry(&mut self, user: UserNo, there: InMarket) -> Entry {
        let short = there.orders.short().filter(|_| there.fills == RowChain::default());
        if let Some((newest, oldest, count)) = short {
            return Entry { user, count, newest, oldest };
        }
        let place = u32::try_from(self.apart.len()).unwrap_or(RowIndex::MAX);
        if self.apart.len() == self.apart.capacity() {
            self.apart.reserve_exact((self.apart.len() / 4).max(1));
        }
        self.apart.push(there);
        Entry { user, count: APART, newest: place, oldest: 0 }
    }

    /// Where a user is, or would be; one place is empty at least, if there are any.
    fn find(&self, user: UserNo) -> usize {
        let hash = u64::from(user.0.wrapping_mul(0x9E37_79B9));
        let mut at = ((hash * self.places.len() as u64) >> u32::BITS) as usize;
        while self.places.get(at).is_some_and(|entry| entry.count > 0 && entry.user != user) {
            at = if at + 1 < self.places.len() { at + 1 } else { 0 };
        }
        at
    }

    fn grow(&mut self) {
        let places = self.places.len() + (self.places.len() / 4).max(ADDED_MIN);
        let before = std::mem::replace(&mut self.places, vec![NOBODY; places]);
        for entry in before.into_iter().filter(|entry| entry.count > 0) {
            let at = self.find(entry.user);
            if let Some(place) = self.places.get_mut(at) {
                *place = entry;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::with_cases(64)
        })]

        /// Of few users with many orders, and many with few.
        #[test]
        fn everybody_has_what_was_added(
            steps in prop::collection::vec(
                (prop_oneof![0..3_u32, 0..2000_u32, any::<u32>()], 0..40_u8), 0..3000,
            ),
        ) {
            let (mut crowd, mut expected) = (CompactUserMap::default(), BTreeMap::new());
            for (place, (user, kind)) in (0..).zip(steps) {
                let user = UserNo(user);
                let there: &mut InMarket = expected.entry(user).or_default();
                let add = |there: &mut InMarket| match kind {
                    0 => there.fills.push(place),
                    _ => there.orders.push(place),
                };
                prop_assert_eq!(crowd.change(user, add), add(there));
                prop_assert_eq!(crowd.get(user), *there);
                prop_assert!(crowd.places.len() * 4 <= (crowd.taken + 3) * 6 + 16);
            }
            for (user, there) in &expected {
                prop_assert_eq!(crowd.get(*user), *there);
            }
            let all: BTreeMap<UserNo, InMarket> = crowd.all().collect();
            prop_assert_eq!(crowd.all().count(), expected.len());
            prop_assert_eq!(all, expected);
            prop_assert_eq!(crowd.get(UserNo(u32::MAX - 1)).orders.walk().left(), 0);
        }
    }

    #[test]
    fn nobody_is_there_first_and_a_place_is_small() {
        assert_eq!(CompactUserMap::default().get(UserNo(0)), InMarket::default());
        assert_eq!(size_of::<Entry>(), 16);
    }
}
