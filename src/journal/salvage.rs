//! Salvage: rebuilds the longest chain from record 1 that a damaged data directory and an archive
//! still hold.
//!
//! The directory is never written to: sled is opened on a copy, because opening it writes. Three
//! sources, in order of trust: the archive, which holds only durable blocks; sled's tree and the
//! write-ahead log's chain, which hold no removed block; and both files, searched byte by byte,
//! whose blocks may have been refused and so count only up to the witness.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::block::{Block, ChainHash, Head, RawBlock};
use super::marker::{Marker, Witness, newest_witness};
use super::portable;
use super::scrape::{SoundBlocks, scrape_file};
use super::sled::{LOCK_FILE, MARKER_FILE, STORE_DIR, WAL_FILE, WITNESS_FILE};
use super::store::BlockSource;
use super::store_copy::store_copy;
use super::tree::Sled;
use super::unreadable::open_regular;
use super::wal;
use super::{Durable, JournalError};
use exchange::units::Sequence;

mod in_file;

use in_file::FoundBlocks;

/// sled's data file.
const DATABASE: &str = "db";
/// What is searched byte by byte: sled's file, and the write-ahead log's.
const FILE_ORIGINS: [Origin; 2] = [Origin::StoreFile, Origin::LogFile];

/// Where a block was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// In the archive.
    Archive,
    /// In sled's tree.
    Store,
    /// In the write-ahead log's chain.
    Log,
    /// In sled's file but not in its tree.
    StoreFile,
    /// In the log's file but not in its chain: after damage, or left of what it held before.
    LogFile,
}

impl Origin {
    /// The name, for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Origin::Archive => "archive",
            Origin::Store => "store",
            Origin::Log => "write-ahead log",
            Origin::StoreFile => "store file",
            Origin::LogFile => "write-ahead log's file",
        }
    }

    /// Whether it was found byte by byte, so that it may have been refused.
    pub const fn is_searched(self) -> bool {
        matches!(self, Origin::StoreFile | Origin::LogFile)
    }
}

/// A range of records from one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub first: Sequence,
    /// The last.
    pub last: Sequence,
    /// The source.
    pub origin: Origin,
}

/// The result of a salvage.
#[derive(Debug, Clone)]
pub struct Salvaged {
    /// Where the chain ends.
    pub head: Head,
    /// The ranges it consists of, in order.
    pub covered: Vec<Span>,
    /// Sound blocks that could not be used: records before them are missing, or they may have been
    /// refused.
    pub beyond: Vec<Span>,
    /// The last record known to be acknowledged; `None` if the witness cannot be read.
    pub acknowledged: Option<Sequence>,
    /// Whether every acknowledged record is known to be covered.
    pub complete: bool,
    /// Whether the marker, which names a refused block, could be read.
    pub marked: bool,
    /// The sources' faults, in words.
    pub faults: Vec<String>,
}

/// Why salvage did not begin.
#[derive(Debug, thiserror::Error)]
pub enum SalvageError {
    /// A server has the directory open.
    #[error("OPEN_LOCKED: {0} is in use by another process")]
    Locked(PathBuf),
    /// The archive's first block is not the directory's.
    #[error(
        "SALVAGE_OTHER_VENUE: {archive} is of another journal than {data}: its first block is \
         {archived}, the directory's {stored}"
    )]
    OtherVenue {
        /// The archive.
        archive: PathBuf,
        /// The directory.
        data: PathBuf,
        /// Hash of the archive's first block.
        archived: ChainHash,
        /// Hash of the directory's.
        stored: ChainHash,
    },
    /// A file system failed.
    #[error("SALVAGE_FAILED: {path}: {error}")]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

/// Iterates over the chain's blocks; [`finish`](Salvage::finish) then gives the result.
pub struct Salvage {
    archive: SoundBlocks,
    /// The archive's next block, read but not used yet.
    archived: Option<Block>,
    archive_last: Sequence,
    store: Option<Sled>,
    /// The blocks of the write-ahead log.
    log: BTreeMap<Sequence, Block>,
    /// sled's file, and the write-ahead log's.
    files: Vec<Option<File>>,
    /// The archive, if one was named.
    named: Option<PathBuf>,
    in_file: FoundBlocks,
    marker: Option<Marker>,
    witness: Option<Witness>,
    witness_met: bool,
    head: Head,
    covered: Vec<Span>,
    faults: Vec<String>,
    _lock: Option<File>,
}

impl Salvage {
    /// Examines a data directory and an archive or exported file. Copies sled's files to `scratch`.
    pub fn of(
        data: &Path,
        archive: Option<&Path>,
        scratch: &Path,
    ) -> Result<Salvage, SalvageError> {
        let lock = not_in_use(data)?;
        let mut faults = Vec::new();
        let files = archive.map_or_else(|| Ok(VecDeque::new()), portable::files);
        let files = files.map_err(|error| failed(archive.unwrap_or(data), error))?;
        // In the order of `FILE_ORIGINS`.
        let paths = [data.join(STORE_DIR).join(DATABASE), data.join(WAL_FILE)];
        let mut in_file = FoundBlocks::default();
        for (file, path) in paths.iter().enumerate() {
            let scraped = scrape_file(path, |offset, block| in_file.add(file, offset, &block));
            match scraped {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => faults.push(format!("{}: {error}", path.display())),
                Ok(0) => {}
                Ok(lost) => faults.push(unreadable(path, lost)),
            }
        }
        let store = store_copy(&data.join(STORE_DIR), scratch, &mut faults)
            .map_err(|(path, error)| failed(&path, error))?;
        // Its unreadable bytes were reported above, and most errors.
        let log_path = data.join(WAL_FILE);
        let (log, _) = wal::read_damaged(&log_path).unwrap_or_else(|error| {
            let fault = format!("{}: {error}", log_path.display());
            if !faults.contains(&fault) {
                faults.push(fault);
            }
            Default::default()
        });
        let marker = marker(&data.join(MARKER_FILE), &mut faults);
        let witness = witness(&data.join(WITNESS_FILE), &mut faults);
        let mut salvage = Salvage {
            archive: SoundBlocks::of(files),
            named: archive.map(Path::to_owned),
            archived: None,
            archive_last: Sequence::ZERO,
            store,
            log: log.into_iter().map(|block| (block.first(), block)).collect(),
            files: paths.iter().map(|path| Some(open_regular(path).ok()?.0)).collect(),
            in_file,
            marker,
            witness,
            witness_met: witness.is_some_and(|witness| witness.last == Sequence::ZERO),
            head: Head::START,
            covered: Vec::new(),
            faults,
            _lock: lock,
        };
        salvage.same_venue(archive.unwrap_or(data), data)?;
        Ok(salvage)
    }

    /// Checks that the archive and the directory begin with the same block, if both have one.
    fn same_venue(&mut self, archive: &Path, data: &Path) -> Result<(), SalvageError> {
        let first = Head::START.sequence.next();
        let Some(archived) = self.archived(first) else { return Ok(()) };
        let known = archived.hash();
        self.archived = Some(archived);
        let in_file = self.in_file.beginning(first).map(|held| held.hash);
        let mut stored: Vec<ChainHash> = in_file.collect();
        stored.extend(self.stored(first).map(|(block, _)| block.hash()));
        // The directory may hold a refused first block beside the accepted one.
        match stored.first() {
            Some(stored_first) if !stored.contains(&known) => Err(SalvageError::OtherVenue {
                archive: archive.to_owned(),
                data: data.to_owned(),
                archived: known,
                stored: *stored_first,
            }),
            _ => Ok(()),
        }
    }

    /// The next block of the chain, from the most trusted source that has it.
    fn next_block(&mut self) -> Option<(Block, Origin)> {
        let next = self.head.sequence.next();
        let archived = self.archived(next);
        let stored = self.stored(next).filter(|(block, _)| block.follows(&self.head).is_ok());
        if let (Some(archived), Some((stored, _))) = (&archived, &stored)
            && archived.hash() != stored.hash()
        {
            self.faults.push(format!(
                "two blocks claim to begin with record {next}: {} in the archive, which was taken, \
                 and {} in the store",
                archived.hash(),
                stored.hash()
            ));
        }
        let archived = archived.map(|block| (block, Origin::Archive));
        archived.or(stored).or_else(|| self.in_file_only(next))
    }

    /// The archive's next block that follows the chain; earlier ones are skipped.
    fn archived(&mut self, next: Sequence) -> Option<Block> {
        loop {
            let block = self.archived.take().or_else(|| self.archive.next())?;
            self.archive_last = self.archive_last.max(block.last());
            if block.first() > next {
                self.archived = Some(block);
                return None;
            }
            if block.follows(&self.head).is_ok() {
                return Some(block);
            }
        }
    }

    /// The block under `next` in sled or the log, unless it was refused or may have been.
    fn stored(&mut self, next: Sequence) -> Option<(Block, Origin)> {
        let logged = self.log.get(&next).filter(|block| self.not_refused(block)).cloned();
        let in_tree = self.in_tree(next).map(|block| (block, Origin::Store));
        in_tree.or(logged.map(|block| (block, Origin::Log)))
    }

    fn in_tree(&mut self, next: Sequence) -> Option<Block> {
        let found = match self.store.as_ref()?.blocks.at_or_after(next) {
            Ok(found) => found,
            Err(error) => {
                let fault = format!("sled: {error}");
                if !self.faults.contains(&fault) {
                    self.faults.push(fault);
                }
                None
            }
        };
        let (_, bytes) = found.filter(|(key, _)| *key == next)?;
        match RawBlock::new(bytes).decode() {
            Ok(block) => Some(block).filter(|block| self.not_refused(block)),
            Err(fault) => {
                self.faults.push(format!("sled: in the block of record {next}: {fault}"));
                None
            }
        }
    }

    /// Whether nothing indicates that a block was refused.
    fn not_refused(&self, block: &Block) -> bool {
        match self.marker {
            Some(Marker::Clear) => true,
            Some(Marker::Refused { .. }) => !self.marked(block.first(), block.previous()),
            Some(Marker::Unreadable) | None => {
                self.acknowledged(block) || self.built_upon(block.last(), block.hash())
            }
        }
    }

    /// Whether a block follows this one: no block was ever built on a refused one.
    fn built_upon(&self, last: Sequence, hash: ChainHash) -> bool {
        self.in_file.beginning(last.next()).any(|after| after.previous == hash)
    }

    fn acknowledged(&self, block: &Block) -> bool {
        self.witness.is_some_and(|witness| {
            block.last() < witness.last
                || block.last() == witness.last && block.hash() == witness.hash
        })
    }

    /// The block at `next` from the byte search, if it was acknowledged and is the only candidate,
    /// or the only one that another block was built on.
    fn in_file_only(&self, next: Sequence) -> Option<(Block, Origin)> {
        let held = self.in_file.beginning(next);
        let held: Vec<_> = held.filter(|held| held.previous == self.head.hash).collect();
        let one = match held.as_slice() {
            [one] => one,
            several => {
                let mut built_upon =
                    several.iter().filter(|held| self.built_upon(held.last, held.hash));
                let one = built_upon.next().filter(|_| built_upon.next().is_none());
                one.or_else(|| {
                    let witness = self.witness?;
                    several.iter().find(|held| held.hash == witness.hash)
                })?
            }
        };
        let mut bytes = vec![0; one.bytes];
        let file = self.files.get(one.file)?.as_ref()?;
        file.read_exact_at(&mut bytes, one.offset).ok()?;
        let block = RawBlock::new(bytes).decode().ok()?;
        let follows = block.follows(&self.head).is_ok();
        let sure = follows && self.not_refused(&block) && self.acknowledged(&block);
        sure.then(|| (block, FILE_ORIGINS.get(one.file).copied().unwrap_or(Origin::StoreFile)))
    }

    /// The result, once the chain has ended.
    pub fn finish(mut self) -> Salvaged {
        let (mut beyond, mut in_doubt) = (Vec::new(), false);
        for block in self.archived.take().into_iter().chain(self.archive.by_ref()) {
            self.archive_last = self.archive_last.max(block.last());
            if block.first() > self.head.sequence {
                extend(&mut beyond, &block, Origin::Archive);
            }
        }
        let after = self.head.sequence.next();
        self.beyond_in_store(after, &mut beyond);
        let seen = beyond.clone();
        for (first, one) in self.in_file.range(after..) {
            let known = |span: &Span| (span.first..=span.last).contains(&first);
            if !seen.iter().any(known) {
                let origin = FILE_ORIGINS.get(one.file).copied().unwrap_or(Origin::StoreFile);
                extend_by(&mut beyond, (first, one.last), origin);
            }
            let mut held = self.in_file.beginning(first);
            in_doubt |= held.any(|held| !self.marked(first, held.previous));
        }
        beyond.sort_by_key(|span| (span.first, span.last));
        let mut faults = self.faults;
        // The archive has been read to its end.
        faults.extend_from_slice(self.archive.faults());
        if let Some(archive) = self.named.filter(|_| self.archive_last == Sequence::ZERO) {
            faults.push(format!("{}: holds no block of an archive", archive.display()));
        }
        let (witness, head) = (self.witness, self.head);
        let acknowledged = witness.map(|witness| witness.last.max(self.archive_last));
        // The witness may lag, so later blocks may have been acknowledged too, unless the marker
        // says that they were refused.
        in_doubt |= beyond.iter().any(|span| !span.origin.is_searched());
        let reached = acknowledged.is_some_and(|known| head.sequence >= known);
        let complete = reached && self.witness_met && !in_doubt;
        let marked = !matches!(self.marker, None | Some(Marker::Unreadable));
        Salvaged { head, covered: self.covered, beyond, acknowledged, complete, marked, faults }
    }

    /// Adds what sled's tree and the log hold after the chain's end.
    fn beyond_in_store(&mut self, after: Sequence, beyond: &mut Vec<Span>) {
        let (store, mut from) = (self.store.take(), after);
        while let Some(Ok(Some((key, bytes)))) = store.as_ref().map(|s| s.blocks.at_or_after(from))
        {
            from = key.next();
            if let Ok(block) = RawBlock::new(bytes).decode()
                && !self.marked(block.first(), block.previous())
            {
                from = block.last().next().max(from);
                extend(beyond, &block, Origin::Store);
            }
        }
        for (_, block) in self.log.range(from..) {
            if !self.marked(block.first(), block.previous()) {
                extend(beyond, block, Origin::Log);
            }
        }
    }

    /// Whether the marker says that this block was refused.
    fn marked(&self, first: Sequence, previous: ChainHash) -> bool {
        self.marker == Some(Marker::Refused { first, previous })
    }
}

impl Iterator for Salvage {
    type Item = Result<Durable<Block>, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (block, origin) = self.next_block()?;
        self.head = block.head();
        if let Some(witness) = self.witness.filter(|witness| witness.last == block.last()) {
            self.witness_met = witness.hash == block.hash();
        }
        extend(&mut self.covered, &block, origin);
        Some(Ok(Durable(block)))
    }
}

/// Adds a block's records to the ranges.
fn extend(spans: &mut Vec<Span>, block: &Block, origin: Origin) {
    extend_by(spans, (block.first(), block.last()), origin);
}

fn extend_by(spans: &mut Vec<Span>, (first, last): (Sequence, Sequence), origin: Origin) {
    match spans.last_mut() {
        Some(span) if span.origin == origin && span.last.next() == first => span.last = last,
        _ => spans.push(Span { first, last, origin }),
    }
}

/// Takes the directory's lock, if the file exists, without writing.
fn not_in_use(data: &Path) -> Result<Option<File>, SalvageError> {
    let path = data.join(LOCK_FILE);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&path, error)),
    };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(SalvageError::Locked(data.to_owned())),
        Err(TryLockError::Error(error)) => Err(failed(&path, error)),
    }
}

fn marker(path: &Path, faults: &mut Vec<String>) -> Option<Marker> {
    let read = fs::read(path).map(|bytes| Marker::decode(&bytes));
    match &read {
        Ok(Marker::Unreadable) => faults.push(format!("{} cannot be read", path.display())),
        Ok(_) => {}
        Err(error) => faults.push(format!("{}: {error}", path.display())),
    }
    read.ok()
}

fn witness(path: &Path, faults: &mut Vec<String>) -> Option<Witness> {
    let read = File::open(path).and_then(|file| newest_witness(&file));
    match &read {
        Ok(Some(_)) => {}
        Ok(None) => faults.push(format!("{} cannot be read", path.display())),
        Err(error) => faults.push(format!("{}: {error}", path.display())),
    }
    read.ok().flatten()
}

fn unreadable(path: &Path, bytes: usize) -> String {
    format!("{}: {bytes} bytes cannot be read", path.display())
}

fn failed(path: &Path, error: io::Error) -> SalvageError {
    SalvageError::Io { path: path.to_owned(), error }
}
