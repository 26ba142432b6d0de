//! Unit tests of `src/views/depth.rs`.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::Index;

use super::super::fixture::*;
use super::*;
use exchange::effect::CancelReason;

/// One side as a test compares it: price, quantity, orders; best first.
fn shown(depth: &Depth, direction: Direction) -> Vec<(u8, u64, u32)> {
    let levels = depth.levels(RAIN, direction);
    levels.map(|level| (level.price.get(), level.quantity.get(), level.orders)).collect()
}

fn bid(record: u64, price: u8, quantity: u64) -> Placed {
    Placed { record, user: ANN, wording: BUY_YES, price, quantity }
}

#[test]
fn the_same_bet_in_other_words_stands_on_the_same_level() {
    let mut depth: Depth = opened();
    let mirrored = Placed { record: 3, user: BOB, wording: SELL_NO, price: 40, quantity: 2 };
    let ask = Placed { record: 4, user: BOB, wording: BUY_NO, price: 30, quantity: 9 };
    let effects = [bid(2, 60, 5).rested(5), mirrored.rested(2), ask.rested(9)];
    assert_eq!(fold(&mut depth, 2, &effects), 0);
    assert_eq!(shown(&depth, Direction::Up), [(60, 7, 2)]);
    assert_eq!(shown(&depth, Direction::Down), [(70, 9, 1)]);
    assert_eq!(depth.last_trade(RAIN), None);
}

#[test]
fn the_best_price_leads_each_side() {
    let mut depth: Depth = opened();
    for (placed, price) in [(2, 40), (3, 42), (4, 38)] {
        let ask = Placed { wording: SELL_YES, price: 100 - price, ..bid(placed, price, 1) };
        let effects = [bid(placed, price, 1).rested(1), ask.rested(1)];
        assert_eq!(fold(&mut depth, placed, &effects), 0);
    }
    assert_eq!(shown(&depth, Direction::Up), [(42, 1, 1), (40, 1, 1), (38, 1, 1)]);
    assert_eq!(shown(&depth, Direction::Down), [(58, 1, 1), (60, 1, 1), (62, 1, 1)]);
    assert_eq!(depth.best(RAIN, Direction::Up), Some(tick(42)));
    assert_eq!(depth.best(RAIN, Direction::Down), Some(tick(58)));
}

#[test]
fn an_order_that_never_rested_leaves_no_trace_but_its_trade() {
    let mut depth: Depth = opened();
    let (maker, taker) = (bid(2, 60, 5), Placed { wording: SELL_YES, ..bid(3, 55, 9) });
    let rest = taker.cancelled(4, false, CancelReason::IocRemainder);
    assert_eq!(fold(&mut depth, 2, &[maker.rested(5)]), 0);
    assert_eq!(fold(&mut depth, 3, &[taker.accepted(), taker.took(4, maker, 0, 5), rest]), 0);
    assert_eq!((shown(&depth, Direction::Up), shown(&depth, Direction::Down)), (vec![], vec![]));
    assert_eq!(depth.last_trade(RAIN), Some(tick(60)));
}

#[test]
fn taking_more_than_stands_is_a_fault() {
    let mut depth: Depth = opened();
    let resting = bid(2, 60, 5);
    assert_eq!(fold(&mut depth, 2, &[resting.rested(5)]), 0);
    let elsewhere = bid(2, 61, 5).cancelled(5, true, CancelReason::User);
    let more = resting.cancelled(6, true, CancelReason::User);
    let part = resting.cancelled(4, true, CancelReason::User);
    assert_eq!(fold(&mut depth, 3, &[elsewhere, more, part]), 3);
}

#[test]
fn a_quiet_market_costs_a_pointer() {
    assert_eq!(size_of::<Option<Box<Ladder>>>(), size_of::<usize>());
    assert_eq!(size_of::<Level>(), 16);
}

#[derive(Debug, Clone)]
enum Step {
    Rest(bool, u8, u64),
    Trade(Index, u64),
    Cancel(Index),
    AmendInPlace(Index, u64),
    AmendAway(Index, u8, u64),
}

fn step() -> impl Strategy<Value = Step> {
    // Few prices, so that levels are shared, including both bounds.
    let price = prop_oneof![Just(1_u8), Just(99), 48..53_u8];
    let lots = 1..20_u64;
    prop_oneof![
        3 => (any::<bool>(), price.clone(), lots.clone())
            .prop_map(|(up, price, lots)| Step::Rest(up, price, lots)),
        2 => (any::<Index>(), lots.clone()).prop_map(|(pick, lots)| Step::Trade(pick, lots)),
        1 => any::<Index>().prop_map(Step::Cancel),
        1 => (any::<Index>(), lots.clone())
            .prop_map(|(pick, lots)| Step::AmendInPlace(pick, lots)),
        1 => (any::<Index>(), price, lots)
            .prop_map(|(pick, price, lots)| Step::AmendAway(pick, price, lots)),
    ]
}

/// The effects that the exchange would emit for the step; updates the plain list of open
/// orders.
fn play(open_orders: &mut Vec<Placed>, placed: u64, step: &Step) -> Vec<Effect> {
    if let Step::Rest(up, price, quantity) = *step {
        let wording = if up { BUY_YES } else { SELL_YES };
        let order = Placed { wording, ..bid(placed, price, quantity) };
        open_orders.push(order);
        return vec![order.rested(quantity)];
    }
    if open_orders.is_empty() {
        return Vec::new();
    }
    match step {
        Step::Rest(..) => Vec::new(),
        Step::Trade(pick, lots) => {
            let at = pick.index(open_orders.len());
            let maker = open_orders[at];
            let traded = maker.quantity.min(*lots);
            let wording = if maker.wording == BUY_YES { SELL_YES } else { BUY_YES };
            let taker = Placed { wording, ..bid(placed, maker.price, traded) };
            open_orders[at].quantity -= traded;
            let left = open_orders[at].quantity;
            open_orders.retain(|order| order.quantity > 0);
            vec![taker.took(0, maker, left, traded)]
        }
        Step::Cancel(pick) => {
            let order = open_orders.swap_remove(pick.index(open_orders.len()));
            vec![order.cancelled(order.quantity, true, CancelReason::User)]
        }
        Step::AmendInPlace(pick, lots) => {
            let at = pick.index(open_orders.len());
            let before = open_orders[at];
            open_orders[at].quantity = before.quantity.min(*lots);
            vec![amended(before, open_orders[at], true)]
        }
        Step::AmendAway(pick, price, lots) => {
            let at = pick.index(open_orders.len());
            let before = open_orders[at];
            open_orders[at] = Placed { price: *price, quantity: *lots, ..before };
            vec![amended(before, open_orders[at], false), open_orders[at].rested(*lots)]
        }
    }
}

fn amended(before: Placed, after: Placed, kept_place: bool) -> Effect {
    Effect::OrderAmended {
        order: order(before.record),
        user: before.user,
        market: RAIN,
        direction: before.wording.direction(),
        price_before: before.yes_price(),
        price: after.yes_price(),
        remaining_before: Lots::new(before.quantity),
        quantity: Lots::new(after.quantity),
        remaining: Lots::new(after.quantity),
        kept_place,
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_levels_are_the_standing_orders_added_up(
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut depth: Depth = opened();
        let mut open_orders = Vec::new();
        for (sequence, step) in (2..).zip(&steps) {
            let effects = play(&mut open_orders, sequence, step);
            prop_assert_eq!(fold(&mut depth, sequence, &effects), 0);
            for direction in [Direction::Up, Direction::Down] {
                let mut sums: BTreeMap<u8, (u64, u32)> = BTreeMap::new();
                let side = open_orders.iter().filter(|o| o.wording.direction() == direction);
                for order in side {
                    let sum = sums.entry(order.price).or_default();
                    *sum = (sum.0 + order.quantity, sum.1 + 1);
                }
                let mut naive: Vec<_> =
                    sums.into_iter().map(|(price, sum)| (price, sum.0, sum.1)).collect();
                if direction == Direction::Up {
                    naive.reverse();
                }
                prop_assert_eq!(shown(&depth, direction), naive);
            }
        }
    }
}
