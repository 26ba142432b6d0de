//! The copy of the sealed log in sled: each member under its first record, written behind and never
//! waited for. Everything in it can be made again from the log; it is worth having where the log is
//! damaged. It is open only while it is used, because sled keeps what it has touched in memory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::sealed::Packed;
use super::store::{Step, StoreError};
use super::tree::{Shape, caught, open_db};
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
        self.path.exists()
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

    /// Moves the copy aside, so that it is made anew.
    pub(super) fn set_aside(&self) -> io::Result<()> {
        let aside = self.path.with_extension(ASIDE);
        absent(fs::remove_file(self.path.with_extension(FED)))?;
        absent(fs::remove_dir_all(&aside))?;
        absent(fs::rename(&self.path, aside))
    }

    /// The last segment of which the copy has all, as far as that was noted.
    pub(super) fn fed(&self) -> Option<Sequence> {
        let noted = fs::read_to_string(self.path.with_extension(FED)).ok()?;
        noted.trim().parse().ok().map(Sequence::new)
    }

    /// Notes that segment.
    pub(super) fn note_fed(&self, segment: Option<Sequence>) -> Result<(), StoreError> {
        let Some(segment) = segment else { return Ok(()) };
        let noted = fs::write(self.path.with_extension(FED), format!("{segment}\n"));
        noted.map_err(|error| StoreError::of(Step::Put, &error, &error))
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
    members: sled::Tree,
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

    /// Writes what was put to sled's file; when it is on disk is the system's affair.
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
