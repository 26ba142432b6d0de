//! Snapshots: images of the state and of the read model as of one record, in files beside the
//! journal.
//!
//! A snapshot is a cache: a start without one replays the whole journal, and an audit never reads
//! one. So a damaged snapshot is reported and skipped, where a damaged journal stops everything.
//! `header.rs` and `stream.rs` have the format, `folder.rs` the files; data-directory.md describes
//! both.

pub mod folder;
pub mod header;
pub mod stream;

use std::io;
use std::path::PathBuf;

use super::block::ChainHash;
use exchange::digest::StateDigest;
use exchange::results::ResultsHash;
use exchange::units::{Sequence, TimeMs};

/// What a snapshot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The exchange's image; the state digest is its hash.
    State,
    /// The read model's image.
    Views,
}

impl Kind {
    /// Both, in the order in which they are written.
    pub const ALL: [Kind; 2] = [Kind::State, Kind::Views];

    /// The file name's extension.
    pub const fn extension(self) -> &'static str {
        match self {
            Kind::State => "state",
            Kind::Views => "views",
        }
    }

    /// The kind's number in the header.
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

/// The point in a journal at which a snapshot was taken, with the hashes up to there.
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
    /// Does not begin with the magic bytes.
    #[error("SNAPSHOT_MAGIC: these bytes are no snapshot")]
    Magic,
    /// A version that this software cannot read.
    #[error("SNAPSHOT_UNKNOWN_VERSION: no reader for snapshot format version {0}")]
    UnknownVersion(u16),
    /// The header changed after it was written.
    #[error("SNAPSHOT_HEADER: the header changed after it was written")]
    Header,
    /// A header field is out of range.
    #[error("SNAPSHOT_FIELD: {0} is outside its range")]
    Field(&'static str),
    /// A chunk changed after it was written.
    #[error("SNAPSHOT_CHECKSUM: the chunk that begins here changed after it was written")]
    Checksum,
    /// The file goes on after its end.
    #[error("SNAPSHOT_LENGTH: the file goes on after its last chunk")]
    Length,
    /// The file's name does not match the header.
    #[error("SNAPSHOT_NAME: the header is that of {0}")]
    Name(String),
    /// The system could not read the file.
    #[error("SNAPSHOT_READ: {0}")]
    Read(String),
}

/// Damage to a snapshot: file, offset and fault.
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

/// Why a snapshot was not written. No file of it is left.
#[derive(Debug, thiserror::Error)]
#[error("SNAPSHOT_WRITE: {}: {cause}", file.display())]
pub struct SnapshotUnwritten {
    /// The file that would have been written.
    pub file: PathBuf,
    /// The system's error.
    pub cause: io::Error,
}
