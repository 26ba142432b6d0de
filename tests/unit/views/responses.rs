//! Unit tests of `src/views/responses.rs`.

use super::super::fixture::*;
use super::*;
use crate::ReadModel;
use exchange::effect::CancelReason;

const BID: Placed = Placed { record: 2, user: ANN, wording: BUY_YES, price: 60, quantity: 10 };

fn kept(model: &ReadModel, record: u64) -> bool {
    model.answers.of(Sequence::new(record)).is_some()
}

#[test]
fn an_answer_about_an_order_is_looked_up_and_one_about_money_kept_for_its_time() {
    let mut model = ReadModel::new();
    model.fold(&applied(1, &[user(ANN), user(BOB), market(RAIN, None)]));
    let keeps = |sequence| Effect::AnswerKept { until: at(sequence) };
    model.fold(&applied(2, &[BID.accepted(), BID.rested(10), keeps(9)]));
    let taker = Placed { record: 3, user: BOB, wording: SELL_YES, price: 60, quantity: 4 };
    model.fold(&applied(3, &[taker.accepted(), taker.took(0, BID, 6, 4), keeps(9)]));
    model.fold(&applied(4, &[BID.cancelled(6, true, CancelReason::User), keeps(6)]));
    assert_eq!((kept(&model, 2), kept(&model, 3), kept(&model, 4)), (false, false, true));
    let cancel = model.answers.of(Sequence::new(4));
    let of = |user, order| {
        matches!(cancel, Some(StoredResponse::Cancelled(it, no))
        if (*it, *no) == (user, order))
    };
    assert!(of(ANN, order(2)), "{cancel:?}");

    // As its record left it, whatever came after.
    let (row, fills) = model.orders.as_placed(ANN, order(2)).read().unwrap().unwrap();
    assert_eq!((row.status.name(), row.remaining.get(), fills.len()), ("OPEN", 10, 0));
    let (row, fills) = model.orders.as_placed(BOB, order(3)).read().unwrap().unwrap();
    assert_eq!((row.status.name(), row.remaining.get(), fills.len()), ("FILLED", 0, 1));
    assert_eq!(model.orders.as_placed(BOB, order(2)).read(), Ok(None));

    model.fold(&applied(5, &[]));
    assert!(kept(&model, 4));
    model.fold(&applied(6, &[]));
    assert_eq!(model.answers.count(), 0);
    assert_eq!(model.inconsistencies(), 0);
}

#[test]
fn what_was_asked_is_kept_and_not_what_was_due_before_it() {
    let mut model = ReadModel::new();
    model.fold(&applied(1, &[user(ANN), user(BOB), market(RAIN, None)]));
    model.fold(&applied(2, &[BID.accepted(), BID.rested(10)]));
    let (until, keeps) = (Some(at(9)), Effect::AnswerKept { until: at(9) });
    let ran_out = BID.cancelled(10, true, CancelReason::HeartbeatExpired);
    let set = Effect::HeartbeatSet { user: ANN, until };
    model.fold(&applied(3, &[Effect::HeartbeatExpired { user: ANN }, ran_out, set, keeps]));
    let kept = model.answers.of(Sequence::new(3));
    let beat = Heartbeat { until, expired: false };
    assert!(matches!(kept, Some(StoredResponse::Heartbeat(kept)) if **kept == beat), "{kept:?}");
    assert_eq!(model.inconsistencies(), 0);
}
