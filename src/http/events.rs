//! Events, as all callers see them: the list, one event (interface 4.2).

use super::call::{Call, event_no};
use super::markets::{known_categories, shares_category};
use super::page::{Above, Page, PageRule};
use super::parse;
use super::problem::Problem;
use super::reply::Reply;
use super::wire::catalogue::{EventDetailJson, EventJson, EventsJson};
use exchange::ids::{CategoryId, CategoryNo};
use exchange::reject::Reject;
use views::ReadModel;
use views::catalogue::{EventRow, MarketRow};

/// Pages of events (interface 4.2).
const EVENTS_PAGE: PageRule = PageRule { standard: 20, max: 100, above: Above::Refused };

/// The filters of the event list, for events and for markets in them.
struct EventFilter {
    highlighted: Option<bool>,
    market_highlighted: Option<bool>,
    categories: Option<Vec<CategoryNo>>,
}

impl EventFilter {
    /// Whether an event passes.
    fn keeps(&self, view: &ReadModel, event: &EventRow) -> bool {
        let Some(public) = view.catalogue.public_markets(event.no) else { return false };
        let flag = self.highlighted;
        let flagged = flag.is_none_or(|flag| event.draft.highlighted == flag);
        let tagged = self.categories.as_deref().is_none_or(|wanted| {
            shares_category(&event.draft.categories, wanted) || public.is_in(wanted)
        });
        flagged && tagged && public.count(self.market_highlighted) > 0
    }

    /// The public markets of an event that pass.
    fn markets<'v>(&self, view: &'v ReadModel, event: &EventRow) -> Vec<&'v MarketRow> {
        let flag = self.market_highlighted;
        let mut markets = markets_of(view, event, Drafts::Hidden);
        markets.retain(|market| flag.is_none_or(|flag| market.draft.highlighted == flag));
        markets
    }
}

/// Whether drafts are among an event's markets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drafts {
    /// Only public markets.
    Hidden,
    /// All.
    Shown,
}

/// An event's markets, in order of creation.
pub fn markets_of<'v>(view: &'v ReadModel, event: &EventRow, drafts: Drafts) -> Vec<&'v MarketRow> {
    let markets = event.markets.iter().filter_map(|market| view.catalogue.market(*market));
    markets.filter(|market| drafts == Drafts::Shown || market.status.public()).collect()
}

/// `GET /events/public/list`
pub fn list(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let highlighted = form.query("highlighted", parse::boolean);
    let market_highlighted = form.query("marketHighlighted", parse::boolean);
    let category_ids = form.query("categoryIds", parse::category_ids);
    let page = Page::read(&mut form, EVENTS_PAGE);
    let flags = highlighted.zip(market_highlighted);
    let ((highlighted, market_highlighted), (ids, page)) =
        form.finish(flags.zip(category_ids.zip(page)))?;
    let ids: Option<Vec<CategoryId>> = ids;
    let (sequence, events) = call.look(|view| {
        let categories = ids.as_deref().map(|ids| known_categories(view, ids));
        let filter = EventFilter { highlighted, market_highlighted, categories };
        let kept = view.catalogue.events_published().filter(|event| filter.keeps(view, event));
        let (rows, paging) = page.cut(kept);
        let event = |event: &EventRow| EventJson::of(view, event, &filter.markets(view, event));
        Ok(EventsJson { events: rows.into_iter().map(event).collect(), paging })
    })?;
    Reply::list(sequence, events, "events", |all| &mut all.events)
}

/// `GET /events/{eventId}`. Operators also find events without public markets, and drafts in them.
pub fn one(call: &Call) -> Result<Reply, Problem> {
    let id = call.read(|form| form.path("eventId"))?;
    let drafts = if call.caller.sees_drafts() { Drafts::Shown } else { Drafts::Hidden };
    let (sequence, event) = call.look(|view| {
        let not_found = || Problem::of(Reject::EventNotFound);
        let row = view.catalogue.event(event_no(view, id)?).ok_or_else(not_found)?;
        let markets = markets_of(view, row, drafts);
        if markets.is_empty() && drafts == Drafts::Hidden {
            return Err(not_found());
        }
        Ok(EventDetailJson::of(view, row, &markets))
    })?;
    Reply::ok(sequence, &event)
}
