//! Unit tests of `src/journal/pages/places.rs`.

use super::*;

#[test]
fn a_group_is_read_as_it_was_written_and_nothing_else_is() {
    let mut group = Group::default();
    for slot in [0, 3, 15] {
        let location = Location::new(&[7; NAME_BYTES], &vec![1; slot * 100]).unwrap();
        group.set(slot, Location { offset: u64::MAX - slot as u64, ..location });
    }
    let mut bytes = group.encode();
    assert_eq!(Group::decode(&bytes), Ok(group));
    assert_eq!((group.get(1), group.get(16)), (None, None));
    assert!(Group::decode(&bytes[1..]).is_err());
    bytes[0] = 16;
    assert!(Group::decode(&bytes).is_err());
}

#[test]
fn near_names_are_kept_together_and_others_are_not() {
    let name = |owner: u8, number: u64| {
        let mut name = [owner; NAME_BYTES];
        name[OWNER_BYTES..].copy_from_slice(&number.to_be_bytes());
        name
    };
    assert_eq!(group_and_slot(&name(1, 33)), (name(1, 2), 1));
    assert_eq!(group_and_slot(&name(1, 47)), (name(1, 2), 15));
    assert_ne!(group_and_slot(&name(1, 48)).0, group_and_slot(&name(1, 47)).0);
    assert_ne!(group_and_slot(&name(2, 33)).0, group_and_slot(&name(1, 33)).0);
}
