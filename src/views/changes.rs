//! When often-read data last changed: each market's book, each user's orders, the scores, the keys.
//! A response cache uses it to decide whether a cached response is still valid.

use super::Projection;
use super::fault::Faults;
use exchange::effect::{Applied, Effect};
use exchange::ids::{MarketNo, UserNo};
use exchange::units::Sequence;

/// The records of the last changes. Not in the image: no reader has cached anything from a model
/// just read.
#[derive(Debug, Default)]
pub struct Changes {
    books: Vec<Sequence>,
    orders: Vec<Sequence>,
    scores: Sequence,
    keys: Sequence,
}

impl Changes {
    /// No changes yet, with this many markets and users.
    pub fn none(markets: usize, users: usize) -> Changes {
        let (books, orders) = (vec![Sequence::ZERO; markets], vec![Sequence::ZERO; users]);
        Changes { books, orders, scores: Sequence::ZERO, keys: Sequence::ZERO }
    }

    /// The record that last changed the levels of a market's book.
    pub fn of_book(&self, market: MarketNo) -> Sequence {
        self.books.get(market.index()).copied().unwrap_or_default()
    }

    /// The record that last placed or changed an order of a user.
    pub fn of_orders(&self, user: UserNo) -> Sequence {
        self.orders.get(user.index()).copied().unwrap_or_default()
    }

    /// The record that last changed anyone's realised profit or traded volume.
    pub const fn of_scores(&self) -> Sequence {
        self.scores
    }

    /// The record that last added or revoked a key.
    pub const fn of_keys(&self) -> Sequence {
        self.keys
    }

    fn book(&mut self, market: MarketNo, sequence: Sequence) {
        if let Some(changed) = self.books.get_mut(market.index()) {
            *changed = sequence;
        }
    }

    fn order(&mut self, user: UserNo, sequence: Sequence) {
        if let Some(changed) = self.orders.get_mut(user.index()) {
            *changed = sequence;
        }
    }

    fn fold_effect(&mut self, effect: &Effect, sequence: Sequence) {
        match effect {
            Effect::MarketCreated { .. } => self.books.push(sequence),
            Effect::UserCreated { .. } => self.orders.push(sequence),
            Effect::OrderAccepted { terms, .. } => self.order(terms.user, sequence),
            Effect::OrderRested { user, market, .. }
            | Effect::OrderCancelled { user, market, .. }
            | Effect::OrderAmended { user, market, .. } => {
                self.book(*market, sequence);
                self.order(*user, sequence);
            }
            Effect::TradeMade(trade) => {
                self.book(trade.market, sequence);
                self.order(trade.taker.user, sequence);
                self.order(trade.maker.user, sequence);
                self.scores = sequence;
            }
            // Conservative: some of these do not change any score.
            Effect::PositionChanged { .. } | Effect::PositionSettled { .. } => {
                self.scores = sequence;
            }
            // A market that has ended shows no book, whatever is still to be cancelled.
            Effect::MarketMoved { market, from, to, .. }
                if from.keeps_orders() && !to.keeps_orders() =>
            {
                self.book(*market, sequence);
            }
            Effect::KeyAdded { .. } | Effect::KeyRevoked { .. } => self.keys = sequence,
            _ => {}
        }
    }
}

impl Projection for Changes {
    fn fold(&mut self, applied: &Applied<'_>, _: &mut Faults) {
        for effect in applied.effects {
            self.fold_effect(effect, applied.sequence);
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/changes.rs"]
mod tests;
