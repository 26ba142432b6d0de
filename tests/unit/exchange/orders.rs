//! Unit tests of `src/exchange/orders.rs`.

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;

use super::*;
use crate::catalogue::Outcome;
use crate::command::Side;
use crate::units::Sequence;

const USERS: u32 = 2;
const MARKETS: u32 = 3;

#[derive(Debug, Clone)]
enum Step {
    Insert(Order),
    Fill(Index),
    Remove(Index),
}

fn order() -> impl Strategy<Value = Order> {
    let rare = (prop::option::of(0..9_i64), prop::option::of(0..USERS), 0..2_i64);
    let backing = (0..3_u64, 1..4_u64);
    (0..USERS, 0..MARKETS, 1..100_u8, backing, rare).prop_map(
        |(user, market, price, (contracts, cash), (expires_at, copy_from, fees))| Order {
            no: OrderNo(Sequence::ZERO),
            user: UserNo(user),
            market: MarketNo(market),
            wording: Wording { outcome: Outcome::No, side: Side::Sell },
            price: Tick::new(price).unwrap(),
            quantity: Lots::new(contracts + cash),
            filled: Lots::ZERO,
            backing: Backing {
                contracts: Lots::new(contracts),
                cash: Lots::new(cash),
                fees: Money::new(fees),
            },
            expires_at: expires_at.and_then(TimeMs::new),
            self_trade: SelfTradePrevention::CancelBoth,
            condition: Condition::PostOnly,
            copy_from: copy_from.map(UserNo),
            group: Group::new(&"ab"[..usize::from(price % 3)]),
            key: (price % 4 > 0).then(|| KeyNo(u32::from(price % 11))),
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => order().prop_map(Step::Insert),
        3 => any::<Index>().prop_map(Step::Fill),
        4 => any::<Index>().prop_map(Step::Remove),
    ]
}

/// The pool has the orders of the table, and no others, under their numbers and of their owners.
fn check(pool: &OrderPool, table: &[(Slot, Order)]) {
    assert_eq!(pool.count() as usize, table.len());
    assert_eq!(pool.all().count(), table.len());
    let keyed = table.iter().filter(|(_, order)| order.key.is_some());
    assert_eq!(pool.keyed() as usize, keyed.count());
    let grouped = table.iter().filter_map(|(_, order)| Some((order.user, order.group?, order.no)));
    assert_eq!(*pool.grouped(), grouped.collect());
    for (slot, order) in table {
        assert_eq!((pool.get(*slot), pool.find(order.no)), (Ok(*order), Some(*slot)));
        let resting = pool.resting(*slot).unwrap();
        assert_eq!((resting.user, resting.price), (order.user, order.price));
        assert!(pool.is_among(*slot, order.user, Some(order.market), order.key));
        assert!(!pool.is_among(*slot, order.user, None, Some(KeyNo(99))));
    }
    for user in (0..USERS).map(UserNo) {
        let expected = |key: Option<KeyNo>| {
            let of = |order: &Order| order.user == user && (key.is_none() || order.key == key);
            let owned = table.iter().filter(|(_, order)| of(order)).map(|(slot, _)| *slot);
            owned.collect::<BTreeSet<Slot>>()
        };
        let own = pool.of_user(user);
        assert_eq!(own.len(), pool.count_of(user) as usize);
        assert_eq!(own.into_iter().collect::<BTreeSet<Slot>>(), expected(None));
        for key in (0..12).map(KeyNo) {
            let sent: BTreeSet<Slot> = pool.of_key(user, key).iter().copied().collect();
            assert_eq!(sent, expected(Some(key)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_pool_keeps_what_was_inserted_and_not_removed(
        steps in prop::collection::vec(step(), 0..200),
    ) {
        let (mut pool, mut table): (_, Vec<(Slot, Order)>) = (OrderPool::default(), Vec::new());
        (0..USERS).for_each(|_| pool.add_user());
        for (no, step) in (1..).zip(steps) {
            match step {
                Step::Insert(order) => {
                    let order = Order { no: OrderNo(Sequence::new(no)), ..order };
                    table.push((pool.insert(&order).unwrap(), order));
                }
                Step::Fill(which) if !table.is_empty() => {
                    let (slot, order) = &mut table[which.index(pool.count() as usize)];
                    let one = Lots::new(1).min(order.backing.remaining().unwrap());
                    order.backing.take(one).unwrap();
                    order.backing.fees = Money::ZERO;
                    order.filled = order.filled.plus(one).unwrap();
                    pool.store(*slot, order).unwrap();
                }
                Step::Remove(which) if !table.is_empty() => {
                    let (slot, order) = table.swap_remove(which.index(pool.count() as usize));
                    pool.remove(slot).unwrap();
                    assert_eq!(pool.find(order.no), None);
                    assert_eq!(pool.get(slot), Err(Broken::Dangling));
                }
                Step::Fill(_) | Step::Remove(_) => {}
            }
            check(&pool, &table);
        }
    }
}

#[test]
fn an_order_whose_parts_do_not_sum_up_is_not_stored() {
    let mut pool = OrderPool::default();
    pool.add_user();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut whole = order().new_tree(&mut runner).unwrap().current();
    whole.user = UserNo(0);
    let slot = pool.insert(&whole).unwrap();
    let less = Order { quantity: whole.quantity.plus(Lots::new(1)).unwrap(), ..whole };
    assert_eq!(pool.store(slot, &less), Err(Broken::QuantityNotConserved));
    assert_eq!(pool.insert(&less), Err(Broken::QuantityNotConserved));
    assert_eq!(pool.get(slot), Ok(whole));
}
