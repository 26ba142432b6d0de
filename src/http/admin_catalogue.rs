//! The operator creates and revises categories, events and markets (semantics 8).

use std::sync::Arc;

use bytes::Bytes;

use super::admin_form::{
    OutcomeTexts, categories, descriptions, images, note_passed, outcomes, sub_titles, titles,
};
use super::admin_markets::naming_fields;
use super::bounds::DISPUTE_WINDOW_SECONDS_MAX;
use super::call::{Call, category_nos, event_no, market_no, never};
use super::events::{Drafts, markets_of};
use super::form::{Form, boolean, integer_up_to, text};
use super::markets::tagged;
use super::parse;
use super::problem::Problem;
use super::reply::Reply;
use super::route::BASE;
use super::wire::catalogue::{CategoryJson, EventDetailJson, MarketDetailJson};
use exchange::catalogue::{CategoryDraft, EventDraft, EventRevision, MarketDraft, MarketRevision};
use exchange::command::Command;
use exchange::effect::Applied;
use exchange::fees::Fees;
use exchange::ids::{CategoryId, EventId, EventNo, MarketId};
use exchange::units::TimeMs;
use views::ReadModel;
use views::responses::StoredResponse;

/// `POST /admin/categories`
pub async fn create_category(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form_with_body();
    let name = form.field("name", text(parse::name));
    let slug = form.field("slug", text(parse::slug));
    let (name, slug) = form.finish(name.zip(slug))?;
    let command = Command::CreateCategory(CategoryDraft { name, slug });
    let again = |view: &ReadModel, kept: &StoredResponse| {
        let StoredResponse::Category(category) = kept else { return None };
        view.catalogue.category(*category).map(|row| (row.id, CategoryJson::from(row)))
    };
    let written = call.submit_and_show(command, again).await?;
    let (id, category) = &written.shown;
    written.created(format!("{BASE}/categories/{id}"), category)
}

/// `POST /admin/events`
pub async fn create_event(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form_with_body();
    let draft = event_draft(&mut form);
    let (mut draft, categories) = form.finish(draft)?;
    (_, draft.categories) = call.look(|view| category_nos(view, &categories))?;
    let command = Command::CreateEvent(Box::new(draft));
    let again = |view: &ReadModel, kept: &StoredResponse| {
        let StoredResponse::Event(row) = kept else { return None };
        let markets = markets_of(view, row, Drafts::Shown);
        Some((row.id, EventDetailJson::of(view, row, &markets)))
    };
    let written = call.submit_and_show(command, again).await?;
    let (id, event) = &written.shown;
    written.created(format!("{BASE}/events/{id}"), event)
}

/// `PATCH /admin/events/{eventId}`
pub async fn revise_event(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form_with_body();
    let id = form.path("eventId", parse::event_id);
    let revision = event_revision(&mut form);
    if revision.as_ref().is_some_and(|(r, c)| *r == EventRevision::default() && c.is_none()) {
        form.note_nothing("at least one field is needed");
    }
    let (id, (mut revision, categories)) = form.finish(id.zip(revision))?;
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
    let mut form = call.form_with_body();
    let draft = market_draft(&mut form, call.engine.now());
    let (mut draft, event, categories) = form.finish(draft)?;
    let (_, ()) = call.look(|view| {
        draft.categories = category_nos(view, &categories)?;
        draft.event = event.map(|id| event_no(view, id)).transpose()?;
        Ok(())
    })?;
    let command = Command::CreateMarket(Box::new(draft));
    let written = call.submit_and_show(command, market_before).await?;
    let (id, market) = &written.shown;
    written.created(format!("{BASE}/markets/{id}"), market)
}

/// `PATCH /admin/markets/{marketId}`
pub async fn revise_market(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form_with_body();
    let id = form.path("marketId", parse::market_id);
    let revision = market_revision(&mut form, call.engine.now());
    if revision.as_ref().is_some_and(|(r, c)| *r == MarketRevision::default() && c.is_none()) {
        form.note_nothing("at least one field is needed");
    }
    let (id, (mut revision, categories)) = form.finish(id.zip(revision))?;
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
        Some((Arc::clone(&row.draft), MarketDetailJson::of(view, row)))
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
    let StoredResponse::Market(row, probability) = kept else { return None };
    Some((row.id, MarketDetailJson::at(view, row, *probability)))
}

fn shown_event(view: &ReadModel, event: EventNo) -> Option<(EventId, EventDetailJson)> {
    let row = view.catalogue.event(event)?;
    let markets = markets_of(view, row, Drafts::Shown);
    Some((row.id, EventDetailJson::of(view, row, &markets)))
}

fn event_draft(form: &mut Form<'_>) -> Option<(EventDraft, Vec<CategoryId>)> {
    let titles = form.field("titles", titles);
    let sub_titles = form.field("subTitles", sub_titles);
    let descriptions = form.field("descriptions", descriptions);
    let images = form.field("images", images);
    let highlighted = form.field_optional("highlighted", boolean);
    let category_ids = form.field_optional("categoryIds", categories);
    let exclusive = form.field_optional("mutuallyExclusive", boolean);
    let draft = EventDraft {
        titles: titles?,
        sub_titles: sub_titles?,
        descriptions: descriptions?,
        images: images?,
        highlighted: highlighted?.unwrap_or(false),
        categories: Vec::new(),
        mutually_exclusive: exclusive?.unwrap_or(false),
    };
    Some((draft, category_ids?.unwrap_or_default()))
}

fn event_revision(form: &mut Form<'_>) -> Option<(EventRevision, Option<Vec<CategoryId>>)> {
    let titles = form.field_optional("titles", titles);
    let sub_titles = form.field_optional("subTitles", sub_titles);
    let descriptions = form.field_optional("descriptions", descriptions);
    let images = form.field_optional("images", images);
    let highlighted = form.field_optional("highlighted", boolean);
    let category_ids = form.field_optional("categoryIds", categories);
    let revision = EventRevision {
        titles: titles?,
        sub_titles: sub_titles?,
        descriptions: descriptions?,
        images: images?,
        highlighted: highlighted?,
        categories: None,
    };
    Some((revision, category_ids?))
}

fn market_draft(
    form: &mut Form<'_>,
    now: TimeMs,
) -> Option<(MarketDraft, Option<EventId>, Vec<CategoryId>)> {
    let questions = form.field("questions", titles);
    let descriptions = form.field("descriptions", descriptions);
    let outcomes = form.field("outcomes", outcomes);
    let logo = form.field("logo", text(parse::url));
    let deadline = form.field("deadline", text(parse::moment));
    note_passed(form, deadline, now);
    let category_ids = form.field_optional("categoryIds", categories);
    let event = form.field_optional("eventId", text(parse::event_id));
    let highlighted = form.field_optional("highlighted", boolean);
    let window = integer_up_to(DISPUTE_WINDOW_SECONDS_MAX);
    let window = form.field_optional("disputeWindowSeconds", window);
    let maker_fee = form.field_optional("makerFee", text(parse::fee_rate));
    let taker_fee = form.field_optional("takerFee", text(parse::fee_rate));
    let OutcomeTexts { yes, no } = outcomes?;
    let draft = MarketDraft {
        questions: questions?,
        descriptions: descriptions?,
        yes_text: yes,
        no_text: no,
        logo: logo?,
        deadline: deadline?,
        categories: Vec::new(),
        event: None,
        highlighted: highlighted?.unwrap_or(false),
        dispute_window_seconds: window?.unwrap_or(0),
        fees: Fees { maker: maker_fee?.unwrap_or_default(), taker: taker_fee?.unwrap_or_default() },
    };
    Some((draft, event?, category_ids?.unwrap_or_default()))
}

fn market_revision(
    form: &mut Form<'_>,
    now: TimeMs,
) -> Option<(MarketRevision, Option<Vec<CategoryId>>)> {
    let questions = form.field_optional("questions", titles);
    let descriptions = form.field_optional("descriptions", descriptions);
    let outcomes = form.field_optional("outcomes", outcomes);
    let logo = form.field_optional("logo", text(parse::url));
    let deadline = form.field_optional("deadline", text(parse::moment));
    note_passed(form, deadline.flatten(), now);
    let category_ids = form.field_optional("categoryIds", categories);
    let highlighted = form.field_optional("highlighted", boolean);
    let maker_fee = form.field_optional("makerFee", text(parse::fee_rate));
    let taker_fee = form.field_optional("takerFee", text(parse::fee_rate));
    let (yes_text, no_text) = outcomes?.map(|OutcomeTexts { yes, no }| (yes, no)).unzip();
    let revision = MarketRevision {
        questions: questions?,
        descriptions: descriptions?,
        yes_text,
        no_text,
        logo: logo?,
        deadline: deadline?,
        categories: None,
        highlighted: highlighted?,
        maker_fee: maker_fee?,
        taker_fee: taker_fee?,
    };
    Some((revision, category_ids?))
}
