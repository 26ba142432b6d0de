//! What the matcher tells the sequencer: how far it is, what that came to, and when something is
//! due next.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::exchange::results::Results;
use crate::exchange::units::{Sequence, TimeMs};

/// The matcher's last word on its results and on due things. Written by the matcher at the end of
/// each block, read by the sequencer.
#[derive(Debug)]
pub struct DueBoard {
    next_due_ms: AtomicI64,
    applied: AtomicU64,
    /// Behind a lock, so that the hash is that of the record beside it.
    results: Mutex<Results>,
}

impl Default for DueBoard {
    fn default() -> Self {
        let (next_due_ms, applied) = (AtomicI64::new(i64::MAX), AtomicU64::new(0));
        DueBoard { next_due_ms, applied, results: Mutex::new(Results::NONE) }
    }
}

impl DueBoard {
    /// Says what the records up to a block's end came to, and what is due next. Before anyone is
    /// answered: whoever is, finds it in the very next block.
    pub fn post_came(&self, next_due: Option<TimeMs>, results: Results) {
        *self.results.lock() = results;
        self.next_due_ms.store(next_due.map_or(i64::MAX, TimeMs::get), Ordering::Release);
    }

    /// Says that everything up to this record is applied, folded and answered, and its results
    /// known.
    pub fn post_folded(&self, through: Sequence) {
        self.applied.store(through.get(), Ordering::Release);
    }

    /// The last record that is applied and folded and whose results are known.
    pub fn applied(&self) -> Sequence {
        Sequence::new(self.applied.load(Ordering::Acquire))
    }

    /// What the records of all blocks that the matcher has applied came to.
    pub fn results(&self) -> Results {
        *self.results.lock()
    }

    /// Whether a clock command is wanted at `now`, when the last one was `last_clock`: something
    /// is due, and that clock command has been applied, so that it cannot be what is due still.
    pub fn wants_clock(&self, now: TimeMs, last_clock: Sequence) -> bool {
        self.applied() >= last_clock && self.next_due_ms.load(Ordering::Acquire) <= now.get()
    }
}
