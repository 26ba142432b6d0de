//! The page store: pages of the projection's history, as bytes under names. All of it can be made
//! again from the journal; so lost or changed pages are not prevented, only detected by a checksum
//! when they are read.
//!
//! Pages are appended to one file, each once; a sled tree of its own is the index, which only
//! refers to synced pages: the places of pages put since the last sync are in memory. What the file
//! holds beyond the synced pages is cut off when the store is opened.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::copy::{Shape, caught, open_db};
use super::directory::sync_names;
use super::disk::{self, File};
use super::store::{Step, StoreError};
use super::trees::{Db, Tree};
use super::watch::{Fate, WatchedFile};

mod places;

use places::{Group, Location};

/// The folder's name in the data directory.
const FOLDER: &str = "history";
/// Exists in the folder once a page was found lost or damaged.
const DAMAGED_FILE: &str = "damaged";
/// The page file.
const PAGES_FILE: &str = "pages";
/// sled's data file.
const INDEX_FILE: &str = "db";
/// First bytes of the page file: the format version. A store of another format is rebuilt.
const FORMAT: [u8; 8] = *b"OOPAGES3";
/// Its length.
const FORMAT_BYTES: u64 = FORMAT.len() as u64;
/// Index entries inserted between two syncs of the index: with more, sled would free and refill
/// segments whose successors are not on disk yet, and a power cut could lose both.
const GROUPS_SYNCED_TOGETHER: usize = 512;
/// sled's tree with the locations of pages.
const INDEX_TREE: &str = "places";
/// sled's tree of what is known about the whole store.
const KNOWN_TREE: &str = "known";
/// Key in that tree of the point up to which all pages are here.
const COMPLETE_KEY: &[u8] = b"complete through";
/// Key in that tree of the length of the file up to which it is synced.
const END_KEY: &[u8] = b"end";
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

/// Places by name.
type Locations = BTreeMap<Name, Location>;

/// A data directory's page store.
#[derive(Debug)]
pub struct PageStore {
    data: PathBuf,
    open: RwLock<Option<Open>>,
}

/// sled, and the files.
#[derive(Debug)]
struct Open {
    // Fields are dropped in this order.
    index: Tree,
    known: Tree,
    _db: Db,
    index_file: File,
    pages: File,
    unsynced: Mutex<Unsynced>,
    /// Both files, to notice when they are lost.
    watched: [WatchedFile; 2],
    /// Held during a sync.
    sync_lock: Mutex<()>,
    /// Path of the sign that a page was lost or damaged, or that a sync failed.
    damaged: PathBuf,
}

/// Places that are not in the index yet.
#[derive(Debug)]
struct Unsynced {
    /// The file's length.
    end: u64,
    new: Locations,
    /// Being synced to the index.
    syncing: Arc<Locations>,
    /// Whether a sync failed: what reached the disk is unknown then.
    failed: bool,
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
        let (index, known) = (tree(INDEX_TREE)?, tree(KNOWN_TREE)?);
        let index_file = File::open(dir.join(INDEX_FILE)).map_err(opening)?;
        let mut kept = File::options();
        let kept = kept.create(true).truncate(false).read(true).write(true);
        let pages = kept.open(dir.join(PAGES_FILE)).map_err(opening)?;
        let length = pages.metadata().map_err(opening)?.len();
        let end = caught(Step::Open, || known.get(END_KEY))?;
        let end = match end.and_then(|end| end.as_ref().try_into().ok().map(u64::from_be_bytes)) {
            Some(end) => end,
            None if caught(Step::Open, || Ok(index.is_empty() && known.is_empty()))? => {
                pages.set_len(0).and_then(|()| pages.write_all_at(&FORMAT, 0)).map_err(opening)?;
                FORMAT_BYTES
            }
            None => return Err(StoreError::new(Step::Open, "the index of the pages is damaged")),
        };
        if length < end && end > FORMAT_BYTES {
            return Err(StoreError::new(Step::Open, "the file of the pages is gone"));
        }
        let mut format = FORMAT;
        pages.read_exact_at(&mut format, 0).map_err(opening)?;
        if format != FORMAT {
            return Err(StoreError::new(Step::Open, "the page file is of another format"));
        }
        if length > end {
            pages.set_len(end).map_err(opening)?;
        }
        File::open(dir.join("conf")).and_then(|conf| conf.sync_all()).map_err(opening)?;
        sync_names(data, &dir).map_err(opening)?;
        let (new, syncing) = (Locations::new(), Arc::default());
        let unsynced = Mutex::new(Unsynced { end, new, syncing, failed: false });
        let damaged = dir.join(DAMAGED_FILE);
        let watched = |name, file: &File| WatchedFile::of(&dir.join(name), file.try_clone()?);
        let watched = [
            watched(PAGES_FILE, &pages).map_err(opening)?,
            watched(INDEX_FILE, &index_file).map_err(opening)?,
        ];
        let sync_lock = Mutex::new(());
        let open = Open {
            index,
            known,
            _db: db,
            index_file,
            pages,
            unsynced,
            watched,
            sync_lock,
            damaged,
        };
        Ok(PageStore { data: data.to_path_buf(), open: RwLock::new(Some(open)) })
    }

    /// Removes all pages, to be made anew.
    ///
    /// # Errors
    /// The system's; the store is closed then.
    pub fn renew(&self) -> Result<(), StoreError> {
        let unused = self.on(Step::Open, |open| {
            let indexed = caught(Step::Open, || Ok(!open.index.is_empty()))?;
            Ok(!indexed && open.unsynced().new.is_empty())
        });
        if unused == Ok(true) {
            return Ok(());
        }
        self.close();
        PageStore::remove(&self.data).map_err(|error| StoreError::new(Step::Remove, error))?;
        let new = PageStore::open(&self.data)?;
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        *open = new.open.write().unwrap_or_else(PoisonError::into_inner).take();
        Ok(())
    }

    /// Removes the page store of a data directory.
    ///
    /// # Errors
    /// The system's.
    pub fn remove(data: &Path) -> io::Result<()> {
        let folder = PageStore::folder(data);
        if !disk::exists(&folder) {
            return Ok(());
        }
        // The sign is removed last: after an interruption the next start removes the rest.
        File::create(folder.join(DAMAGED_FILE))?;
        for entry in disk::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                disk::remove_dir_all(entry.path())?;
            } else if entry.file_name() != DAMAGED_FILE {
                disk::remove_file(entry.path())?;
            }
        }
        disk::remove_dir_all(folder)
    }

    /// Whether a data directory's page store is marked as damaged.
    pub fn is_damaged(data: &Path) -> bool {
        disk::exists(&PageStore::folder(data).join(DAMAGED_FILE))
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

    /// Puts pages, leaving out those that are here already; returns the bytes written. They are
    /// durable after the next [`sync`](PageStore::sync).
    ///
    /// # Errors
    /// The store's, or there is another page of the same name. Some pages may have been put all the
    /// same.
    pub fn put<'a>(
        &self,
        pages: impl Iterator<Item = (Name, &'a [u8])>,
    ) -> Result<u64, StoreError> {
        self.on(Step::Put, |open| open.put(pages))
    }

    /// The page of a name, if there is one.
    ///
    /// # Errors
    /// The store's, or the page's bytes have changed.
    pub fn get(&self, name: &Name) -> Result<Option<Vec<u8>>, StoreError> {
        self.on(Step::Read, |open| open.read(name))
    }

    /// Attests that the store has all pages up to some point, in place of an earlier one; durable
    /// after the next sync.
    ///
    /// # Errors
    /// The store's.
    pub fn complete(&self, point: &[u8]) -> Result<(), StoreError> {
        let put = |open: &Open| open.known.insert(COMPLETE_KEY, point).map(drop);
        self.on(Step::Put, |open| caught(Step::Put, || put(open)))
    }

    /// The attested point up to which all pages are here.
    ///
    /// # Errors
    /// The store's.
    pub fn completed(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.on(Step::Read, |open| {
            let found = caught(Step::Read, || open.known.get(COMPLETE_KEY))?;
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
    fn unsynced(&self) -> MutexGuard<'_, Unsynced> {
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
            let offset = bytes.len() as u64;
            let location = Location { offset, ..Location::new(&name, page)? };
            match self.location(&name)? {
                Some(there) if there.may_have(&name, page) => continue,
                Some(_) => {
                    let failed = StoreError::new(Step::Put, "another page has that name");
                    return Err(self.marked(failed));
                }
                None => locations.push((name, location)),
            }
            written = written.saturating_add(u64::from(location.length));
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
            unsynced.new.len() > UNSYNCED_MAX && !unsynced.failed
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
        let end = self.unsynced().end;
        let written = self.pages.write_all_at(bytes, end);
        written.map_err(|error| StoreError::new(Step::Put, error))?;
        let mut unsynced = self.unsynced();
        unsynced.end = end.saturating_add(bytes.len() as u64);
        for (name, location) in locations.drain(..) {
            let offset = end.saturating_add(location.offset);
            unsynced.new.insert(name, Location { offset, ..location });
        }
        Ok(())
    }

    fn read(&self, name: &Name) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(location) = self.location(name)? else { return Ok(None) };
        let changed = || StoreError::new(Step::Read, "the page changed after it was put there");
        // A damaged index may claim any length.
        if location.end() > self.unsynced().end {
            return Err(changed());
        }
        let mut page = vec![0; location.length as usize];
        let read = self.pages.read_exact_at(&mut page, location.offset);
        read.map_err(|error| StoreError::new(Step::Read, error))?;
        if location.may_have(name, &page) { Ok(Some(page)) } else { Err(changed()) }
    }

    fn location(&self, name: &Name) -> Result<Option<Location>, StoreError> {
        {
            let unsynced = self.unsynced();
            let location = unsynced.new.get(name).or_else(|| unsynced.syncing.get(name));
            if let Some(location) = location {
                return Ok(Some(*location));
            }
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
            self.unsynced().failed = true;
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
        let failed = self.unsynced().failed;
        if failed { Err(StoreError::new(Step::Sync, "an earlier sync failed")) } else { Ok(()) }
    }

    fn sync(&self) -> Result<(), StoreError> {
        let guard = self.sync_lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.not_failed()?;
        let (new, end) = {
            let mut unsynced = self.unsynced();
            unsynced.syncing = Arc::new(std::mem::take(&mut unsynced.new));
            (Arc::clone(&unsynced.syncing), unsynced.end)
        };
        let synced = self.index_pages(&new, end);
        if synced.is_ok() {
            self.unsynced().syncing = Arc::default();
        } else {
            // Kept, so that they are found: the index may lack them.
            self.unsynced().failed = true;
        }
        let synced = synced.map_err(|failed| self.marked(failed));
        drop(guard);
        synced
    }

    /// Marks the store as damaged after a failure.
    fn marked(&self, failed: StoreError) -> StoreError {
        let Err(error) = self.mark() else { return failed };
        let what = format_args!("{}, and that could not be noted: {error}", failed.what);
        StoreError::new(failed.step, what)
    }

    /// Syncs these pages, then the index that refers to them.
    fn index_pages(&self, new: &Locations, end: u64) -> Result<(), StoreError> {
        self.sync_pages()?;
        let known = caught(Step::Put, || self.known.get(END_KEY))?;
        if new.is_empty() && known.is_some_and(|known| known == end.to_be_bytes()) {
            return self.sync_index();
        }
        // First: sled never has what came later without what came before.
        let put = || self.known.insert(END_KEY, end.to_be_bytes().as_slice()).map(drop);
        caught(Step::Put, put)?;
        let mut new = new.iter().peekable();
        for groups in 1_usize.. {
            let Some((name, _)) = new.peek() else { break };
            let key = places::group_and_slot(name).0;
            let mut group = self.group(&key)?;
            while let Some((name, location)) =
                new.next_if(|(name, _)| places::group_and_slot(name).0 == key)
            {
                group.set(places::group_and_slot(name).1, *location);
            }
            let bytes = group.encode();
            caught(Step::Put, || self.index.insert(key, bytes).map(drop))?;
            if groups.is_multiple_of(GROUPS_SYNCED_TOGETHER) {
                self.sync_index()?;
            }
        }
        self.sync_index()
    }

    /// Syncs the index.
    fn sync_index(&self) -> Result<(), StoreError> {
        caught(Step::Flush, || self.index.flush().map(drop))?;
        self.index_file.sync_data().map_err(|error| StoreError::new(Step::Sync, error))
    }
}

impl Drop for PageStore {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(any(test, feature = "faults"))]
#[path = "../../tests/unit/journal/pages_faults.rs"]
mod faults;

#[cfg(test)]
#[path = "../../tests/unit/journal/pages.rs"]
mod tests;
