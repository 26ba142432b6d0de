//! Unit tests of `src/journal/record.rs`.

use super::*;

#[test]
fn kinds_are_numbered_once() {
    assert!(Command::KINDS.iter().map(|(number, _)| number).is_sorted_by(|one, next| one < next));
    for kind in 0..=u16::MAX {
        assert_eq!(known(kind), Command::KINDS.iter().any(|(number, _)| *number == kind));
    }
}
