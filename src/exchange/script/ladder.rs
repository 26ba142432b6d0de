//! Draws a market's book as a ladder, asks on the left and bids on the right, each level with its
//! orders in time priority. Built from effects alone.

use std::collections::BTreeMap;

use super::super::catalogue::Outcome;
use super::super::command::Direction;
use super::super::effect::Effect;
use super::super::ids::{MarketNo, OrderNo};
use super::super::units::{Lots, Tick};
use super::names::Names;

/// Columns of each side.
const SIDE_COLUMNS: usize = 8;

/// One order in its queue.
#[derive(Debug, Clone, Copy)]
struct QueuedOrder {
    order: OrderNo,
    remaining: Lots,
}

/// The books of all markets.
#[derive(Debug, Clone, Default)]
pub struct Ladders {
    levels: BTreeMap<(MarketNo, Direction, Tick), Vec<QueuedOrder>>,
}

impl Ladders {
    /// Empty books.
    pub fn new() -> Ladders {
        Ladders::default()
    }

    /// Applies one effect.
    pub fn fold(&mut self, effect: &Effect) {
        match effect {
            Effect::OrderRested { order, market, direction, price, remaining, .. } => {
                let queued = QueuedOrder { order: *order, remaining: *remaining };
                self.levels.entry((*market, *direction, *price)).or_default().push(queued);
            }
            Effect::TradeMade(trade) => {
                let level = (trade.market, trade.taker_direction.opposite(), trade.price);
                self.set_remaining(level, trade.maker.order, trade.maker.remaining);
            }
            Effect::OrderCancelled { order, market, direction, price, rested: true, .. } => {
                self.set_remaining((*market, *direction, *price), *order, Lots::ZERO);
            }
            Effect::OrderAmended {
                order,
                market,
                direction,
                price_before,
                remaining,
                kept_place,
                ..
            } => {
                let left = if *kept_place { *remaining } else { Lots::ZERO };
                self.set_remaining((*market, *direction, *price_before), *order, left);
            }
            _ => {}
        }
    }

    /// Sets the unfilled quantity of an order, and removes it if that is zero.
    fn set_remaining(
        &mut self,
        level: (MarketNo, Direction, Tick),
        order: OrderNo,
        remaining: Lots,
    ) {
        let Some(queue) = self.levels.get_mut(&level) else { return };
        if remaining.is_zero() {
            queue.retain(|queued| queued.order != order);
        } else if let Some(queued) = queue.iter_mut().find(|one| one.order == order) {
            queued.remaining = remaining;
        }
        if queue.is_empty() {
            self.levels.remove(&level);
        }
    }

    /// The levels of one side with their totals and orders, lowest yes-price first.
    pub fn levels(
        &self,
        market: MarketNo,
        direction: Direction,
    ) -> impl DoubleEndedIterator<Item = (Tick, Lots, usize)> {
        let range = (market, direction, Tick::MIN)..=(market, direction, Tick::MAX);
        self.levels.range(range).map(|((_, _, price), queue)| (*price, total(queue), queue.len()))
    }

    /// Draws a market's book in prices of `outcome`: for no, sides and prices are mirrored.
    pub fn draw(&self, market: MarketNo, outcome: Outcome, names: &Names) -> String {
        let mut drawing = Vec::new();
        let mut rows: Vec<_> = self.levels.iter().filter(|((of, _, _), _)| *of == market).collect();
        rows.sort_by_key(|((_, _, price), _)| std::cmp::Reverse(*price));
        if outcome == Outcome::No {
            rows.reverse();
        }
        for ((_, direction, price), queue) in rows {
            let (asks, price) = match outcome {
                Outcome::Yes => (Direction::Down, *price),
                Outcome::No => (Direction::Up, price.complement()),
            };
            let queued: Vec<_> = queue.iter().map(|one| names.of_order(one.order)).collect();
            let (quantity, queued) = (total(queue).to_string(), queued.join(" "));
            let width = SIDE_COLUMNS;
            drawing.push(if *direction == asks {
                format!(
                    "{quantity:>width$} | {price} | {:width$} {queued}
",
                    ""
                )
            } else {
                format!(
                    "{:width$} | {price} | {quantity:<width$} {queued}
",
                    ""
                )
            });
        }
        if drawing.is_empty() { "(empty)\n".to_owned() } else { drawing.concat() }
    }
}

fn total(queue: &[QueuedOrder]) -> Lots {
    let lots = queue.iter().map(|one| one.remaining.get());
    Lots::new(lots.fold(0, u64::saturating_add))
}
