//! Unit tests of `src/engine/matcher_status.rs`.

use super::*;
use exchange::results::ResultsHash;

#[test]
fn what_is_due_is_known_as_of_what_was_applied_before_it_is_folded() {
    let (status, now) = (MatcherStatus::default(), TimeMs::new(5).unwrap());
    let came = |through: u64, due_ms: Option<i64>| {
        let results = Results { through: Sequence::new(through), hash: ResultsHash([0; 32]) };
        status.post_came(due_ms.and_then(TimeMs::new), results);
    };
    let wants = |last_clock: u64| status.wants_clock(now, Sequence::new(last_clock));
    assert!(!wants(0));
    came(3, Some(5));
    assert!(wants(3) && status.folded() == Sequence::ZERO);
    // The clock command is not applied yet: it may do what is still due.
    assert!(!wants(4));
    came(4, Some(6));
    assert!(!wants(4));
    came(5, None);
    assert!(!wants(4));
}

#[test]
fn what_a_clock_command_left_rests_as_long_as_it_took_and_goes_on_by_itself() {
    let (status, now) = (MatcherStatus::default(), TimeMs::new(5).unwrap());
    let usual = Duration::from_hours(1);
    let clock = Sequence::new(3);
    assert_eq!(status.ask_again_in(clock, usual), ASK_AGAIN);
    status.post_left(true);
    let results = Results { through: clock, hash: ResultsHash([0; 32]) };
    status.post_came(Some(now), results);
    // The matcher is not done with it.
    assert!(!status.wants_clock(now, clock));
    assert_eq!(status.ask_again_in(clock, usual), ASK_AGAIN);
    status.post_slice(usual / 2);
    assert!(!status.wants_clock(now, clock));
    assert!(status.ask_again_in(clock, usual) <= usual / 2);
    status.post_slice(Duration::ZERO);
    assert!(status.wants_clock(now, clock));
    status.post_left(false);
    assert!(status.wants_clock(now, clock));
    assert_eq!(status.ask_again_in(clock, usual), usual);
}
