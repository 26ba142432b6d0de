//! Snapshots: images of the state and of the read model as of one record, in files beside the
//! journal.
//!
//! A snapshot is a cache. Nothing needs one, a start that finds none replays the whole journal,
//! and whoever audits a journal never looks at them. So damage here is named and stepped over,
//! where damage to the journal stops everything. `header.rs` and `stream.rs` have the bytes,
//! `folder.rs` the files; journal-format.md describes both.

pub mod folder;
pub mod header;
pub mod stream;

use std::io;
use std::path::PathBuf;

use super::block::ChainHash;
use crate::exchange::digest::StateDigest;
use crate::exchange::results::ResultsHash;
use crate::exchange::units::{Sequence, TimeMs};

/// What a snapshot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The exchange's image: what the state digest is the hash of.
    State,
    /// The read model's image.
    Views,
}

impl Kind {
    /// Both, in the order in which they are written.
    pub const ALL: [Kind; 2] = [Kind::State, Kind::Views];

    /// The end of the file's name.
    pub const fn extension(self) -> &'static str {
        match self {
            Kind::State => "state",
            Kind::Views => "views",
        }
    }

    /// The header's word for it.
    pub const fn number(self) -> u16 {
        match self {
            Kind::State => 1,
            Kind::Views => 2,
        }
    }

    /// The kind of that number.
    pub fn of_number(number: u16) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.number() == number)
    }
}

/// Where in which journal a snapshot was taken, and what had come of the records up to there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The last record of a block.
    pub sequence: Sequence,
    /// That record's time.
    pub time: TimeMs,
    /// Hash of that block.
    pub chain: ChainHash,
    /// The results hash after that record.
    pub results: ResultsHash,
    /// Digest of the state after that record.
    pub state: StateDigest,
}

/// What is wrong with a snapshot's file. The codes are stable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotFault {
    /// The file ends too early.
    #[error("SNAPSHOT_TRUNCATED: the file ends in what should be {expected} bytes")]
    Truncated {
        /// Bytes of the header or chunk that is cut short.
        expected: usize,
    },
    /// Does not begin as a snapshot does.
    #[error("SNAPSHOT_MAGIC: these bytes are no snapshot")]
    Magic,
    /// A version that this software cannot read.
    #[error("SNAPSHOT_UNKNOWN_VERSION: no reader for snapshot format version {0}")]
    UnknownVersion(u16),
    /// The header changed after it was written.
    #[error("SNAPSHOT_HEADER: the header changed after it was written")]
    Header,
    /// The header says what no snapshot can.
    #[error("SNAPSHOT_FIELD: {0} is outside its range")]
    Field(&'static str),
    /// A chunk changed after it was written.
    #[error("SNAPSHOT_CHECKSUM: the chunk that begins here changed after it was written")]
    Checksum,
    /// The file goes on after its end.
    #[error("SNAPSHOT_LENGTH: the file goes on after its last chunk")]
    Length,
    /// The name is not that of the snapshot inside.
    #[error("SNAPSHOT_NAME: the header is that of {0}")]
    Name(String),
    /// The system could not read the file.
    #[error("SNAPSHOT_READ: {0}")]
    Read(String),
}

/// Damage to a snapshot: which file, where, what.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: byte {offset}: {fault}", file.display())]
pub struct SnapshotDamage {
    /// The file.
    pub file: PathBuf,
    /// Where the damaged part begins: the header, a field of it, or a chunk.
    pub offset: u64,
    /// What is wrong with it.
    pub fault: SnapshotFault,
}

impl From<SnapshotDamage> for io::Error {
    fn from(damage: SnapshotDamage) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, damage)
    }
}

/// Why a snapshot was not written. Nothing of it is left behind.
#[derive(Debug, thiserror::Error)]
#[error("SNAPSHOT_WRITE: {}: {cause}", file.display())]
pub struct SnapshotUnwritten {
    /// The file that is not there.
    pub file: PathBuf,
    /// What the system said.
    pub cause: io::Error,
}
