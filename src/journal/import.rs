//! Builds a journal in a new data directory from verified blocks, for `import` and `salvage`. Until
//! every block is durable and was read back, the directory cannot be opened as a journal.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

use super::block::{Block, BlockFault, Head, RawBlock};
use super::copy::{Shape, caught, open_sled};
use super::directory::{
    JOURNAL_DIR, LOCK_FILE, LogJournal, LogStore, UNFINISHED_FILE, at, lock, log_of, sync_names,
};
use super::disk::{self, File, OpenOptions};
use super::log::{segment, segment_bytes};
use super::recovery::{self, Marker, Reason, SLOT_BYTES};
use super::segment::{Run, pack, place};
use super::store::{OpenError, Step, StoreError};
use super::watch::MARKER_FILE;
use super::{Damage, Durable, Journal, JournalError, segment};
use exchange::units::Sequence;

/// The marker while it is being made.
const PARTIAL_MARKER_FILE: &str = "refused.partial";

/// Why an import failed. Once it created anything, only another import can open the directory.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The directory is not empty.
    #[error("IMPORT_NOT_EMPTY: {0} is not empty; a journal is imported into a new directory")]
    NotEmpty(PathBuf),
    /// There is no block to import.
    #[error("IMPORT_EMPTY: there is no block to import")]
    Empty,
    /// The blocks could not be read, or are damaged.
    #[error(transparent)]
    Source(JournalError),
    /// The directory's own files could not be created.
    #[error("IMPORT_FAILED: {0}")]
    File(#[from] io::Error),
    /// The store could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store could not take a block.
    #[error("IMPORT_FAILED: {0}")]
    Store(#[from] StoreError),
    /// What is read back differs from what was written.
    #[error("IMPORT_FAILED: read back after it was written: {0}")]
    ReadBack(JournalError),
    /// The journal does not end with the last block imported.
    #[error("IMPORT_FAILED: the journal that was made ends with record {}", .0.sequence)]
    Other(Head),
}

/// Makes a journal of exactly these blocks, which must be a chain from record 1. Calls `on_block`
/// after each block. Returns the head once everything is durable and was read back.
pub fn import(
    data: &Path,
    blocks: impl Iterator<Item = Result<Durable<Block>, JournalError>>,
    on_block: impl FnMut(&Block),
) -> Result<Head, ImportError> {
    if holds_something(data)? {
        return Err(ImportError::NotEmpty(data.to_owned()));
    }
    disk::create_dir_all(data)?;
    let locked = claim(data)?;
    // Held until the sign or everything else is removed: another import would take this one for
    // interrupted.
    let _held = locked.try_clone()?;
    // Left by an interrupted import.
    empty(data)?;
    let unfinished = data.join(UNFINISHED_FILE);
    OpenOptions::new().create(true).truncate(false).write(true).open(&unfinished)?.sync_all()?;
    sync_folder(data)?;
    let imported = fill(data, locked, blocks, on_block);
    match &imported {
        Ok(_) => {
            disk::remove_file(&unfinished)?;
            sync_folder(data)?;
        }
        // Best effort; the sign stays. A directory without it would open as a new, empty venue if
        // the error went unnoticed.
        Err(_) => drop(empty(data)),
    }
    imported
}

/// Takes the directory's lock and checks again that it is empty: another process may have made a
/// journal in it before.
fn claim(data: &Path) -> Result<File, ImportError> {
    let locked = lock(data)?;
    if holds_something(data)? {
        return Err(ImportError::NotEmpty(data.to_owned()));
    }
    Ok(locked)
}

fn fill(
    data: &Path,
    locked: File,
    blocks: impl Iterator<Item = Result<Durable<Block>, JournalError>>,
    mut on_block: impl FnMut(&Block),
) -> Result<Head, ImportError> {
    let folder = log_of(data);
    disk::create_dir_all(&folder)?;
    let mut head = Head::START;
    let begun = |first: Sequence| (first, Run::read(Vec::new(), first).0);
    let (mut first, mut run) = begun(head.sequence.next());
    for block in blocks {
        let block = block.map_err(ImportError::Source)?;
        let follows = block.follows(&head);
        let misfit = |fault| JournalError::Misfit { first: block.first(), fault };
        follows.map_err(|fault| ImportError::Source(misfit(fault)))?;
        if run.bytes().len().saturating_add(block.bytes().len()) > segment_bytes() {
            let members = pack(&run)?;
            let members = members.iter().map(|(_, member)| member.as_slice());
            place(&segment(&folder, first), members)?;
            (first, run) = begun(block.first());
        }
        run.push(block.first(), block.bytes());
        head = block.head();
        on_block(&block);
    }
    if head == Head::START {
        return Err(ImportError::Empty);
    }
    let zeros = vec![0; segment_bytes().saturating_sub(run.bytes().len())];
    place(&segment(&folder, first), [run.bytes(), &zeros])?;
    place(&data.join(MARKER_FILE), [Marker::Clear.encode().as_slice()])?;
    sync_names(data, &folder)?;
    // As at any start; reading verifies every block, and that the last is the journal's head.
    let (journal, _) = LogJournal::over(LogStore::open_files(data, locked)?)?;
    for block in journal.read(Head::START.sequence.next()) {
        block.map_err(ImportError::ReadBack)?;
    }
    if *journal.head() == head { Ok(head) } else { Err(ImportError::Other(*journal.head())) }
}

/// Whether a directory holds anything but a lock or an interrupted import.
fn holds_something(data: &Path) -> io::Result<bool> {
    let unfinished = disk::exists(&data.join(UNFINISHED_FILE));
    let entries = match disk::read_dir(data) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let ours = [LOCK_FILE, UNFINISHED_FILE, JOURNAL_DIR, MARKER_FILE, PARTIAL_MARKER_FILE];
    for entry in entries {
        let name = entry?.file_name();
        let known = ours.iter().any(|ours| name == *ours) && (unfinished || name == LOCK_FILE);
        if !known {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes what an interrupted import left, except for the sign.
fn empty(data: &Path) -> io::Result<()> {
    let absent = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    };
    disk::remove_dir_all(data.join(JOURNAL_DIR)).or_else(absent)?;
    for name in [MARKER_FILE, PARTIAL_MARKER_FILE] {
        disk::remove_file(data.join(name)).or_else(absent)?;
    }
    sync_folder(data)
}

/// Makes a directory's entries and its own name durable.
fn sync_folder(data: &Path) -> io::Result<()> {
    let whole = disk::canonicalize(data)?;
    for folder in [Some(whole.as_path()), whole.parent()].into_iter().flatten() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

// Reads the journal of a data directory of version 0.1, which kept it in sled and the newest
// blocks in a write-ahead log, `wal`. Opening sled writes to its files, as that version's start
// did.

/// Bytes of each of the log's two halves.
const HALF_BYTES: usize = 1 << 20;
/// First bytes of a slot that names the last acknowledged block; one is at each of these offsets.
const WITNESS_MAGIC: [u8; 8] = *b"OPACKNOW";
const WITNESS_OFFSETS: [usize; 2] = [0, 4096];
/// How that version made its sled.
const SHAPE: Shape = Shape { segment_bytes: 16 << 20, cache_bytes: 8 << 20 };

/// The blocks of such a journal in order, verified.
pub struct OldJournal {
    values: sled::Iter,
    /// Blocks of the value read last.
    open: VecDeque<Vec<u8>>,
    /// Blocks of the write-ahead log.
    log: Vec<Block>,
    head: Head,
    /// The first record that was refused.
    refused: Option<Sequence>,
    /// The last record that was acknowledged.
    acknowledged: Sequence,
    over: bool,
    _db: sled::Db,
    _lock: File,
}

impl OldJournal {
    /// Opens it; no server may have it open.
    pub fn open(data: &Path) -> Result<OldJournal, OpenError> {
        let lock = lock(data)?;
        let read = |name: &str| {
            let path = data.join(name);
            disk::read(&path).map_err(at(&path))
        };
        let refused = match Marker::decode(&read(MARKER_FILE)?) {
            Marker::Refused { first, .. } => Some(first),
            Marker::Clear => None,
            Marker::Unreadable => {
                return Err(OpenError::Refused(Reason::MarkerUnreadable));
            }
        };
        let witness = read("witness")?;
        let slot = |offset: &usize| witness.get(*offset..)?.get(..SLOT_BYTES);
        let slots = WITNESS_OFFSETS.iter().filter_map(slot);
        let known = slots.filter_map(|slot| recovery::decode(WITNESS_MAGIC, slot));
        let acknowledged = known.map(|(last, _)| last).max().unwrap_or_default();
        let wal = match disk::read(data.join("wal")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(at(data))?,
        };
        let mut log: Vec<Block> = wal
            .chunks(HALF_BYTES)
            .flat_map(|half| split(half).0)
            .filter_map(|b| RawBlock::new(b).decode().ok())
            .collect();
        log.sort_by_key(Block::first);
        let db = open_sled(&data.join(JOURNAL_DIR), SHAPE)?;
        let values = caught(Step::Open, || db.open_tree("blocks"))?.iter();
        let (open, head, over) = (VecDeque::new(), Head::START, false);
        Ok(OldJournal {
            values,
            open,
            log,
            head,
            refused,
            acknowledged,
            over,
            _db: db,
            _lock: lock,
        })
    }

    fn next_block(&mut self) -> Result<Option<Block>, JournalError> {
        let next = self.head.sequence.next();
        let damaged = |fault| JournalError::Damaged(Damage { block: next, fault });
        if self.open.is_empty()
            && let Some(value) =
                caught(Step::Read, || self.values.next().transpose()).map_err(JournalError::Read)?
        {
            let (blocks, rest) = split(&value.1);
            self.open.extend(blocks);
            self.open.extend(Some(rest).filter(|rest| !rest.is_empty()));
        }
        let block = if let Some(bytes) = self.open.pop_front() {
            Some(RawBlock::new(bytes).decode().map_err(damaged)?)
        } else {
            let found = self.log.iter().find(|block| block.follows(&self.head).is_ok());
            found.cloned()
        };
        let Some(block) = block.filter(|block| Some(block.first()) != self.refused) else {
            let lost = self.head.sequence < self.acknowledged;
            let missing = BlockFault::Missing(self.acknowledged);
            return if lost { Err(damaged(missing)) } else { Ok(None) };
        };
        block.follows(&self.head).map_err(damaged)?;
        self.head = block.head();
        Ok(Some(block))
    }
}

impl Iterator for OldJournal {
    type Item = Result<Durable<Block>, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let read = self.next_block();
        self.over = !matches!(read, Ok(Some(_)));
        read.map(|block| block.map(Durable)).transpose()
    }
}

/// The blocks at the beginning of some bytes that their checksums find whole, and the rest.
fn split(mut bytes: &[u8]) -> (Vec<Vec<u8>>, Vec<u8>) {
    let mut blocks = Vec::new();
    while let Some((.., length)) = segment::sound_span(bytes)
        && let Some((block, rest)) = bytes.split_at_checked(length)
    {
        blocks.push(block.to_vec());
        bytes = rest;
    }
    (blocks, bytes.to_vec())
}

#[cfg(test)]
#[path = "../../tests/unit/journal/import.rs"]
mod tests;
