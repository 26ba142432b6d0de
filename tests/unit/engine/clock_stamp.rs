//! Unit tests of `src/engine/clock_stamp.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use super::*;

#[test]
fn a_stamp_is_known_on_its_own_boot_and_nothing_else_is() {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join(STAMP_FILE);
    let opened = || ClockStamp::open(data.path()).unwrap().unwrap();
    let (mut stamp, known) = opened();
    assert_eq!(known, None);
    let clock = Clock::after(TimeMs::default());
    let before = clock.since_boot();
    stamp.keep(&clock);
    let text = std::fs::read_to_string(&path).unwrap();
    let SinceBoot { time, at } = opened().1.unwrap();
    assert!(before.time <= time && before.at <= at + Duration::from_millis(1));

    // It is written again only once it is wrong.
    stamp.keep(&clock);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    let written = stamp.written.unwrap();
    stamp.written = Some(written + 2 * WRONG_FROM_MS);
    stamp.keep(&clock);
    assert!(stamp.written.unwrap().abs_diff(written) < WRONG_FROM_MS.unsigned_abs());
    let text = std::fs::read_to_string(&path).unwrap();
    let SinceBoot { time, .. } = opened().1.unwrap();

    let other_boot = text.replacen(|c: char| c.is_ascii_hexdigit(), "x", 1);
    let cut = &text[..text.len() - 2];
    let more = format!("{text} 7\n");
    let never = text.replace(&time.get().to_string(), "-5");
    for wrong in ["", "\n", "one 2 3\n", &other_boot, cut, &more, &never, "\u{0}\u{0}"] {
        std::fs::write(&path, wrong).unwrap();
        assert_eq!(opened().1, None, "{wrong:?}");
    }
    std::fs::write(&path, [0xff; 300]).unwrap();
    assert_eq!(opened().1, None);
}
