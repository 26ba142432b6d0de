//! One market's order book: a ladder of 99 price levels a side, each a first-in-first-out queue.
//!
//! The book holds links and sums; the orders themselves are in the pool. Every operation takes
//! constant time: the best price is one instruction on a mask of occupied levels, and an order
//! leaves the middle of its queue by its links.

mod image;

use super::command::Direction;
use super::invariant::Broken;
use super::orders::{Links, OrderPool, Slot};
use super::units::{Lots, TICKS_PER_UNIT, Tick};

/// One price level: a queue in order of arrival, and what stands in it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Level {
    first: Option<Slot>,
    last: Option<Slot>,
    /// Contracts that stand here.
    pub quantity: Lots,
    /// Orders that stand here.
    pub orders: u32,
}

/// One side of a book.
#[derive(Debug, Clone, Default)]
struct Ladder {
    /// Bit t is set while the level of tick t is occupied.
    occupied: u128,
    /// By tick. Allocated by the first order: most markets of a large venue are quiet.
    levels: Option<Box<[Level; TICKS_PER_UNIT as usize]>>,
}

impl Ladder {
    fn level(&self, tick: Tick) -> Level {
        let levels = self.levels.as_ref();
        levels.and_then(|levels| levels.get(usize::from(tick.get()))).copied().unwrap_or_default()
    }

    fn level_mut(&mut self, tick: Tick) -> Result<&mut Level, Broken> {
        let levels = self
            .levels
            .get_or_insert_with(|| Box::new([Level::default(); TICKS_PER_UNIT as usize]));
        levels.get_mut(usize::from(tick.get())).ok_or(Broken::Dangling)
    }

    fn highest(&self) -> Option<Tick> {
        u8::try_from(self.occupied.checked_ilog2()?).ok().and_then(Tick::new)
    }

    fn lowest(&self) -> Option<Tick> {
        u8::try_from(self.occupied.trailing_zeros()).ok().and_then(Tick::new)
    }
}

/// A market's book: bids (orders up) and asks (orders down), in yes-ticks.
#[derive(Debug, Clone, Default)]
pub struct Book {
    bids: Ladder,
    asks: Ladder,
}

impl Book {
    /// The best price of a side: the highest bid, the lowest ask.
    pub fn best(&self, side: Direction) -> Option<Tick> {
        match side {
            Direction::Up => self.bids.highest(),
            Direction::Down => self.asks.lowest(),
        }
    }

    /// The best price of the side that an order meets, if its limit reaches it (script
    /// `pitfall_price_priority`).
    pub fn crossed_by(&self, direction: Direction, limit: Tick) -> Option<Tick> {
        let best = self.best(direction.opposite())?;
        let crosses = match direction {
            Direction::Up => best <= limit,
            Direction::Down => best >= limit,
        };
        crosses.then_some(best)
    }

    /// The next occupied price behind `tick`, going away from the best.
    pub fn next_behind(&self, side: Direction, tick: Tick) -> Option<Tick> {
        let bit = 1_u128 << tick.get();
        let occupied = match side {
            Direction::Up => self.bids.occupied & bit.wrapping_sub(1),
            Direction::Down => self.asks.occupied & !(bit | bit.wrapping_sub(1)),
        };
        let behind = Ladder { occupied, levels: None };
        match side {
            Direction::Up => behind.highest(),
            Direction::Down => behind.lowest(),
        }
    }

    /// A price level; empty if nothing stands there.
    pub fn level(&self, side: Direction, tick: Tick) -> Level {
        self.ladder(side).level(tick)
    }

    /// The occupied price levels of a side, best first.
    pub fn levels(&self, side: Direction) -> impl Iterator<Item = (Tick, Level)> + '_ {
        let first = self.best(side);
        std::iter::successors(first, move |tick| self.next_behind(side, *tick))
            .map(move |tick| (tick, self.level(side, tick)))
    }

    /// The order that has waited longest at a price.
    pub fn front(&self, side: Direction, tick: Tick) -> Option<Slot> {
        self.level(side, tick).first
    }

    /// The slots of a price level in order of arrival.
    pub fn queue<'a>(
        &self,
        pool: &'a OrderPool,
        side: Direction,
        tick: Tick,
    ) -> impl Iterator<Item = Slot> + use<'a> {
        let first = self.front(side, tick);
        std::iter::successors(first, move |slot| pool.queue(*slot).ok()?.after)
    }

    /// Puts an order of the pool at the end of its level's queue (script `pitfall_time_priority`).
    pub fn push(&mut self, pool: &mut OrderPool, slot: Slot) -> Result<(), Broken> {
        let order = pool.get(slot)?;
        let (side, tick, remaining) = (order.direction(), order.price, order.backing.remaining()?);
        let ladder = self.ladder_mut(side);
        let level = ladder.level_mut(tick)?;
        let last = level.last;
        level.quantity = level.quantity.plus(remaining)?;
        level.orders = level.orders.checked_add(1).ok_or(Broken::Capacity)?;
        level.last = Some(slot);
        if last.is_none() {
            level.first = Some(slot);
        }
        ladder.occupied |= 1_u128 << tick.get();
        *pool.queue_mut(slot)? = Links { before: last, after: None };
        if let Some(last) = last {
            pool.queue_mut(last)?.after = Some(slot);
        }
        Ok(())
    }

    /// Takes an order out of its level's queue, wherever it stands.
    pub fn unlink(&mut self, pool: &mut OrderPool, slot: Slot) -> Result<(), Broken> {
        let order = pool.get(slot)?;
        let (side, tick, remaining) = (order.direction(), order.price, order.backing.remaining()?);
        let Links { before, after } = pool.queue(slot)?;
        // A link left to the order that goes loses all behind it: scripts pitfall_lost_orders,
        // pitfall_cancel_behind_filled, pitfall_cancel_in_long_queue.
        if let Some(before) = before {
            pool.queue_mut(before)?.after = after;
        }
        if let Some(after) = after {
            pool.queue_mut(after)?.before = before;
        }
        let ladder = self.ladder_mut(side);
        let level = ladder.level_mut(tick)?;
        if before.is_none() {
            level.first = after;
        }
        // Script pitfall_add_after_tail_cancelled.
        if after.is_none() {
            level.last = before;
        }
        level.quantity = level.quantity.minus(remaining)?;
        level.orders = level.orders.checked_sub(1).ok_or(Broken::Dangling)?;
        // Script pitfall_stale_best_price.
        if level.orders == 0 {
            ladder.occupied &= !(1_u128 << tick.get());
        }
        Ok(())
    }

    /// Lowers what stands at a price; the order concerned keeps its place (script
    /// `pitfall_depth_per_level`).
    pub fn reduce(&mut self, side: Direction, tick: Tick, by: Lots) -> Result<(), Broken> {
        let level = self.ladder_mut(side).level_mut(tick)?;
        level.quantity = level.quantity.minus(by)?;
        Ok(())
    }

    /// Every slot of both sides, in no order that matters.
    pub fn slots(&self, pool: &OrderPool) -> Vec<Slot> {
        let sides = [Direction::Up, Direction::Down];
        let levels = sides.into_iter().flat_map(|side| {
            self.levels(side).map(move |(tick, _)| (side, tick)).collect::<Vec<_>>()
        });
        levels.flat_map(|(side, tick)| self.queue(pool, side, tick)).collect()
    }

    const fn ladder(&self, side: Direction) -> &Ladder {
        match side {
            Direction::Up => &self.bids,
            Direction::Down => &self.asks,
        }
    }

    const fn ladder_mut(&mut self, side: Direction) -> &mut Ladder {
        match side {
            Direction::Up => &mut self.bids,
            Direction::Down => &mut self.asks,
        }
    }
}
