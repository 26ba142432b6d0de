//! The depth of an outcome's order book, now and at any past moment (interface 4.4, semantics 8).

use std::sync::Arc;

use super::call::{Call, public_market};
use super::parse::{self, Fault};
use super::problem::{FieldCode, Problem};
use super::reply::Reply;
use super::response_cache::DepthKey;
use super::wire::depth::{BookLevels, DepthJson, dated, undated};
use super::wire::printed;
use engine::past::Moment;
use exchange::Exchange;
use exchange::catalogue::Outcome;
use exchange::command::Direction;
use exchange::ids::{MarketId, MarketNo};
use exchange::reject::Reject;
use exchange::units::TimeMs;
use views::depth::Level;

/// Levels per side if none are given (interface 4.4).
const LEVELS_STANDARD: usize = 10;
/// Most levels per side (interface 4.4).
const LEVELS_MAX: usize = 50;
/// Initial buffer capacity for a book.
const BOOK_BYTES_USUAL: usize = 2048;

/// The requested book.
struct Asked {
    market: MarketId,
    outcome: Outcome,
    levels: usize,
}

/// `GET /trading/books/{marketId}/depth`
pub async fn depth(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let market = form.path("marketId");
    let outcome = form.query_required("outcome", parse::text);
    let levels = form.query("levels", |text| {
        let levels = usize::try_from(parse::digits(text)?).unwrap_or(usize::MAX);
        let fault = || Fault::new(FieldCode::OutOfBounds, format!("must be 1 to {LEVELS_MAX}"));
        Some(levels).filter(|levels| (1..=LEVELS_MAX).contains(levels)).ok_or_else(fault)
    });
    let as_of = form.query("asOf", parse::past_moment);
    let read = market.zip(outcome).zip(levels.zip(as_of));
    let ((market, outcome), (levels, as_of)) = form.finish(read)?;
    let asked = Asked { market, outcome, levels: levels.unwrap_or(LEVELS_STANDARD) };
    match as_of {
        None => now(&call, &asked),
        Some(moment) => then(&call, asked, moment).await,
    }
}

fn now(call: &Call, asked: &Asked) -> Result<Reply, Problem> {
    let (sequence, (book, time)) = call.look(|view| {
        let market = public_market(view, asked.market)?.no;
        let book = DepthKey { market, outcome: asked.outcome, levels: asked.levels };
        let changed = view.changes.of_book(market);
        let side = |direction| view.book(market, direction).take(asked.levels).collect();
        let levels = || BookLevels { up: side(Direction::Up), down: side(Direction::Down) };
        let kept = call.shared.caches.books.find(book, &changed);
        let found = kept.ok_or_else(|| (book, changed, levels()));
        // The timestamp is now, but never before the last record shown.
        Ok((found, call.engine.now().max(view.time())))
    })?;
    let text = match book {
        Ok(text) => text,
        Err((book, changed, levels)) => {
            let text: Arc<[u8]> = undated(printed_book(asked, &levels, time)?).into();
            call.shared.caches.books.keep(book, changed, Arc::clone(&text));
            text
        }
    };
    Ok(Reply::json(sequence, dated(&text, time)?.into()))
}

/// The best levels of a book as JSON.
fn printed_book(asked: &Asked, levels: &BookLevels, time: TimeMs) -> Result<Vec<u8>, Problem> {
    let book = DepthJson::of(asked.market, asked.outcome, levels, time);
    Ok(printed(&book, BOOK_BYTES_USUAL)?)
}

/// A past book has the timestamp of the record it shows.
async fn then(call: &Call, asked: Asked, moment: Moment) -> Result<Reply, Problem> {
    let (_, market) = call.look(|view| Ok(public_market(view, asked.market)?.no))?;
    let levels = asked.levels;
    let past = call.past();
    let seen = past.ask(moment, move |past| {
        let exchange = past.exchange();
        (exchange.sequence(), exchange.time(), book_of(exchange, market, levels))
    });
    let (sequence, time, book) = seen.await?;
    let book = book.ok_or_else(|| Problem::refused(Reject::MarketNotFound, sequence))?;
    Ok(Reply::json(sequence, printed_book(&asked, &book, time)?.into()))
}

/// The best levels of a market; `None` if it was not public then.
fn book_of(exchange: &Exchange, market: MarketNo, levels: usize) -> Option<BookLevels> {
    let market = exchange.market(market).filter(|market| market.status.public())?;
    let side = |direction| {
        let shown = if market.status.keeps_orders() { levels } else { 0 };
        let best = market.book.levels(direction).take(shown);
        best.map(|(price, level)| Level { price, quantity: level.quantity, orders: level.orders })
            .collect()
    };
    Some(BookLevels { up: side(Direction::Up), down: side(Direction::Down) })
}
