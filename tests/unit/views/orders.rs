//! Unit tests of `src/views/orders.rs`.

use std::num::NonZeroU32;
use std::sync::Arc;

use super::super::fills::Liquidity;
use super::super::fixture::*;
use super::*;
use crate::history::MemoryPages;
use OrderStatus::{Cancelled, Filled, Open, PartiallyFilled};
use exchange::catalogue::Outcome;
use exchange::effect::Effect;
use exchange::units::{Lots, Money};

const BID: Placed = Placed { record: 2, user: ANN, wording: BUY_YES, price: 60, quantity: 10 };

fn with_bid() -> Orders {
    let mut orders: Orders = opened();
    assert_eq!(fold(&mut orders, 2, &[BID.accepted(), BID.rested(10)]), 0);
    orders
}

fn of(orders: &Orders, user: UserNo, no: u64) -> OrderRow {
    orders.order(user, order(no)).row().unwrap().unwrap()
}

fn open(orders: &Orders, user: UserNo) -> Vec<u64> {
    orders.open_of(user).map(|row| row.no.0.get()).collect()
}

#[test]
fn each_party_reads_the_trade_in_its_own_words() {
    let mut orders = with_bid();
    let taker = Placed { record: 3, user: BOB, wording: BUY_NO, price: 45, quantity: 4 };
    let effects = [taker.accepted(), taker.took(0, BID, 6, 4)];
    assert_eq!(fold(&mut orders, 3, &effects), 0);

    // Ann bought yes at 0.60; Bob bought no at 0.40, better than the 0.45 he offered.
    let (bid, took) = (of(&orders, ANN, 2), of(&orders, BOB, 3));
    assert_eq!((bid.status, bid.remaining.get(), bid.filled.get()), (PartiallyFilled, 6, 4));
    assert_eq!((took.status, took.remaining.get(), took.filled.get()), (Filled, 0, 4));
    assert_eq!(bid.average_price().to_string(), "0.60");
    assert_eq!(took.average_price().to_string(), "0.40");
    assert_eq!((bid.created_at, bid.updated_at), (at(2), at(3)));
    let (made, paid) = (orders.fills_of(ANN).next().unwrap(), orders.fills_of(BOB).next().unwrap());
    let (made, paid) = (made.unwrap(), paid.unwrap());
    assert_eq!((made.price, made.liquidity), (tick(60), Liquidity::Maker));
    assert_eq!((paid.price, paid.liquidity), (tick(40), Liquidity::Taker));
    assert_eq!((made.id(), made.order_id()), (paid.id(), bid.id()));
    assert_eq!(made.id().sequence(), Sequence::new(3));
    assert_eq!((open(&orders, ANN), open(&orders, BOB)), (vec![2], vec![]));
    assert_eq!(orders.open_count(), 1);
}

#[test]
fn a_seller_of_no_reads_the_price_of_no() {
    let mut orders: Orders = opened();
    let maker = Placed { record: 2, user: ANN, wording: SELL_NO, price: 40, quantity: 5 };
    let taker = Placed { record: 3, user: BOB, wording: SELL_YES, price: 50, quantity: 5 };
    assert_eq!(fold(&mut orders, 2, &[maker.accepted(), maker.rested(5)]), 0);
    assert_eq!(fold(&mut orders, 3, &[taker.accepted(), taker.took(0, maker, 0, 5)]), 0);
    assert_eq!(of(&orders, ANN, 2).filled_cost, Money::new(40 * 5));
    assert_eq!(of(&orders, BOB, 3).filled_cost, Money::new(60 * 5));
    assert_eq!(orders.fills_of(ANN).len(), 1);
}

#[test]
fn a_cancelled_order_says_what_it_traded_and_why_it_ended() {
    let mut orders = with_bid();
    let taker = Placed { record: 3, user: BOB, wording: SELL_YES, price: 60, quantity: 14 };
    let rest = taker.cancelled(4, false, CancelReason::IocRemainder);
    let effects = [taker.accepted(), taker.took(4, BID, 0, 10), rest];
    assert_eq!(fold(&mut orders, 3, &effects), 0);
    let row = of(&orders, BOB, 3);
    assert_eq!((row.status, row.cancel_reason), (Cancelled, Some(CancelReason::IocRemainder)));
    let parts = (row.filled.get(), row.remaining.get(), row.cancelled.get());
    assert_eq!(parts, (10, 0, 4));
    assert_eq!(of(&orders, ANN, 2).status, Filled);
    assert_eq!((open(&orders, ANN), open(&orders, BOB)), (vec![], vec![]));
}

#[test]
fn an_amended_order_keeps_its_number_and_its_fills() {
    let mut orders = with_bid();
    let taker = Placed { record: 3, user: BOB, wording: SELL_YES, price: 60, quantity: 4 };
    assert_eq!(fold(&mut orders, 3, &[taker.accepted(), taker.took(0, BID, 6, 4)]), 0);
    let amended = Effect::OrderAmended {
        order: order(2),
        user: ANN,
        market: RAIN,
        direction: BUY_YES.direction(),
        price_before: tick(60),
        price: tick(65),
        remaining_before: Lots::new(6),
        quantity: Lots::new(12),
        remaining: Lots::new(8),
        kept_place: false,
    };
    let rested = Placed { price: 65, ..BID }.rested(8);
    assert_eq!(fold(&mut orders, 4, &[amended, rested]), 0);
    let row = of(&orders, ANN, 2);
    assert_eq!((row.status, row.price), (PartiallyFilled, tick(65)));
    assert_eq!((row.quantity.get(), row.filled.get(), row.remaining.get()), (12, 4, 8));
    assert_eq!(row.updated_at, at(4));
    assert_eq!(open(&orders, ANN), [2]);
}

#[test]
fn the_newest_comes_first_and_final_orders_stay_readable() {
    let mut orders = with_bid();
    for record in 3..6 {
        let next = Placed { record, ..BID };
        assert_eq!(fold(&mut orders, record, &[next.accepted(), next.rested(10)]), 0);
    }
    let gone = Placed { record: 4, ..BID }.cancelled(10, true, CancelReason::User);
    assert_eq!(fold(&mut orders, 6, &[gone]), 0);
    assert_eq!(open(&orders, ANN), [5, 3, 2]);
    let all: Vec<u64> = orders.of(ANN).map(|row| row.unwrap().no.0.get()).collect();
    assert_eq!(all, [5, 4, 3, 2]);
    assert_eq!((of(&orders, ANN, 4).status, of(&orders, ANN, 3).status), (Cancelled, Open));
    assert_eq!(of(&orders, ANN, 4).id(), order(4).id(at(4)));
    assert_eq!(orders.order(BOB, order(3)).row(), Ok(None));
    assert_eq!(orders.order(ANN, order(6)).row(), Ok(None));
}

#[test]
fn what_is_final_or_unknown_does_not_change() {
    let mut orders = with_bid();
    let cancelled = BID.cancelled(10, true, CancelReason::User);
    assert_eq!(fold(&mut orders, 3, &[cancelled.clone(), cancelled]), 1);
    let stranger = Placed { record: 9, ..BID };
    let before = of(&orders, ANN, 2);
    assert_eq!(fold(&mut orders, 4, &[stranger.took(0, BID, 0, 10), BID.rested(10)]), 2);
    assert_eq!(of(&orders, ANN, 2), before);
    // Parts that do not add up to the quantity, and an order number used before.
    let next = Placed { record: 5, ..BID };
    assert_eq!(fold(&mut orders, 5, &[next.accepted(), next.rested(9), BID.accepted()]), 2);
}

fn numbers(list: OrderList) -> Vec<u64> {
    list.map(|row| row.unwrap().no.0.get()).collect()
}

/// Orders that end long after their page was written, some of them together, the last one alone.
#[test]
fn endings_of_old_orders_are_written_once_and_read_before_and_after() {
    let storage = Arc::new(MemoryPages::default());
    let rows = NonZeroU32::new(16).unwrap();
    let mut orders = Orders::on(History::on(Arc::clone(&storage) as _).paged(rows));
    assert_eq!(fold(&mut orders, 1, &[user(ANN), user(BOB), market(RAIN, None)]), 0);
    let bid = |record| Placed { record, ..BID };
    for record in 2..60 {
        assert_eq!(fold(&mut orders, record, &[bid(record).accepted(), bid(record).rested(10)]), 0);
    }
    let stored = storage.pages();
    let mut ended = std::collections::BTreeSet::new();
    // The first page's orders end from the newest on, others between them.
    let gone = (0..16).flat_map(|n| [17 - n, 18 + (n * 5) % 16]).filter(|gone| *gone != 20);
    for (record, gone) in (60..).zip(gone) {
        let before = orders.of(ANN);
        let cancelled = bid(gone).cancelled(10, true, CancelReason::User);
        assert_eq!(fold(&mut orders, record, &[cancelled]), 0);
        ended.insert(gone);
        // Who read the list before the ending reads what was then.
        let was: Vec<_> = before.map(|row| row.unwrap()).collect();
        assert_eq!(was.iter().filter(|row| !row.status.open()).count(), ended.len() - 1);
        for no in 2..60 {
            assert_eq!(of(&orders, ANN, no).status == Cancelled, ended.contains(&no), "{no}");
        }
        assert_eq!(numbers(orders.of(ANN)), (2..60).rev().collect::<Vec<_>>());
    }
    // Two pages of eight for the first sixteen, and one of eight for the next, which wait.
    assert_eq!(storage.pages() - stored, 3);
    let own = &orders.users[ANN.index()].unfinished;
    assert_eq!((own.pages.len(), own.with_waiting), (2, 1));
    let last = bid(20).cancelled(10, true, CancelReason::User);
    assert_eq!(fold(&mut orders, 200, &[last]), 0);
    assert_eq!(storage.pages() - stored, 4);
    assert_eq!((of(&orders, ANN, 20).status, of(&orders, ANN, 40).status), (Cancelled, Open));
}

#[test]
fn users_of_a_large_market_are_found_while_they_move_to_pages() {
    let mut orders = Orders::default();
    let users: Vec<UserNo> = (0..200).map(UserNo).collect();
    let mut effects: Vec<Effect> = users.iter().map(|no| user(*no)).collect();
    effects.push(market(RAIN, None));
    assert_eq!(fold(&mut orders, 1, &effects), 0);
    let bid = |user: UserNo| Placed { record: u64::from(user.0) + 2, user, ..BID };
    for user in &users {
        let effects = [bid(*user).accepted(), bid(*user).cancelled(10, false, CancelReason::User)];
        assert_eq!(fold(&mut orders, bid(*user).record, &effects), 0);
    }
    assert_eq!(fold(&mut orders, 300, &[settled(RAIN, Outcome::Yes)]), 0);
    for record in 301..307 {
        for user in &users {
            let own = orders.before_in(*user, RAIN, ALL, usize::MAX).list().unwrap();
            assert_eq!(numbers(own), [bid(*user).record]);
        }
        assert_eq!(fold(&mut orders, record, &[]), 0);
    }
    assert!(!orders.markets[0].moving() && orders.ended.is_empty());
    let late = Placed { record: 400, ..BID };
    assert_eq!(fold(&mut orders, 400, &[late.accepted()]), 1);
}
