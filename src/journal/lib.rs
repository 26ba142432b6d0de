//! The journal: every record, in hash-chained blocks that are durable before anyone is answered.
//!
//! Must not know: why a command is right, who waits for it, what it did.

pub mod archive;
pub mod block;
mod copy;
pub mod directory;
pub mod disk;
pub mod import;
mod keeper;
mod log;
pub mod member;
pub mod memory;
pub mod pages;
pub mod portable;
pub mod reader;
pub mod record;
pub mod recovery;
pub mod repairs;
pub mod replay;
pub mod segment;
pub mod salvage;
pub mod snapshot;
pub mod store;
mod trees;
pub mod watch;

use std::ops::Deref;
use std::sync::Arc;

use self::block::{Block, BlockFault, Head};
use self::reader::JournalReader;
use self::store::StoreError;
use self::watch::JournalFiles;
use exchange::units::Sequence;

/// Proof that a block is on disk and verified. Only [`Journal::append`], [`JournalReader::read`],
/// and the readers of files make one. The matcher takes nothing else, so it never
/// applies what a power cut could take back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Durable<T>(T);

impl<T> Deref for Durable<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Verified blocks in order; the first holds the record asked for.
pub type Blocks<'a> = Box<dyn Iterator<Item = Result<Durable<Block>, JournalError>> + Send + 'a>;

/// A journal: blocks are appended and read back in order.
pub trait Journal: Send {
    /// Where it ends.
    fn head(&self) -> &Head;

    /// Appends a block and returns once it is durable. After any error the journal takes nothing
    /// more until it is opened again.
    fn append(&mut self, block: Block) -> Result<Durable<Block>, JournalError>;

    /// Reads from the block that holds record `from` to the end, one block in memory at a time.
    /// Verifies every block, and that the last is the journal's head; the first error ends the
    /// reading.
    fn read(&self, from: Sequence) -> Blocks<'_>;

    /// A handle that reads durable blocks from any thread while this journal is written.
    fn reader(&self) -> JournalReader;

    /// Its files, to be watched while it is open; `None` if it has none.
    fn files(&self) -> Option<Arc<JournalFiles>> {
        None
    }
}

/// Damage found in a journal. It is reported, never repaired or skipped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("journal damaged in the block of record {block}: {fault}")]
pub struct Damage {
    /// First sequence of the damaged block.
    pub block: Sequence,
    /// What is wrong with it.
    pub fault: BlockFault,
}

/// Why a journal call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// The block was not written, and is marked on disk as refused: it is discarded at the next
    /// start.
    #[error(
        "APPEND_REFUSED: the block of record {first} was not journaled and never will be: {cause}"
    )]
    Refused {
        /// First sequence of the block.
        first: Sequence,
        /// What failed.
        cause: StoreError,
    },
    /// The block may be on disk or not, and could not be marked as refused. The next start decides;
    /// until then callers must be told neither.
    #[error(
        "APPEND_UNKNOWN: whether the block of record {first} is journaled is known at the next \
         start only: {cause}; marking it as refused failed too: {marking}"
    )]
    Unknown {
        /// First sequence of the block.
        first: Sequence,
        /// What failed.
        cause: StoreError,
        /// Why it could not be marked.
        marking: StoreError,
    },
    /// The block does not follow the journal's head; nothing was written.
    #[error("APPEND_MISFIT: the block of record {first} is not the next: {fault}")]
    Misfit {
        /// First sequence of the block.
        first: Sequence,
        /// What does not fit.
        fault: BlockFault,
    },
    /// An earlier append failed; the journal must be opened again.
    #[error("APPEND_STOPPED: an earlier append failed; open the journal anew")]
    Stopped,
    /// The store could not be read.
    #[error("READ_FAILED: {0}")]
    Read(StoreError),
    /// What was read is not what was written.
    #[error(transparent)]
    Damaged(#[from] Damage),
}

impl JournalError {
    /// Whether the journal is damaged, so that another try cannot succeed.
    pub const fn is_damage(&self) -> bool {
        match self {
            JournalError::Damaged(_) => true,
            JournalError::Read(error) => error.damaged,
            JournalError::Refused { .. }
            | JournalError::Unknown { .. }
            | JournalError::Misfit { .. }
            | JournalError::Stopped => false,
        }
    }
}
