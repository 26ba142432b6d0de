//! Unit tests of `src/exchange/orders/owned.rs`.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::catalogue::Outcome;
use crate::command::{Condition, SelfTradePrevention, Side, Wording};
use crate::ids::OrderNo;
use crate::orders::{Backing, Order};
use crate::units::{Lots, Money, Sequence, Tick};

const USERS: u32 = 2;
const MARKETS: u32 = 60;

fn order(no: u64, user: u32, market: u32) -> Order {
    let quantity = Lots::new(1);
    Order {
        no: OrderNo(Sequence::new(no)),
        user: UserNo(user),
        market: MarketNo(market),
        wording: Wording { outcome: Outcome::Yes, side: Side::Buy },
        price: Tick::new(50).unwrap(),
        quantity,
        filled: Lots::ZERO,
        backing: Backing { contracts: Lots::ZERO, cash: quantity, fees: Money::ZERO },
        expires_at: None,
        self_trade: SelfTradePrevention::CancelTaker,
        condition: Condition::Unconditional,
        copy_from: None,
    }
}

#[derive(Debug, Clone)]
enum Step {
    Insert {
        user: u32,
        market: u32,
    },
    Remove(Index),
    /// Removes many at once, so that lists shrink below the limit.
    Thin(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        700 => (0..USERS, 0..MARKETS).prop_map(|(user, market)| Step::Insert { user, market }),
        150 => any::<Index>().prop_map(Step::Remove),
        1 => (2..9_usize).prop_map(Step::Thin),
    ]
}

/// Every list, whole and by market, has the orders of the table, however often it is grouped.
fn check(pool: &OrderPool, table: &[(Slot, u32, u32)]) {
    for user in 0..USERS {
        let sorted = |slots: &mut dyn Iterator<Item = Slot>| {
            let mut slots: Vec<Slot> = slots.collect();
            slots.sort_unstable();
            slots
        };
        let own = table.iter().filter(|(_, owner, _)| *owner == user);
        let all = sorted(&mut pool.of_user(UserNo(user)).map(Result::unwrap));
        assert_eq!(all, sorted(&mut own.clone().map(|(slot, ..)| *slot)));
        let count = pool.count_of(UserNo(user));
        assert_eq!(count as usize, all.len());
        let grouped = pool.by_user[user as usize].groups.is_some();
        assert!(if grouped { count >= GROUPED_UNTIL } else { count < GROUPED_FROM });
        for market in 0..MARKETS {
            let found = pool.of_user_in(UserNo(user), MarketNo(market)).map(Result::unwrap);
            let expected = own.clone().filter(|(_, _, within)| *within == market);
            assert_eq!(sorted(&mut { found }), sorted(&mut expected.map(|(slot, ..)| *slot)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(64)
    })]

    #[test]
    fn a_users_orders_are_found_by_market(steps in prop::collection::vec(step(), 0..3000)) {
        let (mut pool, mut table) = (OrderPool::default(), Vec::new());
        (0..USERS).for_each(|_| pool.add_user());
        for (no, step) in (1..).zip(steps) {
            match step {
                Step::Insert { user, market } => {
                    let slot = pool.insert(&order(no, user, market)).unwrap();
                    table.push((slot, user, market));
                }
                Step::Remove(which) if !table.is_empty() => {
                    let (slot, ..) = table.swap_remove(which.index(table.len()));
                    pool.remove(slot).unwrap();
                }
                Step::Remove(_) => {}
                Step::Thin(kept) => {
                    for (index, (slot, ..)) in table.iter().enumerate() {
                        if index % kept > 0 {
                            pool.remove(*slot).unwrap();
                        }
                    }
                    let mut index = 0..;
                    table.retain(|_| index.next().is_some_and(|index| index % kept == 0));
                }
            }
            if no % 211 == 0 {
                check(&pool, &table);
            }
        }
        check(&pool, &table);
    }
}

#[test]
fn what_concerns_one_market_does_not_walk_the_others() {
    let mut pool = OrderPool::default();
    pool.add_user();
    for no in 1..=10_000 {
        pool.insert(&order(no, 0, 1)).unwrap();
    }
    let rare = pool.insert(&order(10_001, 0, 2)).unwrap();
    pool.insert(&order(10_002, 0, 1)).unwrap();
    let groups = pool.by_user[0].groups.as_ref().unwrap();
    assert_eq!(groups.get(&MarketNo(2)), Some(&rare));
    let neighbours = pool.entry(rare).unwrap().owner;
    let market = |slot: Option<Slot>| slot.map(|slot| pool.entry(slot).unwrap().market);
    assert_ne!(market(neighbours.before), Some(MarketNo(2)));
    assert_ne!(market(neighbours.after), Some(MarketNo(2)));
    assert_eq!(pool.of_user_in(UserNo(0), MarketNo(2)).count(), 1);
    assert_eq!(pool.of_user_in(UserNo(0), MarketNo(3)).count(), 0);
}
