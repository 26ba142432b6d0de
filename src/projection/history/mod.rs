//! What grows with history, and is read again: rows of fixed forms, in pages on a shelf.
//!
//! Rows of one kind that belong to one owner are a stream. Its newest rows stay in memory, packed;
//! as soon as they are a page, and one row more, the page goes to the shelf under its number, so a
//! row's place leads to its page by division. What goes there follows from the records folded and
//! from nothing else: a replay puts the same pages again, and it does no harm.

pub mod page_storage;
pub(super) mod chain;
pub(super) mod pack;
pub(super) mod stream;

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::exchange::image::coding::BadImage;
use page_storage::{MemoryPages, NoPages, PageStorage};

/// Rows of a page: some hundred bytes to a thousand, as much as one reader asks for, and little
/// enough that the newest rows of every user fit in memory.
pub const ROWS_PER_PAGE: NonZeroU32 = NonZeroU32::MIN.saturating_add(63);

/// Whose pages, and of what. The numbers are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A user's orders.
    Orders = 1,
    /// A user's fills.
    Fills = 2,
    /// A user's changes of money.
    Changes = 3,
    /// What final markets paid a user.
    Settlements = 4,
    /// What happened in a market.
    Activity = 5,
    /// A market's trades.
    Trades = 6,
    /// The names of a user's orders.
    Names = 7,
    /// A market's minutes in which something traded.
    Minutes = 8,
    /// A market's hours in which something traded.
    Hours = 9,
    /// What a user held to the end of a market.
    Positions = 10,
    /// Where each user's orders and fills in a market that ended begin.
    Traders = 11,
}

/// Where a page stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageKey {
    /// What.
    pub kind: Kind,
    /// Number of the user or market.
    pub owner: u32,
    /// Which of the owner's pages.
    pub page: u64,
}

/// Bytes of a page's key.
pub const KEY_BYTES: usize = 13;

impl PageKey {
    /// The key as bytes, which sort as the keys do.
    pub fn bytes(self) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        let (owner, page) = (self.owner.to_be_bytes(), self.page.to_be_bytes());
        let parts = [self.kind as u8].into_iter().chain(owner).chain(page);
        for (to, from) in bytes.iter_mut().zip(parts) {
            *to = from;
        }
        bytes
    }
}

/// Why a part of history cannot be read. The codes are stable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// A page that was put on the shelf is not there.
    #[error("HISTORY_MISSING: {0:?} is not there")]
    Missing(PageKey),
    /// A page is not as it was put there.
    #[error("HISTORY_DAMAGED: {key:?}: {cause}")]
    Damaged {
        /// Which.
        key: PageKey,
        /// What is wrong with it.
        cause: BadImage,
    },
    /// The shelf cannot be read.
    #[error("HISTORY_UNREADABLE: {key:?}: {cause}")]
    Unreadable {
        /// The page that was asked for.
        key: PageKey,
        /// What the shelf says.
        cause: String,
    },
}

/// Where the pages of a read model go, and how long they are.
#[derive(Debug, Clone)]
pub struct History {
    shelf: Arc<dyn PageStorage>,
    rows: NonZeroU32,
}

impl Default for History {
    fn default() -> History {
        History::on(Arc::new(MemoryPages::default()))
    }
}

impl History {
    /// Pages of the standard length on a shelf.
    pub fn on(shelf: Arc<dyn PageStorage>) -> History {
        History { shelf, rows: ROWS_PER_PAGE }
    }

    /// Keeps nothing: for a read model that is only folded, and never read.
    pub fn discarding() -> History {
        History::on(Arc::new(NoPages))
    }

    /// The same shelf with pages of this length.
    #[must_use]
    pub fn paged(self, rows: NonZeroU32) -> History {
        History { rows, ..self }
    }

    /// Rows of a page.
    pub const fn rows_per_page(&self) -> u32 {
        self.rows.get()
    }

    pub(super) fn put(&self, key: PageKey, bytes: Vec<u8>) {
        self.shelf.put(key, bytes);
    }

    pub(super) fn get(&self, key: PageKey) -> Result<Vec<u8>, HistoryError> {
        let found = self.shelf.get(key);
        let found = found.map_err(|cause| HistoryError::Unreadable { key, cause });
        let page = found.and_then(|found| found.ok_or(HistoryError::Missing(key)));
        page.inspect_err(|error| self.shelf.failed(error))
    }

    /// Whether anything put there can be read again.
    pub(super) fn keeps(&self) -> bool {
        self.shelf.keeps()
    }

    pub(super) fn failed(&self, error: &HistoryError) {
        self.shelf.failed(error);
    }

    /// Puts a page once more, with a change.
    pub(super) fn amend(
        &self,
        key: PageKey,
        change: impl FnOnce(&[u8]) -> Result<Vec<u8>, BadImage>,
    ) {
        if !self.keeps() {
            return;
        }
        let damaged = |cause| HistoryError::Damaged { key, cause };
        let changed = self.get(key).and_then(|bytes| change(&bytes).map_err(damaged));
        match changed {
            Ok(bytes) => self.put(key, bytes),
            Err(error) => self.failed(&error),
        }
    }
}
