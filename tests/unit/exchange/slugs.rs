//! Unit tests of `src/exchange/slugs.rs`.

use super::*;
use crate::ids::MarketNo;

#[test]
fn a_slug_is_words_with_single_hyphens_and_no_id() {
    let longest = "a".repeat(SLUG_BYTES_MAX);
    for good in ["a", "7", "will-it-rain", "2026-11-26", &longest] {
        assert_eq!(Slug::new(good).unwrap().as_str(), good);
    }
    let longer = "a".repeat(SLUG_BYTES_MAX + 1);
    let ids = ["018bcfe5-6800-7000-8000-000000140000", "018bcfe56800700080000000001400ff"];
    let bad = ["", "-", "a-", "-a", "a--b", "A", "a b", "a_b", "é", &longer];
    for bad in bad.into_iter().chain(ids) {
        assert_eq!(Slug::new(bad), None, "{bad:?}");
    }
}

#[test]
fn a_slug_stays_its_owners() {
    let [one, other] = ["one", "other"].map(|text| Slug::new(text).unwrap());
    let mut slugs = Slugs::default();
    slugs.give(Some(&one), MarketNo(1));
    slugs.give(Some(&other), MarketNo(1));
    slugs.give(None, MarketNo(2));
    assert_eq!(slugs.admit(Some(&one), Some(MarketNo(1))), Ok(()));
    assert_eq!(slugs.admit(Some(&one), Some(MarketNo(2))), Err(Reject::SlugTaken));
    assert_eq!(slugs.admit(Some(&one), None), Err(Reject::SlugTaken));
    assert_eq!(slugs.admit(None, None), Ok(()));
    assert_eq!(slugs.owners().collect::<Vec<_>>(), [MarketNo(1); 2]);
}
