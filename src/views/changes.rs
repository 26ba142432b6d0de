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
mod tests {
    use super::super::ReadModel;
    use super::super::fixture::*;
    use super::*;
    use crate::performance::{Day, Score};
    use exchange::catalogue::Outcome;
    use exchange::command::Direction;
    use exchange::effect::CancelReason;
    use exchange::lifecycle::MarketStatus;
    use exchange::units::{Lots, TimeMs};

    /// All users' scores.
    fn scores(model: &ReadModel) -> Vec<(UserNo, Score)> {
        let performance = &model.performance;
        performance.since(&performance.before(Day::of(TimeMs::default()))).collect()
    }

    /// Everything that readers see of the book and of two users' orders.
    fn shown(model: &ReadModel) -> (Vec<String>, [Vec<String>; 2]) {
        let side =
            |direction| model.depth.levels(RAIN, direction).map(|level| format!("{level:?}"));
        let orders = |user| {
            let orders = model.orders.of(user).map(|row| format!("{:?}", row.unwrap()));
            orders.collect::<Vec<_>>()
        };
        let book = side(Direction::Up).chain(side(Direction::Down)).collect();
        (book, [orders(ANN), orders(BOB)])
    }

    #[test]
    fn whatever_shows_something_else_has_changed_and_nothing_else_has() {
        const BID: Placed =
            Placed { record: 2, user: ANN, wording: BUY_YES, price: 60, quantity: 8 };
        const ASK: Placed =
            Placed { record: 3, user: BOB, wording: SELL_YES, price: 60, quantity: 3 };
        const KILLED: Placed =
            Placed { record: 4, user: BOB, wording: BUY_YES, price: 50, quantity: 1 };
        let amended = Effect::OrderAmended {
            order: order(2),
            user: ANN,
            market: RAIN,
            direction: Direction::Up,
            price_before: tick(60),
            price: tick(60),
            remaining_before: Lots::new(5),
            quantity: Lots::new(7),
            remaining: Lots::new(4),
            kept_place: true,
        };
        let records = [
            vec![user(ANN), user(BOB), market(RAIN, None)],
            vec![BID.accepted(), BID.rested(8)],
            vec![ASK.accepted(), ASK.took(0, BID, 5, 3)],
            vec![KILLED.accepted(), KILLED.cancelled(1, false, CancelReason::IocRemainder)],
            vec![amended],
            vec![moved(RAIN, MarketStatus::Draft, MarketStatus::Active)],
            vec![BID.cancelled(4, true, CancelReason::User)],
            vec![holds(ANN, (3, 1), (0, 0), 0)],
            vec![holds(ANN, (2, 1), (0, 0), 7)],
            vec![settled(RAIN, Outcome::No), paid(ANN, 2, 0, 5)],
        ];
        let mut model = ReadModel::new();
        model.fold(&applied(1, &records[0]));
        for (record, effects) in (2..).zip(&records[1..]) {
            let ((book, orders), before) = (shown(&model), scores(&model));
            model.fold(&applied(record, effects));
            let (book_now, orders_now) = shown(&model);
            let now = Sequence::new(record);
            let changed = [ANN, BOB].map(|user| model.changes.of_orders(user) == now);
            let differs = [0, 1].map(|user| orders[user] != orders_now[user]);
            assert_eq!(changed, differs, "orders at {record}");
            // A cancellation of an order that never rested counts too, which is harmless.
            let book_changed = model.changes.of_book(RAIN) == now;
            assert_eq!(book_changed, book != book_now || record == 4, "book at {record}");
            // So does a position change that leaves the scores as they are.
            let scores_changed = model.changes.of_scores() == now;
            assert_eq!(scores_changed, before != scores(&model) || record == 8, "at {record}");
        }
    }
}
