//! How often each intent is drawn: mostly orders, near one price, small, often more than the user
//! can pay.

#![allow(dead_code)] // the exchange's other tests use a part

use proptest::prelude::*;

use exchange::command::{Condition, SelfTradePrevention, TradingMode};

use super::{Amount, Intent, Key, Life, Place, Run, Step, USERS_COUNT};

fn amount() -> impl Strategy<Value = Amount> {
    prop_oneof![
        4 => (1_u64..=4).prop_map(|contracts| Amount::Lots(contracts * 1_000_000)),
        1 => Just(Amount::Lots(1)),
        2 => (1_u64..=9).prop_map(Amount::Lots),
        2 => (1_u64..3_000_000).prop_map(Amount::Lots),
        2 => (-2_i8..=3).prop_map(Amount::Holding),
    ]
}

fn price() -> impl Strategy<Value = u8> {
    prop_oneof![16 => 47_u8..=53, 1 => prop_oneof![Just(1_u8), Just(99_u8), 2_u8..=98]]
}

/// A user's number; now and then one that does not exist.
fn user() -> impl Strategy<Value = u8> {
    let known = u8::try_from(USERS_COUNT).unwrap();
    prop_oneof![40 => 0..known, 1 => Just(known)]
}

fn place() -> impl Strategy<Value = Place> {
    let life = prop_oneof![
        10 => Just(Life::Standing),
        2 => (-3_i16..300).prop_map(Life::Expires),
        2 => Just(Life::Immediate),
        2 => Just(Life::Whole),
    ];
    let self_trade = prop_oneof![
        Just(SelfTradePrevention::CancelTaker),
        Just(SelfTradePrevention::CancelMaker),
        Just(SelfTradePrevention::CancelBoth),
    ];
    let condition = prop_oneof![
        22 => Just(Condition::Unconditional),
        3 => Just(Condition::PostOnly),
        3 => Just(Condition::ReduceOnly),
        1 => Just(Condition::PostOnlyReduceOnly),
    ];
    let picked = prop_oneof![30 => 0_u8..8, 1 => 8_u8..13];
    let words = (user(), picked, any::<bool>(), any::<bool>());
    let rare_copy = prop_oneof![6 => Just(None), 1 => user().prop_map(Some)];
    let rare_until = prop_oneof![19 => Just(None), 1 => (-3_i8..10).prop_map(Some)];
    let client = prop_oneof![3 => Just(None), 1 => (0_u8..6).prop_map(Some)];
    let rare = (rare_until, rare_copy, client);
    (words, price(), amount(), life, self_trade, condition, rare).prop_map(
        |(
            (user, market, yes, buy),
            price,
            quantity,
            life,
            self_trade,
            condition,
            (valid_for, copy_from, client),
        )| {
            Place {
                user,
                market,
                yes,
                buy,
                price,
                quantity,
                life,
                self_trade,
                condition,
                valid_for,
                copy_from,
                client,
            }
        },
    )
}

/// Unconditional orders for whole contracts, so that holdings grow.
fn plain_place() -> impl Strategy<Value = Intent> {
    let known = 0..u8::try_from(USERS_COUNT).unwrap();
    let quantity = prop_oneof![
        6 => (1_u64..=2).prop_map(|contracts| contracts * 1_000_000),
        1 => 1_u64..3_000_000,
    ];
    let life = prop_oneof![Just(Life::Standing), Just(Life::Immediate)];
    (known, 0_u8..8, any::<bool>(), 35_u8..=65, quantity, life).prop_map(
        |(user, market, yes, price, lots, life)| {
            Intent::Place(Place {
                user,
                market,
                yes,
                buy: true,
                price,
                quantity: Amount::Lots(lots),
                life,
                self_trade: SelfTradePrevention::CancelMaker,
                condition: Condition::Unconditional,
                valid_for: None,
                copy_from: None,
                client: None,
            })
        },
    )
}

fn conversion() -> impl Strategy<Value = Intent> {
    let quantity = prop_oneof![
        2 => Just(Amount::Tenths(10)),
        2 => (1_i8..=10).prop_map(Amount::Tenths),
        1 => (-2_i8..=1).prop_map(Amount::Holding),
        1 => (1_u64..=9).prop_map(Amount::Lots),
    ];
    (user(), any::<u16>(), quantity).prop_map(|(user, pick, quantity)| Intent::Convert {
        user,
        pick,
        quantity,
    })
}

/// A step for runs that create and use conversions.
pub fn step_of_conversions() -> impl Strategy<Value = Step> {
    let ends = prop_oneof![
        2 => (-2_i16..3000, 0_u8..3)
            .prop_map(|(deadline_in, window)| Run::Create { deadline_in, window }),
        3 => any::<bool>().prop_map(Run::Resolve),
        6 => Just(Run::Dispute),
        2 => (0_u8..=100).prop_map(Run::Void),
        1 => Just(Run::Suspend),
        1 => Just(Run::Reopen(None)),
    ];
    let intent = prop_oneof![
        60 => plain_place(),
        12 => conversion(),
        2 => (any::<u16>(), 0_u8..12).prop_map(|(pick, by)| Intent::Cancel { pick, by }),
        2 => (0_u8..4, 1_i64..400_000_000)
            .prop_map(|(user, units)| Intent::Deposit { user, units }),
        2 => (0_u8..4, Just(None)).prop_map(|(user, market)| Intent::CancelAll { user, market }),
        4 => (0_u8..11, ends).prop_map(|(market, what)| Intent::Run { market, what }),
        1 => Just(Intent::Clock),
    ];
    let later_ms = prop_oneof![6 => Just(0_u16), 4 => 0_u16..12, 1 => 0_u16..300];
    (later_ms, intent).prop_map(|(later_ms, intent)| Step { later_ms, once: None, intent })
}

fn run() -> impl Strategy<Value = Run> {
    let later = || prop_oneof![Just(None), (-20_i16..3000).prop_map(Some)];
    prop_oneof![
        2 => (-2_i16..3000, 0_u8..3)
            .prop_map(|(deadline_in, window)| Run::Create { deadline_in, window }),
        2 => Just(Run::Publish),
        2 => Just(Run::Suspend),
        4 => later().prop_map(Run::Reopen),
        2 => Just(Run::Close),
        4 => any::<bool>().prop_map(Run::Resolve),
        6 => Just(Run::Dispute),
        1 => (0_u8..=100).prop_map(Run::Void),
        2 => later().prop_map(Run::Revise),
    ]
}

/// A step of any kind; most are orders.
pub fn step() -> impl Strategy<Value = Step> {
    let later_ms = prop_oneof![6 => Just(0_u16), 4 => 0_u16..12, 1 => 0_u16..300];
    let quantity = prop_oneof![
        2 => Just(None),
        2 => (-9_i8..8).prop_map(|tenths| Some(Amount::Tenths(tenths))),
        1 => amount().prop_map(Some),
    ];
    let mode = prop_oneof![
        6 => Just(TradingMode::Normal),
        1 => Just(TradingMode::CancelOnly),
        1 => Just(TradingMode::ReadOnly),
    ];
    let new_price = prop_oneof![Just(None), price().prop_map(Some)];
    let intent = prop_oneof![
        60 => place().prop_map(Intent::Place),
        6 => (any::<u16>(), place()).prop_map(|(pick, place)| Intent::Replace { pick, place }),
        12 => (any::<u16>(), new_price, quantity)
            .prop_map(|(pick, price, quantity)| Intent::Amend { pick, price, quantity }),
        7 => (any::<u16>(), 0_u8..12).prop_map(|(pick, by)| Intent::Cancel { pick, by }),
        1 => (user(), prop::option::of(0_u8..13))
            .prop_map(|(user, market)| Intent::CancelAll { user, market }),
        2 => (user(), 1_i64..400_000_000).prop_map(|(user, units)| Intent::Deposit { user, units }),
        2 => (user(), 0_u8..=110).prop_map(|(user, share)| Intent::Withdraw { user, share }),
        3 => (user(), 0_u8..=110, any::<bool>())
            .prop_map(|(user, share, out)| Intent::AskTransfer { user, share, out }),
        2 => (any::<u8>(), 0_u8..8).prop_map(|(pick, by)| Intent::EndTransfer { pick, by }),
        3 => (any::<u8>(), user(), 0_u8..=110)
            .prop_map(|(market, user, share)| Intent::FileDispute { market, user, share }),
        1 => prop::option::weighted(0.6, 0_i64..40_000_000)
            .prop_map(|units| Intent::TwoPersons { units }),
        3 => (any::<u8>(), 0_u8..12).prop_map(|(pick, by)| Intent::Answer { pick, by }),
        1 => (user(), 0_u8..=110).prop_map(|(user, share)| Intent::TakeFees { user, share }),
        5 => (prop_oneof![1 => 0_u8..8, 4 => 8_u8..13], run())
            .prop_map(|(market, what)| Intent::Run { market, what }),
        4 => Just(Intent::Clock),
        2 => any::<u8>().prop_map(Intent::Catalogue),
        // The people among them, who sign in.
        2 => (0_u8..16).prop_map(|pick| Intent::Catalogue(pick * 8 + 7)),
        4 => any::<u16>().prop_map(Intent::Again),
        5 => conversion(),
        3 => (user(), 0_u8..3, prop::option::of(0_u8..2))
            .prop_map(|(user, seconds, group)| Intent::Heartbeat { user, seconds, group }),
        1 => (prop_oneof![3 => user().prop_map(Some), 1 => Just(None)], mode)
            .prop_map(|(user, mode)| Intent::Mode { user, mode }),
        1 => (user(), prop_oneof![Just(None), (0_i64..900_000_000).prop_map(Some)])
            .prop_map(|(user, units)| Intent::Limit { user, units }),
    ];
    let key = (user(), 0_u8..3, prop_oneof![3 => Just(0_u8), 1 => 0_u8..3], 0_u8..2)
        .prop_map(|(caller, name, part, body)| Key { caller, name, part, body });
    let once = prop_oneof![6 => Just(None), 1 => key.prop_map(Some)];
    (later_ms, once, intent).prop_map(|(later_ms, once, intent)| Step { later_ms, once, intent })
}
