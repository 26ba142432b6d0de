//! Unit tests of `src/http/tries.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use super::*;

#[test]
fn an_address_is_its_network() {
    let [one, other, far] = ["2001:db8:0:1::1", "2001:db8:0:1:ffff::2", "2001:db8:0:2::1"]
        .map(|text| network(text.parse().unwrap()));
    assert_eq!(one, other);
    assert_ne!(one, far);
    let [v4, mapped] = ["192.0.2.1", "::ffff:192.0.2.1"].map(|text| text.parse().unwrap());
    assert_eq!(network(v4), network(mapped));
}

#[test]
fn what_is_counted_is_bounded() {
    let tries = Tries::default();
    for number in 0..COUNTED_MAX + 2 {
        tries.count(number);
    }
    assert_eq!(tries.counted.lock().len(), COUNTED_MAX);
}

#[test]
fn none_is_counted_where_one_has_had_too_many() {
    let tries = Tries::default();
    assert_eq!(tries.admit(&["ann", "home"], |_| 2), Ok(()));
    assert_eq!(tries.admit(&["ann"], |_| 2), Ok(()));
    let (whose, seconds) = tries.admit(&["home", "ann"], |_| 2).unwrap_err();
    assert_eq!(whose, "ann");
    assert!(seconds.get() <= 15 * 60);
    assert_eq!(tries.count("home"), 2, "the refused try did not count");
    tries.forgive("ann");
    assert_eq!(tries.admit(&["ann"], |_| 2), Ok(()));
}

#[test]
fn a_full_table_forgets_whoever_was_wrong_least_and_keeps_none_for_nothing() {
    let tries = Tries::default();
    for _ in 0..5 {
        tries.count(usize::MAX);
    }
    for number in 0..3 * COUNTED_MAX {
        tries.count(number);
    }
    assert_eq!(tries.count(usize::MAX), 6, "it was forgotten for others");
    for _ in 0..6 {
        tries.forgive(usize::MAX);
    }
    assert_eq!(tries.counted.lock().len(), COUNTED_MAX - 1);
}
