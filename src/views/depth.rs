//! The price levels of every book in yes-ticks, and the price of each market's last trade.

use std::cmp::Ordering;

use super::ReadModel;
use super::catalogue::{EventRow, MarketRow};
use super::fault::{Fault, View};
use super::saved::{Sizes, hold, saved};
use super::table::Table;
use exchange::catalogue::Outcome;
use exchange::command::Direction;
use exchange::effect::{Applied, Effect};
use exchange::ids::MarketNo;
use exchange::image::coding::BadImage;
use exchange::market::MarketStatus;
use exchange::units::{LOTS_PER_CONTRACT, Lots, Money, Overflow, Ratio, SettlementPrice, Tick};

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

saved!(Level { price, quantity, orders });

/// The occupied levels of one side, at most 99, best last: most changes are at the best price.
type Levels = Vec<Level>;

#[derive(Debug, Default)]
struct Ladder {
    up: Levels,
    down: Levels,
    last_trade: Option<Tick>,
    /// What it showed after the last record.
    seen: Glance,
}

saved!(Ladder { up, down, last_trade } made { seen } by seen);

/// What a market shows at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Glance {
    best: [Option<Level>; 2],
    quote: Quote,
}

impl Ladder {
    #[allow(clippy::unnecessary_wraps, reason = "what an image makes may fail elsewhere")]
    fn seen(self, _: Sizes) -> Result<Self, BadImage> {
        Ok(Ladder { seen: self.glance(), ..self })
    }

    fn glance(&self) -> Glance {
        let best = [self.up.last().copied(), self.down.last().copied()];
        let [bid, ask] = best.map(|level| level.map(|level| level.price));
        Glance { best, quote: Quote::traded(bid, ask, self.last_trade) }
    }

    const fn side(&self, direction: Direction) -> &Levels {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    const fn side_mut(&mut self, direction: Direction) -> &mut Levels {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }

    fn is_sound(&self) -> bool {
        [Direction::Up, Direction::Down].into_iter().all(|direction| {
            let levels = self.side(direction);
            let stand = levels.iter().all(|level| !level.quantity.is_zero() && level.orders > 0);
            let better = |a: &Level, b: &Level| better(direction, a.price, b.price).is_lt();
            stand && levels.is_sorted_by(better)
        })
    }
}

/// Every market's levels. A market that never had an order costs one null pointer.
#[derive(Debug, Default)]
pub struct Depth {
    ladders: Table<MarketNo, Option<Box<Ladder>>>,
    /// Markets whose levels the record has changed.
    touched: Vec<MarketNo>,
}

saved!(Depth { ladders } made { touched } by checked);

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
        self.ladders.get(market)?.as_deref()
    }

    fn side(&self, market: MarketNo, direction: Direction) -> &[Level] {
        self.ladder(market).map_or(&[], |ladder| ladder.side(direction))
    }

    fn checked(self, _: Sizes) -> Result<Depth, BadImage> {
        let sound = self.ladders.rows().iter().flatten().all(|ladder| ladder.is_sound());
        hold(sound, "price levels out of order, or without orders")?;
        Ok(self)
    }

    fn add(&mut self, change: Change, quantity: Lots) -> Result<(), Fault> {
        let levels = self.levels_mut(change)?;
        match find(levels, change) {
            Ok(index) => {
                if let Some(level) = levels.get_mut(index) {
                    level.quantity = level.quantity.plus(quantity)?;
                    level.orders = level.orders.saturating_add(1);
                }
            }
            Err(index) => levels.insert(index, Level { price: change.price, quantity, orders: 1 }),
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

    /// Ends a record: tells each market whose best prices it has changed, or what stands there, and
    /// whether the quote is another.
    pub(crate) fn conclude(
        &mut self,
        mut tell: impl FnMut(MarketNo, bool) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        for market in self.touched.drain(..) {
            let Some(ladder) = self.ladders.row(market)? else { continue };
            let now = ladder.glance();
            let before = std::mem::replace(&mut ladder.seen, now);
            if before != now {
                tell(market, before.quote != now.quote)?;
            }
        }
        Ok(())
    }

    fn levels_mut(&mut self, change: Change) -> Result<&mut Levels, Fault> {
        if self.touched.last() != Some(&change.market) {
            self.touched.push(change.market);
        }
        let ladder = self.ladders.row(change.market)?.get_or_insert_default();
        Ok(ladder.side_mut(change.direction))
    }
}

impl View for Depth {
    fn see(&mut self, _: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match *effect {
            Effect::MarketCreated { market, .. } => self.ladders.add(market, None),
            Effect::OrderRested { market, direction, price, remaining, .. } => {
                self.add(Change { market, direction, price }, remaining)
            }
            Effect::TradeMade(trade) => {
                let direction = trade.taker_direction.opposite();
                let maker = Change { market: trade.market, direction, price: trade.price };
                let ladder = self.ladders.row(trade.market)?.get_or_insert_default();
                ladder.last_trade = Some(trade.price);
                self.take(maker, trade.quantity, u32::from(trade.maker.remaining.is_zero()))
            }
            Effect::OrderCancelled { market, direction, price, quantity, rested: true, .. } => {
                self.take(Change { market, direction, price }, quantity, 1)
            }
            Effect::OrderAmended {
                market,
                direction,
                price_before: price,
                remaining_before,
                remaining,
                kept_place,
                ..
            } => {
                let change = Change { market, direction, price };
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
}

/// Orders prices by what they are worth to whoever meets them.
fn better(direction: Direction, one: Tick, other: Tick) -> Ordering {
    match direction {
        Direction::Up => one.cmp(&other),
        Direction::Down => other.cmp(&one),
    }
}

/// The index of the level on its side, or where to insert it: the better the price, the later.
fn find(levels: &[Level], change: Change) -> Result<usize, usize> {
    levels.binary_search_by(|level| better(change.direction, level.price, change.price))
}

// The displayed probability of a market (semantics 3), and the price of an event's full set of
// markets.

/// The widest spread, in ticks, whose midpoint is displayed: 0.10.
const SPREAD_TICKS_MAX: u8 = 10;

/// The displayed value of a yes contract. All prices are of yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quote {
    /// One price.
    At(SettlementPrice),
    /// The midpoint of a bid and an ask.
    Between(Tick, Tick),
}

/// That of a market in which nothing was traded.
impl Default for Quote {
    fn default() -> Quote {
        Quote::At(SettlementPrice::HALF)
    }
}

impl Quote {
    /// The quote of a market.
    ///
    /// Once paid out, it is what a yes contract was paid: 1 or 0 when SETTLED, the stated price
    /// when VOIDED. Before, it is the midpoint of `bid` and `ask` if both exist and are close, else
    /// the `last` trade, else one half.
    pub fn of(
        market: &MarketRow,
        bid: Option<Tick>,
        ask: Option<Tick>,
        last: Option<Tick>,
    ) -> Quote {
        market.settled_at.map_or_else(|| Quote::traded(bid, ask, last), Quote::At)
    }

    /// The same before it is paid out.
    fn traded(bid: Option<Tick>, ask: Option<Tick>, last: Option<Tick>) -> Quote {
        match (bid, ask) {
            (Some(bid), Some(ask)) if ask.get().saturating_sub(bid.get()) <= SPREAD_TICKS_MAX => {
                Quote::Between(bid, ask)
            }
            _ => Quote::At(last.map_or(SettlementPrice::HALF, SettlementPrice::from)),
        }
    }

    /// The displayed probability of yes; that of no is the complement.
    pub fn probability_of_yes(self) -> Ratio {
        match self {
            Quote::At(price) => Ratio::of_price(price),
            Quote::Between(bid, ask) => Ratio::midpoint(bid, ask),
        }
    }

    /// The value of contracts of an outcome at this quote; half a money unit is rounded down.
    ///
    /// # Errors
    /// The amount leaves the range of its type.
    pub fn value(self, outcome: Outcome, quantity: Lots) -> Result<Money, Overflow> {
        let own = |yes: SettlementPrice| match outcome {
            Outcome::Yes => yes.times(quantity),
            Outcome::No => yes.complement().times(quantity),
        };
        match self {
            Quote::At(price) => own(price),
            Quote::Between(bid, ask) => {
                let both = own(bid.into())?.plus(own(ask.into())?)?;
                both.share(Lots::new(1), Lots::new(2))
            }
        }
    }
}

/// The price of one yes contract of each market of a mutually exclusive event. The set pays 1.00 if
/// one of them wins, so a bid above or an ask below that is an arbitrage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldQuote {
    /// Proceeds of selling a set at the best bids; `None` unless every market has a bid.
    pub bid: Option<Money>,
    /// Cost of buying a set at the best asks; `None` unless every market has an ask.
    pub ask: Option<Money>,
}

impl ReadModel {
    /// The price of an event's set; `None` if its markets are not mutually exclusive. A market that
    /// has paid out counts at its payout; one that is not ACTIVE has neither bid nor ask.
    /// O(markets).
    pub fn field(&self, event: &EventRow) -> Option<FieldQuote> {
        let sum = |side: Direction| {
            let one = Lots::new(LOTS_PER_CONTRACT);
            let prices = event.markets.iter().map(|market| {
                let row = self.catalogue.market(*market)?;
                let best = || self.depth.best(*market, side).map(SettlementPrice::from);
                let trades = row.status == MarketStatus::Active;
                row.settled_at.or_else(|| best().filter(|_| trades))?.times(one).ok()
            });
            let total = prices.reduce(|sum, price| sum?.plus(price?).ok());
            total.flatten()
        };
        let field = || FieldQuote { bid: sum(Direction::Up), ask: sum(Direction::Down) };
        event.draft.mutually_exclusive.then(field)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/depth.rs"]
mod tests;

#[cfg(test)]
#[path = "../../tests/unit/views/quote.rs"]
mod quote_tests;
