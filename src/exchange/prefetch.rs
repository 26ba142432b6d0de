//! Looking ahead: what the next records will need is read before the first of them is applied.
//!
//! A large venue does not fit the cache, and a command follows links: market, level, order,
//! neighbours, account, each known only when the one before has come from memory. Read for many
//! records together, one step at a time, they come side by side. Nothing changes here, and nothing
//! that is read is used.

use std::hint::black_box;

use super::Exchange;
use super::command::{Command, Record};
use super::ids::{MarketNo, UserNo};
use super::units::Tick;

/// Records that are looked at together: enough to wait for memory once instead of many times, and
/// few enough that all they need is still in the nearest cache when they are applied.
pub const AHEAD: usize = 16;

/// Markets, and orders that stand, of a venue that the cache holds anyway.
const SMALL: usize = 4096;

/// What a record is about, as far as it is known before it is applied.
#[derive(Debug, Clone, Copy)]
pub(super) struct About {
    pub user: UserNo,
    pub market: MarketNo,
    /// The yes-price of its order.
    pub price: Tick,
}

impl About {
    /// Any will do: it is only looked at.
    pub const NOTHING: About = About { user: UserNo(0), market: MarketNo(0), price: Tick::MIN };
}

impl Exchange {
    /// Reads what the first [`AHEAD`] of these records will need. To be called again for the
    /// next ones when these are applied.
    pub fn prefetch(&self, records: &[Record]) {
        let orders = self.orders.count() as usize;
        if self.markets.len().saturating_add(orders) > SMALL {
            black_box(self.prefetch_orders(records));
        }
    }

    // What a step has read is kept, and not asked: a branch that waits for memory would let
    // nothing behind it be read meanwhile.
    fn prefetch_orders(&self, records: &[Record]) -> i64 {
        let mut slots = [None; AHEAD];
        for (record, slot) in records.iter().zip(&mut slots) {
            if let Command::CancelOrder { order, .. } | Command::AmendOrder { order, .. } =
                record.command
            {
                *slot = self.orders.find(order);
            }
        }
        let mut abouts = [About::NOTHING; AHEAD];
        for ((record, slot), about) in records.iter().zip(&slots).zip(&mut abouts) {
            *about = match &record.command {
                Command::PlaceOrder(terms) => {
                    let price = terms.wording.yes_price(terms.price);
                    About { user: terms.user, market: terms.market, price }
                }
                _ => self.orders.about(*slot),
            };
        }
        let (mut seen, mut last, mut newest) = (0, [None; AHEAD], [None; AHEAD]);
        for ((about, slot), (last, newest)) in
            abouts.iter().zip(&slots).zip(last.iter_mut().zip(&mut newest))
        {
            seen ^= self.ledger.prefetch(about.user, about.market);
            seen ^= i64::from(self.orders.prefetch_neighbours(*slot));
            let book = self.markets.get(about.market.index()).map(|market| &market.book);
            *last = book.and_then(|book| book.prefetch(about.price));
            *newest = self.orders.newest_of(about.user);
        }
        seen ^ i64::from(self.orders.prefetch_slots(&last) ^ self.orders.prefetch_slots(&newest))
    }
}
