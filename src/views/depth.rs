//! The price levels of every book in yes-ticks, and the price of each market's last trade.

mod image;

use super::Projection;
use super::fault::{Fault, Faults, is_next};
use exchange::command::Direction;
use exchange::effect::{Applied, Effect};
use exchange::ids::MarketNo;
use exchange::units::{Lots, Tick};

/// A price level: all open orders on one side of a book at one price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Price of yes.
    pub price: Tick,
    /// Total quantity in lots; more than zero.
    pub quantity: Lots,
    /// Number of orders; more than zero.
    pub orders: u32,
}

/// The occupied levels of one side, at most 99, best last: most changes are at the best price.
type Levels = Vec<Level>;

#[derive(Debug, Default)]
struct Ladder {
    up: Levels,
    down: Levels,
    last_trade: Option<Tick>,
}

/// Every market's levels. A market that never had an order costs one null pointer.
#[derive(Debug, Default)]
pub struct Depth {
    ladders: Vec<Option<Box<Ladder>>>,
}

/// The level that one effect changes.
#[derive(Debug, Clone, Copy)]
struct Change {
    market: MarketNo,
    direction: Direction,
    price: Tick,
}

impl Depth {
    /// The best price of a side, in yes-ticks: the highest for Up, the lowest for Down. O(1).
    pub fn best(&self, market: MarketNo, direction: Direction) -> Option<Tick> {
        self.side(market, direction).last().map(|level| level.price)
    }

    /// The occupied levels of a side, best first, prices in yes-ticks.
    pub fn levels(
        &self,
        market: MarketNo,
        direction: Direction,
    ) -> impl ExactSizeIterator<Item = Level> {
        self.side(market, direction).iter().rev().copied()
    }

    /// The price of yes at which the market last traded. O(1).
    pub fn last_trade(&self, market: MarketNo) -> Option<Tick> {
        self.ladder(market)?.last_trade
    }

    fn ladder(&self, market: MarketNo) -> Option<&Ladder> {
        self.ladders.get(market.index())?.as_deref()
    }

    fn side(&self, market: MarketNo, direction: Direction) -> &[Level] {
        self.ladder(market).map_or(&[], |ladder| match direction {
            Direction::Up => &ladder.up,
            Direction::Down => &ladder.down,
        })
    }

    fn fold_effect(&mut self, effect: &Effect) -> Result<(), Fault> {
        match *effect {
            Effect::MarketCreated { market, .. } => {
                is_next(market.index(), self.ladders.len())?;
                self.ladders.push(None);
                Ok(())
            }
            Effect::OrderRested { market, direction, price, remaining, .. } => {
                self.add(Change { market, direction, price }, remaining, 1)
            }
            Effect::TradeMade(trade) => {
                let direction = trade.taker_direction.opposite();
                let maker = Change { market: trade.market, direction, price: trade.price };
                self.ladder_mut(trade.market)?.last_trade = Some(trade.price);
                self.take(maker, trade.quantity, u32::from(trade.maker.remaining.is_zero()))
            }
            Effect::OrderCancelled { market, direction, price, quantity, rested: true, .. } => {
                self.take(Change { market, direction, price }, quantity, 1)
            }
            Effect::OrderAmended {
                market,
                direction,
                price_before,
                remaining_before,
                remaining,
                kept_place,
                ..
            } => {
                let change = Change { market, direction, price: price_before };
                if kept_place {
                    // It stays one order of the level, and its quantity can only shrink.
                    self.take(change, remaining_before.minus(remaining)?, 0)
                } else {
                    self.take(change, remaining_before, 1)
                }
            }
            _ => Ok(()),
        }
    }

    fn ladder_mut(&mut self, market: MarketNo) -> Result<&mut Ladder, Fault> {
        let slot = self.ladders.get_mut(market.index()).ok_or(Fault::UnknownMarket(market))?;
        Ok(slot.get_or_insert_default())
    }

    fn levels_mut(&mut self, change: Change) -> Result<&mut Levels, Fault> {
        let ladder = self.ladder_mut(change.market)?;
        Ok(match change.direction {
            Direction::Up => &mut ladder.up,
            Direction::Down => &mut ladder.down,
        })
    }

    fn add(&mut self, change: Change, quantity: Lots, orders: u32) -> Result<(), Fault> {
        let price = change.price;
        let levels = self.levels_mut(change)?;
        match find(levels, change) {
            Ok(index) => {
                if let Some(level) = levels.get_mut(index) {
                    level.quantity = level.quantity.plus(quantity)?;
                    level.orders = level.orders.saturating_add(orders);
                }
            }
            Err(index) => levels.insert(index, Level { price, quantity, orders }),
        }
        Ok(())
    }

    fn take(&mut self, change: Change, quantity: Lots, orders: u32) -> Result<(), Fault> {
        let too_small = Fault::LevelTooSmall { market: change.market, price: change.price };
        let levels = self.levels_mut(change)?;
        let index = find(levels, change).map_err(|_| too_small)?;
        let level = levels.get_mut(index).ok_or(too_small)?;
        level.quantity = level.quantity.minus(quantity).map_err(|_| too_small)?;
        level.orders = level.orders.checked_sub(orders).ok_or(too_small)?;
        let consistent = level.quantity.is_zero() == (level.orders == 0);
        if level.orders == 0 {
            levels.remove(index);
        }
        if levels.is_empty() {
            *levels = Levels::new();
        }
        if consistent { Ok(()) } else { Err(too_small) }
    }
}

impl Projection for Depth {
    fn fold(&mut self, applied: &Applied<'_>, faults: &mut Faults) {
        for effect in applied.effects {
            faults.check(self.fold_effect(effect));
        }
    }
}

/// The index of the level on its side, or where to insert it: the better the price, the later.
fn find(levels: &[Level], change: Change) -> Result<usize, usize> {
    levels.binary_search_by(|level| {
        let order = level.price.cmp(&change.price);
        match change.direction {
            Direction::Up => order,
            Direction::Down => order.reverse(),
        }
    })
}

#[cfg(test)]
#[path = "../../tests/unit/views/depth.rs"]
mod tests;
