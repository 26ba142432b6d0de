//! Unit tests of `src/http/slugs.rs`.

use super::*;

fn of(text: &str) -> String {
    suggested(text, "market", |_| true).unwrap().to_string()
}

#[test]
fn words_suggest_a_slug() {
    assert_eq!(
        of("Will it rain in S\u{e3}o Paulo by Nov 30, 2026?"),
        "will-it-rain-in-sao-paulo-by-nov-30-2026"
    );
    assert_eq!(of("Will the Fed\u{2019}s rate be >= 4.5%?"), "will-the-feds-rate-be-4-5");
    assert_eq!(of("\u{660e}\u{5929}\u{4f1a}\u{4e0b}\u{96e8}\u{5417}?"), "market");
    // Cut between words, or in the only one.
    let long = of(&"seven or ".repeat(20));
    assert!(
        long.len() < SUGGESTED_BYTES_MAX && long.ends_with("-or") | long.ends_with("-seven"),
        "{long}"
    );
    assert_eq!(of(&"x".repeat(200)).len(), SUGGESTED_BYTES_MAX);
}

#[test]
fn what_is_taken_or_reserved_gets_a_number() {
    let taken = ["rain", "rain-2"];
    let free = |slug: &Slug| !taken.contains(&slug.as_str());
    assert_eq!(suggested("Rain?", "market", free).unwrap().as_str(), "rain-3");
    assert_eq!(of("Search"), "search-2");
    assert_eq!(
        of("018bcfe5 6800 7000 8000 000000140000"),
        "018bcfe5-6800-7000-8000-000000140000-2"
    );
}

#[test]
fn a_slug_of_a_body_is_no_word_of_a_path() {
    for bad in ["search", "public", "Rain", "rain_", "018bcfe5-6800-7000-8000-000000140000"] {
        assert!(Slug::read(bad).is_err(), "{bad}");
    }
    assert_eq!(Slug::read("rain").unwrap().as_str(), "rain");
}
