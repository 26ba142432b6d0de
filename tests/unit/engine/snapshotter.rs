//! Unit tests of `src/engine/snapshotter.rs`.

use super::*;

#[test]
fn a_busy_venue_puts_its_snapshots_off_and_not_for_ever() {
    let every = NonZeroU64::new(10_000).unwrap();
    for (since, since_poll, taken) in [
        (9_999, 0, false),
        (10_000, 0, true),
        (10_000, BUSY_RECORDS, true),
        (10_000, BUSY_RECORDS + 1, false),
        (19_999, 50_000, false),
        (20_000, 50_000, true),
        (u64::MAX, 50_000, true),
    ] {
        assert_eq!(is_time(every, since, since_poll), taken, "{since} {since_poll}");
    }
}

/// At the latest time to which a snapshot is deferred it is still throttled, with half as many
/// records to spare.
#[test]
fn a_snapshotter_that_falls_behind_hurries() {
    let every = NonZeroU64::new(10_000).unwrap();
    let behind = [20_000, 29_999, 30_000, u64::MAX].map(|since| is_behind(every, since));
    assert_eq!(behind, [false, false, true, true]);
}
