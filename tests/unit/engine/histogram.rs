//! Unit tests of `src/engine/histogram.rs`.

use super::*;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn a_value_is_counted_once_under_the_least_bound_that_holds_it(
        value in prop_oneof![0..5_000_u64, any::<u64>(), (0..64_u32).prop_map(|bit| 1 << bit)],
    ) {
        for histogram in [Histogram::of_times(), Histogram::of_counts()] {
            for (times, counted_by_now) in [(1, 1), (3, 4)] {
                histogram.count_times(value, times);
                let spread = histogram.read();
                prop_assert_eq!(spread.count(), counted_by_now);
                if let Some(sum) = value.checked_mul(4) {
                    prop_assert_eq!(spread.sum, sum / 4 * counted_by_now);
                }
                let least = spread.buckets.iter().position(|(bound, _)| value <= *bound);
                let counted = least.map_or(spread.beyond, |index| spread.buckets[index].1);
                prop_assert_eq!(counted, counted_by_now);
            }
        }
    }
}
