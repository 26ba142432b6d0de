//! Unit tests of `src/journal/fields.rs`.

use super::*;

#[test]
fn kinds_are_numbered_once() {
    for (index, (number, version, _)) in KINDS.iter().enumerate() {
        assert_eq!(usize::from(*number), index + 1);
        assert_eq!(*version, 1);
    }
    for kind in 0..=u16::MAX {
        assert_eq!(known(kind), KINDS.iter().any(|(number, _, _)| *number == kind));
    }
}

#[test]
fn every_word_has_one_number_and_no_other_number_is_a_word() {
    for byte in 0..=u8::MAX {
        assert_eq!(outcome(byte, "x").map_or(0, outcome_number), pick(byte, 2));
        assert_eq!(side(byte).map_or(0, side_number), pick(byte, 2));
        assert_eq!(mode(byte).map_or(0, mode_number), pick(byte, 3));
        assert_eq!(role(byte).map_or(0, role_number), pick(byte, 3));
        assert_eq!(self_trade(byte).map_or(0, self_trade_number), pick(byte, 3));
        assert_eq!(condition(byte).map_or(0, condition_number), pick(byte, 4));
        let force = time_in_force(byte, None).map_or(0, |t| time_in_force_number(t).0);
        assert_eq!(force, pick(byte, 3));
        assert_eq!(time_in_force(byte, Some(1)).is_ok(), byte == 1);
    }
}

fn pick(byte: u8, highest: u8) -> u8 {
    if (1..=highest).contains(&byte) { byte } else { 0 }
}
