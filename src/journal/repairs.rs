//! What was found damaged beside the truth, or twice, and was made whole again. It is counted and
//! reported, since a disk that damaged this may damage more.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Repairs since the journal was opened, each with a sentence that nobody has read yet.
#[derive(Debug, Default)]
pub struct Repairs {
    count: AtomicU64,
    unread: Mutex<Vec<String>>,
}

impl Repairs {
    /// Notes a repair.
    pub(super) fn note(&self, what: String) {
        self.count.fetch_add(1, Ordering::AcqRel);
        self.unread.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    /// Notes what could not be done; it is no repair.
    pub(super) fn trouble(&self, what: String) {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// A sentence for each that was not taken before.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.unread.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
