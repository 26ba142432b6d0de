//! Unit tests of `src/http/pictures.rs`.

use super::*;

#[test]
fn a_picture_follows_from_its_address_and_loads_nothing() {
    assert_eq!(SHAPES.lines().filter_map(read).count(), SHAPES.lines().count());
    for family in SHAPES.lines().filter_map(|line| line.split(' ').next()).chain(["rain"]) {
        let one = drawn(family, "a").unwrap();
        assert_eq!(one, drawn(family, "a").unwrap());
        assert_ne!(one, drawn(family, "b").unwrap(), "{family}");
        assert!(one.starts_with("<svg ") && one.ends_with("</svg>"));
        assert!(!one.contains("href") && !one.contains("script") && !one.contains("style"));
    }
    assert_ne!(drawn("space", "a").unwrap(), drawn("rain", "a").unwrap());
}

#[test]
fn what_an_address_says_is_not_in_the_picture() {
    assert!(!drawn("<i>", "<i>").unwrap().contains("<i>"));
}
