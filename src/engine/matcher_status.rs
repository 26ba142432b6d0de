//! What the matcher tells the sequencer: how far it is, what that came to, and when something is
//! due next.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::exchange::results::Results;
use crate::exchange::units::{Sequence, TimeMs};

/// The matcher's last word on its results and on due things. Written by the matcher when it has
/// applied a block and when it has folded that, read by the sequencer.
#[derive(Debug)]
pub struct MatcherStatus {
    next_due_ms: AtomicI64,
    /// The record after which that is due.
    as_of: AtomicU64,
    folded: AtomicU64,
    /// Behind a lock, so that the hash is that of the record beside it.
    results: Mutex<Results>,
}

impl Default for MatcherStatus {
    fn default() -> Self {
        MatcherStatus {
            next_due_ms: AtomicI64::new(i64::MAX),
            as_of: AtomicU64::new(0),
            folded: AtomicU64::new(0),
            results: Mutex::new(Results::NONE),
        }
    }
}

impl MatcherStatus {
    /// Says what the records up to a block's end came to, and what is due next. Before anyone is
    /// answered: whoever is, finds it in the very next block.
    pub fn post_came(&self, next_due: Option<TimeMs>, results: Results) {
        *self.results.lock() = results;
        self.next_due_ms.store(next_due.map_or(i64::MAX, TimeMs::get), Ordering::Release);
        // Last: whoever finds it here finds what is due as of it.
        self.as_of.store(results.through.get(), Ordering::Release);
    }

    /// Says that everything up to this record is applied, folded and answered, and its results
    /// known.
    pub fn post_folded(&self, through: Sequence) {
        self.folded.store(through.get(), Ordering::Release);
    }

    /// The last record that is applied and folded and whose results are known.
    pub fn folded(&self) -> Sequence {
        Sequence::new(self.folded.load(Ordering::Acquire))
    }

    /// What the records of all blocks that the matcher has applied came to.
    pub fn results(&self) -> Results {
        *self.results.lock()
    }

    /// Whether a clock command is wanted at `now`, when the last one was `last_clock`: something
    /// is due, and that clock command has been applied, so that it cannot be what is due still.
    pub fn wants_clock(&self, now: TimeMs, last_clock: Sequence) -> bool {
        let as_of = Sequence::new(self.as_of.load(Ordering::Acquire));
        as_of >= last_clock && self.next_due_ms.load(Ordering::Acquire) <= now.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::results::ResultsHash;

    #[test]
    fn what_is_due_is_known_as_of_what_was_applied_before_it_is_folded() {
        let (board, now) = (MatcherStatus::default(), TimeMs::new(5).unwrap());
        let came = |through: u64, due_ms: Option<i64>| {
            let results = Results { through: Sequence::new(through), hash: ResultsHash([0; 32]) };
            board.post_came(due_ms.and_then(TimeMs::new), results);
        };
        let wants = |last_clock: u64| board.wants_clock(now, Sequence::new(last_clock));
        assert!(!wants(0));
        came(3, Some(5));
        assert!(wants(3) && board.folded() == Sequence::ZERO);
        // The clock that was asked for is not applied yet: what is due still may be its work.
        assert!(!wants(4));
        came(4, Some(6));
        assert!(!wants(4));
        came(5, None);
        assert!(!wants(4));
    }
}
