//! The journal over a block store: appends, refusals and recovery. The store is a trait, so that
//! tests can make each of its steps fail.

use std::io::{self, ErrorKind};
use std::iter::Peekable;
use std::path::PathBuf;
use std::sync::Arc;

use super::block::{Block, Head, RawBlock};
use super::reader::{JournalReader, Published};
use super::recovery::{self, Beyond, Marker, Reason, Refusal, Tail, Verdict};
use super::repairs::Repairs;
use super::segment::Rest;
use super::watch::JournalFiles;
use super::{Blocks, Damage, Durable, Journal, JournalError};
use exchange::command::Record;
use exchange::units::Sequence;

/// Blocks verified when a journal is opened. The last one is the head; those before it reveal a
/// wrong or truncated copy at once. Reads verify every block.
const OPEN_BLOCKS: usize = 8;

/// A store's operations, for errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Opening it.
    Open,
    /// Reading.
    Read,
    /// Putting a block.
    Put,
    /// Flushing what was put to the file.
    Flush,
    /// Syncing the file to the disk.
    Sync,
    /// Removing blocks.
    Remove,
    /// Reading or writing the refused marker.
    Mark,
}

/// A store's failure: the step and the message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{step:?} failed: {what}")]
pub struct StoreError {
    /// The step that failed.
    pub step: Step,
    /// The store's or system's message.
    pub what: String,
    /// Whether the system refused, rather than the file's contents being wrong.
    pub by_system: bool,
    /// Whether files are damaged, by their contents or by a disk that cannot read them.
    pub damaged: bool,
}

impl StoreError {
    /// A failure of `step`.
    pub fn new(step: Step, what: impl std::fmt::Display) -> StoreError {
        StoreError { step, what: what.to_string(), by_system: false, damaged: false }
    }

    /// A failure of `step` because of what a file holds.
    pub fn damage(step: Step, what: impl std::fmt::Display) -> StoreError {
        StoreError { damaged: true, ..StoreError::new(step, what) }
    }

    /// A failure whose cause may be the system. A wrong offset or name comes from a file's
    /// contents, so it does not count as the system's.
    pub fn of(step: Step, what: impl std::fmt::Display, error: &io::Error) -> StoreError {
        let by_system = match error.kind() {
            ErrorKind::NotFound | ErrorKind::InvalidInput => false,
            ErrorKind::StorageFull
            | ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem => true,
            _ => error.raw_os_error().is_some(),
        };
        let contents = [ErrorKind::InvalidInput, ErrorKind::InvalidData, ErrorKind::UnexpectedEof];
        let damaged = contents.contains(&error.kind()) || error.raw_os_error() == Some(libc::EIO);
        StoreError { by_system, damaged, ..StoreError::new(step, what) }
    }
}

/// A key and the bytes stored under it.
pub type Stored = (Sequence, Vec<u8>);

/// Blocks readable while others are written.
pub trait BlockSource: Send + Sync {
    /// The block with the highest key at or below `key`.
    fn at_or_before(&self, key: Sequence) -> Result<Option<Stored>, StoreError>;
    /// The block with the lowest key at or above `key`.
    fn at_or_after(&self, key: Sequence) -> Result<Option<Stored>, StoreError>;
}

/// Stores blocks under the sequence of their first record, with the refused marker beside them. A
/// put is durable after the sync that follows it.
pub trait BlockStore: Send {
    /// Writes `bytes` under `first`.
    fn put(&mut self, first: Sequence, bytes: &[u8]) -> Result<(), StoreError>;
    /// Returns once what was put is on disk.
    fn sync(&mut self) -> Result<(), StoreError>;
    /// Removes whatever stands from `first` on.
    fn remove_from(&mut self, first: Sequence) -> Result<(), StoreError>;
    /// The refused marker.
    fn marker(&self) -> Result<Marker, StoreError>;
    /// Overwrites the refused marker and returns once it is on disk.
    fn mark(&mut self, marker: Marker) -> Result<(), StoreError>;
    /// What stands after the last sound block.
    fn rest(&self) -> Rest {
        Rest::Nothing
    }
    /// Makes sure that what was read is on disk and not in memory only.
    fn settle(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
    /// The same blocks, for readers on other threads. It may fail once the store is dropped, and
    /// must not keep anything locked or open that the next open of the store needs.
    fn source(&self) -> Arc<dyn BlockSource>;
    /// Its files, to be watched while it is open; `None` if it has none.
    fn files(&self) -> Option<Arc<JournalFiles>> {
        None
    }
}

/// What opening a journal found.
#[derive(Debug, Clone)]
pub struct Recovered {
    /// Where it ends.
    pub head: Head,
    /// First sequence of what was removed: the refused block, or an interrupted write.
    pub cut: Option<Sequence>,
    /// What was damaged and is repaired.
    pub repairs: Arc<Repairs>,
    /// The row of the decision table that was taken.
    pub row: (Tail, Refusal, Beyond),
}

/// Why a journal was not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Another process, or another handle of this one, has it open.
    #[error("OPEN_LOCKED: {0} is in use by another process")]
    Locked(PathBuf),
    /// There is no journal, and none was to be created.
    #[error("OPEN_MISSING: {0} holds no journal")]
    Missing(PathBuf),
    /// The marker exists, but a segment that is made before it does not, or the one that follows a
    /// sealed one does not.
    #[error(
        "OPEN_LOST: {0} is gone; put it back, or see `openoutcry-replay salvage` and `import` for \
         what an archive has, or begin anew in an empty directory"
    )]
    Lost(PathBuf),
    /// There are blocks, but the marker, which is made before them, is missing.
    #[error(
        "OPEN_FILE_MISSING: {0} is gone; without it refused blocks go unnoticed; put it back, or \
         see `openoutcry-replay salvage`"
    )]
    FileMissing(PathBuf),
    /// The open segment is shorter than it was made.
    #[error(
        "RECOVERY_SHORT: {path} was truncated to {bytes} bytes; put it back, or see \
         `openoutcry-replay salvage`"
    )]
    Truncated {
        /// The segment.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// The directory holds a journal in the form of an earlier version.
    #[error(
        "OPEN_OLD: {0} holds a journal of an earlier version; `openoutcry-replay import {0} NEW` \
         makes a directory of this version from it"
    )]
    Old(PathBuf),
    /// An import into the directory was interrupted: its journal is short.
    #[error(
        "OPEN_UNFINISHED: {0} says that an import failed or was interrupted; import into this \
         directory again, or delete it"
    )]
    Unfinished(PathBuf),
    /// The path of the data directory is a file.
    #[error(
        "OPEN_FILE: {0} is a file; of an exported journal `openoutcry-replay import` makes a data \
         directory"
    )]
    File(PathBuf),
    /// The path of the data directory is an archive.
    #[error(
        "OPEN_ARCHIVE: {0} is an archive; `openoutcry-replay import` makes a data directory of it"
    )]
    Archive(PathBuf),
    /// The store or the file system failed.
    #[error("OPEN_FAILED: {0}")]
    Store(#[from] StoreError),
    /// The blocks are damaged.
    #[error("RECOVERY_TAIL: {0}")]
    Damaged(#[from] Damage),
    /// The journal's state allows no safe start.
    #[error(transparent)]
    Refused(Reason),
}

impl OpenError {
    /// Whether the journal itself is damaged, contradicts itself or lacks a part, so that another
    /// try cannot succeed; else only the access to it failed, or there is none.
    pub const fn is_damage(&self) -> bool {
        match self {
            OpenError::Locked(_)
            | OpenError::Missing(_)
            | OpenError::File(_)
            | OpenError::Archive(_) => false,
            OpenError::Store(error) => error.damaged,
            OpenError::Lost(_)
            | OpenError::FileMissing(_)
            | OpenError::Unfinished(_)
            | OpenError::Truncated { .. }
            | OpenError::Old(_)
            | OpenError::Damaged(_)
            | OpenError::Refused(_) => true,
        }
    }
}

/// A journal over any store.
#[derive(Debug)]
pub struct StoredJournal<S> {
    store: S,
    head: Head,
    /// `head`, shared with readers on other threads.
    published: Published,
    stopped: bool,
}

/// How a journal is to be opened.
#[derive(Debug)]
pub(super) struct Judged {
    /// Where it ends.
    pub(super) head: Head,
    row: (Tail, Refusal, Beyond),
    /// First sequence of what is to be removed.
    pub(super) removed: Option<Sequence>,
}

/// Judges what a store holds, without changing it.
pub(super) fn judge(
    source: &dyn BlockSource,
    marker: Marker,
    rest: Rest,
) -> Result<Judged, OpenError> {
    let limit = match marker {
        Marker::Refused { first, .. } => before(first),
        Marker::Clear | Marker::Unreadable => LAST,
    };
    let last = last_blocks(source, limit)?;
    let (tail, head) = match &last {
        Ok(None) => (Tail::Empty, Head::START),
        Ok(Some(head)) => (Tail::Sound, *head),
        Err(_) => (Tail::Damaged, Head::START),
    };
    // Asked from the other side too: if the head was found too early, blocks would be overwritten.
    let beyond = match (beyond(source, head.sequence.next(), limit.next())?, rest) {
        (Beyond::Nothing, Rest::Nothing) => Beyond::Nothing,
        (Beyond::Nothing, Rest::Torn) => Beyond::Torn,
        (Beyond::Nothing, Rest::Damaged) => Beyond::Damaged,
        (found, Rest::Nothing) => found,
        _ => Beyond::Others,
    };
    let refusal = recovery::refusal(marker, &head);
    let verdict = recovery::decide(tail, refusal, beyond);
    match (verdict, last) {
        (Verdict::Refuse(Reason::TailDamaged), Err(damage)) => Err(damage.into()),
        (Verdict::Refuse(reason), _) => Err(OpenError::Refused(reason)),
        (Verdict::Accept | Verdict::Clear | Verdict::Cut, _) => {
            let removed = (verdict == Verdict::Cut).then_some(head.sequence.next());
            Ok(Judged { head, row: (tail, refusal, beyond), removed })
        }
    }
}

impl<S: BlockStore> StoredJournal<S> {
    /// What it is stored in.
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// Opens the store's journal, with recovery.
    pub fn over(mut store: S) -> Result<(StoredJournal<S>, Recovered), OpenError> {
        let judged = judge(&*store.source(), store.marker()?, store.rest())?;
        let Judged { head, row, removed } = judged;
        if let Some(first) = removed {
            store.remove_from(first)?;
            store.sync()?;
        }
        store.settle()?;
        // It may go only once the cut is on disk, also one that an earlier start made. If it is
        // gone already, a failed sync may have left it on disk: it would refuse what is answered
        // since.
        store.mark(Marker::Clear)?;
        let files = store.files();
        let repairs = files.map(|files| Arc::clone(files.repairs())).unwrap_or_default();
        let recovered = Recovered { head, cut: removed, repairs, row };
        Ok((StoredJournal::ending_at(store, head), recovered))
    }

    /// A journal in a store known to be empty.
    pub(super) fn begin(store: S) -> StoredJournal<S> {
        StoredJournal::ending_at(store, Head::START)
    }

    fn ending_at(store: S, head: Head) -> StoredJournal<S> {
        StoredJournal { store, head, published: Published::new(head), stopped: false }
    }

    fn write(&mut self, block: &Block) -> Result<(), StoreError> {
        self.store.put(block.first(), block.bytes())?;
        self.store.sync()
    }
}

impl<S: BlockStore> Journal for StoredJournal<S> {
    fn head(&self) -> &Head {
        &self.head
    }

    fn append(&mut self, block: Block) -> Result<Durable<Block>, JournalError> {
        if self.stopped {
            return Err(JournalError::Stopped);
        }
        // Stays set unless everything below succeeds.
        self.stopped = true;
        let first = block.first();
        block.follows(&self.head).map_err(|fault| JournalError::Misfit { first, fault })?;
        if let Err(cause) = self.write(&block) {
            // The write may still reach the disk, so the refusal must be recorded.
            let marker = Marker::Refused { first, previous: self.head.hash };
            return Err(match self.store.mark(marker) {
                Ok(()) => JournalError::Refused { first, cause },
                Err(marking) => JournalError::Unknown { first, cause, marking },
            });
        }
        self.head = block.head();
        self.published.publish(self.head);
        self.stopped = false;
        Ok(Durable(block))
    }

    fn read(&self, from: Sequence) -> Blocks<'_> {
        Box::new(self.reader().read(from))
    }

    fn reader(&self) -> JournalReader {
        JournalReader::new(self.store.source(), self.published.clone())
    }

    fn files(&self) -> Option<Arc<JournalFiles>> {
        self.store.files()
    }
}

/// The highest key.
const LAST: Sequence = Sequence::new(u64::MAX);

fn before(sequence: Sequence) -> Sequence {
    Sequence::new(sequence.get().saturating_sub(1))
}

/// What the store holds from `next` on; `refused` is the key of the refused block.
fn beyond(
    store: &dyn BlockSource,
    next: Sequence,
    refused: Sequence,
) -> Result<Beyond, StoreError> {
    let Some((key, _)) = store.at_or_after(next)? else { return Ok(Beyond::Nothing) };
    let after = store.at_or_after(key.next())?;
    let only_it = key == refused && after.is_none();
    Ok(if only_it { Beyond::TheRefused } else { Beyond::Others })
}

/// Verifies the last blocks up to key `limit`; returns the head they lead to.
fn last_blocks(
    store: &dyn BlockSource,
    limit: Sequence,
) -> Result<Result<Option<Head>, Damage>, StoreError> {
    let mut stored = Vec::new();
    let mut next = store.at_or_before(limit)?;
    while stored.len() < OPEN_BLOCKS {
        let Some((key, bytes)) = next.take() else { break };
        stored.push((key, bytes));
        next = if key == Sequence::ZERO { None } else { store.at_or_before(before(key))? };
    }
    // The first block of all must be a journal's first; of a later one only the block before it,
    // which was not read, could tell the whole head.
    let mut head = if next.is_none() { Some(Head::START) } else { None };
    for (key, bytes) in stored.into_iter().rev() {
        let read = RawBlock::new(bytes).decode();
        let after = match (&head, &read) {
            (Some(head), _) => *head,
            (None, Ok(block)) => block.built_after(),
            (None, Err(_)) => Head::START,
        };
        match recovery::judge(key, read, &after) {
            Ok(block) => head = Some(block.head()),
            Err(fault) => return Ok(Err(Damage { block: key, fault })),
        }
    }
    Ok(Ok(head.filter(|head| *head != Head::START)))
}

// The beginning of a journal: whole blocks up to a chosen record, for a restore to an earlier
// moment. A block is durable as a whole, so a part of one is no journal.

/// Whether a record is to be kept; once it says no, it must say no of all later records.
pub type Keep<'a> = Box<dyn Fn(&Record) -> bool + 'a>;

/// The blocks whose records are all to be kept. Nothing after the first other block is read.
pub struct Prefix<'a> {
    blocks: Peekable<Blocks<'a>>,
    keep: Keep<'a>,
}

impl<'a> Prefix<'a> {
    /// The beginning of these blocks.
    pub fn of(blocks: Blocks<'a>, keep: Keep<'a>) -> Prefix<'a> {
        Prefix { blocks: blocks.peekable(), keep }
    }

    /// The next block's first and last record, if the block is left out.
    pub fn left_out(&mut self) -> Option<(Sequence, Sequence)> {
        let Some(Ok(block)) = self.blocks.peek() else { return None };
        let kept = block.records().last().is_none_or(|record| (self.keep)(record));
        (!kept).then(|| (block.first(), block.last()))
    }
}

impl Iterator for Prefix<'_> {
    type Item = Result<Durable<Block>, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left_out().is_some() { None } else { self.blocks.next() }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/journal/store.rs"]
mod tests;
