//! Snapshots: images of the state and of the read model as of one record, in files beside the
//! journal.
//!
//! A snapshot is a cache: a start without one replays the whole journal, and an audit never reads
//! one. So a damaged snapshot is reported and skipped, where a damaged journal stops everything.
//! `header.rs` and `stream.rs` have the format, `folder.rs` the files; data-directory.md describes
//! both.

pub mod stream;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use bincode::config::{Configuration, Fixint, LittleEndian};
use bincode::{Decode, Encode};

use self::stream::{SnapshotReader, SnapshotWriter};
use super::block::ChainHash;
use super::disk::{self, File, OpenOptions};
use exchange::results::{ResultsHash, StateDigest};
use exchange::units::{Sequence, TimeMs};

/// What a snapshot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The exchange's image; the state digest is its hash.
    State,
    /// The read model's image.
    Views,
}

impl Kind {
    /// Both, in the order in which they are written.
    pub const ALL: [Kind; 2] = [Kind::State, Kind::Views];

    /// The file name's extension.
    pub const fn extension(self) -> &'static str {
        match self {
            Kind::State => "state",
            Kind::Views => "views",
        }
    }

    /// The kind's number in the header.
    pub const fn number(self) -> u16 {
        match self {
            Kind::State => 1,
            Kind::Views => 2,
        }
    }

    /// The kind of that number.
    pub fn of_number(number: u16) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.number() == number)
    }
}

/// The point in a journal at which a snapshot was taken, with the hashes up to there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The last record of a block.
    pub sequence: Sequence,
    /// That record's time.
    pub time: TimeMs,
    /// Hash of that block.
    pub chain: ChainHash,
    /// The results hash after that record.
    pub results: ResultsHash,
    /// Digest of the state after that record.
    pub state: StateDigest,
}

/// What is wrong with a snapshot's file. The codes are stable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotFault {
    /// The file ends too early.
    #[error("SNAPSHOT_TRUNCATED: the file ends in what should be {expected} bytes")]
    Truncated {
        /// Bytes of the header or chunk that is cut short.
        expected: usize,
    },
    /// Does not begin with the magic bytes.
    #[error("SNAPSHOT_MAGIC: these bytes are no snapshot")]
    Magic,
    /// A version that this software cannot read.
    #[error("SNAPSHOT_UNKNOWN_VERSION: no reader for snapshot format version {0}")]
    UnknownVersion(u16),
    /// The header changed after it was written.
    #[error("SNAPSHOT_HEADER: the header changed after it was written")]
    Header,
    /// A header field is out of range.
    #[error("SNAPSHOT_FIELD: {0} is outside its range")]
    Field(&'static str),
    /// A chunk changed after it was written.
    #[error("SNAPSHOT_CHECKSUM: the chunk that begins here changed after it was written")]
    Checksum,
    /// The file goes on after its end.
    #[error("SNAPSHOT_LENGTH: the file goes on after its last chunk")]
    Length,
    /// The file's name does not match the header.
    #[error("SNAPSHOT_NAME: the header is that of {0}")]
    Name(String),
    /// The system could not read the file.
    #[error("SNAPSHOT_READ: {0}")]
    Read(String),
}

/// Damage to a snapshot: file, offset and fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: byte {offset}: {fault}", file.display())]
pub struct SnapshotDamage {
    /// The file.
    pub file: PathBuf,
    /// Where the damaged part begins: the header, a field of it, or a chunk.
    pub offset: u64,
    /// What is wrong with it.
    pub fault: SnapshotFault,
}

impl From<SnapshotDamage> for io::Error {
    fn from(damage: SnapshotDamage) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, damage)
    }
}

/// Why a snapshot was not written. No file of it is left.
#[derive(Debug, thiserror::Error)]
#[error("SNAPSHOT_WRITE: {}: {cause}", file.display())]
pub struct SnapshotUnwritten {
    /// The file that would have been written.
    pub file: PathBuf,
    /// The system's error.
    pub cause: io::Error,
}

// A snapshot's header: which state of which journal the body is an image of.

/// First bytes of every snapshot.
pub const SNAPSHOT_MAGIC: [u8; 8] = *b"OPSNAPSH";
/// Version of header and chunks; the images inside have versions of their own.
pub const SNAPSHOT_VERSION: u16 = 1;
/// Bytes before the first chunk.
pub const SNAPSHOT_HEADER_BYTES: usize = 136;
/// Offset of the checksum, which covers everything else in the header.
const CHECKSUM_AT: usize = 12;
/// Offsets of fields, for reporting faults.
const SEQUENCE_AT: u64 = 16;
const TIME_AT: u64 = 24;
const KIND_AT: u64 = 10;

/// Numbers of fixed width, lowest byte first, with nothing between fields.
const LITTLE_ENDIAN: Configuration<LittleEndian, Fixint> = bincode::config::legacy();

/// The header as it stands in the file.
#[derive(Debug, Encode, Decode)]
struct Layout {
    magic: [u8; 8],
    version: u16,
    kind: u16,
    checksum: u32,
    sequence: u64,
    time: i64,
    chain: [u8; 32],
    results: [u8; 32],
    state: [u8; 32],
    body_bytes: u64,
}

impl Layout {
    fn bytes(&self) -> [u8; SNAPSHOT_HEADER_BYTES] {
        let mut bytes = [0; SNAPSHOT_HEADER_BYTES];
        let written = bincode::encode_into_slice(self, &mut bytes, LITTLE_ENDIAN);
        debug_assert_eq!(written.ok(), Some(SNAPSHOT_HEADER_BYTES));
        bytes
    }
}

/// The header's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What the body holds.
    pub kind: Kind,
    /// The point that it is an image of.
    pub point: Point,
    /// Bytes of the image.
    pub body_bytes: u64,
}

impl Header {
    /// The header's bytes.
    pub fn encode(&self) -> [u8; SNAPSHOT_HEADER_BYTES] {
        let Point { sequence, time, chain, results, state } = self.point;
        let mut layout = Layout {
            magic: SNAPSHOT_MAGIC,
            version: SNAPSHOT_VERSION,
            kind: self.kind.number(),
            checksum: 0,
            sequence: sequence.get(),
            time: time.get(),
            chain: chain.0,
            results: results.0,
            state: state.0,
            body_bytes: self.body_bytes,
        };
        layout.checksum = checksum(&layout.bytes());
        layout.bytes()
    }

    /// Decodes a file's first bytes; or the first fault and its offset.
    pub fn decode(bytes: &[u8]) -> Result<Header, (u64, SnapshotFault)> {
        let read: Result<(Layout, usize), _> = bincode::decode_from_slice(bytes, LITTLE_ENDIAN);
        let truncated = SnapshotFault::Truncated { expected: SNAPSHOT_HEADER_BYTES };
        let Ok((layout, _)) = read else { return Err((0, truncated)) };
        let Layout { magic, version, kind, checksum: sum, .. } = layout;
        let Layout { sequence, time, chain, results, state, body_bytes, .. } = layout;
        if magic != SNAPSHOT_MAGIC {
            return Err((0, SnapshotFault::Magic));
        }
        if version != SNAPSHOT_VERSION {
            return Err((0, SnapshotFault::UnknownVersion(version)));
        }
        if sum != checksum(bytes) {
            return Err((0, SnapshotFault::Header));
        }
        let kind = Kind::of_number(kind).ok_or((KIND_AT, SnapshotFault::Field("kind")))?;
        // There is no state before the first record.
        if sequence == 0 {
            return Err((SEQUENCE_AT, SnapshotFault::Field("sequence")));
        }
        let time = TimeMs::new(time).ok_or((TIME_AT, SnapshotFault::Field("time")))?;
        let (sequence, chain) = (Sequence::new(sequence), ChainHash(chain));
        let (results, state) = (ResultsHash(results), StateDigest(state));
        let point = Point { sequence, time, chain, results, state };
        Ok(Header { kind, point, body_bytes })
    }
}

/// CRC-32 of the header without the checksum itself.
fn checksum(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(bytes.get(..CHECKSUM_AT).unwrap_or_default());
    hasher.update(bytes.get(CHECKSUM_AT + 4..SNAPSHOT_HEADER_BYTES).unwrap_or_default());
    hasher.finalize()
}

// The folder of snapshots in a data directory: names, atomic writes, retention.

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
        disk::create_dir_all(&folder.path)?;
        for entry in disk::read_dir(&folder.path)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == PART) {
                disk::remove_file(path)?;
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
        let entries = match disk::read_dir(&self.path) {
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
            .and_then(|bytes| disk::rename(&part, &whole).map(|()| bytes))
            .and_then(|bytes| File::open(&self.path)?.sync_all().map(|()| bytes));
        written.map_err(|cause| {
            // Otherwise the next start removes it.
            drop(disk::remove_file(&part));
            SnapshotUnwritten { file: whole, cause }
        })
    }

    /// Renames a snapshot's files so that no reader finds them.
    pub fn set_aside(&self, sequence: Sequence) -> io::Result<()> {
        for kind in Kind::ALL {
            let path = self.path(kind, sequence);
            disk::rename(&path, path.with_extension(format!("{}.{WRONG}", kind.extension())))?;
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
                disk::remove_file(self.path(kind, gone))?;
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
