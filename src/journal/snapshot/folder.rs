//! The folder of snapshots in a data directory: names, atomic writing, what is kept.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::stream::{SnapshotReader, SnapshotWriter};
use super::{Kind, Point, SnapshotDamage, SnapshotFault, SnapshotUnwritten};
use crate::exchange::units::Sequence;

/// The folder's name in the data directory.
const FOLDER: &str = "snapshots";
/// Digits of the sequence in a file's name: any u64, so that names sort as numbers do.
const NAME_DIGITS: usize = 20;
/// The end of the name of a file that is not whole yet.
const PART: &str = "part";
/// The end of the name of a file that the journal has proved wrong.
const WRONG: &str = "wrong";
/// Read-model images kept: the newest, and the one before in case the newest is damaged. They are
/// as large as everything that ever happened. State images are all kept, to look at the past from.
pub const VIEWS_KEPT: usize = 2;
/// Bytes after which a file being written is synced. A journal on the same disk waits for what
/// stands before it, so it must never be much.
const SYNC_EVERY_BYTES: usize = 8 << 20;

/// A snapshot on disk, being read.
pub type OpenSnapshot = SnapshotReader<File>;

/// A data directory's snapshots.
#[derive(Debug, Clone)]
pub struct SnapshotFolder {
    path: PathBuf,
}

impl SnapshotFolder {
    /// The folder of a data directory that is in use: made if missing, and rid of what a crash
    /// left unfinished.
    pub fn open(data: &Path) -> io::Result<SnapshotFolder> {
        let folder = SnapshotFolder::of(data);
        fs::create_dir_all(&folder.path)?;
        for entry in fs::read_dir(&folder.path)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == PART) {
                fs::remove_file(path)?;
            }
        }
        File::open(data)?.sync_all()?;
        Ok(folder)
    }

    /// The folder of a data directory, which may be missing; nothing is touched.
    pub fn of(data: &Path) -> SnapshotFolder {
        SnapshotFolder { path: data.join(FOLDER) }
    }

    /// Where a snapshot is or would be.
    pub fn path(&self, kind: Kind, sequence: Sequence) -> PathBuf {
        self.path.join(name(kind, sequence))
    }

    /// The snapshots of a kind, newest first, by name alone. None if there is no folder.
    pub fn list(&self, kind: Kind) -> io::Result<Vec<Sequence>> {
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for entry in entries {
            let file = entry?.file_name();
            found.extend(file.to_str().and_then(|file| sequence_of(kind, file)));
        }
        found.sort_unstable();
        found.reverse();
        Ok(found)
    }

    /// Opens a snapshot; its header is verified, and that it stands under its own name.
    pub fn read(&self, kind: Kind, sequence: Sequence) -> Result<OpenSnapshot, SnapshotDamage> {
        let path = self.path(kind, sequence);
        let damaged = |fault| SnapshotDamage { file: path.clone(), offset: 0, fault };
        let file =
            File::open(&path).map_err(|error| damaged(SnapshotFault::Read(error.to_string())))?;
        let reader = SnapshotReader::open(file, path.clone())?;
        let header = reader.header();
        let named = name(header.kind, header.point.sequence);
        if named == name(kind, sequence) {
            Ok(reader)
        } else {
            Err(damaged(SnapshotFault::Name(named)))
        }
    }

    /// Writes a snapshot: whole and on disk under its name, or not there at all. Gives its bytes.
    pub fn write(
        &self,
        kind: Kind,
        point: &Point,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<u64, SnapshotUnwritten> {
        let whole = self.path(kind, point.sequence);
        let part = whole.with_extension(format!("{}.{PART}", kind.extension()));
        let written = write_part(&part, kind, point, fill)
            .and_then(|bytes| fs::rename(&part, &whole).map(|()| bytes))
            .and_then(|bytes| File::open(&self.path)?.sync_all().map(|()| bytes));
        written.map_err(|cause| {
            // If this fails too, the next start removes it.
            drop(fs::remove_file(&part));
            SnapshotUnwritten { file: whole, cause }
        })
    }

    /// Gives a snapshot's files names under which nobody looks for any.
    pub fn set_aside(&self, sequence: Sequence) -> io::Result<()> {
        for kind in Kind::ALL {
            let path = self.path(kind, sequence);
            fs::rename(&path, path.with_extension(format!("{}.{WRONG}", kind.extension())))?;
        }
        File::open(&self.path)?.sync_all()
    }

    /// Removes what is not kept once a snapshot was taken after record `newest`; how many files
    /// that was. Later ones are of a journal that is no longer here, and are left where they are.
    pub fn retain(&self, newest: Sequence) -> io::Result<usize> {
        let views = self.list(Kind::Views)?;
        let ours = views.into_iter().filter(|sequence| *sequence <= newest);
        let gone: Vec<_> = ours.skip(VIEWS_KEPT).collect();
        for sequence in &gone {
            fs::remove_file(self.path(Kind::Views, *sequence))?;
        }
        Ok(gone.len())
    }
}

fn name(kind: Kind, sequence: Sequence) -> String {
    format!("{:0NAME_DIGITS$}.{}", sequence.get(), kind.extension())
}

fn sequence_of(kind: Kind, file: &str) -> Option<Sequence> {
    let digits = file.strip_suffix(kind.extension())?.strip_suffix('.')?;
    let number = digits.parse().ok().map(Sequence::new)?;
    // Only names that would be given: no sign, no other count of digits.
    (name(kind, number) == file).then_some(number)
}

fn write_part(
    part: &Path,
    kind: Kind,
    point: &Point,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<u64> {
    let out = OpenOptions::new().create(true).truncate(true).write(true).open(part)?;
    let out = SyncedFile { file: out, unsynced: 0 };
    let mut writer = SnapshotWriter::begin(out, kind, *point)?;
    fill(&mut writer)?;
    let (synced, bytes) = writer.finish()?;
    synced.file.sync_all()?;
    Ok(bytes)
}

/// A file that is synced as it grows.
#[derive(Debug)]
struct SyncedFile {
    file: File,
    unsynced: usize,
}

impl Write for SyncedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.unsynced = self.unsynced.saturating_add(written);
        if self.unsynced >= SYNC_EVERY_BYTES {
            self.file.sync_data()?;
            self.unsynced = 0;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for SyncedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}
