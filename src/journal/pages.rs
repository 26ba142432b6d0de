//! The page store: pages of the projection's history, as bytes under names. It is a cache that can
//! be rebuilt from the journal; so lost or changed pages are not prevented, only detected by a
//! checksum when they are read.
//!
//! Pages are in one file; a sled tree of its own is the index. The index only refers to synced
//! pages: the locations of pages put since the last sync are in memory. Once the index refers
//! durably to a page's new location, the old bytes are invalidated, so that a damaged index is
//! detected, and their space is reused. What the index does not refer to when the store is opened
//! is free too: the rest of a killed process.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use super::directory::sync_names;
use super::store::{Step, StoreError};
use super::tree::{Shape, caught, open_db};
use super::watch::{Fate, WatchedFile};

mod unsynced;
mod places;
mod free_space;

use free_space::{FreeSpace, UsedSpace};
use places::{Group, Location};
use unsynced::{Locations, UnsyncedIndex};

/// The folder's name in the data directory.
const FOLDER: &str = "history";
/// Exists in the folder once a page was found lost or damaged.
const DAMAGED_FILE: &str = "damaged";
/// The page file.
const PAGES_FILE: &str = "pages";
/// sled's data file.
const INDEX_FILE: &str = "db";
/// First bytes of the page file: the format version. A store of another format is rebuilt.
const FORMAT: [u8; 8] = *b"OOPAGES2";
/// Its length.
const FORMAT_BYTES: u64 = FORMAT.len() as u64;
/// Overwrites the first bytes of a page that was replaced: a CRC-32 detects every
/// change within 32 consecutive bits.
const INVALID: [u8; 4] = [0xFF; 4];
/// Index entries inserted between two syncs of the index: with more, sled would free and refill
/// segments whose successors are not on disk yet, and a power cut could lose both.
const GROUPS_SYNCED_TOGETHER: usize = 512;
/// sled's tree with the locations of pages.
const INDEX_TREE: &str = "places";
/// sled's tree of attested snapshots.
const VOUCHED_TREE: &str = "vouched";
/// Key in that tree of the point up to which all pages are here.
const COMPLETE_KEY: &[u8] = b"complete through";
/// sled's segment size; it buffers one in memory. The groups of a leaf (see `tree.rs`) have some
/// hundred bytes each: far from the quarter of a segment above which sled uses a file that it never
/// syncs. sled opens no database with another segment size, such as earlier versions that stored
/// pages in sled.
const SEGMENT_BYTES: usize = 512 << 10;
/// sled's page cache, for the locations used most.
const CACHE_BYTES: u64 = 4 << 20;
/// Bytes per write.
const WRITE_BYTES: usize = 256 << 10;
/// Most locations in memory only: beyond that, a put syncs.
const UNSYNCED_MAX: usize = 1 << 16;

/// Bytes of a page's name.
pub const NAME_BYTES: usize = 13;

/// A page's name. Its last eight bytes are a number: locations of pages with adjacent numbers share
/// an index entry.
pub type Name = [u8; NAME_BYTES];

/// A data directory's page store.
#[derive(Debug)]
pub struct PageStore {
    open: RwLock<Option<Open>>,
}

/// sled, and the files.
#[derive(Debug)]
struct Open {
    // Fields are dropped in this order.
    index: sled::Tree,
    vouched: sled::Tree,
    _db: sled::Db,
    index_file: File,
    pages: File,
    unsynced: Mutex<UnsyncedIndex>,
    /// Both files, to notice when they are lost.
    watched: [WatchedFile; 2],
    /// Held during a sync.
    sync_lock: Mutex<()>,
    /// Path of the sign that a page was lost or damaged, or that a sync failed.
    damaged: PathBuf,
}

impl PageStore {
    /// The page store's folder in a data directory.
    pub fn folder(data: &Path) -> PathBuf {
        data.join(FOLDER)
    }

    /// Opens the page store of a data directory whose journal is open; creates it if missing.
    ///
    /// # Errors
    /// It cannot be opened; [`by_system`](StoreError::by_system) says whether it may be sound.
    pub fn open(data: &Path) -> Result<PageStore, StoreError> {
        let dir = PageStore::folder(data);
        let opening = |error: io::Error| StoreError::of(Step::Open, &error, &error);
        let db = open_db(&dir, Shape { segment_bytes: SEGMENT_BYTES, cache_bytes: CACHE_BYTES })?;
        let tree = |name| caught(Step::Open, || db.open_tree(name));
        let (index, vouched) = (tree(INDEX_TREE)?, tree(VOUCHED_TREE)?);
        let index_file = File::open(dir.join(INDEX_FILE)).map_err(opening)?;
        let mut kept = File::options();
        let kept = kept.create(true).truncate(false).read(true).write(true);
        let pages = kept.open(dir.join(PAGES_FILE)).map_err(opening)?;
        if pages.metadata().map_err(opening)?.len() < FORMAT_BYTES {
            if !caught(Step::Open, || Ok(index.is_empty() && vouched.is_empty()))? {
                return Err(StoreError::new(Step::Open, "the file of the pages is gone"));
            }
            pages.write_all_at(&FORMAT, 0).map_err(opening)?;
        }
        let mut format = FORMAT;
        pages.read_exact_at(&mut format, 0).map_err(opening)?;
        if format != FORMAT {
            return Err(StoreError::new(Step::Open, "the page file is of another format"));
        }
        let (end, free_space) = reclaim(&index, &index_file, &pages)?;
        File::open(dir.join("conf")).and_then(|conf| conf.sync_all()).map_err(opening)?;
        sync_names(data, &dir).map_err(opening)?;
        let (unsynced, sync_lock) =
            (Mutex::new(UnsyncedIndex::new(end, free_space)), Mutex::new(()));
        let damaged = dir.join(DAMAGED_FILE);
        let watched = |name, file: &File| WatchedFile::of(&dir.join(name), file.try_clone()?);
        let watched = [
            watched(PAGES_FILE, &pages).map_err(opening)?,
            watched(INDEX_FILE, &index_file).map_err(opening)?,
        ];
        let open = Open {
            index,
            vouched,
            _db: db,
            index_file,
            pages,
            unsynced,
            watched,
            sync_lock,
            damaged,
        };
        Ok(PageStore { open: RwLock::new(Some(open)) })
    }

    /// Removes the page store of a data directory.
    ///
    /// # Errors
    /// The system's.
    pub fn remove(data: &Path) -> io::Result<()> {
        let folder = PageStore::folder(data);
        if !folder.exists() {
            return Ok(());
        }
        // The sign is removed last: after an interruption the next start removes the rest.
        File::create(folder.join(DAMAGED_FILE))?;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else if entry.file_name() != DAMAGED_FILE {
                fs::remove_file(entry.path())?;
            }
        }
        fs::remove_dir_all(folder)
    }

    /// Whether a data directory's page store is marked as damaged.
    pub fn is_damaged(data: &Path) -> bool {
        PageStore::folder(data).join(DAMAGED_FILE).exists()
    }

    /// Marks the page store as damaged.
    ///
    /// # Errors
    /// The system's, or the store is closed: then nothing was lost.
    pub fn damaged(&self) -> Result<(), StoreError> {
        self.on(Step::Mark, Open::mark)
    }

    fn on<T>(
        &self,
        step: Step,
        call: impl FnOnce(&Open) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        call(open.as_ref().ok_or_else(|| StoreError::new(step, "the pages are closed"))?)
    }

    /// Puts pages of different names, replacing older ones; returns the bytes written. They are
    /// durable after the next [`sync`](PageStore::sync).
    ///
    /// # Errors
    /// The store's. Some pages may have been put all the same.
    pub fn put<'a>(
        &self,
        pages: impl Iterator<Item = (Name, &'a [u8])>,
    ) -> Result<u64, StoreError> {
        self.on(Step::Put, |open| open.put(pages))
    }

    /// As [`put`](PageStore::put), leaving out pages that are stored already.
    ///
    /// # Errors
    /// As there.
    pub fn put_again<'a>(
        &self,
        pages: impl Iterator<Item = (Name, &'a [u8])>,
    ) -> Result<u64, StoreError> {
        self.on(Step::Put, |open| {
            open.put(pages.filter(|(name, page)| {
                let there = open.location(name).ok().flatten();
                there.is_none_or(|there| !there.may_have(name, page))
            }))
        })
    }

    /// The page of a name, if there is one.
    ///
    /// # Errors
    /// The store's, or the page's bytes have changed.
    pub fn get(&self, name: &Name) -> Result<Option<Vec<u8>>, StoreError> {
        self.on(Step::Read, |open| open.read(name, open.location(name)?))
    }

    /// Attests a snapshot's pages; durable after the next sync.
    ///
    /// # Errors
    /// The store's.
    pub fn vouch(&self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.on(Step::Put, |open| caught(Step::Put, || open.vouched.insert(key, value).map(drop)))
    }

    /// Attests that the store has all pages up to some point, in place of an earlier one; durable
    /// after the next sync.
    ///
    /// # Errors
    /// The store's.
    pub fn complete(&self, point: &[u8]) -> Result<(), StoreError> {
        self.vouch(COMPLETE_KEY, point)
    }

    /// The attested point up to which all pages are here.
    ///
    /// # Errors
    /// The store's.
    pub fn completed(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.vouched(COMPLETE_KEY)
    }

    /// The attested value under a key.
    ///
    /// # Errors
    /// The store's.
    pub fn vouched(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.on(Step::Read, |open| {
            let found = caught(Step::Read, || open.vouched.get(key))?;
            Ok(found.map(|found| found.to_vec()))
        })
    }

    /// Makes everything put before durable. If that fails, the system may believe pages to be on
    /// disk that are not, and reports it only once: nothing put before can be relied on, and the
    /// store is marked as [damaged](PageStore::damaged).
    ///
    /// # Errors
    /// The store's or the system's.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.on(Step::Sync, Open::sync)
    }

    /// Writes out the page file alone, which the index does not refer to yet: the next
    /// [`sync`](PageStore::sync) then has little to write. After a failure that sync fails too.
    ///
    /// # Errors
    /// As of [`sync`](PageStore::sync).
    pub fn write_out(&self) -> Result<(), StoreError> {
        self.on(Step::Sync, Open::write_out)
    }

    /// What happened to the files while the store is open, if anything.
    pub fn fate(&self) -> Option<Fate> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        let [pages, index] = &open.as_ref()?.watched;
        // sled itself cuts its file.
        pages.fate().or_else(|| index.renamed())
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.open.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Closes the store; later calls fail.
    pub fn close(&self) {
        drop(self.sync());
        let open = self.open.write().unwrap_or_else(PoisonError::into_inner).take();
        // Closing flushes, and may panic after a failure that was reported when it happened.
        drop(catch_unwind(AssertUnwindSafe(|| drop(open))));
    }
}

impl Open {
    fn unsynced(&self) -> MutexGuard<'_, UnsyncedIndex> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mark(&self) -> Result<(), StoreError> {
        let made = || {
            File::create(&self.damaged)?.sync_all()?;
            self.damaged.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
        };
        made().map_err(|error| StoreError::new(Step::Mark, error))
    }

    fn put<'a>(&self, pages: impl Iterator<Item = (Name, &'a [u8])>) -> Result<u64, StoreError> {
        let (mut bytes, mut locations, mut written) = (Vec::new(), Vec::new(), 0_u64);
        for (name, page) in pages {
            let location = Location::new(&name, page)?;
            written = written.saturating_add(u64::from(location.length));
            let room = self.unsynced().take_free(location.length);
            if let Some(offset) = room {
                self.write_at(page, offset)?;
                self.unsynced().put(name, Location { offset, ..location });
                continue;
            }
            locations.push((name, Location { offset: bytes.len() as u64, ..location }));
            bytes.extend_from_slice(page);
            if bytes.len() >= WRITE_BYTES {
                self.append(&bytes, &mut locations)?;
                bytes.clear();
            }
        }
        self.append(&bytes, &mut locations)?;
        let full = {
            let unsynced = self.unsynced();
            // After a failed sync there are no more syncs, and the next start rebuilds everything.
            unsynced.count() > UNSYNCED_MAX && !unsynced.failed()
        };
        if full {
            self.sync()?;
        }
        Ok(written)
    }

    /// Appends pages to the file; `locations` hold offsets relative to `bytes`.
    fn append(
        &self,
        bytes: &[u8],
        locations: &mut Vec<(Name, Location)>,
    ) -> Result<(), StoreError> {
        let end = self.unsynced().append(bytes.len() as u64);
        self.write_at(bytes, end)?;
        let mut unsynced = self.unsynced();
        for (name, location) in locations.drain(..) {
            unsynced
                .put(name, Location { offset: end.saturating_add(location.offset), ..location });
        }
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), StoreError> {
        let written = self.pages.write_all_at(bytes, offset);
        written.map_err(|error| StoreError::new(Step::Put, error))
    }

    /// Reads a page at a location that was looked up before. The page may have moved since.
    fn read(&self, name: &Name, location: Option<Location>) -> Result<Option<Vec<u8>>, StoreError> {
        let mut location = location;
        while let Some(found) = location {
            let within = self.unsynced().reaches(found.end());
            let mut page = vec![0; if within { found.length as usize } else { 0 }];
            let read = self.pages.read_exact_at(&mut page, found.offset);
            read.map_err(|error| StoreError::new(Step::Read, error))?;
            if within && found.may_have(name, &page) {
                return Ok(Some(page));
            }
            location = self.location(name)?;
            if location == Some(found) {
                return Err(StoreError::new(Step::Read, "the page changed after it was put there"));
            }
        }
        Ok(None)
    }

    fn location(&self, name: &Name) -> Result<Option<Location>, StoreError> {
        if let Some(location) = self.unsynced().location(name) {
            return Ok(Some(location));
        }
        let (group, slot) = places::group_and_slot(name);
        Ok(self.group(&group)?.get(slot))
    }

    fn group(&self, name: &Name) -> Result<Group, StoreError> {
        let found = caught(Step::Read, || self.index.get(name))?;
        found.map_or_else(|| Ok(Group::default()), |found| Group::decode(&found))
    }

    fn write_out(&self) -> Result<(), StoreError> {
        let guard = self.sync_lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.not_failed()?;
        let written = self.sync_pages().map_err(|failed| {
            self.unsynced().sync_failed();
            self.marked(failed)
        });
        drop(guard);
        written
    }

    fn sync_pages(&self) -> Result<(), StoreError> {
        self.pages.sync_data().map_err(|error| StoreError::new(Step::Sync, error))
    }

    /// The system reports a failed sync once: a second attempt's success means nothing.
    fn not_failed(&self) -> Result<(), StoreError> {
        let failed = self.unsynced().failed();
        if failed { Err(StoreError::new(Step::Sync, "an earlier sync failed")) } else { Ok(()) }
    }

    fn sync(&self) -> Result<(), StoreError> {
        let guard = self.sync_lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.not_failed()?;
        let new = self.unsynced().begin_sync();
        let synced = self.index_pages(&new).and_then(|before| {
            self.invalidate(&before)?;
            Ok(before)
        });
        let synced = match synced {
            Ok(before) => {
                self.unsynced().synced(&before);
                Ok(())
            }
            Err(failed) => {
                self.unsynced().sync_failed();
                Err(self.marked(failed))
            }
        };
        drop(guard);
        synced
    }

    /// Marks the store as damaged after a failed sync.
    fn marked(&self, failed: StoreError) -> StoreError {
        let Err(error) = self.mark() else { return failed };
        let what = format_args!("{}, and that could not be noted: {error}", failed.what);
        StoreError::new(failed.step, what)
    }

    /// Syncs these pages, then the index that refers to them. Returns the locations replaced.
    fn index_pages(&self, new: &Locations) -> Result<Vec<Location>, StoreError> {
        self.sync_pages()?;
        let (mut new, mut before) = (new.iter().peekable(), Vec::new());
        for groups in 1_usize.. {
            let Some((name, _)) = new.peek() else { break };
            let key = places::group_and_slot(name).0;
            let mut group = self.group(&key)?;
            while let Some((name, location)) =
                new.next_if(|(name, _)| places::group_and_slot(name).0 == key)
            {
                let there = group.set(places::group_and_slot(name).1, *location);
                before.extend(there.filter(|there| there != location));
            }
            let bytes = group.encode();
            caught(Step::Put, || self.index.insert(key, bytes).map(drop))?;
            if groups.is_multiple_of(GROUPS_SYNCED_TOGETHER) {
                self.sync_index()?;
            }
        }
        self.sync_index()?;
        Ok(before)
    }

    /// Syncs the index.
    fn sync_index(&self) -> Result<(), StoreError> {
        caught(Step::Flush, || self.index.flush().map(drop))?;
        self.index_file.sync_data().map_err(|error| StoreError::new(Step::Sync, error))
    }

    /// Overwrites the first bytes at these locations, so that a stale index entry is detected.
    fn invalidate(&self, locations: &[Location]) -> Result<(), StoreError> {
        for location in locations {
            let bytes = INVALID.get(..location.length as usize).unwrap_or(&INVALID);
            self.write_at(bytes, location.offset)?;
        }
        Ok(())
    }
}

/// Finds what the index does not refer to, and cuts off what is unused at the file's end. Returns
/// the file's length, and the free space.
fn reclaim(
    index: &sled::Tree,
    index_file: &File,
    pages: &File,
) -> Result<(u64, FreeSpace), StoreError> {
    let opening = |error: io::Error| StoreError::of(Step::Open, &error, &error);
    // What was read of the index may be in the system's memory only; a power cut must not bring
    // back one that refers to what is overwritten from now on.
    index_file.sync_data().map_err(opening)?;
    let length = pages.metadata().map_err(opening)?.len();
    let mut used = UsedSpace::none_of(length);
    used.add(0, FORMAT_BYTES);
    let mut groups = index.iter().values();
    while let Some(group) = caught(Step::Open, || groups.next().transpose())? {
        for location in Group::decode(&group)?.locations() {
            used.add(location.offset, u64::from(location.length));
        }
    }
    let (free_space, end) = used.rest();
    if end < length {
        pages.set_len(end).map_err(opening)?;
    }
    Ok((end.min(length), free_space))
}

impl Drop for PageStore {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(any(test, feature = "faults"))]
impl PageStore {
    /// Runs `happens` while the index cannot be synced.
    pub fn while_unsynced<T>(&self, happens: impl FnOnce() -> T) -> T {
        self.while_unsynced_is(|open| &mut open.index_file, happens)
    }

    /// The same while the page file cannot be synced.
    pub fn while_unwritten<T>(&self, happens: impl FnOnce() -> T) -> T {
        self.while_unsynced_is(|open| &mut open.pages, happens)
    }

    fn while_unsynced_is<T>(
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

#[cfg(test)]
#[path = "../../tests/unit/journal/pages.rs"]
mod tests;
