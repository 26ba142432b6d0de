//! Unit tests of `src/cli/demo/people.rs`.

use super::*;
use std::collections::BTreeSet;

#[test]
fn keys_are_different_and_long_and_need_no_quoting() {
    let keys: BTreeSet<&str> = Person::all().map(|person| person.key).collect();
    assert_eq!(keys.len(), Person::all().count());
    for person in Person::all() {
        assert!(person.key.len() >= 32, "{}", person.key);
        assert!(person.key.starts_with("demo-"), "{}", person.key);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        assert!(person.key.chars().all(plain), "{}", person.key);
    }
}

#[test]
fn a_key_hash_is_the_sha_256_of_the_key() {
    let hex = data_encoding::HEXLOWER.encode(&TRADERS[0].key_hash().0);
    assert_eq!(hex, "55afe29318e33be4289799e749241578aebb8d0e8521a50377f028d39f5483f8");
}
