//! When often-read data last changed: each market's book, each user's orders, the scores, the keys.
//! A response cache uses it to decide whether a cached response is still valid.

use super::fault::{Fault, View};
use super::table::Table;
use exchange::effect::{Applied, Effect};
use exchange::ids::{MarketNo, UserNo};
use exchange::units::Sequence;

/// The records of the last changes. Not in the image: no reader has cached anything from a model
/// just read.
#[derive(Debug, Default)]
pub struct Changes {
    books: Table<MarketNo, Sequence>,
    orders: Table<UserNo, Sequence>,
    scores: Sequence,
    keys: Sequence,
}

impl Changes {
    /// No changes yet, with this many markets and users.
    pub(super) fn none(markets: usize, users: usize) -> Changes {
        let (books, orders) = (Table::of_empty(markets), Table::of_empty(users));
        Changes { books, orders, ..Changes::default() }
    }

    /// The record that last changed the levels of a market's book.
    pub fn of_book(&self, market: MarketNo) -> Sequence {
        self.books.at(market)
    }

    /// The record that last placed or changed an order of a user.
    pub fn of_orders(&self, user: UserNo) -> Sequence {
        self.orders.at(user)
    }

    /// The record that last changed anyone's realised profit or traded volume.
    pub const fn of_scores(&self) -> Sequence {
        self.scores
    }

    /// The record that last added or revoked a key.
    pub const fn of_keys(&self) -> Sequence {
        self.keys
    }

    fn book(&mut self, market: MarketNo, sequence: Sequence) -> Result<(), Fault> {
        *self.books.row(market)? = sequence;
        Ok(())
    }

    fn order(&mut self, user: UserNo, sequence: Sequence) -> Result<(), Fault> {
        *self.orders.row(user)? = sequence;
        Ok(())
    }
}

impl View for Changes {
    fn see(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        let now = at.sequence;
        match effect {
            Effect::MarketCreated { market, .. } => self.books.add(*market, now)?,
            Effect::UserCreated { user, .. } => self.orders.add(*user, now)?,
            Effect::OrderAccepted { terms, .. } => self.order(terms.user, now)?,
            Effect::OrderRested { user, market, .. }
            | Effect::OrderCancelled { user, market, .. }
            | Effect::OrderAmended { user, market, .. } => {
                self.book(*market, now)?;
                self.order(*user, now)?;
            }
            Effect::TradeMade(trade) => {
                self.book(trade.market, now)?;
                self.order(trade.taker.user, now)?;
                self.order(trade.maker.user, now)?;
                self.scores = now;
            }
            // Conservative: some of these do not change any score.
            Effect::PositionChanged { .. } | Effect::PositionSettled { .. } => self.scores = now,
            // A market that has ended shows no book, whatever is still to be cancelled.
            Effect::MarketMoved { market, from, to, .. }
                if from.keeps_orders() && !to.keeps_orders() =>
            {
                self.book(*market, now)?;
            }
            Effect::KeyAdded { .. } | Effect::KeyRevoked { .. } => self.keys = now,
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/changes.rs"]
mod tests;
