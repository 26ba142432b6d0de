//! The operator lists all markets and changes their status (semantics 3, 8).

use super::admin_catalogue::market_before;
use super::call::{Call, market_no};
use super::form::Form;
use super::grounds::{self, Evidence};
use super::markets::{MARKETS_PAGE, MarketFilter};
use super::members::bodies;
use super::page::Page;
use super::parse;
use super::previews;
use super::problem::{FieldCode, FieldError, Kind, Problem};
use super::proposals::{self, came};
use super::reply::Reply;
use super::wire::catalogue::{MarketDetailJson, MarketsJson};
use exchange::catalogue::Outcome;
use exchange::command::Command;
use exchange::ids::{MarketId, MarketNo};
use exchange::market::MarketStatus;
use exchange::reject::Reject;
use exchange::units::{Sequence, SettlementPrice, TimeMs};
use views::ReadModel;
use views::responses::StoredResponse;

bodies! {
    /// Nothing more than what the path says.
    #[derive(Default)]
    struct Nothing {}

    /// A new deadline.
    #[derive(Default)]
    struct Reopening {
        optional { "deadline" => deadline: TimeMs }
    }

    /// How a market came out.
    struct Resolution {
        required { "winningOutcomeId" => winner: Outcome }
        optional { "evidence" => evidence: Evidence }
    }

    /// What a contract of yes is then worth.
    #[derive(Default)]
    struct Voiding {
        optional { "price" => price: SettlementPrice, "evidence" => evidence: Evidence }
    }
}

/// `GET /admin/markets`
pub fn list(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let filter = MarketFilter::read(&mut form);
    let status = form.query("status", parse::text);
    let page = Page::read(&mut form, MARKETS_PAGE);
    let ((filter, status), page) = form.finish(filter.zip(status).zip(page))?;
    let (sequence, markets) = call.look(|view| {
        let kept = view.catalogue.markets_created().filter(filter.resolve(view));
        let kept = kept.filter(|market| status.is_none_or(|status| market.status == status));
        let (rows, paging) = page.cut(kept);
        let markets = rows.into_iter().map(|row| MarketDetailJson::now(view, row)).collect();
        Ok(MarketsJson { markets, paging })
    })?;
    Reply::list(sequence, markets, "markets", |all| &mut all.markets)
}

/// `POST /admin/markets/{marketId}/publish`
pub async fn publish(call: Call) -> Result<Reply, Problem> {
    trigger(call, |market| Command::PublishMarket { market }).await
}

/// `POST /admin/markets/{marketId}/suspend`
pub async fn suspend(call: Call) -> Result<Reply, Problem> {
    let ((id, Nothing {}), dry_run) =
        call.read(|form| form.path("marketId").zip(form.body_or_default()).zip(dry_run(form)))?;
    let market = market_of(&call, id)?;
    end(&call, market, Command::SuspendMarket { market }, dry_run).await
}

/// `POST /admin/markets/{marketId}/close`
pub async fn close(call: Call) -> Result<Reply, Problem> {
    trigger(call, |market| Command::CloseMarket { market }).await
}

/// `POST /admin/markets/{marketId}/dispute`
pub async fn dispute(call: Call) -> Result<Reply, Problem> {
    trigger(call, |market| Command::DisputeMarket { market }).await
}

/// `POST /admin/markets/{marketId}/reopen`
pub async fn reopen(call: Call) -> Result<Reply, Problem> {
    let (id, Reopening { deadline }) =
        call.read(|form| form.path("marketId").zip(form.body_or_default()))?;
    let market = market_of(&call, id)?;
    // It may set the deadline, which a guarded revision compares.
    let _revising = call.shared.revision.lock().await;
    carry_out(&call, market, Command::ReopenMarket { market, deadline }).await
}

/// `POST /admin/markets/{marketId}/resolve`
pub async fn resolve(mut call: Call) -> Result<Reply, Problem> {
    let ((id, Resolution { winner, evidence }), dry_run) =
        call.read(|form| form.path("marketId").zip(form.body()).zip(dry_run(form)))?;
    grounds::show(&mut call.act, evidence);
    let market = market_of(&call, id)?;
    end(&call, market, Command::ResolveMarket { market, winner }, dry_run).await
}

/// `POST /admin/markets/{marketId}/void`
pub async fn void(mut call: Call) -> Result<Reply, Problem> {
    let ((id, Voiding { price, evidence }), dry_run) =
        call.read(|form| form.path("marketId").zip(form.body_or_default()).zip(dry_run(form)))?;
    grounds::show(&mut call.act, evidence);
    let market = market_of(&call, id)?;
    let price = match price {
        Some(price) => price,
        None => standard_price(&call, market)?,
    };
    end(&call, market, Command::VoidMarket { market, price }, dry_run).await
}

/// The price of a voiding that names none: 0.50. In a mutually exclusive event that would silently
/// keep another market from resolving yes, so there the operator must choose.
fn standard_price(call: &Call, market: MarketNo) -> Result<SettlementPrice, Problem> {
    let exclusive = |view: &ReadModel| {
        let event = view.catalogue.market(market).and_then(|row| row.draft.event);
        let event = event.and_then(|event| view.catalogue.event(event));
        Ok(event.is_some_and(|event| event.draft.mutually_exclusive))
    };
    let (sequence, exclusive) = call.look(exclusive)?;
    if !exclusive {
        return Ok(SettlementPrice::HALF);
    }
    let error = FieldError {
        field: "price".to_owned(),
        code: FieldCode::Required,
        detail: "must be given in a mutually exclusive event, where the announced prices of yes \
                 may not sum to more than 1.00"
            .into(),
    };
    Err(Problem { sequence: Some(sequence), ..Problem::invalid(vec![error]) })
}

/// Executes a command that needs only its market.
async fn trigger(call: Call, command: fn(MarketNo) -> Command) -> Result<Reply, Problem> {
    let (id, Nothing {}) = call.read(|form| form.path("marketId").zip(form.body_or_default()))?;
    let market = market_of(&call, id)?;
    carry_out(&call, market, command(market)).await
}

fn market_of(call: &Call, id: MarketId) -> Result<MarketNo, Problem> {
    call.look(|view| market_no(view, id)).map(|(_, market)| market)
}

/// Whether only what would happen is asked.
pub fn dry_run(form: &mut Form<'_>) -> Option<bool> {
    form.query("dryRun", parse::boolean).map(Option::unwrap_or_default)
}

/// Executes what may be tried before.
async fn end(
    call: &Call,
    market: MarketNo,
    command: Command,
    dry_run: bool,
) -> Result<Reply, Problem> {
    if !dry_run {
        return carry_out(call, market, command).await;
    }
    let seen = previews::of_market(call, market, command).await;
    seen.map_err(|problem| naming_status(call, market, false, problem))
}

async fn carry_out(call: &Call, market: MarketNo, command: Command) -> Result<Reply, Problem> {
    let reopens = matches!(command, Command::ReopenMarket { .. });
    let shown = |view: &ReadModel, kept: &StoredResponse| came(view, kept, market_after);
    let written = call.submit_and_show(command, shown).await;
    let written = written.map_err(|problem| naming_status(call, market, reopens, problem))?;
    proposals::answer(&written)
}

fn market_after(view: &ReadModel, kept: &StoredResponse) -> Option<MarketDetailJson> {
    market_before(view, kept).map(|(_, market)| market)
}

/// Names the fields that keep a revision from the market's status.
pub fn naming_fields(
    call: &Call,
    market: MarketNo,
    (fees, deadline): (bool, bool),
    problem: Problem,
) -> Problem {
    let Some((sequence, status)) = status_if_refused(call, market, &problem) else {
        return problem;
    };
    // Both may be at fault; the fees are refused first.
    let why = match (fees, deadline) {
        (true, _) => "makerFee and takerFee are fixed once the market is published",
        (false, true) => {
            "the deadline can be moved only while the market is a draft, active or suspended"
        }
        (false, false) => return problem,
    };
    let (status, sequence) = (status.name(), sequence.get());
    let detail = format!("{why}; after record {sequence} it is {status}").into();
    Problem { detail, ..problem }
}

/// Adds the market's current status to a refused transition, since the operator needs it next.
fn naming_status(call: &Call, market: MarketNo, reopens: bool, problem: Problem) -> Problem {
    let Some((sequence, status)) = status_if_refused(call, market, &problem) else {
        return problem;
    };
    let detail = if reopens && status == MarketStatus::Closed {
        "a closed market is reopened with a deadline that is to come, and later than it had".into()
    } else {
        // The transition may have been refused because of a due one that is not journaled yet, or
        // the status may have changed since.
        let (status, sequence) = (status.name(), sequence.get());
        format!("the market's status does not allow this; after record {sequence} it is {status}")
            .into()
    };
    Problem { detail, ..problem }
}

/// The market's status now, if that was the reason for the refusal.
fn status_if_refused(
    call: &Call,
    market: MarketNo,
    problem: &Problem,
) -> Option<(Sequence, MarketStatus)> {
    if problem.kind != Kind::Refused(Reject::InvalidTransition) {
        return None;
    }
    let status = |view: &ReadModel| Ok(view.catalogue.market(market).map(|row| row.status));
    let (sequence, status) = call.look(status).ok()?;
    Some((sequence, status?))
}
