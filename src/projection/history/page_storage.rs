//! Where pages are kept: in memory, nowhere, or where somebody else keeps them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{PoisonError, RwLock};

use super::{HistoryError, PageKey};

/// Keeps pages. Each is put there whole, mostly once; a page that is put again takes the place of
/// the one before. Whoever has put a page finds it at once.
pub trait PageStorage: fmt::Debug + Send + Sync {
    /// Puts a page there. A failure is kept until somebody asks whether all is on disk: the page
    /// is missing until a restart brings it back.
    fn put(&self, key: PageKey, bytes: Vec<u8>);

    /// A page, if it is there and as it was put.
    ///
    /// # Errors
    /// What the shelf failed with.
    fn get(&self, key: PageKey) -> Result<Option<Vec<u8>>, String>;

    /// Takes note that a page could not be read or changed.
    fn failed(&self, error: &HistoryError);

    /// Whether anything put here can be read again.
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

    /// Changes a page behind everybody's back, or takes it away.
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
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(key, bytes.into());
    }

    fn get(&self, key: PageKey) -> Result<Option<Vec<u8>>, String> {
        let pages = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Ok(pages.get(&key).map(|page| page.to_vec()))
    }

    fn failed(&self, _: &HistoryError) {}
}

/// Keeps nothing.
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
