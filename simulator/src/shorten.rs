//! Shortens a failure: steps are left out as long as it still fails the same way.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::world::Trouble;

/// How long a failure is shortened.
const SHORTENED_FOR: Duration = Duration::from_mins(1);

/// Steps that are kept, as ranges without their ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept(Vec<(u64, u64)>);

impl Kept {
    /// Whether a step is kept.
    pub fn has(&self, step: u64) -> bool {
        let after = self.0.partition_point(|(from, _)| *from <= step);
        after.checked_sub(1).and_then(|at| self.0.get(at)).is_some_and(|(_, to)| step < *to)
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|(from, to)| to.saturating_sub(*from)).sum()
    }

    fn of(steps: &[u64]) -> Kept {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for step in steps {
            match ranges.last_mut() {
                Some((_, to)) if to == step => *to = step.saturating_add(1),
                _ => ranges.push((*step, step.saturating_add(1))),
            }
        }
        Kept(ranges)
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |(from, to): &(u64, u64)| format!("{from}..{to}");
        f.write_str(&self.0.iter().map(range).collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Kept {
    type Err = String;

    fn from_str(text: &str) -> Result<Kept, String> {
        let ranges = text.split(',').filter(|part| !part.is_empty()).map(|part| {
            let (from, to) = part.split_once("..").ok_or("not FROM..TO")?;
            let number = |text: &str| text.parse::<u64>().map_err(|error| error.to_string());
            Ok::<_, String>((number(from)?, number(to)?))
        });
        ranges.collect::<Result<_, _>>().map(Kept)
    }
}

/// The kind of a failure: its first word.
fn kind(trouble: &Trouble) -> &str {
    trouble.what.split(':').next().unwrap_or_default()
}

/// The fewest steps found that fail the same way.
pub fn shortest(steps: u64, trouble: &Trouble, fails: &dyn Fn(&Kept) -> Option<Trouble>) -> Kept {
    let began = Instant::now();
    let mut left: Vec<u64> = (0..steps.min(trouble.step.saturating_add(1))).collect();
    let mut piece = left.len().div_ceil(2).max(1);
    loop {
        let mut from = 0;
        while from < left.len() && began.elapsed() < SHORTENED_FOR {
            let to = from.saturating_add(piece).min(left.len());
            let mut fewer = left.clone();
            fewer.drain(from..to);
            let same = |other: Trouble| kind(&other) == kind(trouble);
            if fails(&Kept::of(&fewer)).is_some_and(same) {
                left = fewer;
            } else {
                from = to;
            }
        }
        if piece == 1 || began.elapsed() >= SHORTENED_FOR {
            return Kept::of(&left);
        }
        piece = piece.div_ceil(2);
    }
}
