//! The history store: rows of fixed formats that grow with history and can be read again, kept in
//! numbered pages.
//!
//! Rows of one kind and one owner form a stream. Its newest rows stay packed in memory; when a page
//! is full and one more row arrives, the page goes to storage under its number, so a row's page is
//! its index divided by the page length. The pages depend only on the folded records: a replay
//! writes the same pages again, which is harmless.

pub mod page_storage;
pub(super) mod chain;
pub(super) mod pack;
pub(super) mod stream;
pub(crate) mod saved;

use std::num::NonZeroU32;
use std::sync::Arc;

use exchange::image::coding::BadImage;
use page_storage::{MemoryPages, NoPages, PageStorage, ReadOnly};

/// Rows per page. A page takes some hundred to a thousand bytes: about what one request reads, and
/// small enough that the newest rows of every user fit in memory.
pub const ROWS_PER_PAGE: NonZeroU32 = NonZeroU32::MIN.saturating_add(63);

/// What a page holds, and whether its owner is a user or a market. The numbers are written to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A user's orders.
    Orders = 1,
    /// A user's fills.
    Fills = 2,
    /// A user's changes of money.
    Changes = 3,
    /// Payments to a user from settled markets.
    Settlements = 4,
    /// What happened in a market.
    Activity = 5,
    /// A market's trades.
    Trades = 6,
    /// The names of a user's orders.
    Names = 7,
    /// The minute candles of a market; minutes without trades have none.
    Minutes = 8,
    /// The hour candles of a market; hours without trades have none.
    Hours = 9,
    /// What a user held to the end of a market.
    Positions = 10,
    /// For each user, the newest orders and fills in a market that has ended.
    Traders = 11,
    /// What a user realised in ended markets of which nothing was held to the end.
    Closed = 12,
    /// Endings of a user's orders that came after the page of the orders was written.
    Endings = 13,
}

/// The key of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageKey {
    /// What the page holds.
    pub kind: Kind,
    /// Number of the user or market.
    pub owner: u32,
    /// Number of the page in the owner's stream.
    pub page: u64,
}

/// Bytes of a page's key.
pub const KEY_BYTES: usize = 13;

impl PageKey {
    /// The key as bytes, which sort in the same order as keys.
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
    /// A page that was written is not in storage.
    #[error("HISTORY_MISSING: {0:?} is not there")]
    Missing(PageKey),
    /// A page does not decode.
    #[error("HISTORY_DAMAGED: {key:?}: {cause}")]
    Damaged {
        /// The page.
        key: PageKey,
        /// What is wrong with it.
        cause: BadImage,
    },
    /// Storage cannot be read.
    #[error("HISTORY_UNREADABLE: {key:?}: {cause}")]
    Unreadable {
        /// The page that was requested.
        key: PageKey,
        /// The error of the storage.
        cause: String,
    },
}

/// The storage that a read model writes its pages to, and the page length.
#[derive(Debug, Clone)]
pub struct History {
    storage: Arc<dyn PageStorage>,
    rows: NonZeroU32,
}

impl Default for History {
    fn default() -> History {
        History::on(Arc::new(MemoryPages::default()))
    }
}

impl History {
    /// Pages of the standard length in this storage.
    pub fn on(storage: Arc<dyn PageStorage>) -> History {
        History { storage, rows: ROWS_PER_PAGE }
    }

    /// Discards all pages: for a read model that is only folded and never queried.
    pub fn discarding() -> History {
        History::on(Arc::new(NoPages))
    }

    /// The same pages, only to be read: for a read model that is folded again behind the one that
    /// puts them, and makes the same.
    #[must_use]
    pub fn read_only(&self) -> History {
        History { storage: Arc::new(ReadOnly(Arc::clone(&self.storage))), rows: self.rows }
    }

    /// The same storage with pages of this length, in rows.
    #[must_use]
    pub fn paged(self, rows: NonZeroU32) -> History {
        History { rows, ..self }
    }

    /// Rows of a page.
    pub const fn rows_per_page(&self) -> u64 {
        self.rows.get() as u64
    }

    pub(super) fn put(&self, key: PageKey, bytes: Vec<u8>) {
        self.storage.put(key, bytes);
    }

    pub(super) fn get(&self, key: PageKey) -> Result<Vec<u8>, HistoryError> {
        let found = self.storage.get(key);
        let found = found.map_err(|cause| HistoryError::Unreadable { key, cause });
        let page = found.and_then(|found| found.ok_or(HistoryError::Missing(key)));
        page.inspect_err(|error| self.storage.failed(error))
    }

    /// Whether pages written here can be read again because they were written here.
    pub(super) fn keeps(&self) -> bool {
        self.storage.keeps()
    }

    pub(super) fn failed(&self, error: &HistoryError) {
        self.storage.failed(error);
    }
}
