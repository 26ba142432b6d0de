//! The operator creates and revises categories, events and markets (semantics 8).

use std::sync::Arc;

use bytes::Bytes;

use super::admin_form::{NewEvent, NewMarket, RevisedEvent, RevisedMarket};
use super::admin_markets::naming_fields;
use super::call::{Call, category_nos, event_no, market_no, never};
use super::events::{Drafts, markets_of};
use super::form::Form;
use super::markets::tagged;
use super::members::bodies;
use super::parse::{Name, Slug};
use super::problem::Problem;
use super::reply::Reply;
use super::route::BASE;
use super::slugs::suggested;
use super::wire::catalogue::{CategoryJson, EventDetailJson, MarketDetailJson};
use exchange::catalogue::CategoryDraft;
use exchange::command::{Command, KeyedCommand};
use exchange::effect::Applied;
use exchange::ids::{EventId, EventNo, MarketId};
use views::ReadModel;
use views::responses::StoredResponse;

bodies! {
    /// A new category.
    struct NewCategory {
        required { "name" => name: Name, "slug" => slug: Slug }
    }
}

impl NewCategory {
    /// The draft.
    pub fn draft(self) -> CategoryDraft {
        let NewCategory { name: Name(name), slug: Slug(slug) } = self;
        CategoryDraft { name, slug }
    }
}

/// `POST /admin/categories`
pub async fn create_category(call: Call) -> Result<Reply, Problem> {
    let command = Command::CreateCategory(call.read(Form::body::<NewCategory>)?.draft());
    let again = |view: &ReadModel, kept: &StoredResponse| {
        let StoredResponse::Category(category) = kept else { return None };
        view.catalogue.category(*category).map(|row| (row.id, CategoryJson::of(row)))
    };
    let written = call.submit_and_show(command, again).await?;
    let (id, category) = &written.shown;
    written.created(format!("{BASE}/categories/{id}"), category)
}

/// `POST /admin/events`
pub async fn create_event(call: Call) -> Result<Reply, Problem> {
    let (mut draft, categories) = call.read(Form::body::<NewEvent>)?.draft();
    (_, draft.categories) = call.look(|view| category_nos(view, &categories))?;
    // A repetition asks for the same, whichever slug is free by then.
    let asked = call.asked(Command::CreateEvent(Box::new(draft.clone())));
    let _naming = call.shared.revision.lock().await;
    if draft.slug.is_none() {
        let text = &draft.titles.en;
        let free = |view: &ReadModel, slug: &_| view.catalogue.event_called(slug).is_none();
        let (_, slug) = call.look(|view| Ok(suggested(text, "event", |slug| free(view, slug))))?;
        draft.slug = slug;
    }
    let asked = KeyedCommand { command: Command::CreateEvent(Box::new(draft)), ..asked };
    let again = |view: &ReadModel, kept: &StoredResponse| {
        let StoredResponse::Event(row) = kept else { return None };
        let markets = markets_of(view, row, Drafts::Shown);
        Some((row.id, EventDetailJson::of(view, row, &markets)))
    };
    let written = call.submit_asked_and_show(asked, again).await?;
    let (id, event) = &written.shown;
    written.created(format!("{BASE}/events/{id}"), event)
}

/// `PATCH /admin/events/{eventId}`
pub async fn revise_event(call: Call) -> Result<Reply, Problem> {
    let (id, event) = call.read(|form| form.path("eventId").zip(form.body::<RevisedEvent>()))?;
    let (mut revision, categories) = event.revision();
    let _naming = call.shared.revision.lock().await;
    let (_, event) = call.look(|view| {
        let event = event_no(view, id)?;
        revision.categories = categories.map(|ids| category_nos(view, &ids)).transpose()?;
        Ok(event)
    })?;
    let command = Command::ReviseEvent { event, revision: Box::new(revision) };
    let look = move |view: &ReadModel, _: &Applied<'_>| shown_event(view, event);
    let written = call.submit_and_look(command, look, never).await?;
    written.reply(&written.shown.1)
}

/// `POST /admin/markets`
pub async fn create_market(call: Call) -> Result<Reply, Problem> {
    let window = call.shared.site.dispute_window;
    let (mut draft, event, categories) = call.read(Form::body::<NewMarket>)?.draft(window);
    let (_, ()) = call.look(|view| {
        draft.categories = category_nos(view, &categories)?;
        draft.event = event.map(|id| event_no(view, id)).transpose()?;
        Ok(())
    })?;
    let asked = call.asked(Command::CreateMarket(Box::new(draft.clone())));
    let _naming = call.shared.revision.lock().await;
    if draft.slug.is_none() {
        let text = &draft.questions.en;
        let free = |view: &ReadModel, slug: &_| view.catalogue.market_called(slug).is_none();
        let (_, slug) = call.look(|view| Ok(suggested(text, "market", |slug| free(view, slug))))?;
        draft.slug = slug;
    }
    let asked = KeyedCommand { command: Command::CreateMarket(Box::new(draft)), ..asked };
    let written = call.submit_asked_and_show(asked, market_before).await?;
    let (id, market) = &written.shown;
    written.created(format!("{BASE}/markets/{id}"), market)
}

/// `PATCH /admin/markets/{marketId}`
pub async fn revise_market(call: Call) -> Result<Reply, Problem> {
    let (id, market) = call.read(|form| form.path("marketId").zip(form.body::<RevisedMarket>()))?;
    let (mut revision, categories) = market.revision();
    let _revising = call.shared.revision.lock().await;
    let (sequence, (market, draft)) = call.look(|view| {
        let market = market_no(view, id)?;
        let row = view.catalogue.market(market).ok_or_else(Problem::lacking_row)?;
        revision.categories = categories.map(|ids| category_nos(view, &ids)).transpose()?;
        Ok((market, Arc::clone(&row.draft)))
    })?;
    if call.conditions.guards() {
        let tag = tagged(Reply::json(sequence, Bytes::new()), &draft).tag.unwrap_or_default();
        let check = call.conditions.check_part(&tag);
        check.map_err(|failed| Problem { sequence: Some(sequence), ..failed })?;
    }
    let fees = revision.maker_fee.is_some() || revision.taker_fee.is_some();
    let bound = (fees, revision.deadline.is_some());
    let command = Command::ReviseMarket { market, revision: Box::new(revision) };
    let look = move |view: &ReadModel, _: &Applied<'_>| {
        let row = view.catalogue.market(market)?;
        Some((Arc::clone(&row.draft), MarketDetailJson::now(view, row)))
    };
    let written = call.submit_and_look(command, look, never).await;
    let written = written.map_err(|problem| naming_fields(&call, market, bound, problem))?;
    let (draft, market) = &written.shown;
    Ok(tagged(written.reply(market)?, draft))
}

/// A market as stored with an earlier response, when it was created or changed status.
pub fn market_before(
    view: &ReadModel,
    kept: &StoredResponse,
) -> Option<(MarketId, MarketDetailJson)> {
    let StoredResponse::Market(market) = kept else { return None };
    let (row, probability) = &**market;
    Some((row.id, MarketDetailJson::of(view, row, *probability)))
}

fn shown_event(view: &ReadModel, event: EventNo) -> Option<(EventId, EventDetailJson)> {
    let row = view.catalogue.event(event)?;
    let markets = markets_of(view, row, Drafts::Shown);
    Some((row.id, EventDetailJson::of(view, row, &markets)))
}
