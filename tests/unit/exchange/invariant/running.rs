//! Unit tests of `src/exchange/invariant/running.rs`.

use super::*;
use crate::ledger::Purse;
use crate::market::MarketStatus;
use crate::script;

const RAIN: MarketNo = MarketNo(0);
const ANN: UserNo = UserNo(0);
const BOB: UserNo = UserNo(1);
const ONE: Lots = Lots::contracts(1);

/// Ann offers 3 of the 4 yes that she has from Bob, who just bought one of them and bids on.
fn traded() -> (Exchange, Running) {
    let text = "venue USD\nuser ann\nuser bob\ndeposit ann 100.00\ndeposit bob 100.00\n\
                    market rain\npublish rain\nbob buy no 0.50 x5\nann buy yes 0.50 x5\n\
                    ann sell yes 0.80 x4\nbob buy yes 0.70 x1\nann sell yes 0.60 x1\n\
                    bob buy yes 0.80 x1";
    let (mut exchange, mut running) = (Exchange::new(), Running::default());
    let records = script::parse(text).unwrap();
    for (number, record) in (1..).zip(&records) {
        let mut effects = Vec::new();
        exchange.apply(record, &mut effects).unwrap();
        running.follow(&exchange, &effects);
        // The last record is what the corrupted state is checked after.
        if number < records.len() {
            running.check(&exchange).unwrap();
        }
    }
    (exchange, running)
}

fn with_purse(exchange: &mut Exchange, user: UserNo, change: fn(&mut Purse)) {
    let mut purse = exchange.purse(user, RAIN).unwrap();
    change(&mut purse);
    exchange.ledger.put(user, RAIN, &purse).unwrap();
}

type Corruption = (&'static str, fn(&mut Exchange), Broken);

const CORRUPTIONS: [Corruption; 10] = [
    (
        "money made",
        |exchange| {
            with_purse(exchange, BOB, |purse| purse.account.available = Money::new(12_345));
        },
        Broken::MoneyNotConserved,
    ),
    (
        "a debt",
        |exchange| with_purse(exchange, BOB, |purse| purse.account.available = Money::new(-1)),
        Broken::Negative,
    ),
    (
        "money set aside for nothing",
        |exchange| with_purse(exchange, ANN, |purse| purse.account.reserved = Money::new(1)),
        Broken::BackingMismatch,
    ),
    (
        "contracts made",
        |exchange| {
            with_purse(exchange, ANN, |purse| purse.position.yes.held = Lots::contracts(7));
        },
        Broken::ContractsNotConserved,
    ),
    (
        "contracts locked for nothing",
        |exchange| with_purse(exchange, BOB, |purse| purse.position.no.locked = ONE),
        Broken::BackingMismatch,
    ),
    (
        "a cost of nothing",
        |exchange| {
            with_purse(exchange, ANN, |purse| purse.position.no.cost = Money::new(1));
        },
        Broken::MoneyNotConserved,
    ),
    (
        "another sum of costs",
        |exchange| exchange.ledger.costs[ANN.index()] = MoneySum::ZERO,
        Broken::MoneyNotConserved,
    ),
    (
        "a level that lost contracts",
        |exchange| {
            let book = &mut exchange.market_mut(RAIN).unwrap().book;
            book.reduce(Tick::new(80).unwrap(), ONE).unwrap();
        },
        Broken::LevelMismatch,
    ),
    (
        "orders in a closed market",
        |exchange| exchange.market_mut(RAIN).unwrap().status = MarketStatus::Closed,
        Broken::OrdersInClosedMarket,
    ),
    (
        "fees from nowhere",
        |exchange| exchange.ledger.earn(Money::new(1)).unwrap(),
        Broken::MoneyNotConserved,
    ),
];

#[test]
fn what_a_record_left_broken_is_found_as_a_check_of_everything_finds_it() {
    let (exchange, mut running) = traded();
    assert_eq!((running.check(&exchange), exchange.check()), (Ok(()), Ok(())));
    for (what, corrupt, broken) in CORRUPTIONS {
        let (mut exchange, mut running) = traded();
        corrupt(&mut exchange);
        assert_eq!(running.check(&exchange), Err(broken), "{what}");
        assert!(exchange.check().is_err(), "{what}");
    }
}

/// Where no order is left, what is locked is an error of the books, and nobody is paid on it.
#[test]
fn contracts_that_are_still_locked_are_not_paid() {
    let (mut exchange, _) = traded();
    with_purse(&mut exchange, BOB, |purse| purse.position.no.locked = ONE);
    let resolved = &script::parse("from 14\nresolve ?0 yes").unwrap()[0];
    let applied = exchange.apply(resolved, &mut Vec::new());
    assert_eq!(applied, Err(Broken::LockedWithoutOrder));
}

/// Two markets of an exclusive event that both announce yes would pay what nobody paid in.
#[test]
fn an_event_that_announces_more_than_a_whole_is_found() {
    let text = "venue USD\nevent sky exclusive\nmarket rain of sky window 1h\n\
                market snow of sky window 1h\npublish rain\npublish snow\nresolve rain yes";
    let (mut exchange, mut running) = (Exchange::new(), Running::default());
    for record in script::parse(text).unwrap() {
        let mut effects = Vec::new();
        exchange.apply(&record, &mut effects).unwrap();
        running.follow(&exchange, &effects);
    }
    assert_eq!(exchange.check(), Ok(()));
    let snow = exchange.market_mut(MarketNo(1)).unwrap();
    (snow.status, snow.winner) = (MarketStatus::Resolved, Some(Outcome::Yes));
    assert_eq!(exchange.check(), Err(Broken::EventOverpaid));
    assert_eq!(running.check(&exchange), Err(Broken::EventOverpaid));
}

/// What is over leaves nothing behind, or memory would grow with the journal.
#[test]
fn ended_orders_and_settled_positions_are_forgotten() {
    let (mut exchange, mut running) = traded();
    let text = "from 14\nresolve ?0 yes";
    for record in script::parse(text).unwrap() {
        let mut effects = Vec::new();
        exchange.apply(&record, &mut effects).unwrap();
        running.follow(&exchange, &effects);
    }
    running.check(&exchange).unwrap();
    let Running { orders, positions, levels, touched, .. } = running;
    assert_eq!((orders.len(), positions.len(), levels.len()), (0, 0, 0));
    assert!(touched.is_empty());
}
