//! The public tape: each market's trades, without the parties, and their candles by the minute and
//! by the hour.

mod candles;
mod image;

pub use candles::{Bar, Candles, Chart, Interval};

use super::fault::Fault;
use super::fault::View;
use super::history::History;
use super::history::chain::length;
use super::history::stream::{Newest, Streams};
use super::saved::saved;
use super::table::Table;
use exchange::command::Direction;
use exchange::effect::{Applied, Effect, Trade};
use exchange::ids::{MarketNo, TradeId, TradeIndex};
use exchange::units::{Lots, LotsSum, Sequence, Tick, TimeMs};

use candles::{Candle, MadeOf, Series};

/// A trade as published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TradeRow {
    /// Contracts.
    pub quantity: Lots,
    /// When.
    pub time: TimeMs,
    /// The record that made it.
    pub sequence: Sequence,
    /// Index of the trade within its record.
    pub index: TradeIndex,
    /// Price of yes.
    pub price: Tick,
    /// The direction of the taker's order.
    pub taker: Direction,
}

impl TradeRow {
    /// A trade of this record.
    pub const fn of(at: &Applied<'_>, trade: &Trade) -> TradeRow {
        TradeRow {
            quantity: trade.quantity,
            time: at.time,
            sequence: at.sequence,
            index: trade.index,
            price: trade.price,
            taker: trade.taker_direction,
        }
    }

    /// The public id, the same that the parties see.
    pub fn id(&self) -> TradeId {
        TradeId::of(self.time, self.sequence, self.index)
    }
}

/// The candles of a market that has traded.
#[derive(Debug, Default)]
struct MarketTape {
    minutes: Series<true>,
    hours: Series<false>,
}

saved!(MarketTape { minutes, hours });

/// Every market's trades and candles. All but the newest are on pages.
#[derive(Debug, Default)]
pub struct Tape {
    history: History,
    trades: Streams<TradeRow>,
    /// Many markets never trade, and take no allocation.
    markets: Table<MarketNo, Option<Box<MarketTape>>>,
}

saved!(Tape { history, trades, markets });

impl Tape {
    /// No trades yet; pages go to `history`.
    pub(super) fn on(history: History) -> Tape {
        Tape { trades: Streams::on(history.clone()), history, markets: Table::default() }
    }

    /// A market's trades, newest first.
    pub fn trades(&self, market: MarketNo) -> Newest<TradeRow> {
        self.trades.pages(market.0).newest_first()
    }

    /// Number of a market's trades. O(1).
    pub fn trades_count(&self, market: MarketNo) -> usize {
        length(self.trades.count(market.0))
    }

    /// Total volume of a market, in lots. O(1).
    pub fn volume(&self, market: MarketNo) -> LotsSum {
        self.market(market).map_or(LotsSum::ZERO, |tape| tape.minutes.volume())
    }

    /// A market's minute candles, oldest first.
    pub fn minutes(&self, market: MarketNo) -> Candles<true> {
        match self.market(market) {
            Some(tape) => tape.minutes.candles(&self.history, market),
            None => Series::default().candles(&self.history, market),
        }
    }

    /// `count` consecutive intervals, the first starting at `from`, which must be the start of an
    /// interval.
    pub fn chart(&self, market: MarketNo, interval: Interval, from: TimeMs, count: usize) -> Chart {
        let made_of = match self.market(market) {
            None if self.markets.get(market).is_none() => MadeOf::Nothing,
            Some(tape) if !interval.of_minutes() => {
                MadeOf::Hours(Box::new(tape.hours.candles(&self.history, market)))
            }
            _ => MadeOf::Minutes(Box::new(self.minutes(market))),
        };
        Chart { made_of, interval, from, count }
    }

    /// Stores a market's open interest after a record's trades and positions were folded.
    pub(super) fn note_interest(&mut self, market: MarketNo, interest: Lots) {
        if let Ok(Some(tape)) = self.markets.row(market) {
            tape.minutes.note_interest(interest);
            tape.hours.note_interest(interest);
        }
    }

    fn market(&self, market: MarketNo) -> Option<&MarketTape> {
        self.markets.get(market)?.as_deref()
    }
}

impl View for Tape {
    fn see(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match *effect {
            Effect::MarketCreated { market, .. } => {
                self.markets.add(market, None)?;
                self.trades.add_owner(market.index())
            }
            Effect::TradeMade(trade) => {
                let tape = self.markets.row(trade.market)?.get_or_insert_default();
                let through = tape.minutes.volume().plus(trade.quantity)?;
                let candle = Candle::of_trade(at.time, trade.price, through);
                tape.minutes.take(&self.history, trade.market, &candle)?;
                tape.hours.take(&self.history, trade.market, &candle)?;
                let row = TradeRow::of(at, &trade);
                let unknown = Fault::UnknownMarket(trade.market);
                self.trades.push(trade.market.0, &row, unknown).map(drop)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/tape.rs"]
mod tests;
