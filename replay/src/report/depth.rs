//! The book of one market at chosen moments of a journal.

use exchange::Exchange;
use exchange::command::{Direction, Record};
use exchange::effect::Effect;
use exchange::ids::MarketNo;
use exchange::units::{Lots, Overflow, Sequence, Tick, TimeMs};

use crate::answer::Failure;
use crate::moment::Moment;
use crate::pass::Listener;

/// One price level of one side.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    /// Price of yes.
    pub price: Tick,
    /// Quantity at this price.
    pub quantity: Lots,
    /// Quantity at this price and better ones.
    pub reached: Lots,
    /// Number of orders at this price.
    pub orders: u32,
}

/// A book at a moment; both sides best first.
pub struct DepthSnapshot {
    /// The moment as text.
    pub label: String,
    /// After this record.
    pub sequence: Sequence,
    /// The record's time.
    pub time: TimeMs,
    /// Bids for yes.
    pub bids: Vec<Level>,
    /// Offers of yes.
    pub asks: Vec<Level>,
}

/// Takes snapshots of the book while a journal is read.
pub struct SnapshotTaker {
    market: MarketNo,
    /// Moments not yet reached, with their labels.
    pending: Vec<(Moment, String)>,
    /// The snapshots, in the order of the moments.
    pub snapshots: Vec<DepthSnapshot>,
}

impl SnapshotTaker {
    /// Before the first record.
    pub fn new(market: MarketNo, moments: Vec<(Moment, String)>) -> SnapshotTaker {
        SnapshotTaker { market, pending: moments, snapshots: Vec::new() }
    }

    /// Takes a snapshot for every moment that is before the next record.
    fn take_passed(&mut self, exchange: &Exchange, next: Option<&Record>) -> Result<(), Overflow> {
        let passed = |moment: &Moment| next.is_none_or(|record| moment.is_before(record));
        while let Some(index) = self.pending.iter().position(|(moment, _)| passed(moment)) {
            let (_, label) = self.pending.remove(index);
            let side = |direction| side(exchange, self.market, direction);
            let (bids, asks) = (side(Direction::Up)?, side(Direction::Down)?);
            let (sequence, time) = (exchange.sequence(), exchange.time());
            self.snapshots.push(DepthSnapshot { label, sequence, time, bids, asks });
        }
        Ok(())
    }

    /// Takes the remaining snapshots: moments at or after the journal's end.
    pub fn finish(&mut self, exchange: &Exchange) -> Result<(), Overflow> {
        self.take_passed(exchange, None)
    }
}

impl Listener for SnapshotTaker {
    fn before(&mut self, exchange: &Exchange, record: &Record) -> Result<(), Failure> {
        Ok(self.take_passed(exchange, Some(record))?)
    }

    fn after(&mut self, _: &Exchange, _: &Record, _: &[Effect]) -> Result<(), Failure> {
        Ok(())
    }
}

fn side(
    exchange: &Exchange,
    market: MarketNo,
    direction: Direction,
) -> Result<Vec<Level>, Overflow> {
    let book = exchange.market(market).map(|market| &market.book);
    let mut reached = Lots::ZERO;
    let mut levels = Vec::new();
    for (price, level) in book.into_iter().flat_map(|book| book.levels(direction)) {
        reached = reached.plus(level.quantity)?;
        levels.push(Level { price, quantity: level.quantity, reached, orders: level.orders });
    }
    Ok(levels)
}
