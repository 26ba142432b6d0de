//! The folder of snapshots in a data directory: names, atomic writes, retention.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::stream::{SnapshotReader, SnapshotWriter};
use super::{Kind, Point, SnapshotDamage, SnapshotFault, SnapshotUnwritten};
use exchange::units::Sequence;

/// The folder's name in the data directory.
const FOLDER: &str = "snapshots";
/// Digits of the sequence in a file's name: enough for any u64, so that names sort numerically.
const NAME_DIGITS: usize = 20;
/// Extension of a file being written.
const PART: &str = "part";
/// Extension of a file that the journal has proved wrong.
const WRONG: &str = "wrong";
/// Snapshots kept in any case: the newest, and the one before in case the newest is damaged. Of
/// earlier ones some are kept, for whoever asks about the past or goes on from there.
pub const NEWEST_KEPT: usize = 2;
/// Bytes written between two syncs. A journal on the same disk waits behind pending writes, so
/// there must never be many.
const SYNC_EVERY_BYTES: usize = 8 << 20;

/// A snapshot file being read.
pub type OpenSnapshot = SnapshotReader<File>;

/// A data directory's snapshots.
#[derive(Debug, Clone)]
pub struct SnapshotFolder {
    path: PathBuf,
}

impl SnapshotFolder {
    /// Opens the folder of a data directory that this process has locked: creates it if missing,
    /// and removes unfinished files.
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

    /// The folder of a data directory; it may be missing, and nothing is changed.
    pub fn of(data: &Path) -> SnapshotFolder {
        SnapshotFolder { path: data.join(FOLDER) }
    }

    /// Path of a snapshot that exists or may be written.
    pub fn path(&self, kind: Kind, sequence: Sequence) -> PathBuf {
        self.path.join(name(kind, sequence))
    }

    /// The snapshots of a kind, newest first, by name alone. Empty if there is no folder.
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

    /// Opens a snapshot; verifies its header, and that the header matches the name.
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

    /// Writes a snapshot atomically: complete and durable under its name, or not at all. Returns
    /// the file's length.
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
            // Otherwise the next start removes it.
            drop(fs::remove_file(&part));
            SnapshotUnwritten { file: whole, cause }
        })
    }

    /// Renames a snapshot's files so that no reader finds them.
    pub fn set_aside(&self, sequence: Sequence) -> io::Result<()> {
        for kind in Kind::ALL {
            let path = self.path(kind, sequence);
            fs::rename(&path, path.with_extension(format!("{}.{WRONG}", kind.extension())))?;
        }
        File::open(&self.path)?.sync_all()
    }

    /// Removes the files not to be kept after a snapshot at record `newest`; returns how many.
    /// Later ones belong to a journal that was replaced, and are left alone.
    pub fn retain(&self, newest: Sequence) -> io::Result<usize> {
        let ours = |kind| -> io::Result<Vec<Sequence>> {
            Ok(self.list(kind)?.into_iter().filter(|sequence| *sequence <= newest).collect())
        };
        let (views, states) = (ours(Kind::Views)?, ours(Kind::State)?);
        let kept_views = kept(newest, &views);
        // Earlier versions kept states without their views.
        let kept_states: BTreeSet<_> = &kept(newest, &states) | &kept_views;
        let mut removed = 0_usize;
        for (kind, listed, kept) in
            [(Kind::Views, views, kept_views), (Kind::State, states, kept_states)]
        {
            for gone in listed.into_iter().filter(|sequence| !kept.contains(sequence)) {
                fs::remove_file(self.path(kind, gone))?;
                removed = removed.saturating_add(1);
            }
        }
        Ok(removed)
    }
}

/// Those of a kind's snapshots, newest first, that are kept: the newest, and of those as many
/// records before it as one and the same power of two says, the oldest, since it is the next to be
/// alone with its power.
fn kept(newest: Sequence, listed: &[Sequence]) -> BTreeSet<Sequence> {
    let power = |sequence: &Sequence| newest.get().saturating_sub(sequence.get()).checked_ilog2();
    let oldest: BTreeMap<_, _> = listed.iter().map(|found| (power(found), *found)).collect();
    listed.iter().take(NEWEST_KEPT).copied().chain(oldest.into_values()).collect()
}

fn name(kind: Kind, sequence: Sequence) -> String {
    format!("{:0NAME_DIGITS$}.{}", sequence.get(), kind.extension())
}

fn sequence_of(kind: Kind, file: &str) -> Option<Sequence> {
    let digits = file.strip_suffix(kind.extension())?.strip_suffix('.')?;
    let number = digits.parse().ok().map(Sequence::new)?;
    // Only names that `name` makes: no sign, no other number of digits.
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

/// A file that is synced while it grows.
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
