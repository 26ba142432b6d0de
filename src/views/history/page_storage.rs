//! Page storage: in memory, or none. The storage on disk implements [`PageStorage`] elsewhere.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::{HistoryError, PageKey};

/// Stores pages. Each is written once and whole; a replay writes the same again. A page can be read
/// as soon as `put` has returned.
pub trait PageStorage: fmt::Debug + Send + Sync {
    /// Writes a page. A failure is kept and reported when the caller asks whether everything is on
    /// disk; until then the page is missing, and a restart writes it again.
    fn put(&self, key: PageKey, bytes: Vec<u8>);

    /// A page as it was written; `None` if there is none.
    ///
    /// # Errors
    /// The storage cannot be read; says why.
    fn get(&self, key: PageKey) -> Result<Option<Vec<u8>>, String>;

    /// Records that a page could not be read or changed.
    fn failed(&self, error: &HistoryError);

    /// Whether pages written here can be read again because they were written here.
    fn keeps(&self) -> bool {
        true
    }
}

/// Keeps pages in memory: for tools and tests.
#[derive(Debug, Default)]
pub struct MemoryPages(RwLock<BTreeMap<PageKey, Box<[u8]>>>);

impl MemoryPages {
    /// How many pages there are.
    pub fn pages(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// For tests: changes a page, or removes it if `spoil` returns `None`.
    pub fn spoil(&self, key: PageKey, spoil: impl FnOnce(Box<[u8]>) -> Option<Box<[u8]>>) {
        let mut pages = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(page) = pages.remove(&key).and_then(spoil) {
            pages.insert(key, page);
        }
    }

    /// The keys of all pages.
    pub fn keys(&self) -> Vec<PageKey> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }
}

impl PageStorage for MemoryPages {
    fn put(&self, key: PageKey, bytes: Vec<u8>) {
        let mut pages = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let page: Box<[u8]> = bytes.into();
        debug_assert!(pages.get(&key).is_none_or(|there| *there == page), "{key:?} written twice");
        pages.insert(key, page);
    }

    fn get(&self, key: PageKey) -> Result<Option<Vec<u8>>, String> {
        let pages = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Ok(pages.get(&key).map(|page| page.to_vec()))
    }

    fn failed(&self, _: &HistoryError) {}
}

/// Discards all pages.
#[derive(Debug)]
pub(super) struct NoPages;

impl PageStorage for NoPages {
    fn put(&self, _: PageKey, _: Vec<u8>) {}

    fn get(&self, _: PageKey) -> Result<Option<Vec<u8>>, String> {
        Ok(None)
    }

    fn failed(&self, _: &HistoryError) {}

    fn keeps(&self) -> bool {
        false
    }
}

/// Another's pages, of which none is put here.
#[derive(Debug)]
pub(super) struct ReadOnly(pub Arc<dyn PageStorage>);

impl PageStorage for ReadOnly {
    fn put(&self, _: PageKey, _: Vec<u8>) {}

    fn get(&self, key: PageKey) -> Result<Option<Vec<u8>>, String> {
        self.0.get(key)
    }

    fn failed(&self, error: &HistoryError) {
        self.0.failed(error);
    }

    fn keeps(&self) -> bool {
        false
    }
}
