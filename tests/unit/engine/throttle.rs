//! Unit tests of `src/engine/throttle.rs`.

use super::*;
use crate::background::ending;

#[test]
fn work_goes_on_until_the_other_end_is_dropped() {
    let (end, ending) = ending();
    let mut pace = Throttle::background(ending);
    assert_eq!(pace.ended(), Ok(()));
    assert_eq!(pace.wait(Duration::ZERO), Ok(()));
    let mut copied = Vec::new();
    let bytes = vec![7; 2 * CHECK_EVERY_BYTES];
    Paced { stream: &bytes[..], pace: &mut pace }.read_to_end(&mut copied).unwrap();
    assert_eq!(copied, bytes);

    drop(end);
    assert_eq!(pace.ended(), Err(Ended));
    assert_eq!(pace.wait(Duration::from_hours(1)), Err(Ended));
    pace.since = Instant::now().checked_sub(WORK_SLICE).unwrap();
    let mut out = Paced { stream: io::sink(), pace: &mut pace };
    assert!(out.write_all(&bytes).is_err());
}

#[test]
fn who_is_in_a_hurry_does_not_rest_and_still_ends() {
    let (end, ending) = ending();
    let mut pace = Throttle::background(ending);
    let began = Instant::now().checked_sub(WORK_SLICE).unwrap();
    // A rest resets the start of the work.
    let mut rests = |unthrottled: bool| {
        pace.set_unthrottled(unthrottled);
        pace.since = began;
        let paused = pace.pause_if_due();
        (paused, pace.since != began)
    };
    assert_eq!(rests(true), (Ok(()), false));
    assert_eq!(rests(false), (Ok(()), true));
    drop(end);
    assert_eq!(rests(true), (Err(Ended), false));
}

#[test]
fn work_at_full_pace_never_ends() {
    let mut pace = Throttle::full();
    pace.since = Instant::now().checked_sub(WORK_SLICE).unwrap();
    assert_eq!((pace.ended(), pace.pause_if_due()), (Ok(()), Ok(())));
}
