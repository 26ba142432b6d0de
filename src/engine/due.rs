//! What the matcher tells the sequencer: how far it is, and when something is due next.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::exchange::units::{Sequence, TimeMs};

/// The matcher's last word on due things. Written by the matcher, read by the sequencer.
#[derive(Debug)]
pub struct DueBoard {
    next_due_ms: AtomicI64,
    applied: AtomicU64,
}

impl Default for DueBoard {
    fn default() -> Self {
        DueBoard { next_due_ms: AtomicI64::new(i64::MAX), applied: AtomicU64::new(0) }
    }
}

impl DueBoard {
    /// Says what is due next once `applied` has been applied.
    pub fn post(&self, next_due: Option<TimeMs>, applied: Sequence) {
        let ms = next_due.map_or(i64::MAX, TimeMs::get);
        self.next_due_ms.store(ms, Ordering::Release);
        self.applied.store(applied.get(), Ordering::Release);
    }

    /// The last record that the matcher has applied.
    pub fn applied(&self) -> Sequence {
        Sequence::new(self.applied.load(Ordering::Acquire))
    }

    /// Whether a clock command is wanted at `now`, when the last one was `last_clock`: something
    /// is due, and that clock command has been applied, so that it cannot be what is due still.
    pub fn wants_clock(&self, now: TimeMs, last_clock: Sequence) -> bool {
        self.applied() >= last_clock && self.next_due_ms.load(Ordering::Acquire) <= now.get()
    }
}
