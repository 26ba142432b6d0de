//! Faults for the tests of what is stored in pages.

use crate::disk::File;
use std::sync::PoisonError;

use super::{Open, PageStore};

impl PageStore {
    /// Runs `happens` while the index cannot be synced.
    pub fn while_unsynced<T>(&self, happens: impl FnOnce() -> T) -> T {
        self.while_unsynced_is(|open| &mut open.index_file, happens)
    }

    /// The same while the page file cannot be synced.
    pub fn while_unwritten<T>(&self, happens: impl FnOnce() -> T) -> T {
        self.while_unsynced_is(|open| &mut open.pages, happens)
    }

    pub(super) fn while_unsynced_is<T>(
        &self,
        which: fn(&mut Open) -> &mut File,
        happens: impl FnOnce() -> T,
    ) -> T {
        let swap = |file: File| {
            let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
            open.as_mut().map(|open| std::mem::replace(which(open), file))
        };
        // A file that cannot be synced.
        let unsynced = File::options().read(true).write(true).open("/dev/null");
        let kept = unsynced.ok().and_then(swap);
        let happened = happens();
        drop(kept.and_then(swap));
        happened
    }
}
