//! Unit tests of `src/views/activity.rs`.

use super::super::fixture::*;
use super::*;
use MarketStatus::{Active, Closed, Disputed, Draft, Resolved, Settled, Suspended, Voided};

fn rows(activity: &Activity) -> Vec<ActivityRow> {
    activity.of(RAIN).map(Result::unwrap).collect()
}

#[test]
fn a_trade_is_shown_from_the_takers_side() {
    let maker = Placed { record: 2, user: ANN, wording: BUY_YES, price: 60, quantity: 10 };
    // Bob sells yes: he bets on no, and stakes the price of no.
    let seller = Placed { record: 3, user: BOB, wording: SELL_YES, price: 55, quantity: 4 };
    // The same bet stated as a purchase of no gives the same row.
    let buyer = Placed { record: 4, user: BOB, wording: BUY_NO, price: 45, quantity: 4 };
    for taker in [seller, buyer] {
        let mut activity: Activity = opened();
        assert_eq!(fold(&mut activity, 3, &[taker.took(0, maker, 6, 4)]), 0);
        let expected = ActivityRow::Trade {
            outcome: Outcome::No,
            stake: Money::new(40 * 4),
            price: tick(40),
            user: BOB,
            sequence: Sequence::new(3),
            time: at(3),
        };
        assert_eq!(rows(&activity), [expected]);
    }
}

#[test]
fn the_newest_comes_first() {
    let mut activity: Activity = opened();
    let effects = [moved(RAIN, Active, Closed), moved(RAIN, Closed, Resolved)];
    assert_eq!(fold(&mut activity, 2, &[moved(RAIN, Draft, Active)]), 0);
    assert_eq!(fold(&mut activity, 3, &effects), 0);
    let rows = rows(&activity);
    let names: Vec<&str> = rows.iter().map(ActivityRow::name).collect();
    assert_eq!(names, ["MARKET_RESOLVED", "MARKET_CLOSED", "MARKET_PUBLISHED"]);
    assert_eq!(rows.last().map(ActivityRow::time), Some(at(2)));
    assert_eq!(activity.count(MarketNo(5)), 0);
}

#[test]
fn every_move_has_the_name_of_semantics_3() {
    for (from, to, name) in [
        (Draft, Active, "MARKET_PUBLISHED"),
        (Active, Suspended, "MARKET_SUSPENDED"),
        (Suspended, Active, "MARKET_REOPENED"),
        (Closed, Active, "MARKET_REOPENED"),
        (Suspended, Closed, "MARKET_CLOSED"),
        (Disputed, Resolved, "MARKET_RESOLVED"),
        (Resolved, Disputed, "MARKET_DISPUTED"),
        (Resolved, Settled, "MARKET_SETTLED"),
        (Draft, Voided, "MARKET_VOIDED"),
    ] {
        assert_eq!(
            ActivityRow::Moved { from, to, sequence: Sequence::new(1), time: at(1) }.name(),
            name
        );
    }
}
