//! The archive in a bucket.
//!
//! Each object is a member, named by its first record, and made only if there is none of that name:
//! so two servers never write the same place, and a write whose answer was lost is found again.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;

use super::objects::{Made, Objects};
use engine::shelf::{Shelf, ShelfNames};
use exchange::units::Sequence;
use journal::archive::{Archive, ArchiveError, blocks_in, segment_name};
use journal::block::{Block, Head};
use journal::portable::SEGMENT_SUFFIX;
use journal::reader::JournalReader;
use journal::watch::Fate;
use journal::{Durable, member};

/// Interval between two looks at the journal: each that finds records makes an object, and stores
/// ask money for each.
const EVERY: Duration = Duration::from_secs(5);
/// Interval between two looks whether all objects are still there: each lists all of them.
const LISTED_EVERY: Duration = Duration::from_hours(6);

/// What its figures are called.
const NAMES: ShelfNames = ShelfNames {
    sequence: "archive_s3_sequence",
    behind: "archive_s3_behind_records",
    failures: "archive_s3_failures",
    failing: "archive_s3_failing",
    warning: "ARCHIVE_S3_FAILING",
};

/// An archive in a bucket, being written.
pub struct BucketArchive {
    url: String,
    store: Box<dyn Objects>,
    journal: JournalReader,
    head: Head,
    /// The objects by the first records of their names; `None` until the store has told.
    known: Option<BTreeSet<u64>>,
    /// Whether it has told just now.
    fresh: bool,
}

impl fmt::Debug for BucketArchive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketArchive").field("url", &self.url).finish_non_exhaustive()
    }
}

impl BucketArchive {
    /// Opens the archive at this URL, and checks that its first and last blocks are the journal's.
    /// A store that does not answer now is asked again later: a venue starts without it.
    ///
    /// # Errors
    /// The archive is of another journal.
    pub fn open(
        url: &str,
        store: Box<dyn Objects>,
        journal: JournalReader,
    ) -> Result<BucketArchive, ArchiveError> {
        let mut archive = BucketArchive::at(url, store, journal);
        match archive.look() {
            Ok(()) => archive.fresh = true,
            Err(ArchiveError::Io { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(archive)
    }

    /// Where it ends now.
    ///
    /// # Errors
    /// Those of [`BucketArchive::open`], and that the store does not answer.
    pub fn ends(
        url: &str,
        store: Box<dyn Objects>,
        journal: JournalReader,
    ) -> Result<Sequence, ArchiveError> {
        let mut archive = BucketArchive::at(url, store, journal);
        archive.look().map(|()| archive.head.sequence)
    }

    fn at(url: &str, store: Box<dyn Objects>, journal: JournalReader) -> BucketArchive {
        BucketArchive {
            url: url.to_owned(),
            store,
            journal,
            head: Head::START,
            known: None,
            fresh: false,
        }
    }

    /// Finds out where it ends.
    fn look(&mut self) -> Result<(), ArchiveError> {
        let known = self.names()?;
        if let Some((first, last)) = known.first().copied().zip(known.last().copied()) {
            if first != Sequence::ZERO.next().get() {
                return Err(ArchiveError::Beginning(self.path(&name_of(first))));
            }
            let begins = self.blocks(first)?;
            let ends = if last == first { begins.clone() } else { self.blocks(last)? };
            let head = ends.last().map_or(Head::START, Block::head);
            self.belongs(begins.first(), &head)?;
            self.head = head;
        }
        self.known = Some(known);
        Ok(())
    }

    /// The first records of the objects that are there.
    fn names(&mut self) -> Result<BTreeSet<u64>, ArchiveError> {
        let names = self.store.list().map_err(|error| failed(&self.url, error))?;
        Ok(names.iter().filter_map(|name| first_of(name)).collect())
    }

    /// Checks that the journal has its first block and its last.
    fn belongs(&self, first: Option<&Block>, last: &Head) -> Result<(), ArchiveError> {
        let journaled = self.journal.head().sequence;
        if let Some(first) = first.filter(|_| journaled > Sequence::ZERO) {
            Archive::same_block(&self.journal, &first.head())?;
        }
        if last.sequence > journaled {
            return Err(ArchiveError::Ahead { archived: last.sequence, journaled });
        }
        Archive::same_block(&self.journal, last)
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{}/{name}", self.url.trim_end_matches('/')))
    }

    /// The verified blocks of an object.
    fn blocks(&mut self, first: u64) -> Result<Vec<Block>, ArchiveError> {
        let name = name_of(first);
        let bytes = self.store.read(&name).map_err(|error| failed(&self.url, error))?;
        blocks_in(&bytes, &self.path(&name))
    }

    /// Takes over an object that is there already: the answer to its write was lost, or another
    /// process writes the archive of the same journal.
    fn take_over(&mut self, first: u64, blocks: &[Durable<Block>]) -> io::Result<()> {
        let there = self.blocks(first).map_err(io::Error::other)?;
        if there.is_empty() {
            let name = self.path(&name_of(first));
            return Err(io::Error::other(format!("{} holds no blocks", name.display())));
        }
        let mut head = self.head;
        for (index, block) in there.iter().enumerate() {
            let own = blocks.get(index).map(|own| own.hash());
            if own != Some(block.hash()) {
                return Err(io::Error::other(format!(
                    "{} holds other blocks than the journal: another venue writes here, or another \
                     process has written more",
                    self.path(&name_of(first)).display()
                )));
            }
            head = block.head();
        }
        self.wrote(first, head);
        Ok(())
    }

    fn wrote(&mut self, first: u64, head: Head) {
        self.known.get_or_insert_default().insert(first);
        self.head = head;
    }
}

impl Shelf for BucketArchive {
    fn head(&self) -> &Head {
        &self.head
    }

    fn check(&mut self, all: bool) -> Result<(), ArchiveError> {
        let Some(known) = self.known.as_ref() else { return self.look() };
        if !all || std::mem::take(&mut self.fresh) {
            return Ok(());
        }
        let known = known.clone();
        match known.difference(&self.names()?).next() {
            Some(lost) => {
                let (path, fate) = (self.path(&name_of(*lost)), Fate::Deleted);
                let sound = Sequence::new(lost.saturating_sub(1));
                Err(ArchiveError::Changed { path, fate, sound })
            }
            None => Ok(()),
        }
    }

    fn append(&mut self, blocks: &[Durable<Block>]) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut head = self.head;
        for block in blocks {
            block.follows(&head).map_err(io::Error::other)?;
            bytes.extend_from_slice(block.bytes());
            head = block.head();
        }
        let first = self.head.sequence.next().get();
        let member = Bytes::from(member::pack(&bytes)?);
        match self.store.make(&name_of(first), member)? {
            Made::New => {
                self.wrote(first, head);
                Ok(())
            }
            Made::Exists => self.take_over(first, blocks),
        }
    }

    fn every(&self) -> Duration {
        EVERY
    }

    fn check_all_every(&self) -> Duration {
        LISTED_EVERY
    }

    fn bears_loss(&self) -> bool {
        true
    }

    fn names(&self) -> &'static ShelfNames {
        &NAMES
    }
}

fn name_of(first: u64) -> String {
    segment_name(Sequence::new(first))
}

/// The first record of an object of this name; `None` if it is no archive's.
pub(crate) fn first_of(name: &str) -> Option<u64> {
    let first = name.strip_suffix(SEGMENT_SUFFIX)?.parse().ok()?;
    (name_of(first) == name).then_some(first)
}

pub(crate) fn failed(url: &str, error: io::Error) -> ArchiveError {
    ArchiveError::Io { path: PathBuf::from(url), error }
}

#[cfg(test)]
#[path = "../../tests/unit/s3/archive.rs"]
mod tests;
