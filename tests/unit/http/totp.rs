//! Tests of the codes against those of the RFC.

use super::*;

const SECRET: Secret = *b"12345678901234567890";

fn at(seconds: i64) -> TimeMs {
    TimeMs::new(seconds * 1000).unwrap()
}

/// Appendix B of RFC 6238, the last six of the eight digits.
#[test]
fn codes_are_those_of_the_rfc() {
    for (seconds, code) in [
        (59, 287_082),
        (1_111_111_109, 81_804),
        (1_111_111_111, 50_471),
        (1_234_567_890, 5_924),
        (2_000_000_000, 279_037),
        (20_000_000_000, 353_130),
    ] {
        assert_eq!(code_of(&SECRET, at(seconds)), Some(code), "{seconds}");
    }
}

#[test]
fn a_code_is_good_half_a_minute_early_and_late_and_only_after_the_one_used_last() {
    let (code, begins, never) = (287_082, at(30), at(0));
    for (now, good) in [(0, true), (30, true), (59, true), (89, true), (90, false)] {
        let began = began(&SECRET, code, at(now), never);
        assert_eq!(began, good.then_some(begins), "{now}");
    }
    assert_eq!(began(&SECRET, code, at(59), begins), None, "it was used");
    assert_eq!(began(&SECRET, code + 1, at(59), never), None);
}
