//! Unit tests of `src/views/catalogue.rs`.

use super::*;
use crate::fixture::*;
use proptest::prelude::*;

use MarketStatus::{Active, Closed, Draft};
use exchange::catalogue::{CategoryDraft, EventRevision};
use exchange::units::Sequence;

fn event(event: u32) -> Effect {
    let draft = EventDraft { images: vec!["first".to_owned()], ..EventDraft::default() };
    Effect::EventCreated { event: EventNo(event), draft: Box::new(draft) }
}

/// Two events; markets 0 and 1 in the first, 2 in the second, 3 in none.
fn drafts() -> Catalogue {
    let mut catalogue = Catalogue::default();
    let group = |event| Some(EventNo(event));
    let effects = [
        event(0),
        event(1),
        market(MarketNo(0), group(0)),
        market(MarketNo(1), group(0)),
        market(MarketNo(2), group(1)),
        market(MarketNo(3), None),
    ];
    for (sequence, effect) in (1..).zip(effects) {
        assert_eq!(fold(&mut catalogue, sequence, &[effect]), 0);
    }
    catalogue
}

fn published(catalogue: &Catalogue) -> (Vec<u32>, Vec<u32>) {
    let markets = catalogue.markets_published().map(|row| row.no.0).collect();
    let events = catalogue.events_published().map(|row| row.no.0).collect();
    (markets, events)
}

#[test]
fn drafts_are_listed_nowhere_but_among_the_created() {
    let catalogue = drafts();
    assert_eq!(published(&catalogue), (vec![], vec![]));
    let created: Vec<u32> = catalogue.markets_created().map(|row| row.no.0).collect();
    assert_eq!(created, [3, 2, 1, 0]);
    assert_eq!(catalogue.event(EventNo(0)).unwrap().markets, [MarketNo(0), MarketNo(1)]);
}

#[test]
fn an_event_is_public_from_the_first_of_its_markets_on() {
    let mut catalogue = drafts();
    for (sequence, no) in [(10, 2), (11, 1), (12, 3), (13, 0)] {
        assert_eq!(fold(&mut catalogue, sequence, &[moved(MarketNo(no), Draft, Active)]), 0);
    }
    // Newest publication first; the event's was its first market's.
    assert_eq!(published(&catalogue), (vec![0, 3, 1, 2], vec![0, 1]));
    assert_eq!(catalogue.event(EventNo(0)).unwrap().published_at, Some(at(11)));
    // A market that is closed and reopened keeps its position.
    let again = [moved(MarketNo(2), Active, Closed), moved(MarketNo(2), Closed, Active)];
    assert_eq!(fold(&mut catalogue, 14, &again), 0);
    assert_eq!(published(&catalogue), (vec![0, 3, 1, 2], vec![0, 1]));
}

#[test]
fn a_draft_that_is_voided_becomes_public_with_it() {
    let mut catalogue = drafts();
    assert_eq!(fold(&mut catalogue, 10, &[voided(MarketNo(2), 50)]), 0);
    assert_eq!(published(&catalogue), (vec![2], vec![1]));
    let row = catalogue.market(MarketNo(2)).unwrap();
    assert_eq!(row.settled_at, Some(SettlementPrice::HALF));
}

#[test]
fn a_revision_changes_what_it_names_and_nothing_else() {
    let mut catalogue = drafts();
    let revision = MarketRevision {
        deadline: Some(at(77)),
        highlighted: Some(true),
        ..MarketRevision::default()
    };
    let market = MarketNo(1);
    let revised = Effect::MarketRevised { market, revision: Box::new(revision) };
    let shared = Arc::clone(&catalogue.market(market).unwrap().draft);
    let before = MarketDraft::clone(&shared);
    assert_eq!(fold(&mut catalogue, 20, &[revised]), 0);
    let row = catalogue.market(market).unwrap();
    let expected = MarketDraft { deadline: at(77), highlighted: true, ..before.clone() };
    assert_eq!(*row.draft, expected);
    // A reader that holds the draft still sees it unchanged.
    assert_eq!(*shared, before);
    assert_eq!((row.created_at, row.updated_at), (at(4), at(20)));

    let revision = EventRevision { images: Some(Vec::new()), ..EventRevision::default() };
    let event = EventNo(0);
    let revised = Effect::EventRevised { event, revision: Box::new(revision) };
    assert_eq!(fold(&mut catalogue, 21, &[revised]), 0);
    let row = catalogue.event(event).unwrap();
    assert!(row.draft.images.is_empty());
    assert_eq!(row.updated_at, at(21));
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// For any order of publications and revisions.
    #[test]
    fn what_is_counted_and_listed_is_what_there_is(
        steps in prop::collection::vec(
            (
                0..4_u32,
                0..3_u8,
                any::<Option<bool>>(),
                prop::option::of(prop::collection::btree_set(0..4_u32, 0..3)),
            ),
            0..30,
        ),
    ) {
        let mut catalogue = drafts();
        for (no, kind, highlighted, categories) in steps {
            let market = MarketNo(no);
            let status = catalogue.market(market).unwrap().status;
            let effect = match kind {
                0 if status == Draft => moved(market, Draft, Active),
                1 if status == Draft => voided(market, 50),
                _ => {
                    let categories = categories
                        .map(|numbers| numbers.into_iter().map(CategoryNo).collect());
                    let other = MarketRevision::default();
                    let revision = MarketRevision { categories, highlighted, ..other };
                    Effect::MarketRevised { market, revision: Box::new(revision) }
                }
            };
            prop_assert_eq!(fold(&mut catalogue, 20, &[effect]), 0);
        }
        let mut published: Vec<&MarketRow> = catalogue.markets_published().collect();
        prop_assert!(published.iter().all(|row| row.published_at.is_some()));
        let odd = [1, 3].into_iter().collect();
        let categories = [None, Some(vec![]), Some(vec![1]), Some(vec![3, 9, 0])];
        let filters = categories.iter().flat_map(|categories| {
            let categories = categories.as_deref().map(|of: &[u32]| {
                of.iter().copied().map(CategoryNo).collect::<Vec<_>>()
            });
            [None, Some(true), Some(false)].map(|flag| (flag, categories.clone()))
        });
        for ((highlighted, categories), found) in
            filters.flat_map(|filter| [(filter.clone(), None), (filter, Some(&odd))])
        {
            let categories = categories.as_deref();
            let is_wanted = |row: &&&MarketRow| {
                let shares = |of: &[CategoryNo]| {
                    row.draft.categories.iter().any(|category| of.contains(category))
                };
                highlighted.is_none_or(|flag| row.draft.highlighted == flag)
                    && categories.is_none_or(shares)
                    && found.is_none_or(|_| row.no.0 % 2 == 1)
            };
            let expected = published.iter().filter(is_wanted).map(|row| row.no);
            let expected: Vec<MarketNo> = expected.collect();
            let wanted = Wanted { highlighted, categories, found };
            let (count, listed) = catalogue.markets_wanted(wanted);
            let listed: Vec<MarketNo> = listed.map(|row| row.no).collect();
            prop_assert_eq!((count, listed), (expected.len(), expected));
        }
        published.sort_by_key(|row| row.no);
        published.dedup_by_key(|row| row.no);
        prop_assert_eq!(published.len(), catalogue.markets_published().count());
        for event in catalogue.events_created() {
            let markets = event.markets.iter().filter_map(|market| catalogue.market(*market));
            let drafts = markets.filter(|row| row.status.public()).map(|row| &row.draft);
            let drafts: Vec<_> = drafts.collect();
            let public = catalogue.public_markets(event.no).unwrap();
            for flag in [None, Some(true), Some(false)] {
                let are = drafts.iter().filter(|d| flag.is_none_or(|f| d.highlighted == f));
                prop_assert_eq!(public.count(flag) as usize, are.count());
            }
            for category in (0..4).map(CategoryNo) {
                let is_in = drafts.iter().any(|draft| draft.categories.contains(&category));
                prop_assert_eq!(public.is_in(&[CategoryNo(9), category]), is_in);
            }
        }
    }
}

#[test]
fn ids_lead_to_numbers() {
    let mut catalogue = drafts();
    let draft = CategoryDraft { name: "Weather".to_owned(), slug: "weather".to_owned() };
    let created = Effect::CategoryCreated { category: CategoryNo(0), draft };
    assert_eq!(fold(&mut catalogue, 9, &[created]), 0);
    let category = catalogue.category_no(CategoryId::derive(at(9), Sequence::new(9), 0));
    assert_eq!(category, Some(CategoryNo(0)));
    assert_eq!(&*catalogue.categories()[0].slug, "weather");
    let market = catalogue.market_no(MarketId::derive(at(5), Sequence::new(5), 0));
    assert_eq!(market, Some(MarketNo(2)));
    assert_eq!(catalogue.market_no(MarketId::derive(at(5), Sequence::new(4), 0)), None);
    let event = catalogue.event_no(EventId::derive(at(2), Sequence::new(2), 0));
    assert_eq!(event, Some(EventNo(1)));
}
