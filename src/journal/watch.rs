//! Watches files that a running server holds open: whether each path still leads to the open file,
//! and whether the file is as long as it was. What is deleted, moved, replaced or truncated under a
//! running server would be missing at the next start; until the server ends, its open descriptors
//! still hold what was deleted.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use super::block::Head;
use super::disk::{self, File, Metadata, MetadataExt, open_path};
use super::log::{Log, segment};
use super::repairs::Repairs;

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It has no name any more.
    Deleted,
    /// It has another name.
    Moved,
    /// Its path leads to another file.
    Replaced,
    /// It is shorter than it was.
    Truncated,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fate::Deleted => "deleted",
            Fate::Moved => "moved",
            Fate::Replaced => "replaced",
            Fate::Truncated => "truncated",
        })
    }
}

/// A file of the journal, and what happened to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{file} was {fate}")]
pub struct FileChange {
    /// Its path in the data directory.
    pub file: &'static str,
    /// What happened.
    pub fate: Fate,
}

/// An open file or folder, and the path that must lead to it.
#[derive(Debug)]
pub struct WatchedFile {
    path: PathBuf,
    file: File,
    /// Whether the path led to it at first: on a file system that gives a file another number each
    /// time, nothing could be concluded later.
    named: bool,
    /// The greatest length seen.
    length: AtomicU64,
}

impl WatchedFile {
    /// Watches an open file.
    pub fn of(path: &Path, file: File) -> io::Result<WatchedFile> {
        let (open, named) = (file.metadata()?, disk::metadata(path)?);
        // A folder has no length of its own.
        let length = AtomicU64::new(if open.is_file() { open.len() } else { 0 });
        Ok(WatchedFile { path: path.to_owned(), file, named: same(&open, &named), length })
    }

    /// Opens a folder to watch it.
    pub fn folder(path: &Path) -> io::Result<WatchedFile> {
        WatchedFile::of(path, File::open(path)?)
    }

    /// What happened to it, if anything. What the system does not let be asked is no change.
    pub fn fate(&self) -> Option<Fate> {
        self.renamed().or_else(|| {
            let open = self.file.metadata().ok()?;
            let length = if open.is_file() { open.len() } else { 0 };
            let before = self.length.fetch_max(length, Ordering::AcqRel);
            (length < before).then_some(Fate::Truncated)
        })
    }

    /// The same without its length, which its owner may reduce.
    pub(super) fn renamed(&self) -> Option<Fate> {
        let open = self.file.metadata().ok()?;
        match disk::metadata(&self.path) {
            Ok(named) => (self.named && !same(&open, &named)).then_some(Fate::Replaced),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Some(if is_gone(&open) { Fate::Deleted } else { Fate::Moved })
            }
            Err(_) => None,
        }
    }
}

/// Whether a file has no name any more.
fn is_gone(open: &Metadata) -> bool {
    open.nlink() == 0
}

fn same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// The refused marker.
pub(super) const MARKER_FILE: &str = "refused";
/// The folder of the log, in words that name one of its segments.
const SEGMENT: &str = "journal/log";
/// Full segments looked at in one look: all of them in turn.
const LOOKED_AT: usize = 16;

/// The files of a running journal without which the next start would lack what was acknowledged.
#[derive(Debug)]
pub struct JournalFiles {
    /// The open segment and the marker.
    open: RwLock<[WatchedFile; 2]>,
    log: Arc<Log>,
    /// Looks so far.
    looks: AtomicUsize,
    /// What was found first, and where.
    noted: OnceLock<(FileChange, PathBuf)>,
}

impl JournalFiles {
    /// Watches the files of a log, two of which are given open with their paths.
    pub(super) fn of(
        log: &Arc<Log>,
        [segment, marker]: [(&Path, File); 2],
    ) -> io::Result<JournalFiles> {
        let open = [WatchedFile::of(segment.0, segment.1)?, WatchedFile::of(marker.0, marker.1)?];
        let (open, log) = (RwLock::new(open), Arc::clone(log));
        Ok(JournalFiles { open, log, looks: AtomicUsize::new(0), noted: OnceLock::new() })
    }

    /// Another segment is open.
    pub(super) fn rolled(&self, path: &Path, file: File) -> io::Result<()> {
        let next = WatchedFile::of(path, file)?;
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let [segment, _] = &mut *open;
        *segment = next;
        Ok(())
    }

    /// What was repaired since the journal was opened.
    pub fn repairs(&self) -> &Arc<Repairs> {
        self.log.repairs()
    }

    /// The first file that is not what it was.
    pub fn change(&self) -> Option<FileChange> {
        if let Some((change, _)) = self.noted.get() {
            return Some(*change);
        }
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        for (watched, file) in open.iter().zip([SEGMENT, MARKER_FILE]) {
            if let Some(fate) = watched.fate() {
                return Some(self.note(FileChange { file, fate }, &watched.path));
            }
        }
        drop(open);
        let closed = self.log.closed();
        let look = self.looks.fetch_add(LOOKED_AT, Ordering::AcqRel);
        let turn = closed.iter().cycle().skip(look.checked_rem(closed.len()).unwrap_or(0));
        let mut lost = turn.take(LOOKED_AT.min(closed.len()));
        let lost = lost.find_map(|first| {
            let path = segment(self.log.folder(), *first);
            let gone = disk::metadata(&path).is_err_and(|e| e.kind() == ErrorKind::NotFound);
            gone.then_some(path)
        })?;
        Some(self.note(FileChange { file: SEGMENT, fate: Fate::Deleted }, &lost))
    }

    /// Notes what happened to the open segment.
    pub(super) fn note_segment(&self, fate: Fate) -> FileChange {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        let [segment, _] = &*open;
        // Its path tells whether it was deleted or replaced.
        let fate = segment.fate().unwrap_or(fate);
        self.note(FileChange { file: SEGMENT, fate }, &segment.path)
    }

    fn note(&self, change: FileChange, path: &Path) -> FileChange {
        self.noted.get_or_init(|| (change, path.to_owned())).0
    }

    /// The open segment and the marker, each with what happened to it.
    pub(super) fn fates(&self) -> [(PathBuf, Option<Fate>); 2] {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        let [segment, marker] = &*open;
        [segment, marker].map(|watched| (watched.path.clone(), watched.fate()))
    }

    /// What an operator can do so that nothing is lost, as a sentence.
    pub fn rescue(&self) -> String {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        let moved = open.iter().find(|watched| watched.fate() == Some(Fate::Moved));
        let moved = moved.and_then(|watched| open_path(&watched.file).ok());
        if let Some(moved) = moved {
            let moved = moved.display();
            return format!("nothing is lost: the file is at {moved} now; stop, and move it back");
        }
        let lost = self.noted.get().map(|(_, path)| path.display().to_string()).unwrap_or_default();
        if open.iter().all(|watched| watched.fate().is_none()) {
            let first = segment(self.log.folder(), Head::START.sequence.next());
            if self.noted.get().is_some_and(|(_, path)| *path == first) && !disk::exists(&first) {
                return format!("put {lost} back: without it the next start is refused");
            }
            return format!(
                "stop the server and start it again, which makes {lost} anew from its copy; or put \
                 it back"
            );
        }
        let full = self.log.closed().len();
        let others = match full {
            0 => String::new(),
            _ => format!("; of the {full} full segments, put back those that are gone"),
        };
        format!(
            "nothing of {lost} is lost: stop the server in order, which writes it again from \
             memory, and start it again{others}"
        )
    }
}

#[cfg(test)]
#[path = "../../tests/unit/journal/watch.rs"]
mod tests;
