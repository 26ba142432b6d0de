//! One market's order book: a ladder of 99 price levels, each a first-in-first-out queue.
//!
//! The book holds links and sums; the orders themselves are in the pool. Adding and removing an
//! order take constant time: the best price is one instruction on a bit mask of occupied levels,
//! and an order leaves the middle of its queue by its links. Bids and asks share the levels, since
//! a book is never crossed. Levels are allocated eight at a time, since most markets of a large
//! venue are quiet.

use std::hint::black_box;

use super::Exchange;
use super::command::{Command, Direction, Record};
use super::ids::MarketNo;
use super::image::coding::{BadImage, ImageSink, ImageSource, Imaged};
use super::invariant::Broken;
use super::orders::image::read_order;
use super::orders::{Glimpse, Links, OrderPool, RestingOrder, Slot};
use super::units::{Lots, Sequence, TICKS_PER_UNIT, Tick};

/// Neighbouring levels that are allocated together.
const BLOCK: usize = 8;
/// Blocks of a whole ladder.
const BLOCKS: usize = (TICKS_PER_UNIT as usize).div_ceil(BLOCK);

/// One price level: a first-in-first-out queue and its sums.
#[derive(Debug, Clone, Copy, Default)]
pub struct Level {
    first: Option<Slot>,
    last: Option<Slot>,
    /// Contracts that rest here.
    pub quantity: Lots,
    /// Orders that rest here.
    pub orders: u32,
}

/// A market's book: bids (orders up) and asks (orders down), in yes-ticks.
#[derive(Debug, Clone, Default)]
pub struct Book {
    /// Bit t is set while bids rest at tick t.
    bids: u128,
    /// Bit t is set while asks rest at tick t.
    asks: u128,
    /// For each eight ticks their number in `blocks`, from 1; 0 until an order rests there.
    block_numbers: [u8; BLOCKS],
    blocks: Vec<[Level; BLOCK]>,
}

impl Book {
    /// The best price of a side: the highest bid, the lowest ask (script `pitfall_price_priority`).
    pub fn best(&self, side: Direction) -> Option<Tick> {
        Book::best_of(self.occupied(side), side)
    }

    fn best_of(occupied: u128, side: Direction) -> Option<Tick> {
        let tick = match side {
            Direction::Up => occupied.checked_ilog2()?,
            Direction::Down => occupied.trailing_zeros(),
        };
        u8::try_from(tick).ok().and_then(Tick::new)
    }

    /// The next occupied price behind `tick`, going away from the best.
    pub fn next_behind(&self, side: Direction, tick: Tick) -> Option<Tick> {
        let bit = 1_u128 << tick.get();
        let behind = match side {
            Direction::Up => self.bids & bit.wrapping_sub(1),
            Direction::Down => self.asks & !(bit | bit.wrapping_sub(1)),
        };
        Book::best_of(behind, side)
    }

    /// A price level; empty if nothing rests there.
    pub fn level(&self, side: Direction, tick: Tick) -> Level {
        let occupied = self.occupied(side) & 1 << tick.get() != 0;
        if occupied {
            self.existing_level(tick).copied().unwrap_or_default()
        } else {
            Level::default()
        }
    }

    /// The occupied price levels of a side, best first.
    pub fn levels(&self, side: Direction) -> impl Iterator<Item = (Tick, Level)> + '_ {
        let first = self.best(side);
        std::iter::successors(first, move |tick| self.next_behind(side, *tick))
            .map(move |tick| (tick, self.level(side, tick)))
    }

    /// Reads a level for the cache: its last order, or that of another price.
    pub(super) fn prefetch(&self, tick: Tick) -> Option<Slot> {
        let tick = usize::from(tick.get());
        let block = usize::from(*self.block_numbers.get(tick / BLOCK)?).saturating_sub(1);
        self.blocks.get(block)?.get(tick % BLOCK)?.last
    }

    /// The first order in the queue of a price.
    pub fn front(&self, side: Direction, tick: Tick) -> Option<Slot> {
        self.level(side, tick).first
    }

    /// The slots of a price level in time priority.
    pub fn queue<'a>(
        &self,
        pool: &'a OrderPool,
        side: Direction,
        tick: Tick,
    ) -> impl Iterator<Item = Slot> + use<'a> {
        let first = self.front(side, tick);
        std::iter::successors(first, move |slot| pool.queue(*slot).ok()?.after)
    }

    /// Appends an order of the pool to its level's queue (script `pitfall_time_priority`).
    pub fn push(&mut self, pool: &mut OrderPool, slot: Slot) -> Result<(), Broken> {
        let RestingOrder { side, price, remaining, .. } = pool.resting(slot)?;
        let bit = 1_u128 << price.get();
        if self.occupied(side.opposite()) & bit != 0 {
            return Err(Broken::CrossedBook);
        }
        let level = self.level_mut(price)?;
        let last = level.last.replace(slot);
        level.quantity = level.quantity.plus(remaining)?;
        level.orders = level.orders.checked_add(1).ok_or(Broken::Capacity)?;
        if let Some(last) = last {
            pool.queue_mut(last)?.after = Some(slot);
        } else {
            level.first = Some(slot);
            *self.occupied_mut(side) |= bit;
        }
        *pool.queue_mut(slot)? = Links { before: last, after: None };
        Ok(())
    }

    /// Removes an order from anywhere in its level's queue.
    pub fn unlink(&mut self, pool: &mut OrderPool, slot: Slot) -> Result<(), Broken> {
        let RestingOrder { side, price, remaining, queue, .. } = pool.resting(slot)?;
        let Links { before, after } = queue;
        // A stale link to the removed order would lose all orders behind it: scripts
        // pitfall_lost_orders, pitfall_cancel_behind_filled, pitfall_cancel_in_long_queue.
        if let Some(before) = before {
            pool.queue_mut(before)?.after = after;
        }
        if let Some(after) = after {
            pool.queue_mut(after)?.before = before;
        }
        let level = self.level_mut(price)?;
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
            *self.occupied_mut(side) &= !(1_u128 << price.get());
        }
        Ok(())
    }

    /// Lowers the quantity of a price level; its queue stays as it is (script
    /// `pitfall_depth_per_level`).
    pub fn reduce(&mut self, tick: Tick, by: Lots) -> Result<(), Broken> {
        let level = self.level_mut(tick)?;
        level.quantity = level.quantity.minus(by)?;
        Ok(())
    }

    /// At most `most` slots: bids first, the best price first, in time priority.
    pub fn slots(&self, pool: &OrderPool, most: usize) -> Vec<Slot> {
        let sides = [Direction::Up, Direction::Down];
        let levels = sides.into_iter().flat_map(|side| {
            self.levels(side).map(move |(tick, _)| (side, tick)).collect::<Vec<_>>()
        });
        levels.flat_map(|(side, tick)| self.queue(pool, side, tick)).take(most).collect()
    }

    /// Resting orders of both sides.
    pub fn orders_count(&self) -> usize {
        let sides = [Direction::Up, Direction::Down].into_iter();
        let orders =
            sides.flat_map(|side| self.levels(side)).map(|(_, level)| level.orders as usize);
        orders.fold(0, usize::saturating_add)
    }

    /// Whether no order rests.
    pub const fn is_empty(&self) -> bool {
        self.bids == 0 && self.asks == 0
    }

    const fn occupied(&self, side: Direction) -> u128 {
        match side {
            Direction::Up => self.bids,
            Direction::Down => self.asks,
        }
    }

    const fn occupied_mut(&mut self, side: Direction) -> &mut u128 {
        match side {
            Direction::Up => &mut self.bids,
            Direction::Down => &mut self.asks,
        }
    }

    fn existing_level(&self, tick: Tick) -> Option<&Level> {
        let tick = usize::from(tick.get());
        let block = usize::from(*self.block_numbers.get(tick / BLOCK)?).checked_sub(1)?;
        self.blocks.get(block)?.get(tick % BLOCK)
    }

    #[inline]
    fn level_mut(&mut self, tick: Tick) -> Result<&mut Level, Broken> {
        let tick = usize::from(tick.get());
        let mut block = usize::from(*self.block_numbers.get(tick / BLOCK).ok_or(Broken::Dangling)?);
        if block == 0 {
            block = self.add_block(tick)?;
        }
        let block = self.blocks.get_mut(block.wrapping_sub(1)).ok_or(Broken::Dangling)?;
        block.get_mut(tick % BLOCK).ok_or(Broken::Dangling)
    }

    #[cold]
    fn add_block(&mut self, tick: usize) -> Result<usize, Broken> {
        self.blocks.reserve_exact(1);
        self.blocks.push([Level::default(); BLOCK]);
        let number = self.block_numbers.get_mut(tick / BLOCK).ok_or(Broken::Dangling)?;
        *number = u8::try_from(self.blocks.len()).map_err(|_| Broken::Capacity)?;
        Ok(self.blocks.len())
    }
}

// A book in the state image: bids then asks, each side its levels from the best on, each level its
// orders in time priority.

/// The price level whose orders are being read, and the last record of the image.
#[derive(Debug, Clone, Copy)]
struct Queue {
    market: MarketNo,
    side: Direction,
    tick: Tick,
    last: Sequence,
    keyed: bool,
}

impl Book {
    /// Writes the book and its orders.
    pub(crate) fn write(&self, pool: &OrderPool, sink: &mut impl ImageSink) -> Result<(), Broken> {
        // Which level blocks are allocated is history and shapes no outcome.
        let Book { bids, asks, block_numbers: _, blocks: _ } = self;
        for (side, occupied) in [(Direction::Up, bids), (Direction::Down, asks)] {
            let levels_count = u8::try_from(occupied.count_ones());
            levels_count.map_err(|_| Broken::LevelMismatch)?.write(sink);
            for (tick, level) in self.levels(side) {
                let Level { first: _, last: _, quantity: _, orders } = level;
                tick.write(sink);
                orders.write(sink);
                for slot in self.queue(pool, side, tick) {
                    pool.write_order(slot, sink)?;
                }
            }
        }
        Ok(())
    }

    /// Reads a market's book, with its orders into the pool: orders of records up to `last`, whose
    /// keys follow if they are `keyed`.
    pub(crate) fn read(
        market: MarketNo,
        (last, keyed): (Sequence, bool),
        pool: &mut OrderPool,
        source: &mut impl ImageSource,
    ) -> Result<Book, BadImage> {
        let mut book = Book::default();
        for side in [Direction::Up, Direction::Down] {
            let mut before: Option<Tick> = None;
            for _ in 0..u8::read(source)? {
                let tick = Tick::read(source)?;
                let behind = before.is_none_or(|before| match side {
                    Direction::Up => tick < before,
                    Direction::Down => tick > before,
                });
                if !behind {
                    return Err(BadImage::Contradiction("price levels out of order"));
                }
                before = Some(tick);
                book.read_level(Queue { market, side, tick, last, keyed }, pool, source)?;
            }
        }
        Ok(book)
    }

    fn read_level(
        &mut self,
        queue: Queue,
        pool: &mut OrderPool,
        source: &mut impl ImageSource,
    ) -> Result<(), BadImage> {
        let orders_count = u32::read(source)?;
        if orders_count == 0 {
            return Err(BadImage::Contradiction("a price level without orders"));
        }
        for _ in 0..orders_count {
            let order = read_order(queue.market, queue.tick, queue.keyed, source)?;
            if order.direction() != queue.side {
                return Err(BadImage::Contradiction("an order on the wrong side"));
            }
            // Checked before the insert: the pool's index grows with the highest number.
            if order.no.0 == Sequence::ZERO || order.no.0 > queue.last {
                return Err(BadImage::Contradiction("an order that no record placed"));
            }
            let slot = pool.insert(&order)?;
            self.push(pool, slot)?;
        }
        Ok(())
    }
}

// Prefetch: reads the memory that the next records will need before the first of them is applied.
//
// A large venue does not fit the processor's cache, and a command follows links: market, level,
// order, neighbours, account, each known only when the one before was loaded. Read for many
// records together, one step at a time, the loads overlap: among 100,000 markets a command takes
// 562 ns instead of 776. Nothing here changes the state or decides anything.

/// Records that are prefetched together: enough that their loads overlap, and few enough that all
/// they need is still in the nearest cache when they are applied.
pub const AHEAD: usize = 16;

/// Markets plus resting orders of a venue that fits the cache anyway.
const SMALL_VENUE: usize = 4096;

impl Exchange {
    /// Reads what the first [`AHEAD`] of these records will need, in a venue too large for the
    /// cache. Call it again with the following records once these are applied.
    pub fn prefetch(&self, records: &[Record]) {
        let orders = self.orders.count() as usize;
        if self.markets.len().saturating_add(orders) > SMALL_VENUE {
            black_box(self.read_ahead(records));
        }
    }

    // Each step stores what it read without branching on it: a branch that waits for memory would
    // hold up all later loads. The result only keeps the compiler from removing the reads.
    fn read_ahead(&self, records: &[Record]) -> i64 {
        let mut slots = [None; AHEAD];
        for (record, slot) in records.iter().zip(&mut slots) {
            if let Command::CancelOrder { order, .. }
            | Command::AmendOrder { order, .. }
            | Command::ReplaceOrder { replaced: order, .. } = &record.command
            {
                *slot = self.orders.find(*order);
            }
        }
        let mut targets = [Glimpse::NOTHING; AHEAD];
        for ((record, slot), target) in records.iter().zip(&slots).zip(&mut targets) {
            *target = match &record.command {
                Command::PlaceOrder(terms) => Glimpse {
                    user: terms.user,
                    key: terms.key,
                    market: terms.market,
                    price: terms.wording.yes_price(terms.price),
                    ..Glimpse::NOTHING
                },
                _ => self.orders.glimpse(*slot),
            };
        }
        let (mut seen, mut near) = (0, [[None; 4]; AHEAD]);
        for (target, near) in targets.iter().zip(&mut near) {
            let Glimpse { user, key, market, price, queue } = *target;
            seen ^= self.ledger.prefetch(user, market);
            let book = self.markets.get(market.index()).map(|market| &market.book);
            let last = book.and_then(|book| book.prefetch(price));
            *near = [last, self.orders.last_of(user, key), queue.before, queue.after];
        }
        let neighbours = near.iter().flatten().map(|slot| self.orders.glimpse(*slot));
        neighbours.fold(seen, |seen, neighbour| seen ^ i64::from(neighbour.user.0))
    }
}
