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
#[path = "../../tests/unit/views/catalogue.rs"]
mod tests;
