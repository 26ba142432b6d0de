//! Unit tests of `src/views/responses.rs`.

use super::super::fixture::*;
use super::*;
use crate::ReadModel;
use exchange::effect::CancelReason;

const BID: Placed = Placed { record: 2, user: ANN, wording: BUY_YES, price: 60, quantity: 10 };

fn kept(model: &ReadModel, record: u64) -> Option<u64> {
    model.answers.of(Sequence::new(record)).map(|kept| match kept {
        StoredResponse::Order(row) => row.remaining.get(),
        other => panic!("{other:?}"),
    })
}

#[test]
fn an_answer_stays_as_it_was_until_its_order_is_gone_and_its_time_is_over() {
    let mut model = ReadModel::new();
    model.fold(&applied(1, &[user(ANN), user(BOB), market(RAIN, None)]));
    let keeps = |sequence| Effect::AnswerKept { until: at(sequence) };
    model.fold(&applied(2, &[BID.accepted(), BID.rested(10), keeps(5)]));
    let next = Placed { record: 3, ..BID };
    model.fold(&applied(3, &[next.accepted(), next.rested(10), keeps(6)]));
    let taker = Placed { record: 4, user: BOB, wording: SELL_YES, price: 60, quantity: 4 };
    model.fold(&applied(4, &[taker.accepted(), taker.took(0, BID, 6, 4)]));
    assert_eq!((kept(&model, 2), kept(&model, 3), kept(&model, 4)), (Some(10), Some(10), None));
    model.fold(&applied(5, &[next.cancelled(10, true, CancelReason::User)]));
    assert_eq!((kept(&model, 2), kept(&model, 3)), (Some(10), Some(10)));
    model.fold(&applied(6, &[]));
    assert_eq!((kept(&model, 2), kept(&model, 3)), (Some(10), None));
    model.fold(&applied(7, &[BID.cancelled(6, true, CancelReason::User)]));
    for record in 8..12 {
        model.fold(&applied(record, &[]));
    }
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
    assert!(matches!(kept, Some(StoredResponse::Heartbeat(kept)) if *kept == beat), "{kept:?}");
    assert_eq!(model.inconsistencies(), 0);
}
