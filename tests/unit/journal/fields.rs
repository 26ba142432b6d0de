//! Unit tests of `src/journal/record.rs`.

use super::*;

#[test]
fn kinds_are_numbered_once() {
    for (index, (number, _)) in Command::KINDS.iter().enumerate() {
        assert_eq!(usize::from(*number), index + 1);
    }
    for kind in 0..=u16::MAX {
        assert_eq!(known(kind), Command::KINDS.iter().any(|(number, _)| *number == kind));
    }
}
