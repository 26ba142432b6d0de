//! Fill-or-kill orders that meet deep books with their owner's orders among the others: the
//! exchange goes by levels there, the twin one by one.

use openoutcry::exchange::catalogue::Outcome;
use openoutcry::exchange::command::{
    Command, PlaceOrder, SelfTradePrevention, Side, TimeInForce, Wording,
};
use openoutcry::exchange::effect::Effect;
use openoutcry::exchange::ids::{MarketNo, OrderNo, UserNo};
use openoutcry::exchange::rules::Rules;
use openoutcry::exchange::units::{Lots, Tick};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;

use crate::commands;
use crate::duel::Duel;

/// A market without fees.
const MARKET: MarketNo = MarketNo(0);

#[derive(Debug, Clone)]
enum Step {
    /// An order rests on the side that is looked at.
    Rest {
        user: u32,
        price: u8,
        quantity: u64,
    },
    /// One of those, given another quantity: it may go to the back of its queue.
    Amend {
        which: Index,
        quantity: u64,
    },
    Cancel(Index),
    /// A fill-or-kill order comes from the other side.
    Fill {
        user: u32,
        price: u8,
        quantity: u64,
        mode: SelfTradePrevention,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let mode = prop_oneof![
        Just(SelfTradePrevention::CancelTaker),
        Just(SelfTradePrevention::CancelMaker),
        Just(SelfTradePrevention::CancelBoth),
    ];
    let user = 0..commands::USERS_COUNT;
    prop_oneof![
        8 => (user.clone(), 50..54_u8, 1..4_u64)
            .prop_map(|(user, price, quantity)| Step::Rest { user, price, quantity }),
        1 => (any::<Index>(), 1..6_u64)
            .prop_map(|(which, quantity)| Step::Amend { which, quantity }),
        1 => any::<Index>().prop_map(Step::Cancel),
        2 => (user, 49..56_u8, 4..60_u64, mode).prop_map(|(user, price, quantity, mode)| {
            Step::Fill { user, price, quantity, mode }
        }),
    ]
}

/// An order on the side that rests, or on the other; prices are mirrored for bids.
fn order(bids: bool, rests: bool, (user, price, quantity): (u32, u8, u64)) -> PlaceOrder {
    let price = Tick::new(if bids { 100 - price } else { price }).unwrap();
    let side = if bids == rests { Side::Buy } else { Side::Sell };
    let wording = Wording { outcome: Outcome::Yes, side };
    PlaceOrder::plain(UserNo(user), MARKET, wording, price, Lots::new(quantity))
}

/// How many fill-or-kill orders were killed, and how many filled.
fn played(bids: bool, steps: &[Step]) -> Result<[usize; 2], TestCaseError> {
    let mut duel = Duel::unopened();
    let opening = commands::opening().into_iter().skip(1);
    for command in std::iter::once(Command::OpenVenue(Rules::current())).chain(opening) {
        duel.ask(0, command).map_err(TestCaseError::fail)?;
    }
    // What stands on the side that asks does not count.
    for user in 0..commands::USERS_COUNT {
        let beside = Command::PlaceOrder(order(bids, false, (user, 40, 5)));
        duel.ask(1, beside).map_err(TestCaseError::fail)?;
    }
    let (mut rested, mut ends): (Vec<(UserNo, OrderNo)>, _) = (Vec::new(), [0, 0]);
    for step in steps {
        let pick =
            |which: &Index| rested.len().checked_sub(1).map(|last| rested[which.index(last + 1)]);
        let command = match step {
            Step::Rest { user, price, quantity } => {
                Command::PlaceOrder(order(bids, true, (*user, *price, *quantity)))
            }
            Step::Amend { which, quantity } => {
                let Some((user, order)) = pick(which) else { continue };
                let quantity = Some(Lots::new(*quantity));
                Command::AmendOrder { user, order, price: None, quantity }
            }
            Step::Cancel(which) => {
                let Some((user, order)) = pick(which) else { continue };
                Command::CancelOrder { user, order }
            }
            Step::Fill { user, price, quantity, mode } => Command::PlaceOrder(PlaceOrder {
                time_in_force: TimeInForce::FillOrKill,
                self_trade: *mode,
                ..order(bids, false, (*user, *price, *quantity))
            }),
        };
        let effects = duel.ask(1, command);
        let effects =
            effects.map_err(|error| TestCaseError::fail(format!("{error}\n{}", duel.script())))?;
        match step {
            Step::Rest { user, .. } => {
                rested.push((UserNo(*user), OrderNo(duel.exchange.sequence())));
            }
            Step::Fill { .. } => {
                let traded = effects.iter().any(|effect| matches!(effect, Effect::TradeMade(_)));
                ends[usize::from(traded)] += 1;
            }
            Step::Amend { .. } | Step::Cancel(_) => {}
        }
    }
    duel.check().map_err(TestCaseError::fail)?;
    Ok(ends)
}

#[test]
fn fill_or_kill_orders_in_deep_books_are_answered_alike() {
    let (mut killed, mut filled) = (0, 0);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let steps = (any::<bool>(), prop::collection::vec(step(), 30..120));
    for _ in 0..150 {
        let (bids, steps) = steps.new_tree(&mut runner).unwrap().current();
        let [dead, whole] = played(bids, &steps).unwrap_or_else(|error| panic!("{error}"));
        (killed, filled) = (killed + dead, filled + whole);
    }
    assert!(killed > 300 && filled > 200, "{killed} killed, {filled} filled");
}
