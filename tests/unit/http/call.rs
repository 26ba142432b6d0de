//! Unit tests of `src/http/call.rs`.

use super::*;

#[test]
fn a_refused_command_is_not_looked_at() {
    let view = ReadModel::new();
    let looked = |effects: &[Effect]| {
        let applied = Applied { sequence: Sequence::new(1), time: view.time(), effects };
        seen(&view, &applied, UserNo(0), |_, _| Some(()), never).is_some()
    };
    assert!(looked(&[]));
    assert!(!looked(&[Effect::Refused(Reject::OrderNotOpen)]));
    // No response was stored for the first one.
    assert!(!looked(&[Effect::Repeated { first: Sequence::ZERO }]));
}
