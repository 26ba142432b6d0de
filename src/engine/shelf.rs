//! Where the archiver puts blocks: a folder, or a store elsewhere.

use std::fmt::Debug;
use std::io;
use std::time::Duration;

use journal::Durable;
use journal::archive::{Archive, ArchiveError};
use journal::block::{Block, Head};

/// Interval between two looks at the journal: about how much a healthy archive in a folder lacks if
/// the machine is lost. Each that finds blocks costs a sync, possibly of the journal's own disk.
const FOLDER_EVERY: Duration = Duration::from_secs(1);
/// Interval between two looks at the files that do not change any more, which may be thousands.
const FOLDER_CHECKED_EVERY: Duration = Duration::from_mins(1);

/// What an archive's figures and its warning are called.
#[derive(Debug)]
pub struct ShelfNames {
    /// The last record.
    pub sequence: &'static str,
    /// Records that it lacks.
    pub behind: &'static str,
    /// Failed attempts.
    pub failures: &'static str,
    /// Whether the last attempt failed.
    pub failing: &'static str,
    /// The same as a warning.
    pub warning: &'static str,
}

/// The names of an archive in a folder.
const FOLDER: ShelfNames = ShelfNames {
    sequence: "archive_sequence",
    behind: "archive_behind_records",
    failures: "archive_failures",
    failing: "archive_failing",
    warning: "ARCHIVE_FAILING",
};

/// An archive that blocks are appended to.
pub trait Shelf: Debug + Send {
    /// Where it ends.
    fn head(&self) -> &Head;

    /// Checks that what was written lately is still there, and with `all` everything else.
    ///
    /// # Errors
    /// [`ArchiveError::Changed`], or it cannot be asked.
    fn check(&mut self, all: bool) -> Result<(), ArchiveError>;

    /// Appends blocks, which must follow its last; returns once they are durable. After an error
    /// the call may be repeated with these blocks and any that follow them.
    ///
    /// # Errors
    /// It cannot be written.
    fn append(&mut self, blocks: &[Durable<Block>]) -> io::Result<()>;

    /// How long to rest between two looks at the journal.
    fn every(&self) -> Duration {
        FOLDER_EVERY
    }

    /// How long to rest between two checks of everything.
    fn check_all_every(&self) -> Duration {
        FOLDER_CHECKED_EVERY
    }

    /// Whether it is written on after something of it was lost; else it waits until all is there.
    fn bears_loss(&self) -> bool {
        false
    }

    /// What its figures are called.
    fn names(&self) -> &'static ShelfNames {
        &FOLDER
    }
}

impl Shelf for Archive {
    fn head(&self) -> &Head {
        self.head()
    }

    fn check(&mut self, all: bool) -> Result<(), ArchiveError> {
        Archive::check(self, all)
    }

    fn append(&mut self, blocks: &[Durable<Block>]) -> io::Result<()> {
        Archive::append(self, blocks)
    }
}
