//! The JSON of an outcome's order book.

use serde::Serialize;

use super::{OutcomeId, Text, Timestamp};
use exchange::catalogue::Outcome;
use exchange::command::Direction;
use exchange::ids::MarketId;
use exchange::units::{Lots, SettlementPrice, Tick, TimeMs};
use views::depth::Level;

/// A price level (interface 2.9).
#[derive(Debug, Serialize)]
struct LevelJson {
    price: Text<Tick>,
    quantity: Text<Lots>,
    orders: u32,
}

/// The book of an outcome (interface 4.4), without its timestamp.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DepthJson {
    market_id: Text<MarketId>,
    outcome_id: OutcomeId,
    bids: Vec<LevelJson>,
    asks: Vec<LevelJson>,
    best_bid: Text<SettlementPrice>,
    best_ask: Text<SettlementPrice>,
    spread: Text<SettlementPrice>,
}

/// A serialised book with the timestamp added as its last member.
pub fn dated(book: &[u8], time: TimeMs) -> Vec<u8> {
    let time = Timestamp(time).quoted();
    let members = book.strip_suffix(b"}").unwrap_or(book);
    [members, br#","timestamp":"#, time.as_slice(), b"}"].concat()
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

impl DepthJson {
    /// The levels of both sides, best first; an empty side shows the bound as its best price. The
    /// book of `no` mirrors the one book: its bids are the orders that bet down, at the complement
    /// price (semantics 4).
    pub fn of(id: MarketId, outcome: Outcome, book: &BookLevels) -> DepthJson {
        let bidders = match outcome {
            Outcome::Yes => Direction::Up,
            Outcome::No => Direction::Down,
        };
        // The price on the side that gains an outcome is the price of that outcome.
        let level = |level: &Level| LevelJson {
            price: Text(bidders.own_price(level.price)),
            quantity: Text(level.quantity),
            orders: level.orders,
        };
        let levels = |direction| match direction {
            Direction::Up => &book.up,
            Direction::Down => &book.down,
        };
        let side = |direction| levels(direction).iter().map(level).collect();
        let best = |direction| levels(direction).first().map(|b| bidders.own_price(b.price));
        let bid = best(bidders).map_or(SettlementPrice::ZERO, SettlementPrice::from);
        let ask = best(bidders.opposite()).map_or(SettlementPrice::ONE, SettlementPrice::from);
        let spread = SettlementPrice::new(ask.get().saturating_sub(bid.get()));
        DepthJson {
            market_id: Text(id),
            outcome_id: OutcomeId(outcome),
            bids: side(bidders),
            asks: side(bidders.opposite()),
            best_bid: Text(bid),
            best_ask: Text(ask),
            spread: Text(spread.unwrap_or(SettlementPrice::ZERO)),
        }
    }
}
