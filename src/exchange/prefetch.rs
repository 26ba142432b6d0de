//! Prefetch: reads the memory that the next records will need before the first of them is applied.
//!
//! A large venue does not fit the processor's cache, and a command follows links: market, level,
//! order, neighbours, account, each known only when the one before was loaded. Read for many
//! records together, one step at a time, the loads overlap. Nothing here changes the state or
//! decides anything.

use std::hint::black_box;

use super::Exchange;
use super::command::{Command, Record};
use super::ids::{MarketNo, UserNo};
use super::units::Tick;

/// Records that are prefetched together: enough that their loads overlap, and few enough that all
/// they need is still in the nearest cache when they are applied.
pub const AHEAD: usize = 16;

/// Markets plus resting orders of a venue that fits the cache anyway.
const SMALL_VENUE: usize = 4096;

/// What a record touches, as far as it is known before it is applied.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub user: UserNo,
    pub market: MarketNo,
    /// The yes-price of its order.
    pub price: Tick,
}

impl Target {
    /// A stand-in where nothing is known: a needless read does no harm.
    pub const NOTHING: Target = Target { user: UserNo(0), market: MarketNo(0), price: Tick::MIN };
}

impl Exchange {
    /// Reads what the first [`AHEAD`] of these records will need, in a venue too large for the
    /// cache. Call it again with the following records once these are applied.
    pub fn prefetch(&self, records: &[Record]) {
        let orders = self.orders.count() as usize;
        if self.markets.len().saturating_add(orders) > SMALL_VENUE {
            black_box(self.prefetch_orders(records));
        }
    }

    // Each step stores what it read without branching on it: a branch that waits for memory would
    // hold up all later loads. The result only keeps the compiler from removing the reads.
    fn prefetch_orders(&self, records: &[Record]) -> i64 {
        let mut slots = [None; AHEAD];
        for (record, slot) in records.iter().zip(&mut slots) {
            if let Command::CancelOrder { order, .. } | Command::AmendOrder { order, .. } =
                record.command
            {
                *slot = self.orders.find(order);
            }
        }
        let mut targets = [Target::NOTHING; AHEAD];
        for ((record, slot), target) in records.iter().zip(&slots).zip(&mut targets) {
            *target = match &record.command {
                Command::PlaceOrder(terms) => {
                    let price = terms.wording.yes_price(terms.price);
                    Target { user: terms.user, market: terms.market, price }
                }
                _ => self.orders.target_of(*slot),
            };
        }
        let (mut seen, mut last, mut first) = (0, [None; AHEAD], [None; AHEAD]);
        for ((about, slot), (last, first)) in
            targets.iter().zip(&slots).zip(last.iter_mut().zip(&mut first))
        {
            seen ^= self.ledger.prefetch(about.user, about.market);
            seen ^= i64::from(self.orders.prefetch_neighbours(*slot));
            let book = self.markets.get(about.market.index()).map(|market| &market.book);
            *last = book.and_then(|book| book.prefetch(about.price));
            *first = self.orders.first_of(about.user);
        }
        seen ^ i64::from(self.orders.prefetch_slots(&last) ^ self.orders.prefetch_slots(&first))
    }
}
