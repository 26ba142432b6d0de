//! Unit tests of `src/views/orders/leaves.rs`.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::history::chain::RowChain;
use exchange::catalogue::Outcome;
use exchange::command::{Side, TimeInForce, Wording};
use exchange::ids::MarketNo;
use exchange::units::{Lots, Money, Sequence, Tick, TimeMs};

const USER: UserNo = UserNo(7);

#[derive(Debug, Clone)]
enum Step {
    /// Differences to the order before: number, row index, milliseconds.
    Add(u64, u64, i64, OpenOrder),
    Change(Index, OpenOrder),
    Remove(Index),
}

fn order() -> impl Strategy<Value = OpenOrder> {
    let ends = prop::option::of(0..1_i64 << 40);
    let small_or_any = |shift: u32| any::<u64>().prop_map(move |number| number >> shift);
    let figures = (small_or_any(50), small_or_any(1), 0..1_i64 << 40, 0..4_u32);
    (any::<[bool; 3]>(), any::<u32>(), 1..100_u8, ends, figures).prop_map(
        |([no, sells, changed], market, price, ends, (quantity, cost, updated, fills))| {
            let outcome = if no { Outcome::No } else { Outcome::Yes };
            let side = if sells { Side::Sell } else { Side::Buy };
            let time = |ms| TimeMs::new(ms).unwrap();
            let mut order = OpenOrder {
                user: USER,
                market: MarketNo(market >> (quantity % 32)),
                wording: Wording { outcome, side },
                price: Tick::new(price).unwrap(),
                quantity: Lots::new(quantity),
                filled: Lots::ZERO,
                filled_cost: Money::ZERO,
                time_in_force: TimeInForce::GoodTillCancelled { expires_at: ends.map(time) },
                created_at: TimeMs::new(0).unwrap(),
                updated_at: TimeMs::new(0).unwrap(),
                row_index: 0,
                fills: RowChain::default(),
            };
            if changed {
                order.filled = Lots::new(cost / 7);
                order.filled_cost = Money::new(i64::try_from(cost).unwrap());
                order.updated_at = time(updated);
                for fill in 0..fills {
                    let _links = order.fills.push(u64::from(fill) * 1000);
                }
            }
            order
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let any = any::<Index>();
    // Sometimes too far apart for one leaf.
    let numbers = prop_oneof![30 => 1..100_000_u64, 1 => Just(1 << 33)];
    let rows = prop_oneof![30 => 0..300_u64, 1 => Just(1 << 34)];
    prop_oneof![
        5 => (numbers, rows, 0..100_000_i64, order())
            .prop_map(|(numbers, rows, ms, order)| Step::Add(numbers, rows, ms, order)),
        2 => (any.clone(), order()).prop_map(|(which, order)| Step::Change(which, order)),
        3 => any.prop_map(Step::Remove),
    ]
}

/// Leaves stay sorted, non-empty and within their size limit.
fn check_room(leaves: &Leaves) {
    for (leaf, next) in leaves.leaves.iter().zip(leaves.leaves.iter().skip(1)) {
        assert!(leaf.begins() < next.begins());
    }
    for leaf in &leaves.leaves {
        assert!((1..=LEAF_BYTES).contains(&leaf.len()), "{} bytes", leaf.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(64)
    })]

    #[test]
    fn orders_are_as_they_were_put_until_they_are_taken_away(
        begin in prop::collection::vec((1..100_u64, order()), 0..200),
        steps in prop::collection::vec(step(), 0..400),
    ) {
        let (mut leaves, mut buffer) = (Leaves::default(), RowBuffer::new());
        let mut expected: BTreeMap<OrderNo, OpenOrder> = BTreeMap::new();
        let (mut newest, mut time, mut row_index) = (0, 0, 0);
        let begin = begin.into_iter().map(|(numbers, order)| Step::Add(numbers, 1, 5, order));
        for step in begin.chain(steps) {
            let known = |which: &Index| {
                let which = expected.len().checked_sub(1).map(|_| which.index(expected.len()));
                which.and_then(|which| expected.keys().nth(which).copied())
            };
            match step {
                Step::Add(numbers, rows, ms, order) => {
                    (newest, time, row_index) = (newest + numbers, time + ms, row_index + rows);
                    let created_at = TimeMs::new(time).unwrap();
                    let changed = order.updated_at.get() > 0;
                    let updated_at = if changed { order.updated_at } else { created_at };
                    let order = OpenOrder { created_at, updated_at, row_index, ..order };
                    let no = OrderNo(Sequence::new(newest));
                    prop_assert!(leaves.find(no).is_none());
                    prop_assert_eq!(leaves.add(no, &order, &mut buffer), Some(()));
                    expected.insert(no, order);
                }
                Step::Change(which, order) => {
                    let Some(no) = known(&which) else { continue };
                    let before = expected[&no];
                    let OpenOrder { created_at, row_index, .. } = before;
                    let order = OpenOrder { created_at, row_index, ..order };
                    let spot = leaves.find(no).unwrap();
                    prop_assert_eq!(leaves.get(USER, &spot), Some(before));
                    prop_assert_eq!(leaves.set(spot, (no, &order), &mut buffer), Some(()));
                    expected.insert(no, order);
                }
                Step::Remove(which) => {
                    let Some(no) = known(&which) else { continue };
                    let spot = leaves.find(no).unwrap();
                    prop_assert_eq!(leaves.remove(USER, spot, &mut buffer), Some(()));
                    prop_assert!(leaves.find(no).is_none());
                    expected.remove(&no);
                }
            }
            check_room(&leaves);
            prop_assert_eq!(leaves.count(), expected.len());
        }
        for end in expected.keys().copied().chain([OrderNo(Sequence::new(u64::MAX))]) {
            let before: Vec<_> = leaves.before(USER, end).collect();
            let all = expected.range(..end).rev().map(|(no, order)| (*no, *order));
            prop_assert_eq!(before, all.collect::<Vec<_>>());
        }
    }
}

fn plain(n: u64) -> OpenOrder {
    OpenOrder {
        user: USER,
        market: MarketNo(99),
        wording: Wording { outcome: Outcome::Yes, side: Side::Buy },
        price: Tick::new(60).unwrap(),
        quantity: Lots::new(900),
        filled: Lots::ZERO,
        filled_cost: Money::ZERO,
        time_in_force: TimeInForce::GoodTillCancelled { expires_at: None },
        created_at: TimeMs::new(i64::try_from(n).unwrap() * 1000).unwrap(),
        updated_at: TimeMs::new(i64::try_from(n).unwrap() * 1000).unwrap(),
        row_index: n,
        fills: RowChain::default(),
    }
}

#[test]
fn leaves_too_far_apart_to_be_joined_stay_as_they_are() {
    let mut buffer = RowBuffer::new();
    let orders = [1, 1 << 31, (1 << 32) + 5].map(|no| (OrderNo(Sequence::new(no)), plain(3)));
    let (older, newer) = orders.split_at(1);
    let leaves = [older, newer].map(|orders| leaf_of(orders, &mut buffer).unwrap());
    let mut leaves = Leaves { leaves: leaves.into(), count: 3 };
    // The first order of the newer leaf would fit, the second does not.
    assert_eq!(leaves.join(0, USER, &mut buffer), Some(()));
    let all: Vec<_> = leaves.before(USER, OrderNo(Sequence::new(u64::MAX))).collect();
    assert!(all.into_iter().eq(orders.into_iter().rev()));
}

#[test]
fn a_plain_order_takes_few_bytes_and_those_that_went_leave_none() {
    let (mut leaves, mut buffer) = (Leaves::default(), RowBuffer::new());
    let number = |n: u64| OrderNo(Sequence::new(n * 10_000));
    let kept = |leaves: &Leaves| {
        let leaf_bytes = leaves.leaves.capacity() * size_of::<Leaf>();
        leaf_bytes + leaves.leaves.iter().map(Leaf::room).sum::<usize>()
    };
    for n in 0..10_000 {
        leaves.add(number(n), &plain(n), &mut buffer).unwrap();
    }
    assert!(kept(&leaves) < 10_000 * 18, "{}", kept(&leaves));
    for n in (0..10_000).filter(|n| n % 50 != 0) {
        let spot = leaves.find(number(n)).unwrap();
        leaves.remove(USER, spot, &mut buffer).unwrap();
    }
    assert!(kept(&leaves) < 200 * 60, "{}", kept(&leaves));
    for n in (0..10_000).step_by(50) {
        assert_eq!(leaves.before(USER, number(n + 1)).next(), Some((number(n), plain(n))));
        let spot = leaves.find(number(n)).unwrap();
        leaves.remove(USER, spot, &mut buffer).unwrap();
    }
    assert!(kept(&leaves) <= 4 * size_of::<Leaf>(), "{}", kept(&leaves));
}
