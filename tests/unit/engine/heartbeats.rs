//! Unit tests of `src/engine/heartbeats.rs`.

use super::*;
use exchange::ids::UserNo;

const ANN: Guarded = (UserNo(1), None);
const BOB: Guarded = (UserNo(2), None);

fn beats(ann: u32) -> Heartbeats {
    let beats = Heartbeats::default();
    beats.stamped(ANN, ann, moment(0));
    beats
}

fn renew(beats: &Heartbeats, seconds: u32, shown: i64, now: i64) -> Option<i64> {
    beats.renew(ANN, seconds, moment(shown), || moment(now)).map(TimeMs::get)
}

/// The stamp and the time-outs of what is due.
fn due(beats: &Heartbeats, now: i64) -> Option<(i64, Vec<u32>)> {
    let seconds = |command| match command {
        Command::Heartbeat { timeout_seconds, .. } => timeout_seconds,
        other => panic!("{other:?}"),
    };
    let (at, renewals) = beats.due(moment(now))?;
    Some((at.get(), renewals.into_iter().map(seconds).collect()))
}

#[test]
fn a_renewal_waits_only_while_more_than_half_of_the_same_time_out_is_left() {
    let beats = beats(10);
    assert_eq!(renew(&beats, 10, 10_000, 4_000), Some(14_000));
    assert_eq!(renew(&beats, 10, 10_000, 4_999), Some(14_999));
    assert_eq!(renew(&beats, 10, 10_000, 5_000), None);
    assert_eq!(renew(&beats, 11, 10_000, 1_000), None, "another time-out");
    assert_eq!(renew(&beats, 10, 9_000, 1_000), None, "what was journaled is not shown yet");
    assert_eq!(beats.renew(BOB, 10, moment(10_000), || moment(1)), None, "never journaled");
    assert_eq!(beats.promised(ANN), Some(moment(14_999)));
    // Switched off, nothing is promised.
    beats.stamped(ANN, 0, moment(5_000));
    assert_eq!((beats.promised(ANN), renew(&beats, 10, 10_000, 5_000)), (None, None));
}

#[test]
fn a_promise_is_journaled_before_the_journaled_time_runs_out_and_for_its_whole_time() {
    let beats = beats(10);
    assert_eq!(renew(&beats, 10, 10_000, 4_000), Some(14_000));
    assert!(!beats.wake(moment(8_999)) && beats.wake(moment(9_000)));
    assert_eq!(due(&beats, 9_100), Some((9_100, vec![5])));
    // It is journaled until 14,100 now, and the promise stays what it was.
    assert_eq!((due(&beats, 14_000), beats.promised(ANN)), (None, Some(moment(14_000))));
    assert_eq!(renew(&beats, 10, 14_100, 9_099), Some(19_099));
    assert_eq!(due(&beats, 13_100), Some((13_100, vec![6])));
    // Run out: forgotten.
    assert_eq!((due(&beats, 19_100), beats.promised(ANN)), (None, None));
}

#[test]
fn a_promise_outlives_a_standstill() {
    let beats = beats(10);
    assert_eq!(renew(&beats, 10, 10_000, 4_500), Some(14_500));
    // Stopped from 5 s to 12 s: the record must not come after the time has run out.
    assert_eq!(due(&beats, 12_000), Some((9_999, vec![5])));
    assert_eq!((due(&beats, 12_000), beats.promised(ANN)), (None, Some(moment(14_500))));
    assert_eq!((due(&beats, 15_000), beats.promised(ANN)), (None, None));
}

#[test]
fn a_stop_journals_every_promise_and_takes_no_more() {
    let beats = beats(10);
    beats.stamped(BOB, 10, moment(0));
    assert_eq!(renew(&beats, 10, 10_000, 2_000), Some(12_000));
    let (at, renewals) = beats.close(moment(3_000)).unwrap();
    let kept = Command::Heartbeat { user: ANN.0, timeout_seconds: 9, group: None };
    assert_eq!((at, renewals), (moment(3_000), vec![kept]));
    assert_eq!((beats.close(moment(3_000)), renew(&beats, 10, 12_000, 3_000)), (None, None));
}
