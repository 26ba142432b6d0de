//! Fill-or-kill orders that meet deep books containing their owner's own orders: the exchange
//! checks level by level, the twin order by order.

use exchange::catalogue::Outcome;
use exchange::command::{Command, PlaceOrder, SelfTradePrevention, Side, TimeInForce, Wording};
use exchange::effect::Effect;
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::rules::Rules;
use exchange::units::{Lots, Tick};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;

use crate::commands;
use crate::duel::Duel;

/// A market without fees.
const MARKET: MarketNo = MarketNo(0);
/// The shortest heartbeat.
const SILENCE_SECONDS: u16 = 5;

#[derive(Debug, Clone)]
enum Step {
    /// An order that rests on the side under test.
    Rest {
        user: u32,
        price: u8,
        quantity: u64,
        /// Milliseconds until it is due; it stays in the book, since no clock command follows.
        expires_in: Option<u8>,
    },
    /// Amends one of those to another quantity, which may lose it its time priority.
    Amend {
        which: Index,
        quantity: u64,
    },
    Cancel(Index),
    /// A user's heartbeat is armed and runs out before the next step.
    Silence(u32),
    /// A fill-or-kill order from the opposite side.
    Fill {
        user: u32,
        price: u8,
        quantity: u64,
        mode: SelfTradePrevention,
    },
}

/// Steps without orders that expire, or some with.
fn step(expire: bool) -> impl Strategy<Value = Step> {
    let some = prop::option::weighted(0.1, 1..40_u8);
    let expires_in = some.prop_map(move |ms| ms.filter(|_| expire));
    let mode = prop_oneof![
        Just(SelfTradePrevention::CancelTaker),
        Just(SelfTradePrevention::CancelMaker),
        Just(SelfTradePrevention::CancelBoth),
    ];
    // User 0 rests seldom and fills often, so that many orders are ahead of its own.
    let users = 0..commands::USERS_COUNT;
    let rests = prop_oneof![15 => 1..commands::USERS_COUNT, 1 => Just(0)];
    let fills = prop_oneof![2 => Just(0), 1 => users.clone()];
    prop_oneof![
        8 => (rests, 50..54_u8, 1..4_u64, expires_in).prop_map(
            |(user, price, quantity, expires_in)| Step::Rest { user, price, quantity, expires_in },
        ),
        1 => (any::<Index>(), 1..6_u64)
            .prop_map(|(which, quantity)| Step::Amend { which, quantity }),
        1 => any::<Index>().prop_map(Step::Cancel),
        u32::from(expire) => users.prop_map(Step::Silence),
        2 => (fills, 49..56_u8, 4..60_u64, mode).prop_map(|(user, price, quantity, mode)| {
            Step::Fill { user, price, quantity, mode }
        }),
    ]
}

/// An order on the resting side, or on the opposite; prices are mirrored for bids.
fn order(bids: bool, rests: bool, (user, price, quantity): (u32, u8, u64)) -> PlaceOrder {
    let price = Tick::new(if bids { 100 - price } else { price }).unwrap();
    let side = if bids == rests { Side::Buy } else { Side::Sell };
    let wording = Wording { outcome: Outcome::Yes, side };
    PlaceOrder::plain(UserNo(user), MARKET, wording, price, Lots::new(quantity))
}

/// Applies the steps; returns how many fill-or-kill orders were killed, and how many filled.
fn played(bids: bool, steps: &[Step]) -> Result<[usize; 2], TestCaseError> {
    let mut duel = Duel::unopened();
    let opening = commands::opening().into_iter().skip(1);
    for command in std::iter::once(Command::OpenVenue(Rules::current())).chain(opening) {
        duel.ask(0, command).map_err(TestCaseError::fail)?;
    }
    // Orders on the incoming side must not count as liquidity.
    for user in 0..commands::USERS_COUNT {
        let beside = Command::PlaceOrder(order(bids, false, (user, 40, 5)));
        duel.ask(1, beside).map_err(TestCaseError::fail)?;
    }
    let (mut rested, mut ends): (Vec<(UserNo, OrderNo)>, _) = (Vec::new(), [0, 0]);
    let mut later = 1;
    for step in steps {
        let pick =
            |which: &Index| rested.len().checked_sub(1).map(|last| rested[which.index(last + 1)]);
        let command = match step {
            Step::Rest { user, price, quantity, expires_in } => {
                let expires_at =
                    expires_in.map(|ms| commands::after(duel.now(), i64::from(ms) + 1));
                Command::PlaceOrder(PlaceOrder {
                    time_in_force: TimeInForce::GoodTillCancelled { expires_at },
                    ..order(bids, true, (*user, *price, *quantity))
                })
            }
            Step::Amend { which, quantity } => {
                let Some((user, order)) = pick(which) else { continue };
                let quantity = Some(Lots::new(*quantity));
                Command::AmendOrder { user, order, price: None, quantity, seen: None }
            }
            Step::Cancel(which) => {
                let Some((user, order)) = pick(which) else { continue };
                Command::CancelOrder { user, order }
            }
            Step::Silence(user) => Command::Heartbeat {
                user: UserNo(*user),
                timeout_seconds: SILENCE_SECONDS.into(),
                group: None,
            },
            Step::Fill { user, price, quantity, mode } => Command::PlaceOrder(PlaceOrder {
                time_in_force: TimeInForce::FillOrKill,
                self_trade: *mode,
                ..order(bids, false, (*user, *price, *quantity))
            }),
        };
        let effects = duel.ask(later, command);
        later = if matches!(step, Step::Silence(_)) { SILENCE_SECONDS * 1_000 } else { 1 };
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
            Step::Amend { .. } | Step::Cancel(_) | Step::Silence(_) => {}
        }
    }
    duel.check().map_err(TestCaseError::fail)?;
    Ok(ends)
}

#[test]
fn fill_or_kill_orders_in_deep_books_are_answered_alike() {
    let (mut killed, mut filled) = (0, 0);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for round in 0..600 {
        let steps = prop::collection::vec(step(round % 2 == 1), 30..120);
        let steps = (any::<bool>(), steps);
        let (bids, steps) = steps.new_tree(&mut runner).unwrap().current();
        let [dead, whole] = played(bids, &steps).unwrap_or_else(|error| panic!("{error}"));
        (killed, filled) = (killed + dead, filled + whole);
    }
    assert!(killed > 300 && filled > 200, "{killed} killed, {filled} filled");
}
