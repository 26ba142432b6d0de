//! A wrapper around sled: its tree of blocks, its errors in plain words, its panics caught. The
//! journal's store and the page store open sled only through it.

use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use super::block::{Block, RawBlock};
use super::groups::{Group, Members, UnflushedBlocks, owned};
use super::marker::Witness;
use super::store::{BlockSource, OpenError, Step, StoreError, Stored};
use exchange::units::Sequence;

/// sled's segment size, fixed when the journal is created, and the largest it allows. sled moves
/// any page over a quarter of it into `blobs/`, which it never syncs; with 16 MiB no page of blocks
/// comes near 4 MiB (at sled's default, group commits over 13 kB did).
pub(super) const SEGMENT_BYTES: usize = 16 << 20;
/// sled's page cache, in leaves: a leaf holds up to 17 values, as sled splits one of more than 16
/// when it next comes by. Appends touch only the last leaf and replay reads everything once, so
/// more would be wasted.
const CACHE_BYTES: u64 = 8 << 20;
/// Bytes of a block per extra access to its leaf, see [`touch`].
const BYTES_PER_ACCESS: usize = 1 << 10;
/// How often a lock is retried that is about to be released, and the pause between.
const LOCK_TRIES_MAX: u32 = 500;
/// See [`LOCK_TRIES_MAX`]: five seconds in all.
const LOCK_TRY_EVERY: Duration = Duration::from_millis(10);
/// sled's tree that holds the blocks.
const TREE: &str = "blocks";
/// sled's data file.
pub(super) const DATABASE_FILE: &str = "db";
/// sled's settings.
const SETTINGS_FILE: &str = "conf";
/// Prefix of sled's snapshots, which it reads when it opens.
const SNAPSHOT_PREFIX: &str = "snap.";
/// Their suffix until they are complete.
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
        // The name of sled's new snapshot must be durable before anything is built on it.
        let named = File::open(dir).and_then(|dir| dir.sync_all());
        named.map_err(|error| StoreError::new(Step::Open, error))?;
        let blocks = caught(Step::Open, || db.open_tree(TREE))?;
        Ok(Sled { db: Some(db), blocks: SledBlocks::of(blocks) })
    }

    /// Removes the blocks that begin at or after a record; a group that also holds earlier ones is
    /// shortened.
    pub(super) fn cut(&self, from: Sequence) -> Result<(), StoreError> {
        while let Some((first, _)) = self.blocks.group_from(from)? {
            self.blocks.on_blocks(Step::Remove, |blocks| blocks.remove(key(first)).map(drop))?;
        }
        let Some((first, group)) = self.blocks.group_holding(from)? else { return Ok(()) };
        let kept = Members::of(first, &group).take_while(|(first, _)| *first < from);
        let kept = kept.fold(0_usize, |kept, (_, block)| kept.saturating_add(block.len()));
        match group.get(..kept) {
            Some(kept) if kept.len() < group.len() => self
                .blocks
                .on_blocks(Step::Remove, |blocks| blocks.insert(key(first), kept).map(drop)),
            _ => Ok(()),
        }
    }

    /// Gives sled the log's blocks that it lacks; `before` is the block it must have already.
    pub(super) fn take_over(&self, log: &[Block], before: Witness) -> Result<(), OpenError> {
        let found = self.blocks.at_or_before(before.last)?;
        let found = found.and_then(|(_, bytes)| RawBlock::new(bytes).decode().ok());
        let last = found.as_ref().map_or(Sequence::ZERO, Block::last);
        if before != Witness::NONE
            && found.is_none_or(|block| (block.last(), block.hash()) != (before.last, before.hash))
        {
            return Err(OpenError::Short { known: before.last, found: last });
        }
        let mut missing = UnflushedBlocks::default();
        for block in log {
            match self.blocks.at_or_after(block.first())? {
                Some((key, bytes)) if key == block.first() && bytes == block.bytes() => {
                    self.blocks.insert_all(&missing.all())?;
                    missing.clear();
                }
                Some((key, _)) if key <= block.last() => {
                    return Err(exists(key).into());
                }
                _ => missing.put(block.first(), block.bytes()),
            }
        }
        Ok(self.blocks.insert_all(&missing.all())?)
    }
}

/// The blocks: sled's tree of groups, and the newest, which sled was not given yet; shared with
/// readers on other threads. Each reader locks the tree for one call only, and closing the store
/// takes it away, so that readers cannot keep sled open.
#[derive(Debug, Clone)]
pub(super) struct SledBlocks {
    tree: Arc<RwLock<Option<sled::Tree>>>,
    buffer: Arc<Mutex<UnflushedBlocks>>,
}

impl SledBlocks {
    fn of(tree: sled::Tree) -> SledBlocks {
        SledBlocks { tree: Arc::new(RwLock::new(Some(tree))), buffer: Arc::default() }
    }

    /// Buffers the next block, which sled is given later in a group.
    pub(super) fn put(&self, first: Sequence, block: &[u8]) {
        self.buffer().put(first, block);
    }

    /// The groups that sled was not given yet.
    pub(super) fn buffered(&self) -> Vec<Group> {
        self.buffer().all()
    }

    /// Gives sled all buffered groups.
    pub(super) fn insert_buffered(&self) -> Result<(), StoreError> {
        self.insert_oldest(&self.buffered())
    }

    /// Gives sled these groups, which must be the oldest buffered.
    pub(super) fn insert_oldest(&self, groups: &[Group]) -> Result<(), StoreError> {
        for (first, group) in groups {
            self.insert(*first, group)?;
            self.buffer().forget(*first);
        }
        Ok(())
    }

    fn insert_all(&self, groups: &[Group]) -> Result<(), StoreError> {
        groups.iter().try_for_each(|(first, group)| self.insert(*first, group))
    }

    pub(super) fn insert(&self, first: Sequence, group: &[u8]) -> Result<(), StoreError> {
        let swapped = self.on_blocks(Step::Put, |blocks| {
            let swapped = blocks.compare_and_swap(key(first), None::<&[u8]>, Some(group))?;
            touch(blocks, &key(first), group.len() / BYTES_PER_ACCESS)?;
            Ok(swapped)
        })?;
        // Blocks are never overwritten: a key that exists means that the head was wrong.
        swapped.map_err(|_| exists(first))
    }

    pub(super) fn on_blocks<T>(
        &self,
        step: Step,
        call: impl FnOnce(&sled::Tree) -> sled::Result<T>,
    ) -> Result<T, StoreError> {
        let closed = || StoreError::new(step, "the store is closed");
        // The lock cannot be poisoned: `caught` catches panics inside it.
        let blocks = self.tree.read().unwrap_or_else(PoisonError::into_inner);
        let blocks = blocks.as_ref().ok_or_else(closed)?;
        caught(step, || call(blocks))
    }

    /// The last group that begins at or before a record.
    fn group_holding(
        &self,
        record: Sequence,
    ) -> Result<Option<(Sequence, sled::IVec)>, StoreError> {
        let found = self
            .on_blocks(Step::Read, |blocks| blocks.range(..=key(record)).next_back().transpose());
        found?.map(decode_key).transpose()
    }

    /// The first group that begins at or after a record.
    fn group_from(&self, record: Sequence) -> Result<Option<(Sequence, sled::IVec)>, StoreError> {
        let found =
            self.on_blocks(Step::Read, |blocks| blocks.range(key(record)..).next().transpose());
        found?.map(decode_key).transpose()
    }

    /// The first block in sled that begins at or after a record.
    fn in_tree_from(&self, from: Sequence) -> Result<Option<Stored>, StoreError> {
        if let Some((first, group)) = &self.group_holding(from)?
            && let Some(block) = Members::of(*first, group).at_or_after(from)
        {
            return self.read(*first, block).map(Some);
        }
        let Some((first, group)) = self.group_from(from)? else { return Ok(None) };
        let block = Members::of(first, &group).next();
        block.map(|block| self.read(first, block)).transpose()
    }

    /// A copy of a group's block.
    fn read(&self, group: Sequence, block: (Sequence, &[u8])) -> Result<Stored, StoreError> {
        let accesses = block.1.len() / BYTES_PER_ACCESS;
        if accesses > 0 {
            self.on_blocks(Step::Read, |blocks| touch(blocks, &key(group), accesses))?;
        }
        Ok(owned(block))
    }

    fn buffer(&self) -> MutexGuard<'_, UnflushedBlocks> {
        // The buffer is consistent between any two calls, even after a panic.
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the running call and takes the tree away. The tree goes before the buffer is
    /// cleared: a reader assumes that what is not in the buffer is in the tree.
    fn close(&self) -> Option<sled::Tree> {
        let tree = self.tree.write().unwrap_or_else(PoisonError::into_inner).take();
        self.buffer().clear();
        tree
    }
}

impl BlockSource for SledBlocks {
    fn at_or_before(&self, until: Sequence) -> Result<Option<Stored>, StoreError> {
        if let Some(block) = self.buffer().at_or_before(until) {
            return Ok(Some(block));
        }
        let Some((first, group)) = self.group_holding(until)? else { return Ok(None) };
        let block = Members::of(first, &group).at_or_before(until);
        block.map(|block| self.read(first, block)).transpose()
    }

    fn at_or_after(&self, from: Sequence) -> Result<Option<Stored>, StoreError> {
        {
            let buffer = self.buffer();
            if buffer.first().is_some_and(|first| first <= from) {
                return Ok(buffer.at_or_after(from));
            }
        }
        if let Some(block) = self.in_tree_from(from)? {
            return Ok(Some(block));
        }
        let buffer = self.buffer().at_or_after(from);
        // Meanwhile sled may have been given an earlier block.
        Ok(self.in_tree_from(from)?.or(buffer))
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

/// A database's segment size and cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub segment_bytes: usize,
    pub cache_bytes: u64,
}

/// Opens a sled database. The data directory is locked already, so sled's own lock can only be held
/// by a store that is just being dropped: it is released a moment later.
pub(super) fn open_db(dir: &Path, shape: Shape) -> Result<sled::Db, StoreError> {
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
        // Settings are written before the data file is created, and mean nothing without it.
        if snapshot || name == SETTINGS_FILE && !has_database {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Accesses a leaf `times` more, by a key that was just read or written. sled evicts leaves only
/// after every 64th access to one of the 256 shards of its cache, whatever their size: leaves of
/// large values, accessed a few times each, would grow to hundreds of megabytes before that. So
/// large reads and writes count as several accesses.
fn touch(tree: &sled::Tree, key: &[u8], times: usize) -> sled::Result<()> {
    for _ in 0..times {
        tree.contains_key(key)?;
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
        None => !still_locked(cause),
    };
    StoreError { damaged: failed.damaged || contents, ..failed }
}

fn exists(first: Sequence) -> StoreError {
    StoreError::damage(Step::Put, format_args!("block {first} exists"))
}

/// Big-endian, so that sled's byte order is numeric order.
const fn key(sequence: Sequence) -> [u8; 8] {
    sequence.get().to_be_bytes()
}

fn decode_key(
    (key, group): (sled::IVec, sled::IVec),
) -> Result<(Sequence, sled::IVec), StoreError> {
    let number = <[u8; 8]>::try_from(&*key)
        .map_err(|_| StoreError::damage(Step::Read, "a key is not 8 bytes long"))?;
    Ok((Sequence::new(u64::from_be_bytes(number)), group))
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

#[cfg(test)]
#[path = "../../tests/unit/journal/tree.rs"]
mod tests;
