//! Unit tests of `src/views/changes.rs`.

use super::super::ReadModel;
use super::super::fixture::*;
use super::*;
use crate::performance::{Day, Score};
use exchange::catalogue::Outcome;
use exchange::command::Direction;
use exchange::effect::CancelReason;
use exchange::market::MarketStatus;
use exchange::units::{Lots, TimeMs};

/// All users' scores.
fn scores(model: &ReadModel) -> Vec<(UserNo, Score)> {
    let performance = &model.performance;
    performance.since(&performance.before(Day::of(TimeMs::default()))).collect()
}

/// A user's positions.
fn positions(model: &ReadModel) -> Vec<String> {
    model.positions.of(ANN).map(|row| format!("{:?}", row.unwrap())).collect()
}

/// Everything that readers see of the book and of two users' orders.
fn shown(model: &ReadModel) -> (Vec<String>, [Vec<String>; 2]) {
    let side = |direction| model.depth.levels(RAIN, direction).map(|level| format!("{level:?}"));
    let orders = |user| {
        let orders = model.orders.of(user).map(|row| format!("{:?}", row.unwrap()));
        orders.collect::<Vec<_>>()
    };
    let book = side(Direction::Up).chain(side(Direction::Down)).collect();
    (book, [orders(ANN), orders(BOB)])
}

fn best_of(model: &ReadModel) -> [Option<String>; 2] {
    let best = |side| model.depth.levels(RAIN, side).next().map(|level| format!("{level:?}"));
    [Direction::Up, Direction::Down].map(best)
}

#[test]
fn whatever_shows_something_else_has_changed_and_nothing_else_has() {
    const BID: Placed = Placed { record: 2, user: ANN, wording: BUY_YES, price: 60, quantity: 8 };
    const ASK: Placed = Placed { record: 3, user: BOB, wording: SELL_YES, price: 60, quantity: 3 };
    const KILLED: Placed =
        Placed { record: 4, user: BOB, wording: BUY_YES, price: 50, quantity: 1 };
    const DEEP: Placed = Placed { record: 5, user: BOB, wording: BUY_YES, price: 50, quantity: 2 };
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
        vec![DEEP.accepted(), DEEP.rested(2)],
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
        let (held, best) = (positions(&model), best_of(&model));
        model.fold(&applied(record, effects));
        let (book_now, orders_now) = shown(&model);
        let now = Sequence::new(record);
        let changed = [ANN, BOB].map(|user| model.changes.of_orders(user) == now);
        let differs = [0, 1].map(|user| orders[user] != orders_now[user]);
        assert_eq!(changed, differs, "orders at {record}");
        let top_changed = model.changes.of_market(RAIN).top.last == now;
        assert_eq!(top_changed, best != best_of(&model), "top at {record}");
        let book_changed = model.changes.of_book(RAIN) == now;
        assert_eq!(book_changed, book != book_now, "book at {record}");
        let moved = model.changes.of_positions(ANN) == now;
        assert_eq!(moved, held != positions(&model), "positions at {record}");
        // So does a position change that leaves the scores as they are.
        let scores_changed = model.changes.of_scores() == now;
        assert_eq!(scores_changed, before != scores(&model) || record == 9, "at {record}");
    }
}

/// What changed with each record, for markets and for accounts.
#[test]
fn each_channel_names_its_last_record_and_the_one_before_it() {
    const BID: Placed = Placed { record: 2, user: ANN, wording: BUY_YES, price: 60, quantity: 8 };
    const ASK: Placed = Placed { record: 3, user: BOB, wording: SELL_YES, price: 60, quantity: 3 };
    const LATE: Placed = Placed { record: 5, user: BOB, wording: BUY_YES, price: 50, quantity: 1 };
    let closed = moved(RAIN, MarketStatus::Active, MarketStatus::Closed);
    let records = [
        vec![user(ANN), user(BOB), market(RAIN, None)],
        vec![BID.accepted(), BID.rested(8)],
        vec![ASK.accepted(), ASK.took(2, BID, 7, 1), ASK.took(0, BID, 5, 2)],
        vec![moved(RAIN, MarketStatus::Draft, MarketStatus::Active)],
        vec![LATE.accepted(), LATE.cancelled(1, false, CancelReason::IocRemainder)],
        vec![closed],
        // Its book has been empty since then.
        vec![BID.cancelled(5, true, CancelReason::MarketClosed)],
        vec![Effect::HeartbeatExpired { user: BOB }],
    ];
    // Book, trades, activity, the market as a whole; Ann, Bob: the last record, the one before.
    let expected = [
        [(0, 0), (0, 0), (0, 0), (1, 0), (0, 0), (0, 0)],
        [(2, 0), (0, 0), (0, 0), (2, 0), (2, 0), (0, 0)],
        [(3, 2), (3, 0), (3, 0), (3, 0), (3, 2), (3, 0)],
        [(3, 2), (3, 0), (4, 3), (4, 0), (3, 2), (3, 0)],
        [(3, 2), (3, 0), (4, 3), (4, 0), (3, 2), (5, 3)],
        [(6, 3), (3, 0), (6, 4), (6, 0), (3, 2), (5, 3)],
        [(6, 3), (3, 0), (6, 4), (6, 0), (7, 3), (5, 3)],
        [(6, 3), (3, 0), (6, 4), (6, 0), (7, 3), (8, 5)],
    ];
    let mut model = ReadModel::new();
    for (record, (effects, expected)) in (1..).zip(records.iter().zip(expected)) {
        model.fold(&applied(record, effects));
        let changes = &model.changes;
        let row = changes.of_market(RAIN);
        let whole = Changed { last: row.all.last, before: Sequence::ZERO };
        let (ann, bob) = (changes.of_account(ANN), changes.of_account(BOB));
        let found = [row.book, row.trades, row.activity, whole, ann, bob];
        let found = found.map(|changed| (changed.last.get(), changed.before.get()));
        assert_eq!(found, expected, "at {record}");
    }
}
