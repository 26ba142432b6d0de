//! The book of one market at chosen moments of a journal.

use openoutcry::exchange::Exchange;
use openoutcry::exchange::command::{Direction, Record};
use openoutcry::exchange::effect::Effect;
use openoutcry::exchange::ids::MarketNo;
use openoutcry::exchange::units::{Lots, Overflow, Sequence, Tick, TimeMs};

use crate::answer::Failure;
use crate::moment::Moment;
use crate::pass::Listener;

/// One price of one side.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    /// Price of yes.
    pub price: Tick,
    /// Contracts there.
    pub quantity: Lots,
    /// Contracts there and at better prices.
    pub reached: Lots,
    /// Orders there.
    pub orders: u32,
}

/// A book at a moment; both sides best first.
pub struct Picture {
    /// What moment it is, in words.
    pub label: String,
    /// After this record.
    pub sequence: Sequence,
    /// The record's time.
    pub time: TimeMs,
    /// Who bids for yes.
    pub bids: Vec<Level>,
    /// Who offers yes.
    pub asks: Vec<Level>,
}

/// Takes the pictures as a journal passes.
pub struct Camera {
    market: MarketNo,
    /// Moments not yet passed, and what they are called.
    pending: Vec<(Moment, String)>,
    /// What was taken, in the order of the moments.
    pub pictures: Vec<Picture>,
}

impl Camera {
    /// Before the first record.
    pub fn new(market: MarketNo, moments: Vec<(Moment, String)>) -> Camera {
        Camera { market, pending: moments, pictures: Vec::new() }
    }

    /// Takes a picture for every moment that the next record lies beyond.
    fn shoot(&mut self, exchange: &Exchange, next: Option<&Record>) -> Result<(), Overflow> {
        let passed = |moment: &Moment| next.is_none_or(|record| moment.is_before(record));
        while let Some(index) = self.pending.iter().position(|(moment, _)| passed(moment)) {
            let (_, label) = self.pending.remove(index);
            let side = |direction| side(exchange, self.market, direction);
            let (bids, asks) = (side(Direction::Up)?, side(Direction::Down)?);
            let (sequence, time) = (exchange.sequence(), exchange.time());
            self.pictures.push(Picture { label, sequence, time, bids, asks });
        }
        Ok(())
    }

    /// Takes what is left: moments at or after the journal's end.
    pub fn finish(&mut self, exchange: &Exchange) -> Result<(), Overflow> {
        self.shoot(exchange, None)
    }
}

impl Listener for Camera {
    fn before(&mut self, exchange: &Exchange, record: &Record) -> Result<(), Failure> {
        Ok(self.shoot(exchange, Some(record))?)
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
