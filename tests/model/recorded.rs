//! The records that random steps make of a venue.

use exchange::command::{KeyedCommand, Record};
use exchange::units::Sequence;

use crate::commands::{self, Step};
use crate::naive::Naive;

/// The opening records, then one record per step, numbered and timed in turn.
pub fn records(steps: &[Step]) -> Vec<Record> {
    let mut twin = Naive::new();
    let mut records = Vec::new();
    let mut now = commands::START;
    let mut ask = |twin: &mut Naive, time, KeyedCommand { once, act, command }: KeyedCommand| {
        let record =
            Record { sequence: Sequence::new(twin.sequence + 1), time, once, act, command };
        twin.apply(&record);
        records.push(record);
    };
    for command in commands::opening() {
        ask(&mut twin, now, command.into());
    }
    for step in steps {
        now = commands::after(now, i64::from(step.later_ms));
        let asked = commands::asked(&twin, step, now);
        ask(&mut twin, now, asked);
    }
    records
}
