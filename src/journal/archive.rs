//! An archive: a folder of compressed portable files, written member by member by the archiver.
//! Concatenated, the files are one portable file.
//!
//! A member is one write and one sync, so a crash can tear only the last one. A torn member is cut
//! off and written again from the journal; any other damage, or a torn member that a whole one
//! follows, is reported and left as it is.

mod files;

use std::collections::VecDeque;
use std::fs::TryLockError;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::block::{BLOCK_BYTES_MAX, Block, ChainHash, Head};
use super::disk::{self, File, MetadataExt, OpenOptions};
use super::member::{self, MEMBER_BLOCKS_BYTES, Members};
use super::portable::{PortableFile, SEGMENT_SUFFIX, segments, sync_folder_of};
use super::reader::JournalReader;
use super::watch::{Fate, WatchedFile};
use super::{Durable, JournalError};
use exchange::units::Sequence;
use files::{WholeMember, cut_torn, head_of, whole_members};

/// A file that has grown past this is the last to do so before the next begins: large enough that
/// years make some thousands of files, small enough to copy them one by one.
pub const SEGMENT_BYTES: u64 = 64 << 20;
/// Most that a torn write can leave: one member. Incompressible bytes grow a little.
const TORN_BYTES_MAX: u64 = 2 << 20;
/// Locked by the process that writes the archive.
const LOCK_FILE: &str = "lock";
/// Digits of the first record's number in a file's name.
const NAME_DIGITS: usize = 20;

const _: () = assert!(MEMBER_BLOCKS_BYTES + BLOCK_BYTES_MAX < 2 << 20);

/// Why an archive cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// Another process writes it.
    #[error("ARCHIVE_LOCKED: {0} is in use by another process")]
    Locked(PathBuf),
    /// The file system failed.
    #[error("ARCHIVE_FAILED: {path}: {error}")]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The last file is damaged by more than a torn write, or holds other blocks than its name
    /// says. Nothing was changed.
    #[error(
        "ARCHIVE_DAMAGED: {path}: at byte {offset}: {what}; nothing was changed: move the archive \
         away and begin another, or ask `openoutcry-replay verify` how far it is sound"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Offset of the member that is not whole.
        offset: u64,
        /// What is wrong with it.
        what: String,
    },
    /// Its first files are missing, so it is no copy of a journal any more.
    #[error(
        "ARCHIVE_BEGINNING: the files before {0} are gone; put them back, or name an empty folder"
    )]
    Beginning(PathBuf),
    /// A file between others is missing.
    #[error(
        "ARCHIVE_GAP: records {from} to {to} are missing: the file that followed {after} is gone; \
         put it back, or name an empty folder"
    )]
    Gap {
        /// The file before it.
        after: PathBuf,
        /// First record missing.
        from: Sequence,
        /// Last record missing.
        to: Sequence,
    },
    /// The archive goes beyond the journal's end: the journal has lost its tail, or was replaced by
    /// an older copy.
    #[error(
        "ARCHIVE_AHEAD: the archive ends with record {archived}, the journal with {journaled}; if \
         the journal has lost its tail, `openoutcry-replay salvage` puts it back"
    )]
    Ahead {
        /// Last record of the archive.
        archived: Sequence,
        /// Last record of the journal.
        journaled: Sequence,
    },
    /// The archive is of another journal.
    #[error(
        "ARCHIVE_OTHER_JOURNAL: block {archived} of the archive ends with record {record}, the \
         journal's is {journaled}; name an empty folder, or the archive of this journal"
    )]
    OtherJournal {
        /// The archive's last record.
        record: Sequence,
        /// Hash of the archive's block.
        archived: ChainHash,
        /// Hash of the journal's block there; zeros if none of its blocks ends there.
        journaled: ChainHash,
    },
    /// A file of the archive, or its folder, is not what this process wrote.
    #[error(
        "ARCHIVE_CHANGED: {path} was {fate} while the server runs; put it back, or restart with an \
         empty folder: until then the archive counts as ending with record {sound}"
    )]
    Changed {
        /// The path.
        path: PathBuf,
        /// What happened to it.
        fate: Fate,
        /// The last record before what is missing.
        sound: Sequence,
    },
    /// The journal could not be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// A torn write that was cut off when the archive was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The file.
    pub path: PathBuf,
    /// Its length now.
    pub length: u64,
    /// Bytes that were cut off.
    pub bytes: u64,
}

/// An archive being written.
#[derive(Debug)]
pub struct Archive {
    folder: PathBuf,
    watched: WatchedFile,
    /// The files that do not change any more, with their lengths.
    sealed: Vec<(PathBuf, u64)>,
    head: Head,
    /// The file for the next member, and how many of its bytes are whole and durable.
    segment: PathBuf,
    whole: u64,
    /// `None` after a failure: it is opened again.
    file: Option<File>,
    _lock: File,
}

impl Archive {
    /// Opens the archive in a folder; creates it if missing. Cuts off a torn write. Every file must
    /// follow the one before it.
    pub fn open(folder: &Path) -> Result<(Archive, Option<Cut>), ArchiveError> {
        let failed = |error| failed(folder, error);
        if !disk::exists(folder) {
            disk::create_dir_all(folder).map_err(failed)?;
        }
        // Even if an earlier start created the folder: it may have ended before this.
        sync_folder_of(folder).map_err(failed)?;
        let lock = OpenOptions::new().create(true).append(true).open(folder.join(LOCK_FILE));
        let lock = lock.map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(ArchiveError::Locked(folder.to_owned()));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let files = segments(folder).map_err(failed)?.unwrap_or_default();
        let Some(segment) = files.back().cloned() else {
            let (head, segment) = (Head::START, segment_path(folder, &Head::START));
            return Ok((Archive::at(folder, head, (segment, 0), lock)?, None));
        };
        let (last, cut) = cut_torn(&segment)?;
        let whole = last.as_ref().map_or(0, |last| last.end);
        let all = files.clone();
        let head = end_of(folder, files, last)?;
        let mut archive = Archive::at(folder, head, (segment, whole), lock)?;
        for sealed in all.into_iter().filter(|file| *file != archive.segment) {
            let length = disk::metadata(&sealed).map_err(failed)?.len();
            archive.sealed.push((sealed, length));
        }
        Ok((archive, cut))
    }

    /// Checks, without changing anything, that a folder's files are what [`Archive::open`] and
    /// [`Archive::belongs_to`] take, as far as their names and joints say. A torn end is left to
    /// the reader of the blocks.
    pub fn check_folder(folder: &Path) -> Result<(), ArchiveError> {
        let files = segments(folder).map_err(|error| failed(folder, error))?.unwrap_or_default();
        let Some(segment) = files.back() else { return Ok(()) };
        let (last, _) = whole_members(segment)?;
        let first = files.front().cloned();
        let head = end_of(folder, files, last)?;
        if head == Head::START { Ok(()) } else { begins(folder, first.as_ref()) }
    }

    fn at(
        folder: &Path,
        head: Head,
        (segment, whole): (PathBuf, u64),
        lock: File,
    ) -> Result<Archive, ArchiveError> {
        let watched = WatchedFile::folder(folder).map_err(|error| failed(folder, error))?;
        let (folder, sealed) = (folder.to_owned(), Vec::new());
        Ok(Archive { folder, watched, sealed, head, segment, whole, file: None, _lock: lock })
    }

    /// Checks that the folder and the newest file are what this process wrote, and with `all` the
    /// other files too.
    ///
    /// # Errors
    /// [`ArchiveError::Changed`].
    pub fn check(&self, all: bool) -> Result<(), ArchiveError> {
        if let Some(fate) = self.watched.fate() {
            let (path, sound) = (self.folder.clone(), Sequence::ZERO);
            return Err(ArchiveError::Changed { path, fate, sound });
        }
        let newest = (self.whole > 0).then_some((&self.segment, self.whole));
        let sealed = self.sealed.iter().map(|(path, length)| (path, *length));
        for (path, length) in sealed.filter(|_| all).chain(newest) {
            if let Some(fate) =
                fate(path, length, self.file.as_ref().filter(|_| *path == self.segment))
            {
                let sound = before(path);
                return Err(ArchiveError::Changed { path: path.clone(), fate, sound });
            }
        }
        Ok(())
    }

    /// Where it ends.
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// Checks that the archive's first and last blocks are the journal's.
    pub fn belongs_to(&self, journal: &JournalReader) -> Result<(), ArchiveError> {
        let (head, journaled) = (self.head, journal.head().sequence);
        if head == Head::START {
            return Ok(());
        }
        let first = segments(&self.folder).map_err(|error| failed(&self.folder, error))?;
        begins(&self.folder, first.as_ref().and_then(VecDeque::front))?;
        // The first block too: otherwise a shorter journal of another venue would pass as a
        // truncated one.
        let mut archived = PortableFile::open(&self.folder)
            .map_err(|error| failed(&self.folder, error))?
            .take(usize::from(journaled > Sequence::ZERO));
        if let Some(first) = archived.next().transpose()? {
            Archive::same_block(journal, &first.head())?;
        }
        if head.sequence > journaled {
            return Err(ArchiveError::Ahead { archived: head.sequence, journaled });
        }
        Archive::same_block(journal, &head)
    }

    /// Checks that the journal has the block that led to this head.
    ///
    /// # Errors
    /// [`ArchiveError::OtherJournal`].
    pub fn same_block(journal: &JournalReader, head: &Head) -> Result<(), ArchiveError> {
        let block = journal.read(head.sequence).next().transpose()?;
        let there = block.filter(|block| block.last() == head.sequence);
        let journaled = there.map_or(ChainHash::ZERO, |block| block.hash());
        if journaled == head.hash {
            return Ok(());
        }
        let (record, archived) = (head.sequence, head.hash);
        Err(ArchiveError::OtherJournal { record, archived, journaled })
    }

    /// Appends blocks, which must follow the archive's last, as one member; returns once they are
    /// durable. After an error nothing was appended, and the call may be repeated.
    pub fn append(&mut self, blocks: &[Durable<Block>]) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut head = self.head;
        for block in blocks {
            block.follows(&head).map_err(io::Error::other)?;
            bytes.extend_from_slice(block.bytes());
            head = block.head();
        }
        if self.whole >= SEGMENT_BYTES {
            self.sealed.push((self.segment.clone(), self.whole));
            self.segment = segment_path(&self.folder, &self.head);
            (self.whole, self.file) = (0, None);
        }
        let member = member::pack(&bytes)?;
        if let Err(error) = self.write(&member) {
            // After a failed sync the file's cached pages may never have reached the disk.
            self.file = None;
            return Err(error);
        }
        self.whole = self.whole.saturating_add(u64::try_from(member.len()).unwrap_or(u64::MAX));
        self.head = head;
        Ok(())
    }

    fn write(&mut self, member: &[u8]) -> io::Result<()> {
        let new = self.whole == 0;
        let file = match self.file.take() {
            Some(file) => file,
            None => self.reopen()?,
        };
        // A write behind the end of a truncated file would leave a hole.
        if file.metadata()?.len() < self.whole {
            return Err(io::Error::other("the file has become shorter"));
        }
        file.write_all_at(member, self.whole)?;
        file.sync_data()?;
        if new {
            sync_folder_of(&self.segment)?;
        }
        self.file = Some(file);
        // Otherwise the archive would grow in an unlinked file.
        match self.file.as_ref().map(File::metadata).transpose()? {
            Some(file) if file.nlink() == 0 => Err(io::Error::other("the file was deleted")),
            _ => Ok(()),
        }
    }

    /// Opens the segment and cuts off what an earlier failure left.
    fn reopen(&self) -> io::Result<File> {
        let create = self.whole == 0;
        let file =
            OpenOptions::new().create(create).truncate(false).write(true).open(&self.segment)?;
        let length = file.metadata()?.len();
        if length < self.whole {
            return Err(io::Error::other("the file has become shorter"));
        }
        if length > self.whole {
            file.set_len(self.whole)?;
        }
        Ok(file)
    }
}

/// The head that an archive's files lead to, with the last whole member of the last of them; each
/// file must follow the one before it.
fn end_of(
    folder: &Path,
    mut files: VecDeque<PathBuf>,
    last: Option<WholeMember>,
) -> Result<Head, ArchiveError> {
    let Some(segment) = files.back().cloned() else { return Ok(Head::START) };
    let Some(last) = last else {
        // Created, with no member yet: the archive ends with the file before it.
        files.pop_back();
        let head = match files.back() {
            Some(earlier) => {
                let (last, _) = whole_members(earlier)?;
                last.map_or(Ok(Head::START), |last| head_of(earlier, &last))?
            }
            None => Head::START,
        };
        if segment != segment_path(folder, &head) {
            let what = format!("it is empty, and record {} is next", head.sequence.next());
            return Err(ArchiveError::Damaged { path: segment, offset: 0, what });
        }
        files::check(&files)?;
        return Ok(head);
    };
    let head = head_of(&segment, &last)?;
    files::check(&files)?;
    Ok(head)
}

/// Refuses an archive whose first file does not begin with record 1.
fn begins(folder: &Path, first: Option<&PathBuf>) -> Result<(), ArchiveError> {
    match first.filter(|first| **first != segment_path(folder, &Head::START)) {
        Some(first) => Err(ArchiveError::Beginning(first.clone())),
        None => Ok(()),
    }
}

/// The file whose first record follows `head`.
fn segment_path(folder: &Path, head: &Head) -> PathBuf {
    folder.join(segment_name(head.sequence.next()))
}

/// What the file with this first record is called.
pub fn segment_name(first: Sequence) -> String {
    format!("{:0NAME_DIGITS$}{SEGMENT_SUFFIX}", first.get())
}

/// The blocks in the bytes of a whole file, each verified and following the one before it.
///
/// # Errors
/// [`ArchiveError::Damaged`], naming `path`.
pub fn blocks_in(bytes: &[u8], path: &Path) -> Result<Vec<Block>, ArchiveError> {
    let mut members = Members::new(bytes);
    let mut blocks: Vec<Block> = Vec::new();
    loop {
        match files::next_block(&mut members, path, 0)? {
            Some(block) => {
                let before = blocks.last().map_or_else(|| block.built_after(), Block::head);
                block.follows(&before).map_err(|fault| {
                    let (path, what) = (path.to_owned(), fault.to_string());
                    ArchiveError::Damaged { path, offset: 0, what }
                })?;
                blocks.push(block);
            }
            None if members.over() => return Ok(blocks),
            None => {}
        }
    }
}

/// The record before the first of a file, by its name.
fn before(segment: &Path) -> Sequence {
    let name = segment.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let first = name.get(..NAME_DIGITS).and_then(|digits| digits.parse().ok()).unwrap_or(1_u64);
    Sequence::new(first.saturating_sub(1))
}

/// What happened to a file that has this length at least, and that may be open.
fn fate(path: &Path, length: u64, open: Option<&File>) -> Option<Fate> {
    let named = match disk::metadata(path) {
        Ok(named) => named,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Fate::Deleted),
        // What cannot be asked says nothing.
        Err(_) => return None,
    };
    let open = open.and_then(|open| open.metadata().ok());
    if open.is_some_and(|open| (open.dev(), open.ino()) != (named.dev(), named.ino())) {
        return Some(Fate::Replaced);
    }
    (named.len() < length).then_some(Fate::Truncated)
}

fn failed(path: &Path, error: io::Error) -> ArchiveError {
    ArchiveError::Io { path: path.to_owned(), error }
}
