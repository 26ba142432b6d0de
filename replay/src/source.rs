//! Where a journal is read from: a data directory, or an exported file.

use std::path::Path;

use openoutcry::exchange::units::Sequence;
use openoutcry::journal::portable::PortableFile;
use openoutcry::journal::sled::SledJournal;
use openoutcry::journal::store::OpenError;
use openoutcry::journal::{Blocks, Journal};

/// An opened journal.
pub enum Source {
    /// A data directory.
    Directory {
        /// Its journal; holds the directory's lock.
        journal: Box<SledJournal>,
        /// The refused block that opening removed.
        cut: Option<Sequence>,
    },
    /// An exported file.
    File(Box<PortableFile>),
}

/// Why nothing could be opened.
pub enum SourceError {
    /// The journal is damaged.
    Damaged(OpenError),
    /// Something else.
    Failed(String),
}

impl Source {
    /// Opens a directory's journal, which nobody else may have open, or a file.
    pub fn open(path: &Path) -> Result<Source, SourceError> {
        if !path.is_dir() {
            let file = PortableFile::open(path);
            let failed = |error| SourceError::Failed(format!("{}: {error}", path.display()));
            return file.map(|file| Source::File(Box::new(file))).map_err(failed);
        }
        match SledJournal::open_existing(path) {
            Ok((journal, recovered)) => {
                Ok(Source::Directory { journal: Box::new(journal), cut: recovered.cut })
            }
            Err(error) if damaged(&error) => Err(SourceError::Damaged(error)),
            Err(error) => Err(SourceError::Failed(error.to_string())),
        }
    }

    /// All blocks, verified one by one.
    pub fn blocks(&mut self) -> Blocks<'_> {
        match self {
            Source::Directory { journal, .. } => journal.read(Sequence::ZERO.next()),
            Source::File(file) => Box::new(file),
        }
    }

    /// In a file, the byte at which the block begins that was to be read last.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Source::Directory { .. } => None,
            Source::File(file) => Some(file.offset()),
        }
    }

    /// First sequence of the refused block that opening removed.
    pub fn cut(&self) -> Option<Sequence> {
        match self {
            Source::Directory { cut, .. } => *cut,
            Source::File(_) => None,
        }
    }
}

/// Whether the journal itself is at fault, and not the way to it.
fn damaged(error: &OpenError) -> bool {
    match error {
        OpenError::Locked(_) | OpenError::Missing(_) | OpenError::Store(_) => false,
        OpenError::Lost(_)
        | OpenError::FileMissing(_)
        | OpenError::Short { .. }
        | OpenError::Blobs(_)
        | OpenError::Damaged(_)
        | OpenError::Refused(_) => true,
    }
}
