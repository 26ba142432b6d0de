//! The exchange against its naive twin: the same random commands must get the same answers.
//!
//! `tests/model_run.sh` makes the seeded run ten million commands long, or of a given length and
//! seed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod census;
mod commands;
mod compare;
mod deep;
mod duel;
mod naive;
mod several;
mod state;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use exchange::effect::Effect;
use exchange::rules::SLICE;
use exchange::script;

use census::{Census, OF_CONVERSIONS};
use commands::Step;
use commands::strategies::{step, step_of_conversions};
use duel::Duel;

/// Commands of the seeded run unless the environment says otherwise.
const COMMANDS_COUNT: u64 = 40_000;
/// Seed of the seeded run unless the environment says otherwise.
const SEED: u64 = 7;
/// Commands applied to one venue of the seeded run before the next begins.
const EPISODE_COMMANDS: u64 = 5_000;
/// Orders and positions that a record ends at most, in one venue of the seeded run and the next.
const SLICES: [u32; 3] = [1, 4, SLICE];
/// A short sequence goes on with a restored exchange after each of this many commands.
const RESTORED_EVERY: usize = 6;
/// The whole state is compared after each of this many commands.
const CHECK_EVERY: u64 = 32;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        // A failure prints its script, which goes into a test, not into a file of seeds.
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn short_sequences_are_answered_alike(
        slice in slice(),
        steps in prop::collection::vec(step(), 1..80),
    ) {
        answered_alike(slice, &steps)?;
    }

    #[test]
    fn short_sequences_of_conversions_are_answered_alike(
        slice in slice(),
        steps in prop::collection::vec(step_of_conversions(), 1..120),
    ) {
        answered_alike(slice, &steps)?;
    }
}

fn answered_alike(slice: u32, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut duel = Duel::in_slices_of(slice);
    for (number, step) in steps.iter().enumerate() {
        let mut same = duel.take(step).and_then(|_| duel.check());
        if number % RESTORED_EVERY == 0 {
            same = same.and_then(|()| duel.restore());
        }
        prop_assert!(same.is_ok(), "{}\n{}", same.unwrap_err(), duel.script());
    }
    Ok(())
}

/// Often so few that ends take several records, and sometimes as many as in a venue.
fn slice() -> impl Strategy<Value = u32> {
    prop_oneof![3 => 1..6_u32, 1 => Just(SLICE)]
}

#[test]
fn a_long_seeded_run_is_answered_alike() {
    let count = std::env::var("OPENOUTCRY_MODEL_COMMANDS")
        .map_or(COMMANDS_COUNT, |count| count.parse().expect("a number of commands"));
    let seed = std::env::var("OPENOUTCRY_MODEL_SEED")
        .map_or(SEED, |seed| seed.parse().expect("a seed, 0 to 2^64 - 1"));
    let mut left = count;
    let mut census = Census::default();
    let mut episode = 0_u64;
    while left > 0 {
        let commands = left.min(EPISODE_COMMANDS);
        long_run((seed, episode), commands, step(), &mut census);
        left -= commands;
        episode += 1;
    }
    println!("{count} commands of seed {seed} in {episode} venues saw\n{}", census.report());
    if count >= COMMANDS_COUNT {
        assert_eq!(census.missing(), Vec::<String>::new(), "a long run should have seen these");
    }
}

/// Batches of one user in every kind of state; every outcome of an order must have occurred.
#[test]
fn a_batch_trial_predicts_what_the_batch_does() {
    let mut seen = BTreeSet::new();
    let batch = (
        prop::collection::vec(step(), 1..80),
        0..commands::USERS_COUNT,
        prop::collection::vec((step(), prop::option::weighted(0.2, 0_u8..8)), 1..24),
    );
    let mut runner = TestRunner::deterministic();
    for _ in 0..600 {
        let (before, user, batch) = batch.new_tree(&mut runner).expect("a batch").current();
        let mut duel = Duel::in_slices_of(3);
        for step in &before {
            duel.take(step).expect("the same answer");
        }
        let (steps, links): (Vec<Step>, Vec<Option<u8>>) = batch.into_iter().unzip();
        let came = several::tried_as_done(&duel, user, &steps, &links);
        let came = came.unwrap_or_else(|difference| panic!("{}\n{difference}", duel.script()));
        for effect in came.iter().flatten() {
            seen.insert(match effect {
                Effect::Refused(reject) => reject.code().to_owned(),
                Effect::OrderCancelled { reason, rested, .. } => format!("{reason:?} {rested}"),
                other => format!("{other:?}").split([' ', '(']).next().unwrap().to_owned(),
            });
        }
    }
    println!("{seen:?}");
    for expected in [
        "CLIENT_ORDER_ID_REUSED",
        "EXPOSURE_LIMIT",
        "IDEMPOTENCY_KEY_REUSED",
        "INSUFFICIENT_FUNDS",
        "MARKET_NOT_ACTIVE",
        "MARKET_NOT_FOUND",
        "OPEN_ORDER_LIMIT",
        "ORDER_NOT_FOUND",
        "ORDER_NOT_OPEN",
        "ORDER_TOO_LATE",
        "POST_ONLY_WOULD_CROSS",
        "REDUCE_ONLY_EXCEEDED",
        "TOO_MANY_NAMES",
        "TRADING_CANCEL_ONLY",
        "TRADING_READ_ONLY",
        "USER_NOT_FOUND",
        "OrderRested",
        "PositionChanged",
        "Repeated",
        "TradeMade",
        "FokNotFillable false",
        "IocRemainder false",
        "SelfTrade false",
        "SelfTrade true",
        "User true",
    ] {
        assert!(seen.contains(expected), "never came to {expected}");
    }
}

/// The script of a failure can be pasted: it parses back to the same records.
#[test]
fn the_script_of_a_run_reads_back() {
    let mut runner = TestRunner::deterministic();
    let mut duel = Duel::opened();
    for _ in 0..400 {
        let step = step().new_tree(&mut runner).expect("a step").current();
        duel.take(&step).expect("the same answer");
    }
    let script = duel.script();
    assert_eq!(script::parse(&script).as_ref(), Ok(&duel.records), "{script}");
}

/// Conversions, followed by every way in which an event's markets can end.
#[test]
fn a_long_seeded_run_of_conversions_is_answered_alike() {
    let mut census = Census::default();
    for episode in 0..4 {
        long_run((0, episode), EPISODE_COMMANDS, step_of_conversions(), &mut census);
    }
    println!("{}", census.report());
    assert_eq!(census.missing_of(OF_CONVERSIONS), Vec::<String>::new());
}

fn long_run(
    (seed, episode): (u64, u64),
    commands: u64,
    steps: impl Strategy<Value = Step>,
    census: &mut Census,
) {
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&episode.to_le_bytes());
    bytes[8..16].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);
    let slice = SLICES[usize::try_from(episode).unwrap_or_default() % SLICES.len()];
    let mut duel = Duel::in_slices_of(slice);
    for number in 0..commands {
        let step = steps.new_tree(&mut runner).expect("a step").current();
        let mut same = duel.take(&step).map(|effects| {
            census.count(duel.records.last().expect("a record"), &effects);
        });
        if number % CHECK_EVERY == 0 {
            same = same.and_then(|()| duel.check());
        }
        if let Err(difference) = same {
            panic!("seed {seed}, episode {episode}, command {number}: {difference}");
        }
    }
}
