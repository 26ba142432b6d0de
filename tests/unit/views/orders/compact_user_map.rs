//! Unit tests of `src/views/orders/compact_user_map.rs`.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(64)
    })]

    /// A few users with many orders, and many users with few; their newest orders may have
    /// indexes that do not fit in a slot.
    #[test]
    fn every_user_has_what_was_added(
        steps in prop::collection::vec(
            (prop_oneof![0..3_u32, 0..2000_u32, any::<u32>()], 0..40_u8), 0..3000,
        ),
        first in prop::sample::select(vec![0, u64::from(u32::MAX) - 1000]),
    ) {
        let (mut map, mut expected) = (CompactUserMap::default(), BTreeMap::new());
        for (slot, (user, kind)) in (first..).zip(steps) {
            let user = UserNo(user);
            let there: &mut InMarket = expected.entry(user).or_default();
            let add = |there: &mut InMarket| match kind {
                0 => there.fills.push(slot),
                _ => there.orders.push(slot),
            };
            prop_assert_eq!(map.change(user, add), add(there));
            prop_assert_eq!(map.get(user), *there);
            prop_assert!(map.slots.len() * 4 <= (map.used + 3) * 6 + 16);
        }
        for (user, there) in &expected {
            prop_assert_eq!(map.get(*user), *there);
        }
        let all: BTreeMap<UserNo, InMarket> = map.all().collect();
        prop_assert_eq!(map.all().count(), expected.len());
        prop_assert_eq!(all, expected);
        prop_assert_eq!(map.get(UserNo(u32::MAX - 1)).orders.walk().left(), 0);
    }
}

#[test]
fn a_new_map_is_empty_and_a_slot_is_small() {
    assert_eq!(CompactUserMap::default().get(UserNo(0)), InMarket::default());
    assert_eq!(size_of::<Entry>(), 16);
}
