//! Unit tests of `src/cli/demo/people.rs`.

use super::*;
use std::collections::BTreeSet;

#[test]
fn names_and_keys_are_all_different() {
    let people: Vec<Person> = Person::all().collect();
    let books = (0..700).map(bookkeeper_name);
    let names: BTreeSet<String> =
        people.iter().map(|person| person.name.to_owned()).chain(books).collect();
    assert_eq!(names.len(), people.len() + 700);
    let keys: BTreeSet<&str> = people.iter().map(|person| person.key).collect();
    assert_eq!(keys.len(), people.len());
}

#[test]
fn keys_are_long_and_need_no_quoting() {
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
