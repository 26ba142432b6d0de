//! Watches files that a running server holds open: whether each path still leads to the open file,
//! and whether the file is as long as it was. What is deleted, moved, replaced or truncated under a
//! running server would be missing at the next start; until the server ends, its open descriptors
//! still hold what was deleted.

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::flusher::SledFlusher;
use super::sled::{MARKER_FILE, WAL_FILE, WITNESS_FILE};

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
        let (open, named) = (file.metadata()?, fs::metadata(path)?);
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
        match fs::metadata(&self.path) {
            Ok(named) => (self.named && !same(&open, &named)).then_some(Fate::Replaced),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Some(if is_gone(&open) { Fate::Deleted } else { Fate::Moved })
            }
            Err(_) => None,
        }
    }

    /// Where the open file's bytes can be read while this process runs.
    fn descriptor(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }
}

/// Whether a file has no name any more.
pub fn is_gone(open: &Metadata) -> bool {
    open.nlink() == 0
}

fn same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// The files of a running journal without which the next start would lack what was acknowledged.
#[derive(Debug)]
pub struct JournalFiles {
    /// By their paths in the data directory; the store's own file first.
    files: Vec<(&'static str, WatchedFile)>,
    flusher: SledFlusher,
    /// What the store found when it was about to write.
    noted: OnceLock<FileChange>,
}

/// The store's file, whose length only [`SledFlusher`] can judge.
const STORE_FILE: &str = "journal/db";

impl JournalFiles {
    /// Watches the files of a data directory; the log, the marker and the witness are given open.
    pub(super) fn of(
        data: &Path,
        [wal, marker, witness]: [io::Result<File>; 3],
        flusher: SledFlusher,
    ) -> io::Result<JournalFiles> {
        let store = File::open(data.join(STORE_FILE));
        let files =
            [(STORE_FILE, store), (WAL_FILE, wal), (MARKER_FILE, marker), (WITNESS_FILE, witness)];
        let watched =
            files.map(|(name, file)| Ok((name, WatchedFile::of(&data.join(name), file?)?)));
        let files = watched.into_iter().collect::<io::Result<_>>()?;
        Ok(JournalFiles { files, flusher, noted: OnceLock::new() })
    }

    /// The first file that is not what it was.
    pub fn change(&self) -> Option<FileChange> {
        self.changes().next().map(|(change, _)| change).or_else(|| self.noted.get().copied())
    }

    /// Notes what the store found had happened to the log.
    pub(super) fn note(&self, fate: Fate) -> FileChange {
        *self.noted.get_or_init(|| FileChange { file: WAL_FILE, fate })
    }

    fn changes(&self) -> impl Iterator<Item = (FileChange, &WatchedFile)> {
        self.files.iter().filter_map(|(file, watched)| {
            let fate = if *file == STORE_FILE {
                let cut = || self.flusher.was_cut().then_some(Fate::Truncated);
                watched.renamed().or_else(cut)
            } else {
                watched.fate()
            };
            fate.map(|fate| (FileChange { file, fate }, watched))
        })
    }

    /// What an operator can do so that nothing is lost, as a sentence that ends with commands.
    pub fn rescue(&self) -> String {
        let (mut commands, mut moved) = (Vec::new(), None);
        for (FileChange { file, fate }, watched) in self.changes() {
            let path = quoted(&watched.path);
            match fate {
                Fate::Moved => moved = moved.or_else(|| fs::read_link(watched.descriptor()).ok()),
                Fate::Deleted => {
                    if let Some(folder) = watched.path.parent().filter(|folder| !folder.exists()) {
                        commands.push(format!("mkdir -p {}", quoted(folder)));
                    }
                    commands.push(format!("cp {} {path}", watched.descriptor()));
                }
                Fate::Replaced => {
                    let aside = quoted(&watched.path.with_extension("replaced"));
                    commands.push(format!("mv {path} {aside}"));
                    commands.push(format!("cp {} {path}", watched.descriptor()));
                }
                // The store has the blocks in memory, and a stop writes them.
                Fate::Truncated if file == WAL_FILE => {}
                Fate::Truncated => {
                    return format!(
                        "stop the server, copy its directory, and see `openoutcry-replay salvage`: \
                         what {file} has lost may be in the archive"
                    );
                }
            }
        }
        if let Some(moved) = moved {
            let moved = moved.display();
            return format!("nothing is lost: the file is at {moved} now; stop, and move it back");
        }
        commands.dedup();
        if commands.is_empty() {
            return "nothing is lost: stop the server in order, which writes all blocks into the \
                    store, and start it again"
                .to_owned();
        }
        let commands = commands.join(" && ");
        format!("before the server is stopped, save what only it still holds: {commands}")
    }
}

/// A path as a word of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
#[path = "../../tests/unit/journal/watch.rs"]
mod tests;
