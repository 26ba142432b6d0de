//! The archive in a bucket.
//!
//! Each object is a member, named by its first record, and made only if there is none of that name:
//! so two servers never write the same place, and a write whose answer was lost is found again.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::bucket::{Made, Store, StoreError};
use super::place::Place;
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
    store: Store,
    journal: JournalReader,
    head: Head,
    /// The objects by the first records of their names; `None` until the store has told.
    known: Option<BTreeSet<u64>>,
    listed: Instant,
}

impl fmt::Debug for BucketArchive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketArchive").field("url", &self.url).finish_non_exhaustive()
    }
}

impl BucketArchive {
    /// Opens the archive, and checks that its first and last blocks are the journal's. A store that
    /// does not answer now is asked again later: a venue starts without it.
    ///
    /// # Errors
    /// The settings are at fault, or the archive is of another journal.
    pub fn open(place: &Place, journal: JournalReader) -> Result<BucketArchive, ArchiveError> {
        let mut archive = BucketArchive::at(place, journal)?;
        match archive.look() {
            Ok(()) | Err(ArchiveError::Io { .. }) => Ok(archive),
            Err(error) => Err(error),
        }
    }

    /// Where it ends now.
    ///
    /// # Errors
    /// Those of [`BucketArchive::open`], and that the store does not answer.
    pub fn ends(place: &Place, journal: JournalReader) -> Result<Sequence, ArchiveError> {
        let mut archive = BucketArchive::at(place, journal)?;
        archive.look().map(|()| archive.head.sequence)
    }

    fn at(place: &Place, journal: JournalReader) -> Result<BucketArchive, ArchiveError> {
        let store = Store::at(place).map_err(|error| failed(&place.url, error))?;
        let (url, head, known) = (place.url.clone(), Head::START, None);
        Ok(BucketArchive { url, store, journal, head, known, listed: Instant::now() })
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
        if !all || self.listed.elapsed() < LISTED_EVERY {
            return Ok(());
        }
        self.listed = Instant::now();
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
        match self.store.make(&name_of(first), member).map_err(io::Error::other)? {
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

    fn names(&self) -> &'static ShelfNames {
        &NAMES
    }
}

/// Copies the objects that a folder lacks into it: then it is an archive, for `openoutcry-replay`.
/// Returns how many were copied, and how many there are; without any it makes no folder.
///
/// # Errors
/// The store does not answer or refuses, the folder cannot be written, or it holds what is not of
/// the bucket: a server's own archive or directory would be ruined.
pub fn fetch(place: &Place, folder: &Path) -> Result<(usize, usize), ArchiveError> {
    let of_file = |error| ArchiveError::Io { path: folder.to_owned(), error };
    let mut store = Store::at(place).map_err(|error| failed(&place.url, error))?;
    let names = store.list().map_err(|error| failed(&place.url, error))?;
    let names: Vec<String> = names.into_iter().filter(|name| first_of(name).is_some()).collect();
    if names.is_empty() {
        return Ok((0, 0));
    }
    fs::create_dir_all(folder).map_err(of_file)?;
    for entry in fs::read_dir(folder).map_err(of_file)? {
        let found = entry.map_err(of_file)?.file_name();
        let found = found.to_string_lossy();
        if !names.iter().any(|name| *name == found.trim_end_matches(".partial")) {
            let why = format!("it holds {found}, which is not of the bucket: name a new folder");
            return Err(of_file(io::Error::other(why)));
        }
    }
    let mut copied = 0_usize;
    for name in &names {
        let path = folder.join(name);
        if path.exists() {
            continue;
        }
        let bytes = store.read(name).map_err(|error| failed(&place.url, error))?;
        // It gets its name once it is whole.
        let partial = folder.join(format!("{name}.partial"));
        let mut file = fs::File::create(&partial).map_err(of_file)?;
        file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(of_file)?;
        fs::rename(&partial, &path).map_err(of_file)?;
        copied = copied.saturating_add(1);
    }
    Ok((copied, names.len()))
}

fn name_of(first: u64) -> String {
    segment_name(Sequence::new(first))
}

fn first_of(name: &str) -> Option<u64> {
    let first = name.strip_suffix(SEGMENT_SUFFIX)?.parse().ok()?;
    (name_of(first) == name).then_some(first)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn failed(url: &str, error: StoreError) -> ArchiveError {
    ArchiveError::Io { path: PathBuf::from(url), error: io::Error::other(error.to_string()) }
}
