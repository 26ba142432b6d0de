//! Unit tests of `src/views/statements.rs`.

use super::super::fixture::*;
use super::*;
use exchange::effect::CancelReason;

const BID: Placed = Placed { record: 3, user: ANN, wording: BUY_YES, price: 60, quantity: 10 };
const ASK: Placed = Placed { record: 4, user: BOB, wording: SELL_YES, price: 55, quantity: 6 };

fn says(user: UserNo, available: i64, reserved: i64) -> Effect {
    let (available, reserved) = (Money::new(available), Money::new(reserved));
    Effect::AccountChanged { user, available, reserved }
}

fn deposited(user: UserNo, amount: i64) -> [Effect; 2] {
    let amount = Money::new(amount);
    [Effect::Deposited { user, amount }, says(user, amount.get(), 0)]
}

/// Folds one record and returns the number of faults. Assumes that each order was placed in the
/// record of its number.
fn fold(statements: &mut Statements, sequence: u64, effects: &[Effect]) -> u64 {
    let mut faults = Faults::default();
    let placed = effects.iter().filter_map(|effect| match effect {
        Effect::OrderAmended { order, .. } | Effect::OrderCancelled { order, .. } => Some(order),
        Effect::TradeMade(trade) => Some(&trade.maker.order),
        _ => None,
    });
    let placed: Vec<_> = placed.map(|order| Some(at(order.0.get()))).collect();
    statements.fold(&applied(sequence, effects), &placed, &mut faults);
    faults.count()
}

fn opened() -> Statements {
    let mut statements = Statements::default();
    assert_eq!(fold(&mut statements, 1, &[user(ANN), user(BOB), market(RAIN, None)]), 0);
    statements
}

/// An account's changes, oldest first.
fn changes(statements: &Statements, user: UserNo) -> Vec<Change> {
    let mut changes: Vec<Change> = statements.of(user).map(Result::unwrap).collect();
    changes.reverse();
    changes
}

/// The names and amounts of an account's changes, oldest first.
fn shown(statements: &Statements, user: UserNo) -> Vec<(&'static str, i64, i64)> {
    changes(statements, user)
        .iter()
        .map(|c| (c.cause.name(), c.available.get(), c.reserved.get()))
        .collect()
}

#[test]
fn both_parties_see_a_trade_and_the_resting_part_separately() {
    let mut statements = opened();
    let both = [deposited(ANN, 1000), deposited(BOB, 1000)].concat();
    assert_eq!(fold(&mut statements, 2, &both), 0);
    assert_eq!(fold(&mut statements, 3, &[BID.accepted(), BID.rested(10), says(ANN, 400, 600)]), 0);
    let seller = Placed { quantity: 14, ..ASK };
    let effects = [
        seller.accepted(),
        seller.took(4, BID, 0, 10),
        says(ANN, 400, 0),
        seller.rested(4),
        // Ten contracts at 0.40, and 0.45 reserved for each of four more.
        says(BOB, 420, 180),
    ];
    assert_eq!(fold(&mut statements, 4, &effects), 0);
    let ann = [("DEPOSIT", 1000, 0), ("ORDER_RESERVED", -600, 600), ("TRADE", 0, -600)];
    assert_eq!(shown(&statements, ANN), ann);
    let bob = [("DEPOSIT", 1000, 0), ("ORDER_RESERVED", -180, 180), ("TRADE", -400, 0)];
    assert_eq!(shown(&statements, BOB), bob);
    let last = changes(&statements, BOB)[2];
    assert_eq!((last.number, last.sequence, last.time), (3, Sequence::new(4), at(4)));
    assert_eq!(last.cause.subject().map(|s| (s.order, s.placed)), Some((order(4), at(4))));
    assert_eq!((last.after.available.get(), last.after.reserved.get()), (420, 180));
    assert_eq!(statements.count(BOB), 3);
}

#[test]
fn a_cancel_gives_back_and_what_merges_by_it_comes_on_top() {
    let mut statements = opened();
    assert_eq!(fold(&mut statements, 2, &deposited(ANN, 1000)), 0);
    assert_eq!(fold(&mut statements, 3, &[BID.accepted(), BID.rested(10), says(ANN, 400, 600)]), 0);
    let cancelled = BID.cancelled(10, true, CancelReason::User);
    let effects = [cancelled, holds(ANN, (0, 0), (0, 0), 0), says(ANN, 1300, 0)];
    assert_eq!(fold(&mut statements, 4, &effects), 0);
    let changes = shown(&statements, ANN);
    assert_eq!(changes.last_chunk(), Some(&[("ORDER_RELEASED", 600, -600), ("MERGE", 300, 0)]));
}

#[test]
fn an_end_pays_by_its_name_after_what_it_cancels() {
    for (end, name) in [(voided(RAIN, 40), "VOID"), (settled(RAIN, YES), "SETTLEMENT")] {
        let mut statements = opened();
        assert_eq!(fold(&mut statements, 2, &deposited(ANN, 1000)), 0);
        let rests = [BID.accepted(), BID.rested(10), says(ANN, 400, 600)];
        assert_eq!(fold(&mut statements, 3, &rests), 0);
        let cancelled = BID.cancelled(10, true, CancelReason::MarketClosed);
        let effects = [end, cancelled, says(ANN, 1000, 0), paid(ANN, 5, 0, 0), says(ANN, 1200, 0)];
        assert_eq!(fold(&mut statements, 4, &effects), 0);
        let lines = shown(&statements, ANN);
        let expected = [("ORDER_RELEASED", 600, -600), (name, 200, 0)];
        assert_eq!(lines.last_chunk(), Some(&expected));
        assert_eq!(changes(&statements, ANN)[3].cause.ending_market(), Some(RAIN));
    }
}

/// Ann's bid is filled at its limit, Bob's ask has two lots too many: each pays its own fee.
#[test]
fn fees_come_last_as_lines_of_their_own() {
    let mut statements = opened();
    let both = [deposited(ANN, 1000), deposited(BOB, 1000)].concat();
    assert_eq!(fold(&mut statements, 2, &both), 0);
    let rests = [BID.accepted(), BID.rested(10), says(ANN, 380, 620)];
    assert_eq!(fold(&mut statements, 3, &rests), 0);
    let seller = Placed { quantity: 12, ..ASK };
    let mut trade = seller.took(2, BID, 0, 10);
    if let Effect::TradeMade(trade) = &mut trade {
        (trade.maker.fee, trade.taker.fee) = (Money::new(5), Money::new(17));
    }
    // Ann's reserve of 20 pays 5, and 15 are released. Bob pays 400 and 17, and reserves 90.
    let effects =
        [seller.accepted(), trade, says(ANN, 395, 0), seller.rested(2), says(BOB, 493, 90)];
    assert_eq!(fold(&mut statements, 4, &effects), 0);
    let ann = shown(&statements, ANN);
    assert_eq!(ann.last_chunk(), Some(&[("TRADE", 20, -620), ("FEE", -5, 0)]));
    let bob = shown(&statements, BOB);
    let expected = [("ORDER_RESERVED", -90, 90), ("TRADE", -400, 0), ("FEE", -17, 0)];
    assert_eq!(bob.last_chunk(), Some(&expected));
    let fee = changes(&statements, BOB)[3].cause;
    assert_eq!(fee.subject().map(|subject| subject.order), Some(order(4)));
}

#[test]
fn what_changes_nothing_is_no_line_and_what_nothing_explains_is_a_fault() {
    let mut statements = opened();
    let effects = [deposited(ANN, 5).to_vec(), vec![says(ANN, 5, 0)]].concat();
    assert_eq!(fold(&mut statements, 2, &effects), 0);
    assert_eq!(statements.count(ANN), 1);
    assert_eq!(fold(&mut statements, 3, &[says(ANN, 6, 0)]), 1);
    assert_eq!(fold(&mut statements, 4, &deposited(UserNo(9), 1)), 1);
}

const YES: exchange::catalogue::Outcome = exchange::catalogue::Outcome::Yes;
