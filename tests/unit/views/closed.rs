//! Unit tests of `src/views/closed.rs`.

use super::super::fixture::*;
use super::*;
use crate::fault::Projection;

/// Both projections, folded as the read model does.
#[derive(Default)]
struct Both {
    closed: Closed,
    positions: Positions,
}

impl Both {
    fn fold(&mut self, sequence: u64, effects: &[Effect]) {
        let mut faults = Faults::default();
        let applied = applied(sequence, effects);
        self.closed.fold(&applied, &self.positions, &mut faults);
        self.positions.fold(&applied, &mut faults);
        assert_eq!(faults.count(), 0, "{effects:?}");
    }

    fn live(&self, user: UserNo) -> Vec<(MarketNo, Outcome, i128, TimeMs)> {
        self.closed.live(user).map(shown).collect()
    }

    fn ended(&self, user: UserNo) -> Vec<(MarketNo, Outcome, i128, TimeMs)> {
        self.closed.ended(user).map(|row| shown(&row.unwrap())).collect()
    }
}

fn shown(row: &ClosedRow) -> (MarketNo, Outcome, i128, TimeMs) {
    (row.market, row.outcome, row.realised.get(), row.updated_at)
}

fn opened() -> Both {
    let mut both = Both::default();
    both.fold(1, &[user(ANN), user(BOB), market(RAIN, None)]);
    both.fold(2, &[holds(ANN, (5, 300), (0, 0), 0), holds(BOB, (0, 0), (5, 200), 0)]);
    both
}

#[test]
fn what_is_sold_is_closed_until_it_is_bought_again() {
    let mut both = opened();
    assert!(both.live(ANN).is_empty());
    both.fold(3, &[holds(ANN, (0, 0), (0, 0), 40), holds(BOB, (0, 0), (0, 0), -40)]);
    assert_eq!(both.live(ANN), [(RAIN, Outcome::Yes, 40, at(3))]);
    assert_eq!(both.live(BOB), [(RAIN, Outcome::No, -40, at(3))]);
    both.fold(4, &[holds(ANN, (1, 60), (0, 0), 40)]);
    assert!(both.live(ANN).is_empty() && both.closed.by_market.len() == 1);
    both.fold(5, &[holds(ANN, (0, 0), (0, 0), 45)]);
    assert_eq!(both.live(ANN), [(RAIN, Outcome::Yes, 45, at(5))]);
}

#[test]
fn an_end_moves_what_is_closed_and_what_it_pays_is_no_part_of_it() {
    for end in [settled(RAIN, Outcome::Yes), voided(RAIN, 50)] {
        let mut both = opened();
        both.fold(3, &[holds(BOB, (0, 0), (0, 0), -40)]);
        both.fold(4, &[end, paid(ANN, 5, 0, 200)]);
        assert!(both.live(ANN).is_empty() && both.ended(ANN).is_empty());
        assert!(both.live(BOB).is_empty() && both.closed.by_market.is_empty());
        assert_eq!(both.ended(BOB), [(RAIN, Outcome::No, -40, at(4))]);
    }
}

#[test]
fn rows_of_a_large_market_are_read_as_ended_while_they_move() {
    let mut both = Both::default();
    let users: Vec<UserNo> = (0..150).map(UserNo).collect();
    let mut effects: Vec<Effect> = users.iter().map(|no| user(*no)).collect();
    effects.push(market(RAIN, None));
    both.fold(1, &effects);
    let hold = |held| users.iter().map(|user| holds(*user, held, (0, 0), 7)).collect::<Vec<_>>();
    both.fold(2, &hold((1, 50)));
    both.fold(3, &hold((0, 0)));
    both.fold(4, &[settled(RAIN, Outcome::Yes)]);
    for record in 5..9 {
        for user in &users {
            assert!(both.live(*user).is_empty());
            assert_eq!(both.ended(*user), [(RAIN, Outcome::Yes, 7, at(4))]);
            let rows = both.closed.ended(*user);
            assert_eq!((rows.len(), rows.clone().nth(1)), (1, None));
            let found = rows.find_within(at(4)..=at(4), |row| row.updated_at, |_| true);
            assert!(found.unwrap().is_some());
        }
        both.fold(record, &[]);
    }
    assert!(both.closed.live.is_empty() && both.closed.ending.is_empty());
}
