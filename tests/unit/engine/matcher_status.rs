//! Unit tests of `src/engine/matcher_status.rs`.

use super::*;
use exchange::results::ResultsHash;

/// A status on which records up to this one were posted as applied.
fn applied(status: &MatcherStatus, through: u64, due_ms: Option<i64>, rest: Option<Rest>) {
    let results = Results { through: Sequence::new(through), hash: ResultsHash([0; 32]) };
    status.post_applied(results, due_ms.and_then(TimeMs::new), 0, rest);
}

#[test]
fn what_is_due_is_known_as_of_what_was_applied() {
    let (status, now) = (MatcherStatus::default(), TimeMs::new(5).unwrap());
    let wants = |last: u64| status.wants_clock(now, Sequence::new(last), || Duration::ZERO);
    assert!(!wants(0));
    applied(&status, 3, Some(5), None);
    assert!(wants(3));
    // The clock command is not applied yet: it may do what is still due.
    assert!(!wants(4));
    applied(&status, 4, Some(6), None);
    assert!(!wants(4));
    applied(&status, 5, None, None);
    assert!(!wants(4));
}

#[test]
fn what_a_clock_command_left_rests_as_long_as_it_took_and_goes_on_by_itself() {
    let (status, now, clock) =
        (MatcherStatus::default(), TimeMs::new(5).unwrap(), Sequence::new(3));
    let (at, usual) = (Duration::from_hours(9), Duration::from_hours(1));
    let wants = || status.wants_clock(now, clock, || at);
    let asks_again = || status.ask_again_in(clock, at, usual);
    assert_eq!(asks_again(), ASK_AGAIN);
    applied(&status, 3, Some(5), Some(Rest::NotBegun));
    // The matcher is not done with it, and another block changes nothing about that.
    assert!(!wants() && asks_again() == ASK_AGAIN);
    applied(&status, 4, Some(5), None);
    assert!(!wants() && asks_again() == ASK_AGAIN);
    status.post_rest(at + usual / 2);
    assert!(!wants() && asks_again() == usual / 2);
    status.post_rest(at);
    assert!(wants() && asks_again() == usual);
    applied(&status, 5, Some(5), Some(Rest::Over));
    assert!(wants() && asks_again() == usual);
}
