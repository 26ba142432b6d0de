//! Pages of others beside the journal: bytes under keys, in a sled of their own. Nothing here is
//! the truth, all of it can be made again from the journal; so a page that was lost or changed is
//! told of when it is read, and nothing is done to prevent it but a checksum.

use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use super::sled::sync_names;
use super::store::{Step, StoreError};
use super::tree::{Shape, caught, open_db, weigh};

/// The folder's name in the data directory.
const FOLDER: &str = "history";
/// Stands in the folder once a page was found lost or damaged.
const DAMAGED_FILE: &str = "damaged";
/// sled's tree that holds the pages.
const TREE: &str = "pages";
/// sled moves leaves over a quarter of a segment to files that it never syncs. A leaf has at most
/// 32 pages of a few kilobytes each.
const SEGMENT_BYTES: usize = 4 << 20;
/// sled's page cache: the leaves that are read and written most.
const CACHE_BYTES: u64 = 16 << 20;
/// Bytes of a page for which its leaf is accessed once more, see [`weigh`].
const BYTES_PER_ACCESS: usize = 256;
/// Bytes of the checksum after each page.
const CHECKSUM_BYTES: usize = 4;

/// A data directory's pages.
#[derive(Debug)]
pub struct PageStore {
    dir: PathBuf,
    open: RwLock<Option<Open>>,
}

/// sled, and its file.
#[derive(Debug)]
struct Open {
    // Fields are dropped in this order.
    pages: sled::Tree,
    _db: sled::Db,
    file: File,
}

impl PageStore {
    /// Where a data directory's pages are or would be.
    pub fn folder(data: &Path) -> PathBuf {
        data.join(FOLDER)
    }

    /// Opens the pages of a data directory whose journal is open, and makes a place for them where
    /// there is none.
    ///
    /// # Errors
    /// What is there cannot be opened.
    pub fn open(data: &Path) -> Result<PageStore, StoreError> {
        let dir = PageStore::folder(data);
        let opening = |error: io::Error| StoreError::new(Step::Open, error);
        let db = open_db(&dir, Shape { segment_bytes: SEGMENT_BYTES, cache_bytes: CACHE_BYTES })?;
        let pages = caught(Step::Open, || db.open_tree(TREE))?;
        let file = File::open(dir.join("db")).map_err(opening)?;
        File::open(dir.join("conf")).and_then(|conf| conf.sync_all()).map_err(opening)?;
        sync_names(data, &dir).map_err(opening)?;
        let open = RwLock::new(Some(Open { pages, _db: db, file }));
        Ok(PageStore { dir, open })
    }

    /// Takes the pages of a data directory away.
    ///
    /// # Errors
    /// The system's.
    pub fn remove(data: &Path) -> io::Result<()> {
        match fs::remove_dir_all(PageStore::folder(data)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether a page of a data directory was found lost or damaged.
    pub fn is_damaged(data: &Path) -> bool {
        PageStore::folder(data).join(DAMAGED_FILE).exists()
    }

    /// Remembers that a page was found lost or damaged.
    ///
    /// # Errors
    /// The system's, or the pages are closed: then nothing is found any more, and nothing lost.
    pub fn damaged(&self) -> Result<(), StoreError> {
        self.on(Step::Mark, |_| {
            let made = File::create(self.dir.join(DAMAGED_FILE));
            made.map(drop).map_err(|error| StoreError::new(Step::Mark, error))
        })
    }

    fn on<T>(
        &self,
        step: Step,
        call: impl FnOnce(&Open) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        call(open.as_ref().ok_or_else(|| StoreError::new(step, "the pages are closed"))?)
    }

    /// Puts a page there, whatever stood under its key. It is on disk after the next
    /// [`sync`](PageStore::sync).
    ///
    /// # Errors
    /// The store's.
    pub fn put(&self, key: &[u8], page: &[u8]) -> Result<(), StoreError> {
        let mut bytes = Vec::with_capacity(page.len().saturating_add(CHECKSUM_BYTES));
        bytes.extend_from_slice(page);
        bytes.extend_from_slice(&checksum(key, page));
        let weight = bytes.len() / BYTES_PER_ACCESS;
        self.on(Step::Put, |open| {
            caught(Step::Put, || {
                open.pages.insert(key, bytes)?;
                weigh(&open.pages, key, weight)
            })
        })
    }

    /// The page under a key, if there is one.
    ///
    /// # Errors
    /// The store's, or that the page is not as it was put there.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.on(Step::Read, |open| {
            caught(Step::Read, || {
                let found = open.pages.get(key)?;
                let weight = found.as_ref().map_or(0, |bytes| bytes.len() / BYTES_PER_ACCESS);
                weigh(&open.pages, key, weight)?;
                Ok(found)
            })
        })?;
        let Some(bytes) = found else { return Ok(None) };
        match bytes.split_last_chunk::<CHECKSUM_BYTES>() {
            Some((page, sum)) if *sum == checksum(key, page) => Ok(Some(page.to_vec())),
            _ => Err(StoreError::new(Step::Read, "the page changed after it was put there")),
        }
    }

    /// Has everything that was put there before on disk.
    ///
    /// # Errors
    /// The store's or the system's.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.on(Step::Sync, |open| {
            caught(Step::Flush, || open.pages.flush().map(drop))?;
            open.file.sync_data().map_err(|error| StoreError::new(Step::Sync, error))
        })
    }

    /// Closes it; whoever holds it still finds nothing more.
    pub fn close(&self) {
        let open = self.open.write().unwrap_or_else(PoisonError::into_inner).take();
        // Closing flushes, and may panic after a failure that was told of when it happened.
        drop(catch_unwind(AssertUnwindSafe(|| drop(open))));
    }
}

impl Drop for PageStore {
    fn drop(&mut self) {
        self.close();
    }
}

fn checksum(key: &[u8], page: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(page);
    hasher.finalize().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_found_as_it_was_put_or_told_to_be_changed() {
        let data = tempfile::tempdir().unwrap();
        let store = PageStore::open(data.path()).unwrap();
        store.put(b"one", b"first").unwrap();
        store.put(b"one", b"second").unwrap();
        store.put(b"two", b"").unwrap();
        store.sync().unwrap();
        store.close();
        assert!(store.get(b"one").is_err());
        let store = PageStore::open(data.path()).unwrap();
        assert_eq!(store.get(b"one"), Ok(Some(b"second".to_vec())));
        assert_eq!(store.get(b"two"), Ok(Some(Vec::new())));
        assert_eq!(store.get(b"three"), Ok(None));
        // Sound bytes in the wrong place are found too.
        let raw = |key: &[u8]| {
            store
                .on(Step::Read, |open| caught(Step::Read, || open.pages.get(key)))
                .unwrap()
                .unwrap()
        };
        let moved = raw(b"one");
        store
            .on(Step::Put, |open| caught(Step::Put, || open.pages.insert(b"four", moved)))
            .unwrap();
        assert!(store.get(b"four").is_err());
        drop(store);
        PageStore::remove(data.path()).unwrap();
        PageStore::remove(data.path()).unwrap();
        assert_eq!(PageStore::open(data.path()).unwrap().get(b"one"), Ok(None));
    }
}
