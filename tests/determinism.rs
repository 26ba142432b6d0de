//! The same records give the same effects and the same state, to the byte: twice, after a restart
//! at any point, and whatever was refused in between.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "model/commands/mod.rs"]
mod commands;
#[path = "model/naive/mod.rs"]
mod naive;

use proptest::prelude::*;

use openoutcry::exchange::Exchange;
use openoutcry::exchange::command::{Command, Record};
use openoutcry::exchange::digest::StateDigest;
use openoutcry::exchange::effect::Effect;
use openoutcry::exchange::units::Sequence;

use commands::{Step, strategies};
use naive::Naive;

/// What one record came to.
type Outcome = (Vec<Effect>, StateDigest);

/// The records that random steps make of a venue.
fn records(steps: &[Step]) -> Vec<Record> {
    let mut twin = Naive::new();
    let mut records = Vec::new();
    let mut now = commands::START;
    let mut ask = |twin: &mut Naive, time, command| {
        let record = Record { sequence: Sequence::new(twin.sequence + 1), time, command };
        twin.apply(&record);
        records.push(record);
    };
    for command in commands::opening() {
        ask(&mut twin, now, command);
    }
    for step in steps {
        now = commands::after(now, i64::from(step.later_ms));
        let command = commands::command(&twin, &step.intent, now);
        ask(&mut twin, now, command);
    }
    records
}

fn apply(exchange: &mut Exchange, record: &Record) -> Outcome {
    let mut effects = Vec::new();
    exchange.apply(record, &mut effects).unwrap();
    (effects, exchange.digest().unwrap())
}

fn replay(records: &[Record]) -> (Exchange, Vec<Outcome>) {
    let mut exchange = Exchange::new();
    let outcomes = records.iter().map(|record| apply(&mut exchange, record)).collect();
    (exchange, outcomes)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(strategies::step(), 1..60)
}

/// Whether an effect changes the state. Texts do not, the exchange keeps none; nor does an order
/// that comes and goes, or an amend that asks for what stands.
fn shows(effect: &Effect) -> bool {
    match effect {
        Effect::Refused(_)
        | Effect::EventRevised { .. }
        | Effect::AccountChanged { .. }
        | Effect::PositionChanged { .. }
        | Effect::OrderAccepted { .. }
        | Effect::OrderCancelled { rested: false, .. } => false,
        Effect::MarketRevised { revision, .. } => revision.deadline.is_some(),
        Effect::OrderAmended { price_before, price, remaining_before, remaining, .. } => {
            price_before != price || remaining_before != remaining
        }
        _ => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_replay_is_the_same_to_the_byte(steps in steps()) {
        let records = records(&steps);
        let (once, twice) = (replay(&records).1, replay(&records).1);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn a_restart_at_any_point_changes_nothing(
        steps in steps(),
        cut in any::<prop::sample::Index>(),
    ) {
        let records = records(&steps);
        let (_, straight) = replay(&records);
        let cut = cut.index(records.len());
        let (mut restarted, before) = replay(&records[..cut]);
        prop_assert_eq!(&before[..], &straight[..cut]);
        for (record, expected) in records[cut..].iter().zip(&straight[cut..]) {
            prop_assert_eq!(&apply(&mut restarted, record), expected, "{:?}", record);
        }
    }

    /// Told apart by putting a clock that finds nothing due in the record's place.
    #[test]
    fn the_digest_shows_every_change_and_no_refusal(steps in steps()) {
        let mut exchange = Exchange::new();
        for record in records(&steps) {
            let mut idle = exchange.clone();
            let (effects, digest) = apply(&mut exchange, &record);
            let clock = Record { command: Command::AdvanceClock, ..record.clone() };
            let (nothing, without) = apply(&mut idle, &clock);
            let refused = matches!(effects[..], [Effect::Refused(_)]);
            if !nothing.is_empty() && !matches!(nothing[..], [Effect::Refused(_)]) {
                continue; // Something was due: the two are not comparable.
            }
            if refused {
                prop_assert_eq!(digest, without, "a refusal left a trace: {:?}", record);
            } else if effects.iter().any(shows) {
                prop_assert_ne!(digest, without, "the digest does not show {:?}", record);
            }
        }
    }
}
