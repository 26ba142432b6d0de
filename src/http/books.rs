//! The depth of an outcome's order book, now and at any past moment (interface 4.4, semantics 8).

use std::ops::ControlFlow;
use std::sync::Arc;

use super::call::{Call, public_market};
use super::parse::{self, Fault, Written};
use super::preconditions::weak_tag;
use super::problem::{FieldCode, Problem};
use super::reply::Reply;
use super::response_cache::DepthKey;
use super::stream::channel::{MarketChannel, Topic};
use super::waiting::{Until, follow};
use super::wire::depth::{BookLevels, BooksJson, DepthJson, PrintedBook, dated, undated};
use super::wire::printed;
use engine::past::Moment;
use exchange::Exchange;
use exchange::catalogue::Outcome;
use exchange::command::Direction;
use exchange::ids::{MarketId, MarketNo};
use exchange::reject::Reject;
use exchange::slugs::Slug;
use exchange::units::{Sequence, TimeMs};
use views::ReadModel;
use views::depth::Level;

/// Levels per side if none are given (interface 4.4).
const LEVELS_STANDARD: usize = 10;
/// Most levels per side (interface 4.4).
const LEVELS_MAX: usize = 50;
/// Most markets whose books are read at once.
const BOOKS_MAX: usize = 100;
/// Initial buffer capacity for a book.
const BOOK_BYTES_USUAL: usize = 2048;

/// The requested book.
#[derive(Debug, Clone, Copy)]
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
    let levels = form.query("levels", levels);
    let as_of = form.query("asOf", parse::past_moment);
    let until = if as_of.as_ref().is_some_and(Option::is_some) && form.asks("waitAfter") {
        form.query::<()>("waitAfter", |_| Err(Fault::invalid("must not stand beside asOf")));
        None
    } else {
        Until::read(&mut form)
    };
    let read = market.zip(outcome).zip(levels.zip(as_of)).zip(until);
    let (((market, outcome), (levels, as_of)), until) = form.finish(read)?;
    let asked = Asked { market, outcome, levels: levels.unwrap_or(LEVELS_STANDARD) };
    match as_of {
        None => now(&call, &asked, until).await,
        Some(moment) => then(&call, asked, moment).await,
    }
}

/// Levels per side.
fn levels(text: &str) -> parse::Read<usize> {
    let levels = usize::try_from(parse::digits(text)?).unwrap_or(usize::MAX);
    let fault = || Fault::new(FieldCode::OutOfBounds, format!("must be 1 to {LEVELS_MAX}"));
    Some(levels).filter(|levels| (1..=LEVELS_MAX).contains(levels)).ok_or_else(fault)
}

async fn now(call: &Call, asked: &Asked, until: Option<Until>) -> Result<Reply, Problem> {
    let followed = |view: &ReadModel| {
        let market = public_market(view, asked.market)?.no;
        Ok((Topic::Market(MarketChannel::Book, market), view.changes.of_book(market)))
    };
    // Nearly all want the book at once, which takes the lock once.
    if (until.is_some() || call.conditions.is_any())
        && let ControlFlow::Break(reply) = follow(call, until, followed).await?
    {
        return Ok(reply);
    }
    let (sequence, (book, changed, time)) = call.look(|view| {
        let market = public_market(view, asked.market)?.no;
        let book = Seen::of(call, view, *asked, market);
        Ok((book, view.changes.of_book(market), now_of(call, view)))
    })?;
    let text = book.text(call, time)?;
    Ok(Reply::json(sequence, dated(&text, time)?.into()).with_tag(weak_tag(changed)))
}

/// The timestamp is now, but never before the last record shown.
fn now_of(call: &Call, view: &ReadModel) -> TimeMs {
    call.engine.now().max(view.time())
}

/// A book as it was seen.
enum Seen {
    /// Printed before.
    Printed(Arc<[u8]>),
    /// To be printed, and kept for the next reader.
    New(Asked, DepthKey, Sequence, BookLevels),
}

impl Seen {
    fn of(call: &Call, view: &ReadModel, asked: Asked, market: MarketNo) -> Seen {
        let book = DepthKey { market, outcome: asked.outcome, levels: asked.levels };
        let changed = view.changes.of_book(market);
        if let Some(text) = call.shared.caches.books.find(book, &changed) {
            return Seen::Printed(text);
        }
        let side = |direction| view.book(market, direction).take(asked.levels).collect();
        let levels = BookLevels { up: side(Direction::Up), down: side(Direction::Down) };
        Seen::New(asked, book, changed, levels)
    }

    /// Its text, without a time.
    fn text(self, call: &Call, time: TimeMs) -> Result<Arc<[u8]>, Problem> {
        let (asked, book, changed, levels) = match self {
            Seen::Printed(text) => return Ok(text),
            Seen::New(asked, book, changed, levels) => (asked, book, changed, levels),
        };
        let text = printed_book(&asked, &levels, Some(changed), time)?;
        let text: Arc<[u8]> = undated(text).into();
        call.shared.caches.books.keep(book, changed, Arc::clone(&text));
        Ok(text)
    }
}

/// `GET /trading/books`: several markets' books of one moment.
pub fn several(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let markets = form.query_required("marketIds", market_ids);
    let outcome = form.query_required("outcome", parse::text);
    let levels = form.query("levels", levels);
    let ((markets, outcome), levels) = form.finish(markets.zip(outcome).zip(levels))?;
    let levels = levels.unwrap_or(LEVELS_STANDARD);
    let (sequence, (seen, unknown, changed, time)) = call.look(|view| {
        let (mut seen, mut unknown, mut changed) = (Vec::new(), Vec::new(), Sequence::ZERO);
        for (text, id) in markets {
            match id.map(|id| (id, public_market(view, id))) {
                Some((market, Ok(row))) => {
                    let asked = Asked { market, outcome, levels };
                    // A market that becomes public changes its activity.
                    let last = view.changes.of_market(row.no);
                    changed = changed.max(last.book.last).max(last.activity.last);
                    seen.push(Seen::of(call, view, asked, row.no));
                }
                _ => unknown.push(text),
            }
        }
        Ok((seen, unknown, changed, now_of(call, view)))
    })?;
    let books = seen.into_iter().map(|book| {
        let text = book.text(call, time)?;
        Ok(PrintedBook(dated(&text, time)?))
    });
    let books = books.collect::<Result<_, Problem>>()?;
    let books = BooksJson { books, unknown_market_ids: unknown };
    let reply = Reply::list(sequence, books, "books", |all| &mut all.books)?;
    Ok(reply.with_tag(weak_tag(changed)))
}

/// The ids of several markets, each once, separated by commas. A slug that is left is of no market.
fn market_ids(text: &str) -> parse::Read<Vec<(String, Option<MarketId>)>> {
    let mut ids: Vec<(String, Option<MarketId>)> = Vec::new();
    for part in text.split(',') {
        let id = MarketId::read(part).ok();
        if id.is_none() && Slug::read(part).is_err() {
            return Err(Fault::invalid("must be UUIDs or slugs, separated by commas"));
        }
        let text = id.map_or_else(|| part.to_owned(), |id| id.to_string());
        if ids.iter().any(|(other, _)| *other == text) {
            return Err(Fault::new(FieldCode::Repeated, format!("names {text} more than once")));
        }
        if ids.len() == BOOKS_MAX {
            let detail = format!("must name at most {BOOKS_MAX} markets");
            return Err(Fault::new(FieldCode::OutOfBounds, detail));
        }
        ids.push((text, id));
    }
    Ok(ids)
}

/// The best levels of a book as JSON; the record that last changed it is known of the present.
fn printed_book(
    asked: &Asked,
    levels: &BookLevels,
    changed: Option<Sequence>,
    time: TimeMs,
) -> Result<Vec<u8>, Problem> {
    let book = DepthJson::of(asked.market, asked.outcome, levels, (changed, time));
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
    Ok(Reply::json(sequence, printed_book(&asked, &book, None, time)?.into()))
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
