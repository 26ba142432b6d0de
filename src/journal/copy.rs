//! The copy of the sealed log in sled: each member under its first record, written behind and never
//! waited for. Everything in it can be made again from the log; it is worth having where the log is
//! damaged. It is open only while it is used, because sled keeps what it has touched in memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{io, thread};

use super::block::{Block, ChainHash, Head, RawBlock};
use super::disk::{self, File};
use super::portable::sync_folder_of;
use super::segment::{Packed, place, unpack};
use super::store::{Step, StoreError};
use super::trees::{self, DATABASE_FILE, Db, Tree};
use exchange::units::Sequence;

/// sled's tree that holds the members.
const TREE: &str = "blocks";
/// sled's segments and its cache.
const SHAPE: Shape = Shape { segment_bytes: 8 << 20, cache_bytes: 8 << 20 };
/// Suffix of a copy that was moved aside.
const ASIDE: &str = "aside";
/// Suffix of the file that says how far the copy reaches, so that an idle start need not open it.
const FED: &str = "fed";

/// Where the copy is. One uses it at a time.
#[derive(Debug)]
pub(super) struct CopyFolder {
    path: PathBuf,
    turn: Mutex<()>,
}

impl CopyFolder {
    pub(super) fn at(path: PathBuf) -> CopyFolder {
        CopyFolder { path, turn: Mutex::new(()) }
    }

    /// Whether there is a copy.
    pub(super) fn exists(&self) -> bool {
        disk::exists(&self.path.join(DATABASE_FILE))
    }

    /// Removes the note of a copy that is gone: it would vouch for the next one before that is
    /// whole.
    pub(super) fn forget(&self) -> Result<(), StoreError> {
        let note = self.path.with_extension(FED);
        if !disk::exists(&note) {
            return Ok(());
        }
        let gone = disk::remove_file(note).and_then(|()| sync_folder_of(&self.path));
        gone.map_err(|error| StoreError::of(Step::Remove, &error, &error))
    }

    /// Opens the copy, makes it if it is missing, and closes it after use.
    pub(super) fn with<T>(
        &self,
        using: impl FnOnce(&Copy) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let db = open_db(&self.path, SHAPE)?;
        let members = caught(Step::Open, || db.open_tree(TREE))?;
        let copy = Copy { members };
        let used = using(&copy);
        // Closing flushes, and may panic after a failure that was reported when it happened.
        let closed = caught(Step::Flush, || {
            drop((copy, db));
            Ok(())
        });
        used.and_then(|used| closed.map(|()| used))
    }

    /// Moves the copy aside, so that it is made anew. One that was never whole gives way to what is
    /// aside: that may have what the log lacks.
    pub(super) fn set_aside(&self) -> io::Result<()> {
        let (aside, whole) = (self.path.with_extension(ASIDE), self.fed().is_some());
        absent(disk::remove_file(self.path.with_extension(FED)))?;
        if !whole && disk::exists(&aside) {
            return absent(disk::remove_dir_all(&self.path));
        }
        absent(disk::remove_dir_all(&aside))?;
        absent(disk::rename(&self.path, aside))
    }

    /// The last segment of which the copy has all, as far as that was noted.
    pub(super) fn fed(&self) -> Option<Sequence> {
        let noted = disk::read_to_string(self.path.with_extension(FED)).ok()?;
        noted.trim().parse().ok().map(Sequence::new)
    }

    /// Notes that segment, once the copy is on disk: a note that a power cut leaves without what it
    /// is about would keep the copy from ever being given it.
    pub(super) fn note_fed(&self, segment: Option<Sequence>) -> Result<(), StoreError> {
        let Some(segment) = segment else { return Ok(()) };
        let note = || {
            File::open(self.path.join(DATABASE_FILE))?.sync_data()?;
            File::open(&self.path)?.sync_all()?;
            sync_folder_of(&self.path)?;
            disk::write(self.path.with_extension(FED), format!("{segment}\n"))
        };
        note().map_err(|error| StoreError::of(Step::Put, &error, &error))
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

fn absent(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// The open copy.
pub(super) struct Copy {
    members: Tree,
}

impl Copy {
    /// The last member.
    pub(super) fn last(&self) -> Result<Option<Packed>, StoreError> {
        caught(Step::Read, || self.members.last())?.map(decoded).transpose()
    }

    /// The members whose first records are in a range, in order.
    pub(super) fn range(&self, from: Sequence, to: Sequence) -> Result<Vec<Packed>, StoreError> {
        let range = self.members.range(key(from)..key(to));
        let all = caught(Step::Read, || range.collect::<Result<Vec<_>, _>>())?;
        all.into_iter().map(decoded).collect()
    }

    /// Puts a member.
    pub(super) fn put(&self, first: Sequence, member: &[u8]) -> Result<(), StoreError> {
        caught(Step::Put, || self.members.insert(key(first), member).map(drop))
    }

    /// Writes what was put to sled's file.
    pub(super) fn flush(&self) -> Result<(), StoreError> {
        caught(Step::Flush, || self.members.flush().map(drop))
    }
}

/// Big-endian, so that sled's byte order is numeric order.
const fn key(sequence: Sequence) -> [u8; 8] {
    sequence.get().to_be_bytes()
}

fn decoded((key, member): (sled::IVec, sled::IVec)) -> Result<Packed, StoreError> {
    let number = <[u8; 8]>::try_from(&*key)
        .map_err(|_| StoreError::damage(Step::Read, "a key of the copy is not 8 bytes long"))?;
    Ok((Sequence::new(u64::from_be_bytes(number)), member.to_vec()))
}

// sled 0.34, each call inside `catch_unwind`: it panics on some of the damage it meets. The copy
// of the journal and the index of the pages open it only through here.

/// How often a lock is retried that is about to be released, and the pause between.
const LOCK_TRIES_MAX: u32 = 500;
/// See [`LOCK_TRIES_MAX`]: five seconds in all.
const LOCK_TRY_EVERY: Duration = Duration::from_millis(10);
/// sled's settings.
const SETTINGS_FILE: &str = "conf";
/// Prefix of sled's snapshots, which it reads when it opens.
const SNAPSHOT_PREFIX: &str = "snap.";
/// Their suffix until they are complete.
const UNFINISHED_SUFFIX: &str = ".generating";

/// A database's segment size and cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub segment_bytes: usize,
    pub cache_bytes: u64,
}

/// Opens trees: sled's, or those of a mounted disk.
pub(super) fn open_db(dir: &Path, shape: Shape) -> Result<Db, StoreError> {
    match trees::mounted(dir) {
        Some(opened) => caught(Step::Open, || opened),
        None => open_sled(dir, shape).map(trees::of_sled),
    }
}

/// Opens a sled database. The data directory is locked already, so sled's own lock can only be held
/// by a store that is just being dropped: it is released a moment later.
pub(super) fn open_sled(dir: &Path, shape: Shape) -> Result<sled::Db, StoreError> {
    // If the system gives it no thread, sled waits forever.
    let given = thread::Builder::new().spawn(|| ()).map(|thread| drop(thread.join()));
    given.map_err(|error| StoreError::of(Step::Open, &error, &error))?;
    let mut tries = LOCK_TRIES_MAX;
    // It asks the system's clock for a name that it does not need, and panics before 1970.
    let impossible = |_| StoreError::new(Step::Open, "the system's clock is set before 1970");
    let config = catch_unwind(sled::Config::new)
        .map_err(impossible)?
        .path(dir)
        .segment_size(shape.segment_bytes)
        .cache_capacity(shape.cache_bytes)
        .mode(sled::Mode::HighThroughput)
        .flush_every_ms(None);
    loop {
        clear_unfinished(dir).map_err(|error| StoreError::of(Step::Open, &error, &error))?;
        let opened = caught(Step::Open, || match config.open() {
            Err(sled::Error::Io(error)) if tries > 0 && still_locked(&error) => Ok(None),
            opened => opened.map(Some),
        })?;
        if let Some(db) = opened {
            return Ok(db);
        }
        tries = tries.saturating_sub(1);
        thread::sleep(LOCK_TRY_EVERY);
    }
}

/// Removes a snapshot that an interrupted start left incomplete. sled means to skip those, but
/// looks for another suffix than it writes: it would take the file for its newest snapshot and
/// report damage. Nothing depends on a snapshot before it is complete; the previous one exists
/// until then.
fn clear_unfinished(dir: &Path) -> io::Result<()> {
    let entries = match disk::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let has_database = disk::exists(&dir.join(DATABASE_FILE));
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let snapshot = name.starts_with(SNAPSHOT_PREFIX) && name.ends_with(UNFINISHED_SUFFIX);
        // Settings are written before the data file is created, and mean nothing without it.
        if snapshot || name == SETTINGS_FILE && !has_database {
            disk::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// sled gives this failure no error kind.
fn still_locked(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock || error.to_string().contains("acquire lock")
}

/// Calls sled; turns its error or panic into a [`StoreError`].
pub(super) fn caught<T>(
    step: Step,
    call: impl FnOnce() -> sled::Result<T>,
) -> Result<T, StoreError> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| match &error {
            sled::Error::Io(cause) => store_io(step, describe(&error), cause),
            _ => StoreError::damage(step, describe(&error)),
        }),
        // The process's panic hook prints the details.
        Err(_) => Err(StoreError::damage(step, "the store met damage that it cannot read past")),
    }
}

/// A failure of sled's input or output. A missing file is one that its other files name; an error
/// that the system did not give is about their contents, unless it is about the lock.
fn store_io(step: Step, what: String, cause: &io::Error) -> StoreError {
    let failed = StoreError::of(step, what, cause);
    let contents = match cause.raw_os_error() {
        Some(_) => cause.kind() == io::ErrorKind::NotFound,
        None => !failed.by_system && !still_locked(cause),
    };
    StoreError { damaged: failed.damaged || contents, ..failed }
}

/// sled's errors in plain words: its own text names its sources and its code.
fn describe(error: &sled::Error) -> String {
    match error {
        sled::Error::Io(error) => format!("the store could not use its files: {error}"),
        sled::Error::Corruption { .. } => "the store's files are damaged".to_owned(),
        sled::Error::Unsupported(_) => "the store's files are of another form".to_owned(),
        sled::Error::CollectionNotFound(_) => "the store has no tree of blocks".to_owned(),
        sled::Error::ReportableBug(_) => "the store met a state that cannot be".to_owned(),
    }
}

// Mends the sealed log from its copy, as far as the chain says that the copy has what was there.

/// What a segment must fit between.
#[derive(Debug)]
pub(super) struct Neighbours {
    /// Where the segments before it end.
    pub(super) before: Head,
    /// Its first record.
    pub(super) first: Sequence,
    /// The first record of the next segment, and the hash that its first block carries, if there is
    /// one that can be read.
    pub(super) next: (Sequence, Option<ChainHash>),
}

/// Makes a segment of the copy's members, or of those of the one that was moved aside.
pub(super) fn mend(path: &Path, between: &Neighbours, copy: &CopyFolder) -> Result<(), StoreError> {
    mend_from(path, between, copy).or_else(|error| {
        let aside = CopyFolder::at(copy.path.with_extension(ASIDE));
        mend_from(path, between, &aside).map_err(|_| error)
    })
}

fn mend_from(path: &Path, between: &Neighbours, copy: &CopyFolder) -> Result<(), StoreError> {
    let (next, hash) = between.next;
    if !copy.exists() {
        return Err(lacks("there is no copy"));
    }
    let members = copy.with(|copy| copy.range(between.first, next))?;
    let end = chained(&members, between.before)?;
    if end.sequence.next() != next || hash.is_some_and(|hash| hash != end.hash) {
        return Err(lacks("the copy does not lead to what follows"));
    }
    let placed = place(path, members.iter().map(|(_, member)| member.as_slice()));
    placed.map(drop).map_err(|error| StoreError::of(Step::Put, &error, &error))
}

/// Verifies that members continue a chain; returns where they lead.
pub(super) fn chained(members: &[Packed], before: Head) -> Result<Head, StoreError> {
    let mut head = before;
    for (first, member) in members {
        let run = unpack(member, *first).map_err(|what| lacks(&what))?;
        for (_, block) in run.blocks() {
            let block: Block = RawBlock::new(block.to_vec())
                .decode()
                .and_then(|block| block.follows(&head).map(|()| block))
                .map_err(|fault| lacks(&fault.to_string()))?;
            head = block.head();
        }
    }
    Ok(head)
}

fn lacks(what: &str) -> StoreError {
    StoreError::damage(Step::Read, what)
}

#[cfg(test)]
#[path = "../../tests/unit/journal/tree.rs"]
mod tests;
