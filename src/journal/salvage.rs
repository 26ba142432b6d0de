//! Salvage: rebuilds the longest chain from record 1 that a damaged data directory and an archive
//! still hold. Nothing in the directory is written to: the log's copy is opened as a copy of its
//! own.
//!
//! Three sources, in order of trust: the archive, which holds only durable blocks; the log, of
//! which every sound block counts, wherever it stands; and the log's copy.

use std::collections::BTreeMap;
use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};

use memchr::memmem;

use super::block::{Block, ChainHash, Head, MAGIC, RawBlock};
use super::copy::CopyFolder;
use super::directory::{COPY_DIR, JOURNAL_DIR, LOCK_FILE, log_of};
use super::disk::{self, File};
use super::log::{segment, segment_bytes, segments};
use super::member::{GZIP_MAGIC, MEMBER_START, MemberHeader};
use super::portable::{self, PortableFile};
use super::recovery::Marker;
use super::segment;
use super::segment::{Rest, Run, begins, unpack};
use super::watch::MARKER_FILE;
use super::{Durable, JournalError};
use exchange::units::Sequence;

/// Where a block was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// In the archive.
    Archive,
    /// In the log.
    Log,
    /// In the log's copy.
    Copy,
}

impl Origin {
    /// The name, for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Origin::Archive => "archive",
            Origin::Log => "log",
            Origin::Copy => "copy of the log",
        }
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
         {archived}, the directory's {logged}"
    )]
    OtherVenue {
        /// The archive.
        archive: PathBuf,
        /// The directory.
        data: PathBuf,
        /// Hash of the archive's first block.
        archived: ChainHash,
        /// Hash of the directory's.
        logged: ChainHash,
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

/// Sound blocks by their first records, each from the log and from its copy, if these differ.
type Found = BTreeMap<Sequence, Vec<(Block, Origin)>>;

/// Iterates over the chain's blocks; [`finish`](Salvage::finish) then gives the result.
pub struct Salvage {
    archive: Option<Box<dyn Iterator<Item = Block>>>,
    archive_at: Option<PathBuf>,
    /// The archive's next block, read but not used yet.
    archived: Option<Block>,
    folder: PathBuf,
    segments: Vec<Sequence>,
    copy: Option<CopyFolder>,
    /// What was found of the segment looked at last, and of the copy there.
    found: (Option<Sequence>, Found),
    marker: Option<Marker>,
    head: Head,
    covered: Vec<Span>,
    faults: Vec<String>,
    _lock: Option<File>,
}

impl Salvage {
    /// Examines a data directory and an archive or exported file. Copies the log's copy to
    /// `scratch`.
    pub fn of(
        data: &Path,
        archive: Option<&Path>,
        scratch: &Path,
    ) -> Result<Salvage, SalvageError> {
        let lock = not_in_use(data)?;
        let mut faults = Vec::new();
        let mut fault = |path: &Path, error: &dyn std::fmt::Display| {
            faults.push(format!("{}: {error}", path.display()));
        };
        let opened = archive.map(|path| archive_blocks(path, &mut fault)).transpose()?;
        let (folder, marker_path) = (log_of(data), data.join(MARKER_FILE));
        let segments = segments(&folder).unwrap_or_else(|error| {
            fault(&folder, &error);
            Vec::new()
        });
        let marker = disk::read(&marker_path).map(|bytes| Marker::decode(&bytes));
        let marker = marker.unwrap_or(Marker::Unreadable);
        if marker == Marker::Unreadable {
            fault(&marker_path, &"it cannot be read");
        }
        let (from, to) = (data.join(JOURNAL_DIR).join(COPY_DIR), scratch.join(COPY_DIR));
        let copy = disk::is_dir(&from).then(|| copied(&from, &to).map(|()| CopyFolder::at(to)));
        let copy = copy.transpose().unwrap_or_else(|error| {
            fault(&from, &error);
            None
        });
        let mut salvage = Salvage {
            archive: opened,
            archive_at: archive.map(Path::to_owned),
            archived: None,
            folder,
            segments,
            copy,
            found: (None, Found::new()),
            marker: Some(marker).filter(|marker| *marker != Marker::Unreadable),
            head: Head::START,
            covered: Vec::new(),
            faults,
            _lock: lock,
        };
        salvage.same_venue(data)?;
        Ok(salvage)
    }

    /// Checks that the archive and the directory begin with the same block, if both have one.
    fn same_venue(&mut self, data: &Path) -> Result<(), SalvageError> {
        let first = Head::START.sequence.next();
        self.archived = self.archived(first);
        let Some(archived) = self.archived.as_ref().map(Block::hash) else { return Ok(()) };
        self.look_at(first);
        let ours = self.found.1.get(&first).into_iter().flatten();
        let ours: Vec<ChainHash> = ours.map(|(block, _)| block.hash()).collect();
        match (ours.first(), &self.archive_at) {
            (Some(logged), Some(archive)) if !ours.contains(&archived) => {
                Err(SalvageError::OtherVenue {
                    archive: archive.clone(),
                    data: data.to_owned(),
                    archived,
                    logged: *logged,
                })
            }
            _ => Ok(()),
        }
    }

    /// The archive's next block that follows the chain; earlier ones are skipped.
    fn archived(&mut self, next: Sequence) -> Option<Block> {
        loop {
            let block = match self.archived.take() {
                Some(block) => block,
                None => self.archive.as_mut()?.next()?,
            };
            if block.first() > next {
                self.archived = Some(block);
                return None;
            }
            if block.follows(&self.head).is_ok() {
                return Some(block);
            }
        }
    }

    /// The block after the chain's end in the log or its copy.
    fn logged(&mut self, next: Sequence) -> Option<(Block, Origin)> {
        self.look_at(next);
        let found = self.found.1.get(&next).into_iter().flatten();
        let mut fitting = found.filter(|(block, _)| block.follows(&self.head).is_ok());
        let (block, origin) = fitting.find(|(block, _)| !self.refused(block))?.clone();
        if self.marker.is_none() && origin == Origin::Log {
            // Without a marker the last block may be a refused one; none was ever built on that.
            self.look_at(block.last().next());
            let after = self.found.1.get(&block.last().next()).into_iter().flatten();
            let built_on = after.into_iter().any(|(after, _)| after.previous() == block.hash());
            return built_on.then_some((block, origin));
        }
        Some((block, origin))
    }

    fn refused(&self, block: &Block) -> bool {
        let (first, previous) = (block.first(), block.previous());
        self.marker == Some(Marker::Refused { first, previous })
    }

    /// Finds the blocks of the segment that should hold a record, and of the copy there.
    fn look_at(&mut self, record: Sequence) {
        let after = self.segments.partition_point(|first| *first <= record);
        let holding = after.checked_sub(1).and_then(|index| self.segments.get(index)).copied();
        let end = self.segments.get(after).copied();
        let from = holding.unwrap_or(Head::START.sequence.next());
        if self.found.0 == Some(from) {
            return;
        }
        let mut found = Found::new();
        let mut add = |block: Block, origin| {
            let held: &mut Vec<(Block, Origin)> = found.entry(block.first()).or_default();
            if held.iter().all(|(held, _)| held.hash() != block.hash()) {
                held.push((block, origin));
            }
        };
        if let Some(first) = holding {
            let path = segment(&self.folder, first);
            match disk::read(&path) {
                Ok(bytes) => sound_blocks(&bytes).into_iter().for_each(|b| add(b, Origin::Log)),
                Err(error) => self.faults.push(format!("{}: {error}", path.display())),
            }
        }
        let end = end.unwrap_or(Sequence::new(u64::MAX));
        let copied = self.copy.as_ref().map(|copy| copy.with(|copy| copy.range(from, end)));
        match copied {
            Some(Ok(members)) => {
                for run in members.iter().filter_map(|(first, member)| unpack(member, *first).ok())
                {
                    blocks_of(&run).for_each(|block| add(block, Origin::Copy));
                }
            }
            Some(Err(error)) => {
                self.faults.push(format!("the copy of the log: {error}"));
                self.copy = None;
            }
            None => {}
        }
        self.found = (Some(from), found);
    }

    /// The result, once the chain has ended.
    pub fn finish(mut self) -> Salvaged {
        let mut beyond = Vec::new();
        let rest = self.archived.take().into_iter();
        let rest = rest.chain(self.archive.take().into_iter().flatten());
        for block in rest.filter(|block| block.first() > self.head.sequence) {
            extend(&mut beyond, &block, Origin::Archive);
        }
        let next = self.head.sequence.next();
        let begun = self.segments.partition_point(|first| *first <= next).saturating_sub(1);
        let looked: Vec<Sequence> = self.segments.iter().skip(begun).copied().collect();
        for first in looked.into_iter().chain([next]) {
            self.look_at(first);
            for (block, origin) in self.found.1.range(next..).flat_map(|(_, found)| found) {
                let seen = |span: &Span| span.first <= block.first() && block.last() <= span.last;
                if !self.refused(block) && !beyond.iter().any(seen) {
                    extend(&mut beyond, block, *origin);
                }
            }
        }
        beyond.sort_by_key(|span| (span.first, span.last));
        let ended = self.ends_whole();
        let Salvage { head, covered, mut faults, marker, archive_at, .. } = self;
        if let Some(archive) = archive_at
            && covered.iter().chain(&beyond).all(|span| span.origin != Origin::Archive)
        {
            faults.push(format!("{}: holds no block of an archive", archive.display()));
        }
        let complete = ended && beyond.is_empty() && marker.is_some() && head != Head::START;
        Salvaged { head, covered, beyond, complete, marked: marker.is_some(), faults }
    }

    /// Whether the log ends as a server leaves it, so that no record is missing after the chain's
    /// end.
    fn ends_whole(&mut self) -> bool {
        let Some(last) = self.segments.last().copied() else { return false };
        let path = segment(&self.folder, last);
        let bytes = disk::read(&path).unwrap_or_default();
        if bytes.len() != segment_bytes() {
            self.faults.push(format!("{}: it is no whole open segment", path.display()));
            return false;
        }
        let (run, rest) = Run::read(bytes, last);
        let refused =
            matches!(self.marker, Some(Marker::Refused { first, .. }) if first == run.next());
        match segment::rest(&rest, run.bytes().len()) {
            Rest::Nothing | Rest::Torn => true,
            Rest::Damaged => refused,
            Rest::Others => false,
        }
    }
}

impl Iterator for Salvage {
    type Item = Result<Durable<Block>, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.head.sequence.next();
        let archived = self.archived(next).map(|block| (block, Origin::Archive));
        let (block, origin) = archived.or_else(|| self.logged(next))?;
        self.head = block.head();
        extend(&mut self.covered, &block, origin);
        Some(Ok(Durable(block)))
    }
}

/// The sound blocks of an archive or an exported file, in the order in which they stand there.
fn archive_blocks(
    path: &Path,
    fault: &mut impl FnMut(&Path, &dyn std::fmt::Display),
) -> Result<Box<dyn Iterator<Item = Block>>, SalvageError> {
    let mut files = portable::files(path).map_err(|error| failed(path, error))?;
    files.retain(|file| File::open(file).inspect_err(|error| fault(file, error)).is_ok());
    let blocks_of = |file: PathBuf| -> Box<dyn Iterator<Item = Block>> {
        let bytes = disk::read(&file).unwrap_or_default();
        if bytes.starts_with(&GZIP_MAGIC) {
            let members: Vec<usize> = memmem::find_iter(&bytes, &MEMBER_START).collect();
            return Box::new(members.into_iter().flat_map(move |at| member_blocks(&bytes, at)));
        }
        let plain = PortableFile::open(&file).into_iter().flatten();
        Box::new(plain.map_while(|block| Some(block.ok()?.0)))
    };
    Ok(Box::new(files.into_iter().flat_map(blocks_of)))
}

/// The blocks of the member that begins at an offset, if it is sound.
fn member_blocks(bytes: &[u8], at: usize) -> Vec<Block> {
    let run = || {
        let rest = bytes.get(at..)?;
        let length = MemberHeader::read(rest).ok()?.member_bytes();
        let member = rest.get(..usize::try_from(length).ok()?)?;
        unpack(member, begins(member).ok()?).ok()
    };
    run().iter().flat_map(blocks_of).collect()
}

/// Every sound block in a segment's bytes, wherever it stands and in either form.
fn sound_blocks(bytes: &[u8]) -> Vec<Block> {
    if bytes.starts_with(&GZIP_MAGIC) || memmem::find(bytes, &MAGIC).is_none() {
        let members = memmem::find_iter(bytes, &MEMBER_START);
        return members.flat_map(|at| member_blocks(bytes, at)).collect();
    }
    let sound = memmem::find_iter(bytes, &MAGIC).filter_map(|at| {
        let rest = bytes.get(at..)?;
        let (.., length) = segment::sound_span(rest)?;
        RawBlock::new(rest.get(..length)?.to_vec()).decode().ok()
    });
    sound.collect()
}

fn blocks_of(run: &Run) -> impl Iterator<Item = Block> {
    run.blocks().filter_map(|(_, block)| RawBlock::new(block.to_vec()).decode().ok())
}

/// Adds a block's records to the ranges.
fn extend(spans: &mut Vec<Span>, block: &Block, origin: Origin) {
    let (first, last) = (block.first(), block.last());
    match spans.last_mut() {
        Some(span) if span.origin == origin && span.last.next() == first => span.last = last,
        _ => spans.push(Span { first, last, origin }),
    }
}

/// Copies a folder's files.
fn copied(from: &Path, to: &Path) -> io::Result<()> {
    disk::create_dir_all(to)?;
    for entry in disk::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            disk::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
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

fn failed(path: &Path, error: io::Error) -> SalvageError {
    SalvageError::Io { path: path.to_owned(), error }
}
