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
fn birds_have_names_and_keys_of_their_own_which_are_public_too() {
    let people = Person::all().map(|person| (person.name, person.key.to_owned()));
    let all = people.chain(Bird::all().map(|bird| (bird.name, bird.key())));
    let all: Vec<(&str, String)> = all.collect();
    assert_eq!(all.iter().map(|(name, _)| name).collect::<BTreeSet<_>>().len(), all.len());
    assert_eq!(all.iter().map(|(_, key)| key).collect::<BTreeSet<_>>().len(), all.len());
    assert!(all.iter().all(|(_, key)| key.len() >= 32 && is_public(key)));
}

#[test]
fn a_key_hash_is_the_sha_256_of_the_key() {
    let hex = data_encoding::HEXLOWER.encode(&TRADERS[0].key_hash().0);
    assert_eq!(hex, "55afe29318e33be4289799e749241578aebb8d0e8521a50377f028d39f5483f8");
}
