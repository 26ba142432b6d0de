//! Marks: what a run has reached, and by how many seeds. A branch that no seed reaches is not
//! tested, whatever the number of commands.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

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

    /// How often something was reached.
    pub fn of(&self, what: &str) -> u64 {
        self.0.get(what).map_or(0, |(count, _)| *count)
    }
}

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>12} {:>7}  mark", "times", "seeds")?;
        for (what, (count, seeds)) in &self.0 {
            writeln!(f, "{count:>12} {:>7}  {what}", seeds.len())?;
        }
        Ok(())
    }
}
