//! Unit tests of `src/http/stream/resume/turns.rs`.

use super::*;

/// Places of those who wait, and for how many seconds.
fn places(of: &[(u64, u64)]) -> (Vec<Place>, Instant) {
    let begun = Instant::now();
    let now = begun + Duration::from_secs(100);
    let place = |&(position, seconds)| Place {
        position: Sequence::new(position),
        since: now.checked_sub(Duration::from_secs(seconds)).unwrap(),
    };
    (of.iter().map(place).collect(), now)
}

#[test]
#[allow(clippy::type_complexity, reason = "a table")]
fn the_replay_goes_on_to_the_nearest_and_to_whoever_waits_too_long() {
    // Those who wait, where the replay stands, whether it may leave, where it goes.
    let cases: [(&[(u64, u64)], Option<u64>, bool, u64); 8] = [
        (&[(70, 0), (50, 0)], None, true, 50),
        (&[(70, 0), (50, 0)], Some(60), true, 70),
        (&[(70, 0), (50, 0)], Some(50), true, 50),
        (&[(70, 0), (50, 0)], Some(80), true, 50),
        // Somebody was passed over, or is far ahead.
        (&[(70, 0), (50, 9)], Some(60), true, 50),
        (&[(70, 0), (5_000, 9)], Some(60), true, 5_000),
        (&[(70, 0), (50, 9)], Some(60), false, 70),
        // Of those who have waited as long, the one who needs most.
        (&[(70, 9), (50, 9)], Some(60), true, 50),
    ];
    for (waiting, at, may_leave, expected) in cases {
        let (places, now) = places(waiting);
        let stay = if may_leave { now } else { now + Duration::from_millis(1) };
        let found = next(&places, at.map(Sequence::new), now, stay);
        assert_eq!(found.get(), expected, "{waiting:?} from {at:?}");
    }
}
