//! sled itself: its tree of blocks, its errors in our words, its panics caught.

use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use super::block::{Block, RawBlock};
use super::marker::Witness;
use super::store::{BlockSource, OpenError, Step, StoreError, Stored};
use crate::exchange::units::Sequence;

/// The largest segment sled allows, fixed when the journal is made. sled moves any page over a
/// quarter of it into `blobs/`, files that it never syncs; at 4 MiB no page of our blocks comes
/// near (at sled's default, group commits over 13 kB did).
pub(super) const SEGMENT_BYTES: usize = 16 << 20;
/// sled's page cache. Appends touch the last leaf only and reading goes through once, so more
/// would be taken from the exchange for nothing.
const CACHE_BYTES: u64 = 8 << 20;
/// Bytes of a block for which its leaf is accessed once more, see [`weigh`].
const BYTES_PER_ACCESS: usize = 1 << 10;
/// How often, and with which pause, a lock is tried that is about to be let go.
const LOCK_TRIES_MAX: u32 = 500;
/// See [`LOCK_TRIES_MAX`]: five seconds in all.
const LOCK_TRY_EVERY: Duration = Duration::from_millis(10);
/// sled's tree that holds the blocks.
const TREE: &str = "blocks";
/// sled's data file.
const DATABASE_FILE: &str = "db";
/// sled's settings.
const SETTINGS_FILE: &str = "conf";
/// How the names of sled's snapshots begin, which it takes when it opens.
const SNAPSHOT_PREFIX: &str = "snap.";
/// How they end until they are finished.
const UNFINISHED_SUFFIX: &str = ".generating";

/// sled itself, each call inside `catch_unwind`: it panics on some of the damage it meets.
#[derive(Debug)]
pub(super) struct Sled {
    db: Option<sled::Db>,
    pub(super) blocks: SledBlocks,
}

impl Sled {
    /// Opens sled's directory.
    pub(super) fn open(dir: &Path) -> Result<Sled, StoreError> {
        let db = open_db(dir, Shape { segment_bytes: SEGMENT_BYTES, cache_bytes: CACHE_BYTES })?;
        // Its new snapshot has its name before anything is built on that.
        let named = File::open(dir).and_then(|dir| dir.sync_all());
        named.map_err(|error| StoreError::new(Step::Open, error))?;
        let blocks = caught(Step::Open, || db.open_tree(TREE))?;
        Ok(Sled { db: Some(db), blocks: SledBlocks(Arc::new(RwLock::new(Some(blocks)))) })
    }

    pub(super) fn insert(&self, first: Sequence, bytes: &[u8]) -> Result<(), StoreError> {
        let swapped = self.blocks.on_blocks(Step::Put, |blocks| {
            let swapped = blocks.compare_and_swap(key(first), None::<&[u8]>, Some(bytes))?;
            weigh(blocks, &key(first), bytes.len() / BYTES_PER_ACCESS)?;
            Ok(swapped)
        })?;
        // Blocks are written once. A key that is taken means that the head was wrong.
        swapped.map_err(|_| StoreError::new(Step::Put, format_args!("block {first} exists")))
    }

    pub(super) fn remove(&self, first: Sequence) -> Result<(), StoreError> {
        self.blocks.on_blocks(Step::Remove, |blocks| blocks.remove(key(first)).map(drop))
    }

    /// Gives it the blocks of the log that it lacks; `before` them must be what it has.
    pub(super) fn take_over(&self, log: &[Block], before: Witness) -> Result<(), OpenError> {
        let found = self.blocks.at_or_before(before.last)?;
        let found = found.and_then(|(_, bytes)| RawBlock::new(bytes).decode().ok());
        let last = found.as_ref().map_or(Sequence::ZERO, Block::last);
        if before != Witness::NONE
            && found.is_none_or(|block| (block.last(), block.hash()) != (before.last, before.hash))
        {
            return Err(OpenError::Short { known: before.last, found: last });
        }
        for block in log {
            match self.blocks.at_or_after(block.first())? {
                Some((key, bytes)) if key == block.first() && bytes == block.bytes() => {}
                _ => self.insert(block.first(), block.bytes())?,
            }
        }
        Ok(())
    }
}

/// sled's tree of blocks, shared with readers on other threads. They hold it for one call at a
/// time, and the store takes it away when it closes: whoever opens sled next finds it let go.
#[derive(Debug, Clone)]
pub(super) struct SledBlocks(Arc<RwLock<Option<sled::Tree>>>);

impl SledBlocks {
    pub(super) fn on_blocks<T>(
        &self,
        step: Step,
        call: impl FnOnce(&sled::Tree) -> sled::Result<T>,
    ) -> Result<T, StoreError> {
        let closed = || StoreError::new(step, "the store is closed");
        // Nothing panics while it holds this: `caught` is inside.
        let blocks = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let blocks = blocks.as_ref().ok_or_else(closed)?;
        caught(step, || call(blocks))
    }

    /// Reads one block.
    fn one(
        &self,
        find: impl FnOnce(&sled::Tree) -> Option<sled::Result<(sled::IVec, sled::IVec)>>,
    ) -> Result<Option<Stored>, StoreError> {
        let found = self.on_blocks(Step::Read, |blocks| {
            let Some(found) = find(blocks).transpose()? else { return Ok(None) };
            weigh(blocks, &found.0, found.1.len() / BYTES_PER_ACCESS)?;
            Ok(Some(found))
        })?;
        found.map(stored).transpose()
    }

    /// Waits for the call that is running, and leaves nothing for the next.
    fn close(&self) -> Option<sled::Tree> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl BlockSource for SledBlocks {
    fn at_or_before(&self, until: Sequence) -> Result<Option<Stored>, StoreError> {
        self.one(|blocks| blocks.range(..=key(until)).next_back())
    }

    fn at_or_after(&self, from: Sequence) -> Result<Option<Stored>, StoreError> {
        self.one(|blocks| blocks.range(key(from)..).next())
    }
}

impl Drop for Sled {
    fn drop(&mut self) {
        // Closing flushes, and may panic after a failure that was reported when it happened.
        let (db, blocks) = (self.db.take(), self.blocks.close());
        let closed = catch_unwind(AssertUnwindSafe(|| drop((blocks, db))));
        drop(closed);
    }
}

/// How a database is laid out, and what of it is kept in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub segment_bytes: usize,
    pub cache_bytes: u64,
}

/// Opens a database of sled's. The data directory's lock is ours by now, so whoever still holds
/// sled's own is a store that is just being dropped: it lets go a moment after its owner.
pub(super) fn open_db(dir: &Path, shape: Shape) -> Result<sled::Db, StoreError> {
    let mut tries = LOCK_TRIES_MAX;
    let config = sled::Config::new()
        .path(dir)
        .segment_size(shape.segment_bytes)
        .cache_capacity(shape.cache_bytes)
        .mode(sled::Mode::HighThroughput)
        .flush_every_ms(None);
    loop {
        clear_unfinished(dir).map_err(|error| StoreError::new(Step::Open, error))?;
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

/// Takes away what a start that was cut short left half made. sled means to pass over a snapshot
/// that was not finished, but looks for another suffix than it writes: it would take that one for
/// its newest, and call its files damaged. Nothing is built on a snapshot before it is finished,
/// and the one before is there until then.
fn clear_unfinished(dir: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let has_database = dir.join(DATABASE_FILE).try_exists()?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let snapshot = name.starts_with(SNAPSHOT_PREFIX) && name.ends_with(UNFINISHED_SUFFIX);
        // Settings are written before the data file is made, and say nothing without it.
        if snapshot || name == SETTINGS_FILE && !has_database {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Accesses a leaf so many times more, by a key that was just read or written. sled looks for
/// leaves to forget after every 64th access to one of the 256 parts of its cache, however large
/// they are: those of large values, accessed a few times each, would come to hundreds of megabytes
/// before that. So whoever reads or writes much says so.
fn weigh(tree: &sled::Tree, key: &[u8], times: usize) -> sled::Result<()> {
    for _ in 0..times {
        tree.contains_key(key)?;
    }
    Ok(())
}

/// sled gives this failure no kind of its own.
fn still_locked(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock || error.to_string().contains("acquire lock")
}

/// Runs a call of sled; its error or its panic becomes ours.
pub(super) fn caught<T>(
    step: Step,
    call: impl FnOnce() -> sled::Result<T>,
) -> Result<T, StoreError> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| StoreError::new(step, in_words(&error))),
        // What it was is for whoever debugs, from the process's panic hook.
        Err(_) => Err(StoreError::new(step, "the store met damage that it cannot read past")),
    }
}

/// Big-endian, so that sled's order of bytes is the order of numbers.
const fn key(sequence: Sequence) -> [u8; 8] {
    sequence.get().to_be_bytes()
}

fn stored((key, bytes): (sled::IVec, sled::IVec)) -> Result<Stored, StoreError> {
    let number = <[u8; 8]>::try_from(&*key)
        .map_err(|_| StoreError::new(Step::Read, "a key is not 8 bytes long"))?;
    Ok((Sequence::new(u64::from_be_bytes(number)), bytes.to_vec()))
}

/// sled's errors in words of ours: its own name its sources and its code.
fn in_words(error: &sled::Error) -> String {
    match error {
        sled::Error::Io(error) => format!("the store could not use its files: {error}"),
        sled::Error::Corruption { .. } => "the store's files are damaged".to_owned(),
        sled::Error::Unsupported(_) => "the store's files are of another form".to_owned(),
        sled::Error::CollectionNotFound(_) => "the store has no tree of blocks".to_owned(),
        sled::Error::ReportableBug(_) => "the store met a state that cannot be".to_owned(),
    }
}
