//! The journal over a block store: appends, refusals and recovery. The store is a trait, so that
//! tests can make each of its steps fail.

use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;

use super::block::{Block, Head, RawBlock};
use super::marker::{Marker, Witness};
use super::reader::{JournalReader, Published};
use super::recovery::{self, Acknowledged, Beyond, Reason, Tail, Verdict};
use super::repairs::Repairs;
use super::watch::JournalFiles;
use super::{Blocks, Damage, Durable, Journal, JournalError};
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
    /// Reading or writing the witness of the last acknowledged block.
    Attest,
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

/// Stores blocks under the sequence of their first record, with the refused marker and the witness
/// beside them. A put is durable after the flush and the sync that follow it.
pub trait BlockStore: Send {
    /// Stores `bytes` under `first`.
    fn put(&mut self, first: Sequence, bytes: &[u8]) -> Result<(), StoreError>;
    /// Writes everything put to the file.
    fn flush(&mut self) -> Result<(), StoreError>;
    /// Returns once the file is on disk.
    fn sync(&mut self) -> Result<(), StoreError>;
    /// Removes every block from `first` on.
    fn remove_from(&mut self, first: Sequence) -> Result<(), StoreError>;
    /// The refused marker.
    fn marker(&self) -> Result<Marker, StoreError>;
    /// Overwrites the refused marker and returns once it is on disk.
    fn mark(&mut self, marker: Marker) -> Result<(), StoreError>;
    /// The witness; `None` if it cannot be read.
    fn witness(&self) -> Result<Option<Witness>, StoreError>;
    /// Writes the witness without syncing it.
    fn attest(&mut self, witness: Witness) -> Result<(), StoreError>;
    /// The same blocks, for readers on other threads. It may fail once the store is dropped, and
    /// must not keep anything locked or open that the next open of the store needs.
    fn source(&self) -> Arc<dyn BlockSource>;
    /// Its files, to be watched while it is open; `None` if it has none.
    fn files(&self) -> Option<Arc<JournalFiles>> {
        None
    }
}

/// What opening a journal found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovered {
    /// Where it ends.
    pub head: Head,
    /// First sequence of the refused block that was removed, if there was one.
    pub cut: Option<Sequence>,
    /// What was damaged beside the blocks and is repaired.
    pub repairs: Repairs,
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
    /// The marker exists, but the store, which is created before it, does not.
    #[error(
        "OPEN_LOST: {0} is gone; put it back, or see `openoutcry-replay salvage` and `import` for \
         what an archive has, or begin anew in an empty directory"
    )]
    Lost(PathBuf),
    /// The store holds blocks, but a file that is created before them is missing.
    #[error(
        "OPEN_FILE_MISSING: {0} is gone; without it refused or lost blocks go unnoticed; put it \
         back, or see `openoutcry-replay salvage`"
    )]
    FileMissing(PathBuf),
    /// The journal ends before the last acknowledged block, or has another in its place.
    #[error("RECOVERY_SHORT: record {known} was acknowledged, the journal ends with {found}")]
    Short {
        /// Last record known to have been acknowledged.
        known: Sequence,
        /// Last record found.
        found: Sequence,
    },
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
    /// The write-ahead log has blocks after a damaged part.
    #[error(
        "RECOVERY_LOG: the journal ends with record {found}, and {log} has a sound block that \
         begins with record {beyond}: what is between is damaged; see `openoutcry-replay salvage`"
    )]
    LogDamaged {
        /// The log.
        log: PathBuf,
        /// The last record found.
        found: Sequence,
        /// First record of the next sound block.
        beyond: Sequence,
    },
    /// The store's own log does not verify up to the last acknowledged block. The store was not
    /// opened: that would overwrite what can still be salvaged.
    #[error(
        "RECOVERY_TORN: record {known} was acknowledged, and the store's log does not verify as \
         far as that; nothing was touched, see `openoutcry-replay salvage`"
    )]
    Torn {
        /// Last record known to have been acknowledged.
        known: Sequence,
    },
    /// The store has files that it never syncs: its blocks cannot be trusted.
    #[error("OPEN_BLOBS: {0} is not empty; the store keeps nothing durable there")]
    Blobs(PathBuf),
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
            | OpenError::Short { .. }
            | OpenError::Torn { .. }
            | OpenError::LogDamaged { .. }
            | OpenError::Blobs(_)
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

impl<S: BlockStore> StoredJournal<S> {
    /// Opens the store's journal, with recovery.
    pub fn over(mut store: S) -> Result<(StoredJournal<S>, Recovered), OpenError> {
        let marker = store.marker()?;
        let limit = match marker {
            Marker::Refused { first, .. } => before(first),
            Marker::Clear | Marker::Unreadable => LAST,
        };
        let source = store.source();
        let last = last_blocks(&*source, limit)?;
        let (tail, head) = match &last {
            Ok(None) => (Tail::Empty, Head::START),
            Ok(Some(head)) => (Tail::Sound, *head),
            Err(_) => (Tail::Damaged, Head::START),
        };
        let refused_first = limit.next();
        // Asked from the other side too: if the head was found too early, blocks would be
        // overwritten.
        let beyond = beyond(&*source, head.sequence.next(), refused_first)?;
        let witness = store.witness()?;
        let known = acknowledged(&*source, witness, &head)?;
        let verdict = recovery::decide(tail, known, recovery::refusal(marker, &head), beyond);
        let cut = match (verdict, last) {
            (Verdict::Accept, _) => None,
            (Verdict::Clear, _) => {
                store.mark(Marker::Clear)?;
                None
            }
            (Verdict::Cut, _) => {
                store.remove_from(refused_first)?;
                store.flush()?;
                store.sync()?;
                // The marker may go only once the cut is on disk.
                store.mark(Marker::Clear)?;
                Some(refused_first)
            }
            (Verdict::Refuse(Reason::TailDamaged), Err(damage)) => return Err(damage.into()),
            (Verdict::Refuse(Reason::Short), _) => {
                let known = witness.map_or(Sequence::ZERO, |witness| witness.last);
                return Err(OpenError::Short { known, found: head.sequence });
            }
            (Verdict::Refuse(reason), _) => return Err(OpenError::Refused(reason)),
        };
        store.attest(Witness { last: head.sequence, hash: head.hash })?;
        Ok((
            StoredJournal::ending_at(store, head),
            Recovered { head, cut, repairs: Repairs::default() },
        ))
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
        self.store.flush()?;
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
        let witness = Witness { last: self.head.sequence, hash: self.head.hash };
        // The block is durable whatever happens to its witness; but without it no other is taken.
        self.stopped = self.store.attest(witness).is_err();
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

/// Whether the last acknowledged block is among the blocks up to `head`.
fn acknowledged(
    store: &dyn BlockSource,
    witness: Option<Witness>,
    head: &Head,
) -> Result<Acknowledged, StoreError> {
    let Some(Witness { last, hash }) = witness else { return Ok(Acknowledged::Unreadable) };
    let is_head = last == head.sequence && hash == head.hash;
    if is_head || last == Sequence::ZERO {
        return Ok(Acknowledged::There);
    }
    if last > head.sequence {
        return Ok(Acknowledged::Gone);
    }
    let found = store.at_or_before(last)?.map(|(_, bytes)| RawBlock::new(bytes).decode());
    let same = matches!(found, Some(Ok(block)) if block.last() == last && block.hash() == hash);
    Ok(if same { Acknowledged::There } else { Acknowledged::Gone })
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

#[cfg(test)]
#[path = "../../tests/unit/journal/store.rs"]
mod tests;
