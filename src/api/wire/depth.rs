//! The JSON of the book of an outcome.

use serde::Serialize;

use super::{OutcomeId, Text, Timestamp};
use crate::exchange::catalogue::Outcome;
use crate::exchange::command::Direction;
use crate::exchange::ids::MarketId;
use crate::exchange::units::{Lots, SettlementPrice, Tick, TimeMs};
use crate::projection::depth::Level;

/// A price level (interface 2.9).
#[derive(Debug, Serialize)]
struct LevelJson {
    price: Text<Tick>,
    quantity: Text<Lots>,
    orders: u32,
}

/// The book of an outcome (interface 4.4), without the moment at which it was looked at.
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

/// A book in print, with the moment as its last member.
pub fn dated(book: &[u8], time: TimeMs) -> Vec<u8> {
    let time = Timestamp(time).quoted();
    let members = book.strip_suffix(b"}").unwrap_or(book);
    [members, br#","timestamp":"#, time.as_slice(), b"}"].concat()
}

/// The best levels of a book, those of each side best first; at least one of a side that has any.
#[derive(Debug)]
pub struct BookLevels {
    /// What bets on yes.
    pub up: Vec<Level>,
    /// What bets on no.
    pub down: Vec<Level>,
}

impl DepthJson {
    /// The levels of both sides, best first; without any a side shows the bound. The book of `no`
    /// is the mirror of the one book: its bids are what bets down, at the complement
    /// (semantics 4).
    pub fn of(id: MarketId, outcome: Outcome, book: &BookLevels) -> DepthJson {
        let bidders = match outcome {
            Outcome::Yes => Direction::Up,
            Outcome::No => Direction::Down,
        };
        // What an outcome costs on the side that gains it is the price of that outcome.
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
