//! Categories, events and markets as readers see them, in the order lists show them. Long, seldom
//! changed data is shared, so that a reader copies no text.

mod image;
mod listing;
mod public;

use std::sync::Arc;

use super::Projection;
use super::fault::{Fault, Faults, is_next};
use exchange::catalogue::{CategoryDraft, EventDraft, MarketDraft, MarketRevision, Outcome};
use exchange::effect::{Applied, Effect};
use exchange::ids::{CategoryId, CategoryNo, EventId, EventNo, MarketId, MarketNo};
use exchange::lifecycle::MarketStatus;
use exchange::units::{SettlementPrice, TimeMs};

use listing::Listing;
pub use listing::Wanted;
pub use public::PublicMarkets;

/// A category.
#[derive(Debug, Clone)]
pub struct CategoryRow {
    /// Number.
    pub no: CategoryNo,
    /// Public id.
    pub id: CategoryId,
    /// Display name.
    pub name: Arc<str>,
    /// Unique short name.
    pub slug: Arc<str>,
}

/// An event: a group of markets.
#[derive(Debug, Clone)]
pub struct EventRow {
    /// Number.
    pub no: EventNo,
    /// Public id.
    pub id: EventId,
    /// Current texts, pictures, flag and categories.
    pub draft: Arc<EventDraft>,
    /// Its markets in order of creation, including drafts.
    pub markets: Vec<MarketNo>,
    /// When it was created.
    pub created_at: TimeMs,
    /// When it was last revised, or created.
    pub updated_at: TimeMs,
    /// When the first of its markets became public.
    pub published_at: Option<TimeMs>,
}

/// A market.
#[derive(Debug, Clone)]
pub struct MarketRow {
    /// Number.
    pub no: MarketNo,
    /// Public id.
    pub id: MarketId,
    /// Current texts, flag, categories, event and deadline.
    pub draft: Arc<MarketDraft>,
    /// Status.
    pub status: MarketStatus,
    /// The announced outcome.
    pub winner: Option<Outcome>,
    /// The payout of a yes contract; only once SETTLED or VOIDED.
    pub settled_at: Option<SettlementPrice>,
    /// When it was created.
    pub created_at: TimeMs,
    /// When it was last revised or changed status, or created.
    pub updated_at: TimeMs,
    /// When it became public.
    pub published_at: Option<TimeMs>,
}

/// The whole catalogue. Ids grow with numbers, so an id is found by binary search: O(log n).
#[derive(Debug, Default)]
pub struct Catalogue {
    categories: Vec<CategoryRow>,
    events: Vec<EventRow>,
    markets: Vec<MarketRow>,
    /// By event.
    public: Vec<PublicMarkets>,
    /// In order of publication.
    events_published: Vec<EventNo>,
    markets_published: Listing,
}

impl Catalogue {
    /// The number of the market with this id. O(log n).
    pub fn market_no(&self, id: MarketId) -> Option<MarketNo> {
        let index = self.markets.binary_search_by_key(&id, |row| row.id).ok()?;
        self.markets.get(index).map(|row| row.no)
    }

    /// The number of the event with this id. O(log n).
    pub fn event_no(&self, id: EventId) -> Option<EventNo> {
        let index = self.events.binary_search_by_key(&id, |row| row.id).ok()?;
        self.events.get(index).map(|row| row.no)
    }

    /// The number of the category with this id. O(log n).
    pub fn category_no(&self, id: CategoryId) -> Option<CategoryNo> {
        let index = self.categories.binary_search_by_key(&id, |row| row.id).ok()?;
        self.categories.get(index).map(|row| row.no)
    }

    /// A market, draft or public. O(1).
    pub fn market(&self, market: MarketNo) -> Option<&MarketRow> {
        self.markets.get(market.index())
    }

    /// An event, public or not. O(1).
    pub fn event(&self, event: EventNo) -> Option<&EventRow> {
        self.events.get(event.index())
    }

    /// The counts of an event's public markets. O(1).
    pub fn public_markets(&self, event: EventNo) -> Option<&PublicMarkets> {
        self.public.get(event.index())
    }

    /// A category. O(1).
    pub fn category(&self, category: CategoryNo) -> Option<&CategoryRow> {
        self.categories.get(category.index())
    }

    /// All categories in order of creation.
    pub fn categories(&self) -> &[CategoryRow] {
        &self.categories
    }

    /// The public markets, newest publication first.
    pub fn markets_published(&self) -> impl DoubleEndedIterator<Item = &MarketRow> {
        let published = self.markets_published.published().iter().rev();
        published.filter_map(|market| self.market(*market))
    }

    /// The number of public markets that match, and these markets, newest publication first.
    /// O(markets) bits if there is a filter, plus O(markets returned).
    pub fn markets_wanted(
        &self,
        wanted: Wanted<'_>,
    ) -> (usize, impl Iterator<Item = &MarketRow> + use<'_>) {
        let (count, markets) = self.markets_published.wanted(wanted);
        (count, markets.filter_map(|market| self.market(market)))
    }

    /// All markets, including drafts, newest first.
    pub fn markets_created(
        &self,
    ) -> impl DoubleEndedIterator<Item = &MarketRow> + ExactSizeIterator {
        self.markets.iter().rev()
    }

    /// The events with a public market, newest publication first.
    pub fn events_published(&self) -> impl DoubleEndedIterator<Item = &EventRow> {
        self.events_published.iter().rev().filter_map(|event| self.event(*event))
    }

    /// All events, newest first.
    pub fn events_created(&self) -> impl DoubleEndedIterator<Item = &EventRow> + ExactSizeIterator {
        self.events.iter().rev()
    }

    fn fold_effect(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match effect {
            Effect::CategoryCreated { category, draft } => self.add_category(at, *category, draft),
            Effect::EventCreated { event, draft } => self.add_event(at, *event, draft),
            Effect::MarketCreated { market, draft } => self.add_market(at, *market, draft),
            Effect::EventRevised { event, revision } => {
                let row = self.events.get_mut(event.index());
                let row = row.ok_or(Fault::UnknownEvent(*event))?;
                Arc::make_mut(&mut row.draft).revise(revision);
                row.updated_at = at.time;
                Ok(())
            }
            Effect::MarketRevised { market, revision } => self.revise_market(at, *market, revision),
            Effect::MarketMoved { market, to, deadline, winner, settled_at, .. } => {
                let row = self.market_mut(*market)?;
                row.status = *to;
                row.winner = *winner;
                row.settled_at = *settled_at;
                // Most status changes keep the deadline; changing it copies a draft that a reader
                // holds.
                if row.draft.deadline != *deadline {
                    Arc::make_mut(&mut row.draft).deadline = *deadline;
                }
                row.updated_at = at.time;
                if to.public() && row.published_at.is_none() {
                    self.publish(at.time, *market)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn add_category(
        &mut self,
        at: &Applied<'_>,
        no: CategoryNo,
        draft: &CategoryDraft,
    ) -> Result<(), Fault> {
        is_next(no.index(), self.categories.len())?;
        self.categories.push(CategoryRow {
            no,
            id: CategoryId::derive(at.time, at.sequence, 0),
            name: draft.name.as_str().into(),
            slug: draft.slug.as_str().into(),
        });
        Ok(())
    }

    fn add_event(
        &mut self,
        at: &Applied<'_>,
        no: EventNo,
        draft: &EventDraft,
    ) -> Result<(), Fault> {
        is_next(no.index(), self.events.len())?;
        self.events.push(EventRow {
            no,
            id: EventId::derive(at.time, at.sequence, 0),
            draft: Arc::new(draft.clone()),
            markets: Vec::new(),
            created_at: at.time,
            updated_at: at.time,
            published_at: None,
        });
        self.public.push(PublicMarkets::default());
        Ok(())
    }

    fn add_market(
        &mut self,
        at: &Applied<'_>,
        no: MarketNo,
        draft: &MarketDraft,
    ) -> Result<(), Fault> {
        is_next(no.index(), self.markets.len())?;
        self.markets.push(MarketRow {
            no,
            id: MarketId::derive(at.time, at.sequence, 0),
            draft: Arc::new(draft.clone()),
            status: MarketStatus::Draft,
            winner: None,
            settled_at: None,
            created_at: at.time,
            updated_at: at.time,
            published_at: None,
        });
        if let Some(event) = draft.event {
            let row = self.events.get_mut(event.index()).ok_or(Fault::UnknownEvent(event))?;
            row.markets.push(no);
        }
        Ok(())
    }

    fn revise_market(
        &mut self,
        at: &Applied<'_>,
        market: MarketNo,
        revision: &MarketRevision,
    ) -> Result<(), Fault> {
        let row = self.markets.get_mut(market.index()).ok_or(Fault::UnknownMarket(market))?;
        let listed = row.published_at.is_some();
        // Only these fields are used by list filters.
        let sorted = revision.highlighted.is_some() || revision.categories.is_some();
        let before = (listed && sorted).then(|| Arc::clone(&row.draft));
        Arc::make_mut(&mut row.draft).revise(revision);
        row.updated_at = at.time;
        let Some(before) = before else { return Ok(()) };
        let event = row.draft.event.and_then(|event| self.public.get_mut(event.index()));
        if let Some(public) = event {
            public.remove(&before);
            public.add(&row.draft);
        }
        self.markets_published.revise(market, &before, &row.draft);
        Ok(())
    }

    /// Publishes a market that leaves DRAFT for the first time, and its event if it is the first
    /// there.
    fn publish(&mut self, time: TimeMs, market: MarketNo) -> Result<(), Fault> {
        let row = self.market_mut(market)?;
        row.published_at = Some(time);
        let draft = Arc::clone(&row.draft);
        self.markets_published.add(market, &draft);
        let Some(event) = draft.event else { return Ok(()) };
        if let Some(public) = self.public.get_mut(event.index()) {
            public.add(&draft);
        }
        let row = self.events.get_mut(event.index()).ok_or(Fault::UnknownEvent(event))?;
        if row.published_at.is_none() {
            row.published_at = Some(time);
            self.events_published.push(event);
        }
        Ok(())
    }

    fn market_mut(&mut self, market: MarketNo) -> Result<&mut MarketRow, Fault> {
        self.markets.get_mut(market.index()).ok_or(Fault::UnknownMarket(market))
    }
}

impl Projection for Catalogue {
    fn fold(&mut self, applied: &Applied<'_>, faults: &mut Faults) {
        for effect in applied.effects {
            faults.check(self.fold_effect(applied, effect));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use proptest::prelude::*;

    use MarketStatus::{Active, Closed, Draft};
    use exchange::catalogue::EventRevision;
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
}
