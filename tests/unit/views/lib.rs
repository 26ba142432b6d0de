//! Unit tests of `src/views/lib.rs`.

use super::fixture::*;
use super::*;
use exchange::effect::CancelReason;
use exchange::market::MarketStatus;
use exchange::reject::Reject;

const BID: Placed = Placed { record: 3, user: ANN, wording: BUY_YES, price: 60, quantity: 8 };
const ASK: Placed = Placed { record: 4, user: BOB, wording: BUY_NO, price: 38, quantity: 5 };

#[test]
fn one_record_reaches_every_projection() {
    let mut model = ReadModel::new();
    let records: [&[Effect]; 5] = [
        &[user(ANN), user(BOB), market(RAIN, None)],
        &[moved(RAIN, MarketStatus::Draft, MarketStatus::Active)],
        &[BID.accepted(), BID.rested(8)],
        &[ASK.accepted(), ASK.rested(5)],
        &[Effect::Refused(Reject::InsufficientFunds)],
    ];
    for (sequence, effects) in (1..).zip(records) {
        model.fold(&applied(sequence, effects));
    }
    assert_eq!((model.watermark(), model.time()), (Sequence::new(5), at(5)));
    assert_eq!(model.accounts.users_count(), 2);
    assert_eq!(model.catalogue.markets_published().count(), 1);
    assert_eq!(model.orders.open_of(BOB).count(), 1);
    assert_eq!(model.activity.count(RAIN), 1);
    // Bid 0.60, ask 1 - 0.38: the middle is 0.61.
    assert_eq!(model.probability_of_yes(RAIN).to_string(), "0.61");
    assert_eq!(model.probability_of_yes(MarketNo(9)).to_string(), "0.5");
    assert_eq!(model.inconsistencies(), 0);
}

/// Its orders stand until their turn comes, and back nothing that anyone could meet.
#[test]
fn a_market_that_has_ended_shows_no_book_while_its_orders_are_cancelled() {
    use Direction::{Down, Up};
    let mut model = ReadModel::new();
    model.fold(&applied(1, &[user(ANN), user(BOB), market(RAIN, None)]));
    model.fold(&applied(2, &[moved(RAIN, MarketStatus::Draft, MarketStatus::Active)]));
    model.fold(&applied(3, &[BID.accepted(), BID.rested(8)]));
    model.fold(&applied(4, &[ASK.accepted(), ASK.rested(5)]));
    let shown = |model: &ReadModel| [Up, Down].map(|side| model.book(RAIN, side).count());
    assert_eq!(shown(&model), [1, 1]);
    assert_eq!(model.probability_of_yes(RAIN).to_string(), "0.61");
    model.fold(&applied(5, &[moved(RAIN, MarketStatus::Active, MarketStatus::Closed)]));
    assert_eq!(shown(&model), [0, 0]);
    assert_eq!(model.probability_of_yes(RAIN).to_string(), "0.5");
    assert_eq!(model.changes.of_book(RAIN), Sequence::new(5));
    assert_eq!(model.orders.open_of(BOB).count(), 1);
    model.fold(&applied(6, &[BID.cancelled(8, true, CancelReason::MarketClosed)]));
    model.fold(&applied(7, &[ASK.cancelled(5, true, CancelReason::MarketClosed)]));
    assert_eq!((shown(&model), model.inconsistencies()), ([0, 0], 0));
}

/// Each of them has the result at once, whether the market is final or others wait.
#[test]
fn those_who_are_paid_before_their_market_is_final_have_their_result() {
    let mut model = ReadModel::new();
    model.fold(&applied(1, &[user(ANN), user(BOB), market(RAIN, None)]));
    model.fold(&applied(2, &[moved(RAIN, MarketStatus::Draft, MarketStatus::Active)]));
    model.fold(&applied(3, &[holds(ANN, (4, 240), (0, 0), 0), holds(BOB, (0, 0), (4, 160), 0)]));
    let price = SettlementPrice::new(30).unwrap();
    let pays = || Effect::MarketPays { market: RAIN, price, voided: true };
    let (available, reserved) = (Money::new(120), Money::ZERO);
    let account = Effect::AccountChanged { user: ANN, available, reserved };
    model.fold(&applied(4, &[pays(), paid(ANN, 4, 0, -120), account]));
    let result =
        |model: &ReadModel, user| model.positions.of(user).next().unwrap().unwrap().resolution;
    assert_eq!(result(&model, ANN), Some(positions::Resolution::Void));
    assert_eq!(result(&model, BOB), None);
    let line = model.statements.of(ANN).next().unwrap().unwrap();
    assert_eq!(line.cause, statements::Cause::Voided(RAIN));
    model.fold(&applied(5, &[pays(), paid(BOB, 0, 4, 120)]));
    let end = voided(RAIN, 30);
    model.fold(&applied(6, &[end]));
    assert_eq!(result(&model, BOB), Some(positions::Resolution::Void));
    let gains = [ANN, BOB].map(|user| model.performance.total(user).realised.get());
    assert_eq!((gains, model.inconsistencies()), ([-120, 120], 0));
}

#[test]
fn a_record_folded_twice_counts_once() {
    let mut model = ReadModel::new();
    model.take_in(&applied(1, &[user(ANN)]));
    model.take_in(&applied(1, &[user(ANN)]));
    assert_eq!((model.accounts.users_count(), model.inconsistencies()), (1, 1));
    // A gap is counted and the record folded: showing it late would be worse.
    model.take_in(&applied(3, &[user(BOB)]));
    assert_eq!((model.accounts.users_count(), model.inconsistencies()), (2, 2));
    assert_eq!(model.watermark(), Sequence::new(3));
}

#[test]
fn effects_that_name_nothing_known_are_counted_and_harm_nothing() {
    let mut model = ReadModel::new();
    let effects = [
        BID.accepted(),
        BID.rested(8),
        ASK.took(0, BID, 3, 5),
        BID.cancelled(3, true, CancelReason::User),
        holds(BOB, (5, 5), (0, 0), 0),
        paid(BOB, 5, 0, 0),
        moved(MarketNo(u32::MAX), MarketStatus::Draft, MarketStatus::Active),
        user(UserNo(u32::MAX)),
        market(MarketNo(u32::MAX), None),
    ];
    model.take_in(&applied(1, &effects));
    assert!(model.inconsistencies() >= 9, "{}", model.inconsistencies());
    assert_eq!(model.accounts.users_count(), 0);
}
