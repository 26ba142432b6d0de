//! Unit tests of `src/views/orders.rs`.

use super::super::fills::Liquidity;
use super::super::fixture::*;
use super::*;
use OrderStatus::{Cancelled, Filled, Open, PartiallyFilled};
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
