//! Unit tests of `src/cli/demo/texts.rs`.

use super::*;
use std::collections::BTreeSet;

// The API's bounds on these texts.
const TITLE_BYTES_MAX: usize = 1000;
const OUTCOME_BYTES_MAX: usize = 200;
const DESCRIPTION_BYTES_MAX: usize = 5000;
const URL_BYTES_MAX: usize = 2048;
// 2026-12-31T23:59:59.999Z and 2030-12-31T23:59:59.999Z.
const YEAR_2026_END: i64 = 1_798_761_599_999;
const YEAR_2030_END: i64 = 1_924_991_999_999;

fn drafts() -> (Catalogue, Vec<EventDraft>, Vec<MarketDraft>) {
    let catalogue = Catalogue::embedded().unwrap();
    let numbers: Vec<CategoryNo> =
        (0..catalogue.categories.len()).map(|n| CategoryNo::next(n).unwrap()).collect();
    let event = |event| catalogue.event_draft(event, &numbers).unwrap();
    let events = catalogue.events.iter().map(event).collect();
    let market = |(n, market): (usize, &Market)| {
        catalogue.market_draft(market, EventNo::next(n).unwrap(), &numbers).unwrap()
    };
    let markets = catalogue.markets().map(market).collect();
    (catalogue, events, markets)
}

fn assert_written(text: &Localized, bytes_max: usize) {
    for words in [&text.pt, &text.en, &text.es] {
        assert_eq!(words.trim(), words, "spaces around {text:?}");
        assert!(!words.is_empty() && words.len() <= bytes_max, "length of {text:?}");
        assert!(!words.contains("  "), "double space in {text:?}");
    }
}

fn assert_all_different<'a>(names: impl Iterator<Item = &'a str>) {
    let mut seen = BTreeSet::new();
    for name in names {
        assert!(seen.insert(name), "twice: {name}");
    }
}

#[test]
fn every_text_is_there_in_three_languages_and_short_enough() {
    let (_, events, markets) = drafts();
    for event in &events {
        assert_written(&event.titles, TITLE_BYTES_MAX);
        assert_written(&event.sub_titles, TITLE_BYTES_MAX);
        assert_written(&event.descriptions, DESCRIPTION_BYTES_MAX);
        assert!(event.images.iter().all(|url| url.len() <= URL_BYTES_MAX));
    }
    for market in &markets {
        assert_written(&market.questions, TITLE_BYTES_MAX);
        assert_written(&market.descriptions, DESCRIPTION_BYTES_MAX);
        assert_written(&market.yes_text, OUTCOME_BYTES_MAX);
        assert_written(&market.no_text, OUTCOME_BYTES_MAX);
        assert!(market.logo.len() <= URL_BYTES_MAX);
        assert_ne!(market.yes_text, market.no_text);
    }
}

#[test]
fn questions_look_like_questions_of_their_language() {
    for Localized { pt, en, es } in drafts().2.into_iter().map(|market| market.questions) {
        assert!(pt.ends_with('?') && !pt.starts_with('¿'), "{pt}");
        assert!(en.ends_with('?') && en != pt, "{en}");
        assert!(es.starts_with('¿') && es.ends_with('?'), "{es}");
    }
}

#[test]
fn there_is_enough_of_everything() {
    let (catalogue, events, markets) = drafts();
    assert!(catalogue.categories.len() >= 7);
    assert!(events.len() >= 9);
    assert!(markets.len() >= 28);
    assert!(catalogue.markets().filter(|(_, market)| market.draft).count() >= 3);
    assert!(catalogue.markets().filter(|(_, market)| market.book.is_some()).count() >= 8);
    assert!(events.iter().any(|event| event.highlighted));
    assert!(events.iter().any(|event| !event.highlighted));
    assert!(markets.iter().any(|market| market.highlighted));
    let windows: BTreeSet<u32> =
        markets.iter().map(|market| market.dispute_window_seconds).collect();
    assert!(windows.len() >= 4 && windows.contains(&0));
}

#[test]
fn names_are_unique_and_every_category_is_used() {
    let (catalogue, events, markets) = drafts();
    assert_all_different(catalogue.categories.iter().map(|category| category.slug.as_str()));
    assert_all_different(catalogue.events.iter().map(|event| event.slug.as_str()));
    assert_all_different(catalogue.markets().map(|(_, market)| market.slug.as_str()));
    assert_all_different(markets.iter().map(|market| market.questions.en.as_str()));
    assert_all_different(catalogue.markets().filter_map(|(_, market)| market.book.as_deref()));
    let used: BTreeSet<CategoryNo> = markets
        .iter()
        .flat_map(|market| &market.categories)
        .chain(events.iter().flat_map(|event| &event.categories))
        .copied()
        .collect();
    assert_eq!(used.len(), catalogue.categories.len());
}

#[test]
fn drafts_have_no_book_and_no_event_is_wholly_hidden() {
    let catalogue = Catalogue::embedded().unwrap();
    for (_, market) in catalogue.markets() {
        let kinds = [market.draft, market.book.is_some(), market.quotes.is_some()];
        assert!(kinds.into_iter().filter(|is| *is).count() <= 1, "{}", market.slug);
    }
    for event in &catalogue.events {
        assert!(event.markets.iter().any(|market| !market.draft), "{}", event.slug);
    }
}

#[test]
fn trading_ends_between_2027_and_2030_with_a_day() {
    for market in drafts().2 {
        let ms = market.deadline.get();
        assert!(ms > YEAR_2026_END && ms <= YEAR_2030_END, "{}", market.questions.en);
        assert_eq!(ms % 86_400_000, 86_399_000);
    }
}

#[test]
fn an_unlisted_category_is_an_error() {
    let (catalogue, ..) = drafts();
    let event = catalogue.events.first().unwrap();
    assert!(matches!(
        catalogue.event_draft(event, &[]),
        Err(CatalogueError::UnknownCategory(slug)) if slug == "football"
    ));
}
