//! Unit tests of `src/cli/operator_key.rs`.

use super::*;

#[test]
fn a_key_that_can_be_guessed_is_refused() {
    let short = "0123456789".repeat(4);
    for (key, why) in [
        ("short", "must be 32 to 128"),
        ("with spaces in between, but long enough", "must be 32 to 128"),
        ("demo-olga-operator-of-a-local-venue-5", "which anybody knows"),
        ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "too little variety"),
        ("abababababababababababababababababab", "too little variety"),
        ("00000000000000000000000000000000000001", "too little variety"),
        ("1111111122222222333333334444444455555555", "too little variety"),
        ("abcdefghijklmnopqrstuvwxyz0123456789", "too little variety"),
        ("zyxwvutsrqponmlkjihgfedcba9876543210", "too little variety"),
        ("passwordpasswordpasswordpassword", "too little variety"),
        ("correct-horse-correct-horse-correct", "too little variety"),
        ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaapassword", "too little variety"),
        (&short, "too little variety"),
    ] {
        assert!(fault(key).is_some_and(|fault| fault.contains(why)), "{key}: {:?}", fault(key));
    }
}

#[test]
fn a_key_that_was_drawn_is_accepted() {
    for key in [
        "58b59b1d0a5d1e2a1e0dd3c7a4f2f9b6",
        "92847365018273640918273645546372",
        "3f786850e387550fdab836ed7e6dc881de23001b6f1b3e1f3f786850e387550f",
        "test-operator-key-of-enough-characters",
    ] {
        assert_eq!(fault(key), None, "{key}");
    }
}
