//! Categories, events and markets as readers see them, in the order lists show them. Long, seldom
//! changed data is shared, so that a reader copies no text.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::fault::{Fault, View};
use super::saved::{Sizes, saved};
use super::table::{self, Numbers, Table, identified};
use exchange::catalogue::{EventDraft, MarketDraft, MarketRevision, Outcome};
use exchange::effect::{Applied, Effect};
use exchange::ids::{CategoryId, CategoryNo, EventId, EventNo, MarketId, MarketNo};
use exchange::image::coding::BadImage;
use exchange::market::MarketStatus;
use exchange::slugs::Slug;
use exchange::units::{SettlementPrice, TimeMs};

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

identified!(CategoryRow(CategoryNo, CategoryId));
saved!(CategoryRow { no, id, name, slug });

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

identified!(EventRow(EventNo, EventId));
saved!(EventRow { no, id, draft, markets, created_at, updated_at, published_at });

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

identified!(MarketRow(MarketNo, MarketId));
saved!(MarketRow {
    no,
    id,
    draft,
    status,
    winner,
    settled_at,
    created_at,
    updated_at,
    published_at,
});

/// The whole catalogue.
#[derive(Debug, Default)]
pub struct Catalogue {
    categories: Table<CategoryNo, CategoryRow>,
    events: Table<EventNo, EventRow>,
    markets: Table<MarketNo, MarketRow>,
    public: Table<EventNo, PublicMarkets>,
    /// In order of publication.
    events_published: Vec<EventNo>,
    markets_published: Listing,
    /// Whose each slug is, former ones included.
    market_slugs: BTreeMap<Slug, MarketNo>,
    event_slugs: BTreeMap<Slug, EventNo>,
}

saved!(Catalogue {
    categories,
    events,
    markets,
    events_published,
    markets_published,
    market_slugs,
    event_slugs,
} made { public } by indexed);

impl Catalogue {
    /// The number of the market with this id. O(log n).
    pub fn market_no(&self, id: MarketId) -> Option<MarketNo> {
        self.markets.no_of(id)
    }

    /// The market that has or had this slug. O(log n).
    pub fn market_called(&self, slug: &Slug) -> Option<&MarketRow> {
        self.market(*self.market_slugs.get(slug)?)
    }

    /// The event that has or had this slug. O(log n).
    pub fn event_called(&self, slug: &Slug) -> Option<&EventRow> {
        self.event(*self.event_slugs.get(slug)?)
    }

    /// The number of the event with this id. O(log n).
    pub fn event_no(&self, id: EventId) -> Option<EventNo> {
        self.events.no_of(id)
    }

    /// The number of the category with this id. O(log n).
    pub fn category_no(&self, id: CategoryId) -> Option<CategoryNo> {
        self.categories.no_of(id)
    }

    /// A market, draft or public. O(1).
    pub fn market(&self, market: MarketNo) -> Option<&MarketRow> {
        self.markets.get(market)
    }

    /// An event, public or not. O(1).
    pub fn event(&self, event: EventNo) -> Option<&EventRow> {
        self.events.get(event)
    }

    /// The counts of an event's public markets. O(1).
    pub fn public_markets(&self, event: EventNo) -> Option<&PublicMarkets> {
        self.public.get(event)
    }

    /// A category. O(1).
    pub fn category(&self, category: CategoryNo) -> Option<&CategoryRow> {
        self.categories.get(category)
    }

    /// All categories in order of creation.
    pub fn categories(&self) -> &[CategoryRow] {
        self.categories.rows()
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
        self.markets.rows().iter().rev()
    }

    /// The events with a public market, newest publication first.
    pub fn events_published(&self) -> impl DoubleEndedIterator<Item = &EventRow> {
        self.events_published.iter().rev().filter_map(|event| self.event(*event))
    }

    /// All events, newest first.
    pub fn events_created(&self) -> impl DoubleEndedIterator<Item = &EventRow> + ExactSizeIterator {
        self.events.rows().iter().rev()
    }

    /// The numbers of rows, for an image.
    pub(super) fn sizes(&self) -> Sizes {
        let (categories, events) = (self.categories.len(), self.events.len());
        Sizes { categories, events, markets: self.markets.len(), ..Sizes::default() }
    }

    /// With what lists are filtered by, as it follows from the rows.
    fn indexed(mut self, sizes: Sizes) -> Result<Catalogue, BadImage> {
        self.categories.check()?;
        self.events.check()?;
        self.markets.check()?;
        self.public = Table::of_empty(sizes.events);
        for row in self.markets.rows().iter().filter(|row| row.published_at.is_some()) {
            if let Some(Ok(public)) = row.draft.event.map(|event| self.public.row(event)) {
                public.add(&row.draft);
            }
        }
        for market in std::mem::take(&mut self.markets_published).into_published() {
            if let Some(row) = self.markets.get(market) {
                self.markets_published.add(market, &row.draft);
            }
        }
        Ok(self)
    }

    fn add_event(
        &mut self,
        at: &Applied<'_>,
        no: EventNo,
        draft: &EventDraft,
    ) -> Result<(), Fault> {
        let row = EventRow {
            no,
            id: EventId::derive(at.time, at.sequence, 0),
            draft: Arc::new(draft.clone()),
            markets: Vec::new(),
            created_at: at.time,
            updated_at: at.time,
            published_at: None,
        };
        self.event_slugs.extend(draft.slug.clone().map(|slug| (slug, no)));
        self.events.add(no, row)?;
        self.public.add(no, PublicMarkets::default())
    }

    fn add_market(
        &mut self,
        at: &Applied<'_>,
        no: MarketNo,
        draft: &MarketDraft,
    ) -> Result<(), Fault> {
        let row = MarketRow {
            no,
            id: MarketId::derive(at.time, at.sequence, 0),
            draft: Arc::new(draft.clone()),
            status: MarketStatus::Draft,
            winner: None,
            settled_at: None,
            created_at: at.time,
            updated_at: at.time,
            published_at: None,
        };
        self.market_slugs.extend(draft.slug.clone().map(|slug| (slug, no)));
        self.markets.add(no, row)?;
        if let Some(event) = draft.event {
            self.events.row(event)?.markets.push(no);
        }
        Ok(())
    }

    fn revise_market(
        &mut self,
        at: &Applied<'_>,
        market: MarketNo,
        revision: &MarketRevision,
    ) -> Result<(), Fault> {
        self.market_slugs.extend(revision.slug.clone().map(|slug| (slug, market)));
        let row = self.markets.row(market)?;
        let before = Arc::clone(&row.draft);
        Arc::make_mut(&mut row.draft).revise(revision);
        row.updated_at = at.time;
        if row.published_at.is_some() {
            if let Some(Ok(public)) = row.draft.event.map(|event| self.public.row(event)) {
                public.remove(&before);
                public.add(&row.draft);
            }
            self.markets_published.revise(market, &before, &row.draft);
        }
        Ok(())
    }

    /// Publishes a market that leaves DRAFT for the first time, and its event if it is the first
    /// there.
    fn publish(&mut self, time: TimeMs, market: MarketNo) -> Result<(), Fault> {
        let row = self.markets.row(market)?;
        row.published_at = Some(time);
        self.markets_published.add(market, &row.draft);
        let Some(event) = row.draft.event else { return Ok(()) };
        self.public.row(event)?.add(&row.draft);
        let row = self.events.row(event)?;
        if row.published_at.is_none() {
            row.published_at = Some(time);
            self.events_published.push(event);
        }
        Ok(())
    }
}

impl View for Catalogue {
    fn see(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match effect {
            Effect::CategoryCreated { category, draft } => {
                let row = CategoryRow {
                    no: *category,
                    id: CategoryId::derive(at.time, at.sequence, 0),
                    name: draft.name.as_str().into(),
                    slug: draft.slug.as_str().into(),
                };
                self.categories.add(*category, row)
            }
            Effect::EventCreated { event, draft } => self.add_event(at, *event, draft),
            Effect::MarketCreated { market, draft } => self.add_market(at, *market, draft),
            Effect::EventRevised { event, revision } => {
                self.event_slugs.extend(revision.slug.clone().map(|slug| (slug, *event)));
                let row = self.events.row(*event)?;
                Arc::make_mut(&mut row.draft).revise(revision);
                row.updated_at = at.time;
                Ok(())
            }
            Effect::MarketRevised { market, revision } => self.revise_market(at, *market, revision),
            Effect::MarketMoved { market, to, deadline, winner, settled_at, .. } => {
                let row = self.markets.row(*market)?;
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
}

// The public markets in list order, with indexes for the list filters, so that a page is found
// without scanning all markets.

/// A filter for public markets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// Only markets that are, or are not, highlighted.
    pub highlighted: Option<bool>,
    /// Only markets in one of these categories.
    pub categories: Option<&'a [CategoryNo]>,
    /// Only markets with these numbers.
    pub found: Option<&'a Numbers>,
}

/// The public markets.
#[derive(Debug, Default)]
struct Listing {
    /// In order of publication.
    published: Vec<MarketNo>,
    /// Their positions in `published`.
    positions: FxHashMap<MarketNo, usize>,
    /// The positions of the highlighted ones.
    highlighted: Numbers,
    /// The positions of those in each category.
    categories: FxHashMap<CategoryNo, Numbers>,
}

saved!(Listing { published } made { positions, highlighted, categories });

impl Listing {
    /// Only which they are, to be listed again.
    fn into_published(self) -> Vec<MarketNo> {
        self.published
    }

    /// All of them, in order of publication.
    fn published(&self) -> &[MarketNo] {
        &self.published
    }

    /// The number of markets that match, and these markets, newest publication first.
    fn wanted(&self, wanted: Wanted<'_>) -> (usize, impl Iterator<Item = MarketNo> + use<'_>) {
        let count = self.published.len();
        let filtered = (wanted != Wanted::default()).then(|| self.filtered(wanted));
        let all = if filtered.is_none() { count } else { 0 };
        let total = filtered.as_ref().map_or(count, |positions| positions.count_ones(..));
        let positions = filtered.into_iter().flat_map(|positions| positions.into_ones().rev());
        let positions = positions.chain((0..all).rev());
        (total, positions.filter_map(|position| self.published.get(position).copied()))
    }

    fn filtered(&self, Wanted { highlighted, categories, found }: Wanted<'_>) -> Numbers {
        let mut kept = Numbers::default();
        match categories {
            None => kept = table::set_of_all(self.published.len()),
            Some(wanted) => {
                for category in wanted.iter().filter_map(|no| self.categories.get(no)) {
                    kept.union_with(category);
                }
            }
        }
        match highlighted {
            None => {}
            Some(true) => kept.intersect_with(&self.highlighted),
            Some(false) => kept.difference_with(&self.highlighted),
        }
        if let Some(found) = found {
            let is_found = |market: &MarketNo| found.contains(market.index());
            let is_found = |position: &usize| self.published.get(*position).is_some_and(is_found);
            kept = table::set_of(self.published.len(), kept.ones().filter(is_found));
        }
        kept
    }

    /// Adds a market that becomes public.
    fn add(&mut self, market: MarketNo, draft: &MarketDraft) {
        let position = self.published.len();
        self.published.push(market);
        self.positions.insert(market, position);
        self.note(position, draft, true);
    }

    /// Updates the indexes for a changed draft; does nothing for a market that is not public.
    fn revise(&mut self, market: MarketNo, before: &MarketDraft, after: &MarketDraft) {
        if let Some(position) = self.positions.get(&market).copied() {
            self.note(position, before, false);
            self.note(position, after, true);
        }
    }

    /// Notes whether a market is among those that a filter finds by its draft.
    fn note(&mut self, position: usize, draft: &MarketDraft, listed: bool) {
        if draft.highlighted {
            self.highlighted.grow_and_insert(position);
            self.highlighted.set(position, listed);
        }
        for category in &draft.categories {
            let category = self.categories.entry(*category).or_default();
            category.grow_and_insert(position);
            category.set(position, listed);
        }
    }
}

// Counts of an event's public markets for the filters of event lists, so that a list reads one row
// per event and not all its markets.

/// Counts of an event's public markets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublicMarkets {
    all: u32,
    highlighted: u32,
    /// Those in each category; none is zero.
    categories: BTreeMap<CategoryNo, u32>,
}

impl PublicMarkets {
    /// The number of public markets; with a filter, only those that are, or are not, highlighted.
    pub const fn count(&self, highlighted: Option<bool>) -> u32 {
        match highlighted {
            None => self.all,
            Some(true) => self.highlighted,
            Some(false) => self.all.saturating_sub(self.highlighted),
        }
    }

    /// Whether any public market is in one of these categories.
    pub fn is_in(&self, wanted: &[CategoryNo]) -> bool {
        wanted.iter().any(|category| self.categories.contains_key(category))
    }

    /// Adds a market to the counts.
    fn add(&mut self, draft: &MarketDraft) {
        self.all = self.all.saturating_add(1);
        self.highlighted = self.highlighted.saturating_add(u32::from(draft.highlighted));
        for category in &draft.categories {
            let count = self.categories.entry(*category).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Removes a market from the counts; `draft` must be the one it was added with.
    fn remove(&mut self, draft: &MarketDraft) {
        self.all = self.all.saturating_sub(1);
        self.highlighted = self.highlighted.saturating_sub(u32::from(draft.highlighted));
        for category in &draft.categories {
            if let Some(count) = self.categories.get_mut(category) {
                *count = count.saturating_sub(1);
            }
        }
        self.categories.retain(|_, count| *count > 0);
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/catalogue.rs"]
mod tests;

#[cfg(test)]
#[path = "../../tests/unit/views/catalogue/listing.rs"]
mod listing_tests;
