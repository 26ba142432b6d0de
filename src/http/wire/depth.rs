//! The JSON of an outcome's order book.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::print::print;
use super::words::IdOrSlug;
use super::{OutcomeId, RecordNo, Text, Timestamp};
use exchange::catalogue::Outcome;
use exchange::command::Direction;
use exchange::ids::MarketId;
use exchange::units::{Lots, Sequence, SettlementPrice, Tick, TimeMs};
use views::depth::Level;

answers! {
    /// What stands in the book at one price.
    LevelJson = "Level" (level: &Level, bidders: Direction) {
        // The price on the side that gains an outcome is the price of that outcome.
        price: Text<Tick> = Text(bidders.own_price(level.price));
        quantity: Text<Lots> = Text(level.quantity);
        orders: u32 = level.orders;
    }
}

/// The best levels of a book, best first on each side. At least one level of every side that has
/// any, as the best prices come from here.
#[derive(Debug)]
pub struct BookLevels {
    /// Orders that gain yes contracts.
    pub up: Vec<Level>,
    /// Orders that gain no contracts.
    pub down: Vec<Level>,
}

/// The book of one outcome, each side best price first. The book of no mirrors that of yes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Depth")]
pub struct DepthJson {
    market_id: Text<MarketId>,
    outcome_id: OutcomeId,
    bids: Vec<LevelJson>,
    asks: Vec<LevelJson>,
    /// 0.00 without bids.
    best_bid: Text<SettlementPrice>,
    /// 1.00 without asks.
    best_ask: Text<SettlementPrice>,
    spread: Text<SettlementPrice>,
    /// The record that last changed the market's book; not told with asOf.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RecordNo")]
    sequence: Option<RecordNo>,
    timestamp: Timestamp,
}

/// Books of one moment, in the order in which they were asked for.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "BookList")]
pub struct BooksJson {
    pub books: Vec<PrintedBook>,
    /// Of these there is no public market.
    #[schemars(with = "Vec<IdOrSlug>")]
    pub unknown_market_ids: Vec<String>,
}

/// A book that is printed already.
#[derive(Debug)]
pub struct PrintedBook(pub Vec<u8>);

impl Serialize for PrintedBook {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl JsonSchema for PrintedBook {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        DepthJson::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<DepthJson>()
    }
}

impl DepthJson {
    /// The levels of both sides, best first; an empty side shows the bound as its best price. The
    /// book of `no` mirrors the one book: its bids are the orders that bet down, at the complement
    /// price (semantics 4).
    pub fn of(
        id: MarketId,
        outcome: Outcome,
        book: &BookLevels,
        (changed, time): (Option<Sequence>, TimeMs),
    ) -> DepthJson {
        let (bidders, bids, asks) = match outcome {
            Outcome::Yes => (Direction::Up, &book.up, &book.down),
            Outcome::No => (Direction::Down, &book.down, &book.up),
        };
        let side =
            |levels: &[Level]| levels.iter().map(|level| LevelJson::of(level, bidders)).collect();
        let best = |levels: &[Level], bound| {
            let best = levels.first().map(|level| bidders.own_price(level.price));
            best.map_or(bound, SettlementPrice::from)
        };
        let (bid, ask) = (best(bids, SettlementPrice::ZERO), best(asks, SettlementPrice::ONE));
        let spread = SettlementPrice::new(ask.get().saturating_sub(bid.get()));
        DepthJson {
            market_id: Text(id),
            outcome_id: Text(outcome),
            bids: side(bids),
            asks: side(asks),
            best_bid: Text(bid),
            best_ask: Text(ask),
            spread: Text(spread.unwrap_or(SettlementPrice::ZERO)),
            sequence: changed.map(RecordNo),
            timestamp: Timestamp(time),
        }
    }
}

/// Bytes of a book's last member, its time, and of the bracket after it.
const TIME_BYTES: usize = "\"1970-01-01T00:00:00.000Z\"}".len();

/// The text of a book without its time, to which [`dated`] adds another.
pub fn undated(mut book: Vec<u8>) -> Vec<u8> {
    book.truncate(book.len().saturating_sub(TIME_BYTES));
    book
}

/// A book with its time.
///
/// # Errors
/// None in practice: a time has a text.
pub fn dated(book: &[u8], time: TimeMs) -> Result<Vec<u8>, serde_json::Error> {
    let mut text = Vec::with_capacity(book.len().saturating_add(TIME_BYTES));
    text.extend_from_slice(book);
    print(&mut text, &Timestamp(time))?;
    text.push(b'}');
    Ok(text)
}
