//! Pages of others beside the journal: bytes under names. Nothing here is the truth, all of it can
//! be made again from the journal; so a page whose bytes were lost or changed is told of when it
//! is read, and nothing is done to prevent it but a checksum.
//!
//! Pages stand anywhere in a file; a sled of their own leads to them. It leads to nothing that was
//! not synced: where pages are that were put since is in memory. Once it leads, on disk, to a page
//! that was put again, the bytes before are spoiled, so that whoever is led there by damage is told
//! of it, and pages that come later are written over them. What was free is forgotten at closing.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use super::sled::sync_names;
use super::store::{Step, StoreError};
use super::tree::{Shape, caught, open_db};

mod unsynced;
mod places;
mod free_space;

use places::{Group, Place};
use unsynced::{Places, UnsyncedIndex};

/// The folder's name in the data directory.
const FOLDER: &str = "history";
/// Stands in the folder once a page was found lost or damaged.
const DAMAGED_FILE: &str = "damaged";
/// The file of the pages themselves.
const PAGES_FILE: &str = "pages";
/// What the file of the pages begins with: the form of all this. What has another is made anew.
const FORM: [u8; 8] = *b"OOPAGES2";
/// Their number.
const FORM_BYTES: u64 = FORM.len() as u64;
/// Bytes of a page that are spoiled once another stands for it: for a checksum of as many bits
/// there is no change of so few that it would not see.
const SPOILED: [u8; 4] = [0xFF; 4];
/// Groups of places that sled is given before they are taken to disk: while more wait it would free
/// and fill segments whose successors are not there yet, and a power cut could leave neither.
const GROUPS_SYNCED_TOGETHER: usize = 512;
/// sled's tree that says where pages are.
const TREE: &str = "places";
/// sled's tree of what is vouched for.
const VOUCHED_TREE: &str = "vouched";
/// sled's segments, which it also fills in memory. A leaf has at most 16 groups of some hundred
/// bytes: far from the quarter of a segment over which sled puts it into a file that it never
/// syncs. It opens nothing that has segments of another length, as when the pages were in it.
const SEGMENT_BYTES: usize = 512 << 10;
/// sled's page cache: where the pages are that are read and written most.
const CACHE_BYTES: u64 = 4 << 20;
/// Bytes that are written at once.
const WRITE_BYTES: usize = 256 << 10;
/// Pages whose places are in memory at most: whoever puts more has them synced.
const NEW_MAX: usize = 1 << 16;

/// Bytes of a page's name.
pub const NAME_BYTES: usize = 13;

/// A page's name. The last eight bytes are a number: where the pages of numbers next to each other
/// are is kept together.
pub type Name = [u8; NAME_BYTES];

/// A data directory's pages.
#[derive(Debug)]
pub struct PageStore {
    open: RwLock<Option<Open>>,
}

/// sled, and the files.
#[derive(Debug)]
struct Open {
    // Fields are dropped in this order.
    places: sled::Tree,
    vouched: sled::Tree,
    _db: sled::Db,
    places_file: File,
    pages: File,
    lately: Mutex<UnsyncedIndex>,
    /// Held by whoever syncs.
    turn: Mutex<()>,
    /// Where it is noted that a page was found lost or damaged, or could not be synced.
    damaged: PathBuf,
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
    /// What is there cannot be opened; [`by_system`](StoreError::by_system) tells whether it may be
    /// sound.
    pub fn open(data: &Path) -> Result<PageStore, StoreError> {
        let dir = PageStore::folder(data);
        let opening = |error: io::Error| StoreError::of(Step::Open, &error, &error);
        let db = open_db(&dir, Shape { segment_bytes: SEGMENT_BYTES, cache_bytes: CACHE_BYTES })?;
        let tree = |name| caught(Step::Open, || db.open_tree(name));
        let (places, vouched) = (tree(TREE)?, tree(VOUCHED_TREE)?);
        let places_file = File::open(dir.join("db")).map_err(opening)?;
        let mut kept = File::options();
        let kept = kept.create(true).truncate(false).read(true).write(true);
        let pages = kept.open(dir.join(PAGES_FILE)).map_err(opening)?;
        if pages.metadata().map_err(opening)?.len() < FORM_BYTES {
            if !caught(Step::Open, || Ok(places.is_empty() && vouched.is_empty()))? {
                return Err(StoreError::new(Step::Open, "the file of the pages is gone"));
            }
            pages.write_all_at(&FORM, 0).map_err(opening)?;
        }
        let mut form = FORM;
        pages.read_exact_at(&mut form, 0).map_err(opening)?;
        if form != FORM {
            return Err(StoreError::new(Step::Open, "the file of the pages is of another form"));
        }
        let end = pages.metadata().map_err(opening)?.len();
        File::open(dir.join("conf")).and_then(|conf| conf.sync_all()).map_err(opening)?;
        sync_names(data, &dir).map_err(opening)?;
        let (lately, turn) = (Mutex::new(UnsyncedIndex::of(end)), Mutex::new(()));
        let damaged = dir.join(DAMAGED_FILE);
        let open = Open { places, vouched, _db: db, places_file, pages, lately, turn, damaged };
        Ok(PageStore { open: RwLock::new(Some(open)) })
    }

    /// Takes the pages of a data directory away.
    ///
    /// # Errors
    /// The system's.
    pub fn remove(data: &Path) -> io::Result<()> {
        let folder = PageStore::folder(data);
        if !folder.exists() {
            return Ok(());
        }
        // The sign goes last: where this is interrupted, the next start does it again.
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

    /// Whether a page of a data directory was found lost or damaged.
    pub fn is_damaged(data: &Path) -> bool {
        PageStore::folder(data).join(DAMAGED_FILE).exists()
    }

    /// Remembers that a page was found lost or damaged.
    ///
    /// # Errors
    /// The system's, or the pages are closed: then nothing is found any more, and nothing lost.
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

    /// Puts pages of different names there, whatever stood under these; gives how many bytes were
    /// written. They are on disk after the next [`sync`](PageStore::sync).
    ///
    /// # Errors
    /// The store's. Some pages may be there all the same.
    pub fn put<'a>(
        &self,
        pages: impl Iterator<Item = (Name, &'a [u8])>,
    ) -> Result<u64, StoreError> {
        self.on(Step::Put, |open| open.put(pages))
    }

    /// Puts those of these pages there that are not there already, as [`put`](PageStore::put) does.
    ///
    /// # Errors
    /// As there.
    pub fn put_again<'a>(
        &self,
        pages: impl Iterator<Item = (Name, &'a [u8])>,
    ) -> Result<u64, StoreError> {
        self.on(Step::Put, |open| {
            open.put(pages.filter(|(name, page)| {
                let there = open.place(name).ok().flatten();
                there.is_none_or(|there| !there.may_have(name, page))
            }))
        })
    }

    /// The page of a name, if there is one.
    ///
    /// # Errors
    /// The store's, or that the page is not as it was put there.
    pub fn get(&self, name: &Name) -> Result<Option<Vec<u8>>, StoreError> {
        self.on(Step::Read, |open| open.read(name, open.place(name)?))
    }

    /// Vouches for something, once it is synced.
    ///
    /// # Errors
    /// The store's.
    pub fn vouch(&self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.on(Step::Put, |open| caught(Step::Put, || open.vouched.insert(key, value).map(drop)))
    }

    /// What is vouched for under a key.
    ///
    /// # Errors
    /// The store's.
    pub fn vouched(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.on(Step::Read, |open| {
            let found = caught(Step::Read, || open.vouched.get(key))?;
            Ok(found.map(|found| found.to_vec()))
        })
    }

    /// Has everything that was put there before on disk. Where that fails, the system may take for
    /// written what is not, and tells of it once: nobody may rely on what was put, and all of it
    /// is noted to be [damaged](PageStore::damaged).
    ///
    /// # Errors
    /// The store's or the system's.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.on(Step::Sync, Open::sync)
    }

    /// Has the bytes of what was put there before on disk, where nothing leads to them yet: so the
    /// next [`sync`](PageStore::sync) has little to write, and fails where this failed.
    ///
    /// # Errors
    /// As of [`sync`](PageStore::sync).
    pub fn write_out(&self) -> Result<(), StoreError> {
        self.on(Step::Sync, Open::write_out)
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.open.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Closes it; whoever holds it still finds nothing more.
    pub fn close(&self) {
        drop(self.sync());
        let open = self.open.write().unwrap_or_else(PoisonError::into_inner).take();
        // Closing flushes, and may panic after a failure that was told of when it happened.
        drop(catch_unwind(AssertUnwindSafe(|| drop(open))));
    }
}

impl Open {
    fn lately(&self) -> MutexGuard<'_, UnsyncedIndex> {
        self.lately.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mark(&self) -> Result<(), StoreError> {
        let made = || {
            File::create(&self.damaged)?.sync_all()?;
            self.damaged.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
        };
        made().map_err(|error| StoreError::new(Step::Mark, error))
    }

    fn put<'a>(&self, pages: impl Iterator<Item = (Name, &'a [u8])>) -> Result<u64, StoreError> {
        let (mut bytes, mut places, mut written) = (Vec::new(), Vec::new(), 0_u64);
        for (name, page) in pages {
            let place = Place::of(&name, page)?;
            written = written.saturating_add(u64::from(place.length));
            let room = self.lately().room(place.length);
            if let Some(offset) = room {
                self.write_at(page, offset)?;
                self.lately().put(name, Place { offset, ..place });
                continue;
            }
            places.push((name, Place { offset: bytes.len() as u64, ..place }));
            bytes.extend_from_slice(page);
            if bytes.len() >= WRITE_BYTES {
                self.append(&bytes, &mut places)?;
                bytes.clear();
            }
        }
        self.append(&bytes, &mut places)?;
        let full = {
            let lately = self.lately();
            // After a failure nothing is synced any more, and whoever starts next makes all anew.
            lately.count() > NEW_MAX && !lately.failed()
        };
        if full {
            self.sync()?;
        }
        Ok(written)
    }

    /// Writes pages at the file's end, where each is so far from the first.
    fn append(&self, bytes: &[u8], places: &mut Vec<(Name, Place)>) -> Result<(), StoreError> {
        let end = self.lately().append(bytes.len() as u64);
        self.write_at(bytes, end)?;
        let mut lately = self.lately();
        for (name, place) in places.drain(..) {
            lately.put(name, Place { offset: end.saturating_add(place.offset), ..place });
        }
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), StoreError> {
        let written = self.pages.write_all_at(bytes, offset);
        written.map_err(|error| StoreError::new(Step::Put, error))
    }

    /// Reads a page that was found to be there. Another may have been written there since.
    fn read(&self, name: &Name, place: Option<Place>) -> Result<Option<Vec<u8>>, StoreError> {
        let mut place = place;
        while let Some(found) = place {
            let within = self.lately().reaches(found.end());
            let mut page = vec![0; if within { found.length as usize } else { 0 }];
            let read = self.pages.read_exact_at(&mut page, found.offset);
            read.map_err(|error| StoreError::new(Step::Read, error))?;
            if within && found.may_have(name, &page) {
                return Ok(Some(page));
            }
            place = self.place(name)?;
            if place == Some(found) {
                return Err(StoreError::new(Step::Read, "the page changed after it was put there"));
            }
        }
        Ok(None)
    }

    fn place(&self, name: &Name) -> Result<Option<Place>, StoreError> {
        if let Some(place) = self.lately().place(name) {
            return Ok(Some(place));
        }
        let (group, slot) = places::home(name);
        Ok(self.group(&group)?.get(slot))
    }

    fn group(&self, name: &Name) -> Result<Group, StoreError> {
        let found = caught(Step::Read, || self.places.get(name))?;
        found.map_or_else(|| Ok(Group::default()), |found| Group::decode(&found))
    }

    fn write_out(&self) -> Result<(), StoreError> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.not_failed()?;
        let written = self.sync_pages().map_err(|failed| {
            self.lately().not_synced();
            self.marked(failed)
        });
        drop(turn);
        written
    }

    fn sync_pages(&self) -> Result<(), StoreError> {
        self.pages.sync_data().map_err(|error| StoreError::new(Step::Sync, error))
    }

    /// The system tells of a failure once: what a second try says means nothing.
    fn not_failed(&self) -> Result<(), StoreError> {
        let failed = self.lately().failed();
        if failed { Err(StoreError::new(Step::Sync, "an earlier sync failed")) } else { Ok(()) }
    }

    fn sync(&self) -> Result<(), StoreError> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.not_failed()?;
        let new = self.lately().begin_sync();
        let synced = self.lead_to(&new).and_then(|before| {
            self.spoil(&before)?;
            Ok(before)
        });
        let synced = match synced {
            Ok(before) => {
                self.lately().synced(&before);
                Ok(())
            }
            Err(failed) => {
                self.lately().not_synced();
                Err(self.marked(failed))
            }
        };
        drop(turn);
        synced
    }

    /// Notes that a sync failed.
    fn marked(&self, failed: StoreError) -> StoreError {
        let Err(error) = self.mark() else { return failed };
        let what = format_args!("{}, and that could not be noted: {error}", failed.what);
        StoreError::new(failed.step, what)
    }

    /// Has sled lead to these pages, and all of it on disk. Gives where it led before that.
    fn lead_to(&self, new: &Places) -> Result<Vec<Place>, StoreError> {
        self.sync_pages()?;
        let (mut new, mut before) = (new.iter().peekable(), Vec::new());
        for groups in 1_usize.. {
            let Some((name, _)) = new.peek() else { break };
            let home = places::home(name).0;
            let mut group = self.group(&home)?;
            while let Some((name, place)) = new.next_if(|(name, _)| places::home(name).0 == home) {
                let there = group.set(places::home(name).1, *place);
                before.extend(there.filter(|there| there != place));
            }
            let bytes = group.encode();
            caught(Step::Put, || self.places.insert(home, bytes).map(drop))?;
            if groups.is_multiple_of(GROUPS_SYNCED_TOGETHER) {
                self.sync_places()?;
            }
        }
        self.sync_places()?;
        Ok(before)
    }

    /// Returns once what sled was given is on disk.
    fn sync_places(&self) -> Result<(), StoreError> {
        caught(Step::Flush, || self.places.flush().map(drop))?;
        self.places_file.sync_data().map_err(|error| StoreError::new(Step::Sync, error))
    }

    /// Has whoever is led to these places find that nothing stands there.
    fn spoil(&self, places: &[Place]) -> Result<(), StoreError> {
        for place in places {
            let bytes = SPOILED.get(..place.length as usize).unwrap_or(&SPOILED);
            self.write_at(bytes, place.offset)?;
        }
        Ok(())
    }
}

impl Drop for PageStore {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
impl PageStore {
    /// What happens while what leads to the pages cannot be synced.
    pub(crate) fn while_unsynced<T>(&self, happens: impl FnOnce() -> T) -> T {
        self.while_unsynced_is(|open| &mut open.places_file, happens)
    }

    /// The same while the pages themselves cannot be.
    pub(crate) fn while_unwritten<T>(&self, happens: impl FnOnce() -> T) -> T {
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
mod tests {
    use super::*;

    type Ask = fn(&PageStore) -> Result<(), StoreError>;

    const fn name(page: u8) -> Name {
        [1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 1, page]
    }

    fn put(store: &PageStore, pages: &[(u8, &[u8])]) -> u64 {
        store.put(pages.iter().map(|(page, bytes)| (name(*page), *bytes))).unwrap()
    }

    #[test]
    fn what_leads_to_pages_that_are_gone_is_not_opened_until_all_is_removed() {
        let data = tempfile::tempdir().unwrap();
        let store = PageStore::open(data.path()).unwrap();
        put(&store, &[(1, b"first")]);
        store.sync().unwrap();
        store.close();
        let file = PageStore::folder(data.path()).join(PAGES_FILE);
        let whole = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        assert!(PageStore::open(data.path()).is_err());
        fs::write(&file, [b"OOPAGES1", &whole[8..]].concat()).unwrap();
        assert!(PageStore::open(data.path()).is_err());
        fs::write(&file, &whole).unwrap();
        assert!(PageStore::open(data.path()).is_ok());
        fs::write(&file, &whole[..7]).unwrap();
        assert!(PageStore::open(data.path()).is_err());
        PageStore::remove(data.path()).unwrap();
        let store = PageStore::open(data.path()).unwrap();
        assert_eq!(store.get(&name(1)), Ok(None));
    }

    /// Sled may lead to what such a sync gave it: nobody may write there.
    #[test]
    fn after_a_sync_that_failed_no_room_is_free_and_no_other_sync_succeeds() {
        let data = tempfile::tempdir().unwrap();
        let store = PageStore::open(data.path()).unwrap();
        put(&store, &[(1, b"first")]);
        assert!(store.while_unsynced(|| store.sync()).is_err());
        put(&store, &[(1, b"second")]);
        put(&store, &[(2, b"other")]);
        assert!(store.sync().is_err());
        assert_eq!(store.get(&name(1)), Ok(Some(b"second".to_vec())));
        assert_eq!(store.get(&name(2)), Ok(Some(b"other".to_vec())));
    }

    #[test]
    fn a_page_is_found_as_it_was_put_or_told_to_be_changed() {
        let data = tempfile::tempdir().unwrap();
        let store = PageStore::open(data.path()).unwrap();
        put(&store, &[(1, b"first"), (20, b"")]);
        store.sync().unwrap();
        put(&store, &[(1, b"second"), (2, b"third")]);
        assert_eq!(store.get(&name(1)), Ok(Some(b"second".to_vec())));
        store.sync().unwrap();
        store.close();
        assert!(store.get(&name(1)).is_err());

        let store = PageStore::open(data.path()).unwrap();
        assert_eq!(store.get(&name(1)), Ok(Some(b"second".to_vec())));
        assert_eq!(store.get(&name(2)), Ok(Some(b"third".to_vec())));
        assert_eq!(store.get(&name(20)), Ok(Some(Vec::new())));
        assert_eq!(store.get(&name(3)), Ok(None));
        // Sound bytes of another page are found too.
        let (file, moved) = (PageStore::folder(data.path()).join(PAGES_FILE), name(3));
        store
            .on(Step::Put, |open| {
                let place = open.place(&name(1))?.unwrap();
                open.lately().put(moved, place);
                Ok(())
            })
            .unwrap();
        assert!(store.get(&moved).is_err());
        let mut bytes = fs::read(&file).unwrap();
        let second = bytes.windows(6).position(|bytes| bytes == b"second").unwrap();
        bytes[second + 1] ^= 1;
        fs::write(&file, &bytes).unwrap();
        assert!(store.get(&name(1)).is_err());
        fs::write(&file, &bytes[..10]).unwrap();
        assert!(store.get(&name(2)).is_err());
        drop(store);
        PageStore::remove(data.path()).unwrap();
        PageStore::remove(data.path()).unwrap();
        assert_eq!(PageStore::open(data.path()).unwrap().get(&name(1)), Ok(None));
    }

    #[test]
    fn what_is_there_already_is_not_written_again() {
        let data = tempfile::tempdir().unwrap();
        let store = PageStore::open(data.path()).unwrap();
        assert_eq!(put(&store, &[(1, b"first"), (2, b"other")]), 10);
        let again = |pages: &[(u8, &'static [u8])]| {
            store.put_again(pages.iter().map(|(page, bytes)| (name(*page), *bytes))).unwrap()
        };
        assert_eq!(again(&[(1, b"first"), (2, b"other")]), 0);
        store.sync().unwrap();
        assert_eq!(again(&[(1, b"first"), (2, b"third"), (3, b"new")]), 8);
        assert_eq!(store.get(&name(2)), Ok(Some(b"third".to_vec())));
    }

    #[test]
    fn what_is_vouched_for_is_known_after_closing() {
        let data = tempfile::tempdir().unwrap();
        let store = PageStore::open(data.path()).unwrap();
        store.vouch(b"one", b"yes").unwrap();
        store.sync().unwrap();
        drop(store);
        let store = PageStore::open(data.path()).unwrap();
        assert_eq!(store.vouched(b"one"), Ok(Some(b"yes".to_vec())));
        assert_eq!(store.vouched(b"two"), Ok(None));
    }

    #[test]
    fn a_sync_that_fails_is_noted_whoever_asked_for_it_and_all_is_made_anew() {
        let sync = |store: &PageStore| store.sync();
        // Without anybody asking, when so many have gathered.
        let gather = |store: &PageStore| {
            let pages = (0..=NEW_MAX as u64).map(|number| {
                let mut name = name(0);
                name[5..].copy_from_slice(&number.to_be_bytes());
                (name, b"page".as_slice())
            });
            store.put(pages).map(drop)
        };
        let close = |store: &PageStore| {
            store.close();
            Err(StoreError::new(Step::Sync, "nobody is told"))
        };
        let write_out: Ask = |store| store.write_out().and_then(|()| store.sync());
        let ways: [(&str, Ask); 4] =
            [("sync", sync), ("write out", write_out), ("gather", gather), ("close", close)];
        let files: [fn(&mut Open) -> &mut File; 2] =
            [|open| &mut open.pages, |open| &mut open.places_file];
        for (way, ask) in ways {
            for (file, which) in files.into_iter().enumerate() {
                let data = tempfile::tempdir().unwrap();
                let store = PageStore::open(data.path()).unwrap();
                put(&store, &[(1, b"first")]);
                assert!(!PageStore::is_damaged(data.path()));
                let failed = store.while_unsynced_is(which, || ask(&store));
                assert_eq!(failed.map_err(|error| error.step), Err(Step::Sync), "{way} {file}");
                // Whatever a later sync is told.
                drop(store.sync());
                drop(store);
                assert!(PageStore::is_damaged(data.path()), "{way} {file}");
                PageStore::remove(data.path()).unwrap();
                let store = PageStore::open(data.path()).unwrap();
                assert_eq!(store.get(&name(1)), Ok(None));
                assert!(!PageStore::is_damaged(data.path()));
            }
        }
    }

    #[test]
    fn what_is_vouched_for_without_pages_is_not_opened() {
        let data = tempfile::tempdir().unwrap();
        let store = PageStore::open(data.path()).unwrap();
        store.vouch(b"one", b"yes").unwrap();
        store.close();
        let file = PageStore::folder(data.path()).join(PAGES_FILE);
        fs::remove_file(&file).unwrap();
        assert!(PageStore::open(data.path()).is_err());
        // Interrupted while it was made, there is nothing to be vouched for.
        PageStore::remove(data.path()).unwrap();
        drop(PageStore::open(data.path()).unwrap());
        fs::write(&file, &FORM[..3]).unwrap();
        drop(PageStore::open(data.path()).unwrap());
        assert_eq!(fs::read(&file).unwrap(), FORM);
    }

    #[test]
    fn who_is_led_to_the_bytes_that_a_page_had_before_is_told() {
        let data = tempfile::tempdir().unwrap();
        let store = PageStore::open(data.path()).unwrap();
        let sound = |page| store.get(&name(page)).is_ok();
        let placed = |page| store.on(Step::Read, |open| open.place(&name(page))).unwrap().unwrap();
        let lead = |page, to| {
            let lead = |open: &Open| {
                let (home, slot) = places::home(&name(page));
                let mut group = open.group(&home)?;
                group.set(slot, to);
                caught(Step::Put, || open.places.insert(home, group.encode()).map(drop))
            };
            store.on(Step::Put, lead).unwrap();
        };
        let all = [(1, b"first".as_slice()), (2, b"one"), (3, b"x")];
        put(&store, &all);
        store.sync().unwrap();
        let before: Vec<_> = all.iter().map(|(page, _)| (*page, placed(*page))).collect();
        assert!(before.iter().all(|(page, _)| sound(*page)));
        put(&store, &[(1, b"second"), (2, b"two!"), (3, b"yz")]);
        store.sync().unwrap();
        for (page, place) in before {
            assert!(sound(page));
            let now = placed(page);
            lead(page, place);
            assert!(!sound(page), "{page}");
            // Another page stands there.
            lead(page, now);
            put(&store, &[(10 + page, &vec![7; place.length as usize])]);
            assert_eq!(placed(10 + page).offset, place.offset);
            lead(page, place);
            assert!(!sound(page), "{page}");
            lead(page, now);
            assert!(sound(page) && sound(10 + page));
        }
    }

    #[test]
    fn pages_that_are_put_again_and_again_take_no_more_room() {
        let data = tempfile::tempdir().unwrap();
        let store = PageStore::open(data.path()).unwrap();
        let bytes = vec![7; 2000];
        let mut draw = draw();
        for round in 0..100 {
            // A few grow each time, and the rest stays.
            for page in 0..20 {
                put(
                    &store,
                    &[(page * 11 + draw(11), &bytes[..500 + round * 10 + usize::from(page)])],
                );
            }
            store.sync().unwrap();
        }
        let length = fs::metadata(PageStore::folder(data.path()).join(PAGES_FILE)).unwrap().len();
        let live = |page| store.get(&name(page)).unwrap().map_or(0, |page| page.len() as u64);
        let live: u64 = (0..220).map(live).sum();
        assert!(live > 150_000, "{live}");
        assert!(length < 2 * live, "{length} bytes for {live}");
    }

    /// Small numbers, the same each time.
    fn draw() -> impl FnMut(u8) -> u8 {
        let mut state = 88_172_645_463_325_252_u64;
        move |below| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            u8::try_from(state % u64::from(below)).unwrap()
        }
    }

    /// At every moment, as after a crash there, the disk has what was synced, or something later:
    /// what sled had then, and of the pages' file as much of what was written since as it likes.
    #[test]
    fn whatever_was_written_since_a_sync_what_it_had_is_there() {
        const PAGES: u8 = 40;
        let (data, crashed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (folder, copy) = (PageStore::folder(data.path()), PageStore::folder(crashed.path()));
        let store = PageStore::open(data.path()).unwrap();
        let mut draw = draw();
        let mut synced = Vec::new();
        let mut file = Vec::new();
        for step in 0..400 {
            let length = 40 + usize::from(draw(40));
            put(&store, &[(draw(PAGES), &vec![draw(250); length])]);
            if step % 23 == 22 {
                store.sync().unwrap();
                synced = (0..PAGES).map(|page| store.get(&name(page)).unwrap()).collect();
                file = fs::read(folder.join(PAGES_FILE)).unwrap();
            }
            if step % 3 != 0 || synced.is_empty() {
                continue;
            }
            PageStore::remove(crashed.path()).unwrap();
            fs::create_dir(&copy).unwrap();
            for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
                if entry.file_type().unwrap().is_file() {
                    fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
                }
            }
            // Some of the bytes written since have reached the disk.
            let mut since = fs::read(folder.join(PAGES_FILE)).unwrap();
            for (byte, before) in since.iter_mut().zip(&file) {
                if *byte != *before && draw(2) == 0 {
                    *byte = *before;
                }
            }
            fs::write(copy.join(PAGES_FILE), since).unwrap();
            let found = PageStore::open(crashed.path()).unwrap();
            for (page, was) in (0..PAGES).zip(&synced) {
                assert_eq!(found.get(&name(page)).as_ref(), Ok(was), "{page} after {step}");
            }
        }
    }

    #[test]
    fn who_is_about_to_read_a_page_that_moves_reads_it_where_it_is() {
        let data = tempfile::tempdir().unwrap();
        let store = PageStore::open(data.path()).unwrap();
        put(&store, &[(1, b"first")]);
        store.sync().unwrap();
        let read = |open: &Open| {
            let place = open.place(&name(1))?;
            for page in [b"second".as_slice(), b"third"] {
                put(&store, &[(1, page)]);
                store.sync()?;
                assert_eq!(open.read(&name(1), place), Ok(Some(page.to_vec())));
            }
            // It is found again, and is not as it was.
            open.spoil(open.place(&name(1))?.as_slice())?;
            assert!(open.read(&name(1), place).is_err());
            Ok(())
        };
        store.on(Step::Read, read).unwrap();
    }
}
