//! Unit tests of `src/http/keys.rs`.

use super::*;

#[test]
fn hashes_are_the_same_in_all_their_bytes() {
    let one = hash(b"one");
    assert!(same(&one, &hash(b"one")));
    for place in 0..one.0.len() {
        let mut other = one;
        other.0[place] ^= 0x10;
        assert!(!same(&one, &other), "{place}");
    }
}

#[test]
fn keys_differ_are_recognisable_and_are_found_by_their_text() {
    let (a, b) = (ApiKey::draw().unwrap(), ApiKey::draw().unwrap());
    assert_ne!(a.reveal(), b.reveal());
    assert!(a.reveal().starts_with(KEY_PREFIX) && a.reveal().len() <= KEY_TEXT_BYTES_MAX);
    assert_eq!(a.hash(), hash(a.reveal().as_bytes()));
    assert!(!format!("{a:?}").contains(&a.reveal()[4..]));
}
