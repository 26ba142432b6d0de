//! Marks: what a run has reached, and by how many seeds. A branch that no seed reaches is not
//! tested, whatever the number of commands.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use exchange::reject::Reject;
use journal::recovery::{Beyond, Refusal, Tail, Verdict, decide};

use crate::{bucket, damage, readers};

/// What happens besides refusals, damage and rows of the recovery table.
const OTHERS: [&str; 20] = [
    "a block is there that nobody was answered for",
    "a command was refused, since nothing could be journaled",
    "a failing disk refused a start",
    "a page was found damaged, and made anew",
    "a repetition got the first answer",
    "a snapshot was taken",
    "a start",
    "a start cut a torn end off the archive",
    "a start cut off what was never acknowledged",
    "a start from a snapshot",
    "an archive was found damaged",
    "an orderly stop",
    "clock",
    "damage was repaired by a start",
    "done",
    "halted: JOURNAL_FAILED",
    "halted: JOURNAL_UNKNOWN",
    "the calendar was set",
    "the power went during a start",
    "the power went during a stop",
];

/// A row of the recovery table that lets a venue start.
pub fn row((tail, refusal, beyond): (Tail, Refusal, Beyond)) -> String {
    format!("recovery: {tail:?}, {refusal:?}, {beyond:?}")
}

/// All that is to be reached.
fn known() -> Vec<String> {
    let mut all: Vec<String> = OTHERS.iter().map(|mark| (*mark).to_owned()).collect();
    all.extend(Reject::ALL.iter().map(|reject| format!("refused: {}", reject.code())));
    all.extend(bucket::MARKS.iter().map(|mark| (*mark).to_owned()));
    all.extend(readers::MARKS.iter().map(|mark| (*mark).to_owned()));
    all.extend(damage::NAMES.iter().map(|name| (*name).to_owned()));
    all.extend(damage::CODES.iter().map(|code| format!("a start was refused: {code}")));
    for tail in [Tail::Empty, Tail::Sound] {
        for refusal in [Refusal::Clear, Refusal::AfterTail] {
            for beyond in [Beyond::Nothing, Beyond::TheRefused, Beyond::Torn, Beyond::Damaged] {
                if !matches!(decide(tail, refusal, beyond), Verdict::Refuse(_)) {
                    all.push(row((tail, refusal, beyond)));
                }
            }
        }
    }
    all
}

/// What was reached, how often, and by which seeds.
#[derive(Debug, Clone, Default)]
pub struct Marks(BTreeMap<String, (u64, BTreeSet<u64>)>);

impl Marks {
    /// A seed reaches something.
    pub fn reach(&mut self, seed: u64, what: &str) {
        self.count(seed, what, 1);
    }

    /// The same, several times.
    pub fn count(&mut self, seed: u64, what: &str, times: u64) {
        if times == 0 {
            return;
        }
        let (count, seeds) = self.0.entry(what.to_owned()).or_default();
        *count = count.saturating_add(times);
        seeds.insert(seed);
    }

    /// Adds another run's.
    pub fn add(&mut self, other: Marks) {
        for (what, (times, by)) in other.0 {
            let (count, seeds) = self.0.entry(what).or_default();
            *count = count.saturating_add(times);
            seeds.extend(by);
        }
    }
}

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>12} {:>7}  mark", "times", "seeds")?;
        let mut all = self.0.clone();
        for what in known() {
            all.entry(what).or_default();
        }
        for (what, (count, seeds)) in &all {
            writeln!(f, "{count:>12} {:>7}  {what}", seeds.len())?;
        }
        Ok(())
    }
}
