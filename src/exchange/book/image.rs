//! A book in the state image: bids then asks, each side its levels from the best on, each level its
//! orders in time priority.

use super::{Book, Level};
use crate::command::Direction;
use crate::ids::MarketNo;
use crate::image::coding::{BadImage, ImageSink, ImageSource, Imaged};
use crate::invariant::Broken;
use crate::orders::OrderPool;
use crate::orders::image::read_order;
use crate::units::{Sequence, Tick};

/// The price level whose orders are being read, and the last record of the image.
#[derive(Debug, Clone, Copy)]
struct Queue {
    market: MarketNo,
    side: Direction,
    tick: Tick,
    last: Sequence,
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

    /// Reads a market's book, with its orders into the pool: orders of records up to `last`.
    pub(crate) fn read(
        market: MarketNo,
        last: Sequence,
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
                book.read_level(Queue { market, side, tick, last }, pool, source)?;
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
            let order = read_order(queue.market, queue.tick, source)?;
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
