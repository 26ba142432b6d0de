//! Unit tests of `src/cli/admin/session.rs`.

use super::*;

/// Of these replies, those that leave open what came of the request.
#[test]
fn what_a_reply_leaves_open_depends_on_the_attempt_before() {
    let [alone, again] = [false, true]
        .map(|before| move |(status, code): &(u16, &str)| leaves_open(*status, code, before));
    for reply in [(500, "INTERNAL_ERROR"), (503, "OUTCOME_UNKNOWN"), (502, ""), (503, "")] {
        assert!(alone(&reply) && again(&reply), "{reply:?}");
    }
    let early = [(401, "INVALID_API_KEY"), (403, "FORBIDDEN"), (408, "REQUEST_TIMEOUT")];
    let busy = [(429, "RATE_LIMITED"), (503, "STARTING"), (503, "JOURNAL_UNAVAILABLE")];
    for reply in early.into_iter().chain(busy).chain([(404, ""), (302, "")]) {
        assert!(!alone(&reply) && again(&reply), "{reply:?}");
    }
    let told = [(200, ""), (201, ""), (400, "INVALID_REQUEST"), (409, "INVALID_TRANSITION")];
    for reply in told.into_iter().chain([(422, "INSUFFICIENT_FUNDS")]) {
        assert!(!alone(&reply) && !again(&reply), "{reply:?}");
    }
}
