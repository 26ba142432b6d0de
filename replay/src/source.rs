//! The sources of a journal: a data directory, an exported file, or an archive.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use exchange::command::Record;
use exchange::units::Sequence;
use journal::archive::{Archive, ArchiveError};
use journal::portable::{self, Place, PortableFile};
use journal::reader::JournalReader;
use journal::store::{OpenError, Prefix};
use journal::{Blocks, directory};
use serde_json::{Value, json};

use crate::answer::Failure;
use crate::moment::Moment;
use journal::import::OldJournal;

/// An opened journal.
pub enum Source {
    /// A data directory.
    Directory {
        /// Its journal, up to the last block that was there when it was opened.
        journal: JournalReader,
        /// First sequence of what a start would remove from the end.
        cut: Option<Sequence>,
    },
    /// A data directory of an earlier version.
    Old(PathBuf),
    /// An exported file, or an archive's directory.
    File {
        /// The file, at the next block.
        file: Box<PortableFile>,
        /// Where it is.
        path: PathBuf,
        /// Bytes of its blocks.
        bytes: u64,
    },
}

/// The size of a journal.
#[derive(Debug, Clone, Copy)]
pub enum Extent {
    /// Of an exported file or an archive.
    Bytes(u64),
    /// Of a data directory.
    Records(u64),
}

impl Source {
    /// Opens the journal of a data directory, a file, or an archive, for reading only.
    pub fn open(path: &Path) -> Result<Source, Failure> {
        let failed = |error: io::Error| Failure::reading(path, &error);
        let archive = path.is_dir() && portable::segments(path).map_err(failed)?.is_some();
        if archive || !path.is_dir() {
            let file = Box::new(PortableFile::open(path).map_err(failed)?);
            let bytes = portable::extent(path).map_err(failed)?;
            // A crash or a full disk during a copy also leaves an empty file.
            if bytes == 0
                && !archive
                && path.is_file()
                && fs::metadata(path).map_err(failed)?.len() == 0
            {
                let error = format!("JOURNAL_EMPTY: {} is empty; it is no journal", path.display());
                return Err(Failure::Damaged(json!({ "ok": false, "error": error })));
            }
            return Ok(Source::File { file, path: path.to_owned(), bytes });
        }
        match directory::read_only(path) {
            Ok((journal, cut)) => Ok(Source::Directory { journal, cut }),
            Err(error) => Err(refused(error)),
        }
    }

    /// The same, and a data directory of an earlier version too.
    pub fn open_any(path: &Path) -> Result<Source, Failure> {
        match directory::read_only(path) {
            Err(OpenError::Old(old)) => Ok(Source::Old(old)),
            _ => Source::open(path),
        }
    }

    /// Checks that an archive is one that a server would go on writing: its files' names, and that
    /// each follows the one before it. The blocks alone do not tell.
    pub fn check_archive(&self) -> Result<(), Failure> {
        let Source::File { path, .. } = self else { return Ok(()) };
        if !path.is_dir() {
            return Ok(());
        }
        Archive::check_folder(path).map_err(|error| match error {
            ArchiveError::Io { .. } => Failure::failed(error),
            _ => Failure::Damaged(json!({ "ok": false, "error": error.to_string() })),
        })
    }

    /// All blocks from the first, verified one by one.
    pub fn blocks(&mut self) -> Result<Blocks<'_>, Failure> {
        match self {
            Source::Directory { journal, .. } => Ok(Box::new(journal.read(Sequence::ZERO.next()))),
            Source::Old(path) => Ok(Box::new(OldJournal::open(path).map_err(refused)?)),
            Source::File { file, path, .. } => {
                let opened = PortableFile::open(path);
                **file = opened.map_err(|error| Failure::reading(path, &error))?;
                Ok(Box::new(file))
            }
        }
    }

    /// The whole blocks up to a moment, or all.
    ///
    /// # Errors
    /// The moment is within the first block, so that no block would be left.
    pub fn blocks_to(&mut self, to: Option<Moment>) -> Result<Prefix<'_>, Failure> {
        let keep = move |record: &Record| !to.is_some_and(|to| to.is_before(record));
        let mut blocks = Prefix::of(self.blocks()?, Box::new(keep));
        match blocks.left_out() {
            None => Ok(blocks),
            Some((_, last)) => Err(Failure::Failed(format!(
                "NOTHING_LEFT: only whole blocks are copied, and the first ends with record \
                 {last}, after the moment that was asked for"
            ))),
        }
    }

    /// The size of the journal.
    pub fn extent(&self) -> Extent {
        match self {
            Source::Directory { journal, .. } => Extent::Records(journal.head().sequence.get()),
            Source::File { bytes, .. } => Extent::Bytes(*bytes),
            Source::Old(_) => Extent::Records(0),
        }
    }

    /// In a file, the byte offset of the block read last.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Source::Directory { .. } | Source::Old(_) => None,
            Source::File { file, .. } => Some(file.offset()),
        }
    }

    /// Adds the archive file and the gzip member to a damage report.
    pub fn placed(&self, failure: Failure) -> Failure {
        let Source::File { file, .. } = self else { return failure };
        let Failure::Damaged(mut value) = failure else { return failure };
        let Place { file, member, .. } = file.place();
        if let (Some(fields), Some(member)) = (value.as_object_mut(), member) {
            fields.insert("file".to_owned(), file.display().to_string().into());
            fields.insert("member".to_owned(), member.number.into());
            fields.insert("member_offset".to_owned(), member.offset.into());
        }
        Failure::Damaged(value)
    }

    /// First sequence of what a start would remove from the end, and which is left out.
    pub fn cut(&self) -> Option<Sequence> {
        match self {
            Source::Directory { cut, .. } => *cut,
            Source::File { .. } | Source::Old(_) => None,
        }
    }
}

fn refused(error: OpenError) -> Failure {
    if error.is_damage() {
        return Failure::Damaged(json!({ "ok": false, "error": error.to_string() }));
    }
    Failure::failed(error)
}

/// Adds to the answer of a copy up to a moment which record was the first left out.
pub fn name_left_out(
    value: &mut Value,
    to: Option<Moment>,
    left_out: Option<(Sequence, Sequence)>,
) {
    if let (Some(fields), Some(_)) = (value.as_object_mut(), to) {
        fields.insert("left_out_from".to_owned(), json!(left_out.map(|(first, _)| first.get())));
    }
}
