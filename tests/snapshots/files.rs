//! A snapshot's file: every damage is detected and named, and an incomplete file is never read as a
//! snapshot.

use std::fs;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use exchange::results::{ResultsHash, StateDigest};
use exchange::units::{Sequence, TimeMs};
use journal::block::ChainHash;
use journal::snapshot::stream::{CHUNK_BYTES, SnapshotReader, SnapshotWriter};
use journal::snapshot::{
    Header, Kind, Point, SNAPSHOT_HEADER_BYTES, SnapshotDamage, SnapshotFault, SnapshotFolder,
};

const BODY: &[u8] = b"what the exchange was like, byte for byte";

fn point(sequence: u64) -> Point {
    let (sequence, time) = (Sequence::new(sequence), TimeMs::new(1_700_000_000_000).unwrap());
    let (chain, results) = (ChainHash([3; 32]), ResultsHash([4; 32]));
    Point { sequence, time, chain, results, state: StateDigest([5; 32]) }
}

fn written(kind: Kind, point: Point, body: &[u8]) -> Vec<u8> {
    let mut writer = SnapshotWriter::begin(Cursor::new(Vec::new()), kind, point).unwrap();
    writer.write_all(body).unwrap();
    let (out, bytes) = writer.finish().unwrap();
    assert_eq!(out.get_ref().len() as u64, bytes);
    out.into_inner()
}

/// Reads all of a file's body, verifying it.
fn read(bytes: &[u8]) -> Result<Vec<u8>, SnapshotDamage> {
    let mut reader = SnapshotReader::open(bytes, PathBuf::from("a.state"))?;
    let mut body = Vec::new();
    if let Err(error) = reader.read_to_end(&mut body) {
        let damage = reader.damage().unwrap().clone();
        assert_eq!(error.to_string(), damage.to_string());
        // After damage every further read fails.
        assert!(reader.read(&mut [0; 8]).is_err());
        assert_eq!(reader.drain(), Err(damage.clone()));
        return Err(damage);
    }
    assert_eq!(reader.drain()?, 0);
    Ok(body)
}

/// A body of several chunks, no two of them equal.
fn long_body(bytes: usize) -> Vec<u8> {
    (0..=250).cycle().take(bytes).collect()
}

#[test]
fn what_is_written_is_read() {
    for length in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES] {
        let body = long_body(length);
        let bytes = written(Kind::Views, point(7), &body);
        assert_eq!(read(&bytes).unwrap(), body, "{length}");
        let reader = SnapshotReader::open(&bytes[..], PathBuf::new()).unwrap();
        let header = Header { kind: Kind::Views, point: point(7), body_bytes: length as u64 };
        assert_eq!(*reader.header(), header);
    }
}

#[test]
fn every_changed_bit_is_found_and_named() {
    let bytes = written(Kind::State, point(7), BODY);
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let damage = read(&flipped).unwrap_err();
        let (offset, expected) = match bit / 8 {
            0..8 => (0, SnapshotFault::Magic),
            8..10 => {
                let version = u16::from_le_bytes([flipped[8], flipped[9]]);
                (0, SnapshotFault::UnknownVersion(version))
            }
            10..SNAPSHOT_HEADER_BYTES => (0, SnapshotFault::Header),
            _ => (SNAPSHOT_HEADER_BYTES as u64, SnapshotFault::Checksum),
        };
        assert_eq!((damage.offset, damage.fault), (offset, expected), "bit {bit}");
        assert_eq!(damage.file, Path::new("a.state"));
    }
}

#[test]
fn every_truncation_and_every_lengthening_is_found_and_named() {
    let bytes = written(Kind::State, point(7), BODY);
    for length in 0..bytes.len() {
        let damage = read(&bytes[..length]).unwrap_err();
        let (offset, expected) = if length < SNAPSHOT_HEADER_BYTES {
            (0, SNAPSHOT_HEADER_BYTES)
        } else {
            (SNAPSHOT_HEADER_BYTES, BODY.len() + 4)
        };
        let fault = SnapshotFault::Truncated { expected };
        assert_eq!((damage.offset, damage.fault), (offset as u64, fault), "{length}");
    }
    let longer = [&bytes[..], &[0]].concat();
    let damage = read(&longer).unwrap_err();
    assert_eq!((damage.offset, damage.fault), (bytes.len() as u64, SnapshotFault::Length));
}

/// Damage in a later chunk names that chunk, and a chunk is bound to its position and its file.
#[test]
fn chunks_moved_within_or_between_files_are_detected() {
    let body = long_body(3 * CHUNK_BYTES);
    let bytes = written(Kind::State, point(7), &body);
    let chunk = CHUNK_BYTES + 4;
    let second = SNAPSHOT_HEADER_BYTES + chunk;
    let mut flipped = bytes.clone();
    flipped[second + 5] ^= 1;
    let damage = read(&flipped).unwrap_err();
    assert_eq!((damage.offset, damage.fault), (second as u64, SnapshotFault::Checksum));

    let mut swapped = bytes[..SNAPSHOT_HEADER_BYTES].to_vec();
    for index in [1, 0, 2] {
        let at = SNAPSHOT_HEADER_BYTES + index * chunk;
        swapped.extend(&bytes[at..at + chunk]);
    }
    let damage = read(&swapped).unwrap_err();
    let first = SNAPSHOT_HEADER_BYTES as u64;
    assert_eq!((damage.offset, damage.fault), (first, SnapshotFault::Checksum));

    for other in [written(Kind::State, point(8), &body), written(Kind::Views, point(7), &body)] {
        let mut mixed = bytes.clone();
        mixed[second..second + chunk].copy_from_slice(&other[second..second + chunk]);
        let damage = read(&mixed).unwrap_err();
        assert_eq!((damage.offset, damage.fault), (second as u64, SnapshotFault::Checksum));
    }
}

#[test]
fn fields_outside_their_range_are_named_even_with_a_right_checksum() {
    let resealed = |at: usize, with: &[u8]| {
        let mut bytes = written(Kind::State, point(7), BODY);
        bytes[at..at + with.len()].copy_from_slice(with);
        let covered = [&bytes[..12], &bytes[16..SNAPSHOT_HEADER_BYTES]].concat();
        let checksum = crc32(&covered).to_le_bytes();
        bytes[12..16].copy_from_slice(&checksum);
        read(&bytes).unwrap_err()
    };
    let field = |damage: SnapshotDamage| match damage.fault {
        SnapshotFault::Field(name) => (damage.offset, name),
        other => panic!("{other}"),
    };
    assert_eq!(field(resealed(10, &3_u16.to_le_bytes())), (10, "kind"));
    assert_eq!(field(resealed(16, &0_u64.to_le_bytes())), (16, "sequence"));
    assert_eq!(field(resealed(24, &(-1_i64).to_le_bytes())), (24, "time"));
    // The declared length must not be allocated up front; the missing bytes are detected at the
    // end.
    let damage = resealed(128, &u64::MAX.to_le_bytes());
    assert_eq!(damage.fault, SnapshotFault::Truncated { expected: CHUNK_BYTES + 4 });
}

/// CRC-32 as the page describes it, bit by bit, independent of the crate under test.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

/// A disk with this many bytes left.
struct Disk {
    left: usize,
    held: Cursor<Vec<u8>>,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let count = bytes.len().min(self.left);
        self.left -= count;
        self.held.write(&bytes[..count])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Disk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.held.seek(to)
    }
}

#[test]
fn a_disk_full_at_any_byte_leaves_no_readable_snapshot() {
    let whole = written(Kind::State, point(7), BODY);
    // The header is written twice: zeros first, the real one last.
    let needed = whole.len() + SNAPSHOT_HEADER_BYTES;
    for left in 0..needed {
        let mut disk = Disk { left, held: Cursor::new(Vec::new()) };
        let wrote = SnapshotWriter::begin(&mut disk, Kind::State, point(7)).and_then(|mut out| {
            out.write_all(BODY)?;
            out.finish().map(drop)
        });
        assert_eq!(wrote.unwrap_err().kind(), io::ErrorKind::StorageFull, "{left}");
        // If the disk fills during the second header write, the file may be complete already, as
        // the header ends in zeros.
        assert!(read(disk.held.get_ref()).is_err() || *disk.held.get_ref() == whole, "{left}");
    }
    let mut disk = Disk { left: needed, held: Cursor::new(Vec::new()) };
    let mut out = SnapshotWriter::begin(&mut disk, Kind::State, point(7)).unwrap();
    out.write_all(BODY).unwrap();
    out.finish().unwrap();
    assert_eq!(read(disk.held.get_ref()).unwrap(), BODY);
}

fn put(folder: &SnapshotFolder, kind: Kind, sequence: u64) {
    folder.write(kind, &point(sequence), |out| out.write_all(BODY)).unwrap();
}

fn names(data: &Path) -> Vec<String> {
    let entries = fs::read_dir(data.join("snapshots")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_snapshot_appears_whole_or_not_at_all() {
    let data = tempfile::tempdir().unwrap();
    let folder = SnapshotFolder::open(data.path()).unwrap();
    let failed = folder.write(Kind::State, &point(9), |out| {
        out.write_all(&long_body(2 * CHUNK_BYTES))?;
        Err(io::ErrorKind::StorageFull.into())
    });
    let error = failed.unwrap_err().to_string();
    assert!(error.contains("SNAPSHOT_WRITE") && error.contains("9.state"), "{error}");
    assert_eq!(names(data.path()), Vec::<String>::new());

    put(&folder, Kind::State, 9);
    assert_eq!(names(data.path()), ["00000000000000000009.state"]);
    let mut reader = folder.read(Kind::State, Sequence::new(9)).unwrap();
    let mut body = Vec::new();
    reader.read_to_end(&mut body).unwrap();
    assert_eq!(body, BODY);
    // A later failed write does not harm the existing snapshot.
    folder.write(Kind::State, &point(9), |_| Err(io::Error::other("injected"))).unwrap_err();
    assert!(folder.read(Kind::State, Sequence::new(9)).unwrap().drain().is_ok());
}

#[test]
fn leftovers_of_a_crash_are_ignored_and_removed_at_the_next_start() {
    let data = tempfile::tempdir().unwrap();
    let folder = SnapshotFolder::open(data.path()).unwrap();
    put(&folder, Kind::State, 9);
    let part = data.path().join("snapshots/00000000000000000010.state.part");
    fs::write(&part, written(Kind::State, point(10), BODY)).unwrap();
    assert_eq!(folder.list(Kind::State).unwrap(), [Sequence::new(9)]);
    SnapshotFolder::open(data.path()).unwrap();
    assert_eq!(names(data.path()), ["00000000000000000009.state"]);
}

#[test]
fn snapshots_are_listed_newest_first_and_other_files_ignored() {
    let data = tempfile::tempdir().unwrap();
    assert_eq!(SnapshotFolder::of(data.path()).list(Kind::State).unwrap(), []);
    let folder = SnapshotFolder::open(data.path()).unwrap();
    for sequence in [9, 100, 10, u64::MAX] {
        put(&folder, Kind::State, sequence);
    }
    let folder_path = data.path().join("snapshots");
    for name in ["9.state", "+0000000000000000009.state", "00000000000000000011.views", "x"] {
        fs::write(folder_path.join(name), "").unwrap();
    }
    let found = folder.list(Kind::State).unwrap();
    assert_eq!(found, [u64::MAX, 100, 10, 9].map(Sequence::new));
}

#[test]
fn the_newest_two_are_kept() {
    let data = tempfile::tempdir().unwrap();
    let folder = SnapshotFolder::open(data.path()).unwrap();
    for sequence in 1..=5 {
        put(&folder, Kind::State, sequence);
        put(&folder, Kind::Views, sequence);
    }
    // A snapshot beyond the journal's end belongs to a longer journal.
    assert_eq!(folder.retain(Sequence::new(4)).unwrap(), 2);
    assert_eq!(folder.retain(Sequence::new(4)).unwrap(), 0);
    assert_eq!(folder.list(Kind::Views).unwrap(), [5, 4, 3, 1].map(Sequence::new));
    assert_eq!(folder.retain(Sequence::new(5)).unwrap(), 0);
    for kind in Kind::ALL {
        assert_eq!(folder.list(kind).unwrap(), [5, 4, 3, 1].map(Sequence::new));
    }
    // An earlier version kept old states without their views: the state of 3 stays beside 2.
    put(&folder, Kind::State, 2);
    fs::remove_file(folder.path(Kind::Views, Sequence::new(1))).unwrap();
    assert_eq!(folder.retain(Sequence::new(5)).unwrap(), 0);
    assert_eq!(folder.list(Kind::Views).unwrap(), [5, 4, 3].map(Sequence::new));
}

/// Of the older ones one is left a power of two, counted in records before the newest.
#[test]
fn snapshots_of_the_past_get_fewer_the_older_they_are() {
    let data = tempfile::tempdir().unwrap();
    let folder = SnapshotFolder::open(data.path()).unwrap();
    for sequence in (1..=300).map(|number| number * 100) {
        put(&folder, Kind::State, sequence);
        put(&folder, Kind::Views, sequence);
        folder.retain(Sequence::new(sequence)).unwrap();
        let states = folder.list(Kind::State).unwrap();
        assert_eq!(states, folder.list(Kind::Views).unwrap());
        let ages: Vec<u64> = states.iter().map(|state| sequence - state.get()).collect();
        let two = ages.len().min(2);
        assert_eq!(ages[..two], [0, 100][..two], "{ages:?}");
        assert!(ages.len() <= 2 + sequence.ilog2() as usize, "{ages:?}");
        // Wherever somebody asks, a state is not much further before it than it must be.
        let gaps = ages.windows(2).all(|ages| ages[1] <= 4 * ages[0].max(100));
        assert!(gaps, "{ages:?}");
        assert!(ages.last().is_some_and(|oldest| 4 * oldest >= sequence - 100), "{ages:?}");
    }
}

#[test]
fn a_renamed_or_missing_snapshot_is_named() {
    let data = tempfile::tempdir().unwrap();
    let folder = SnapshotFolder::open(data.path()).unwrap();
    put(&folder, Kind::State, 9);
    let other = folder.path(Kind::State, Sequence::new(12));
    fs::rename(folder.path(Kind::State, Sequence::new(9)), &other).unwrap();
    let damage = folder.read(Kind::State, Sequence::new(12)).unwrap_err();
    assert_eq!(damage.file, other);
    assert_eq!(damage.fault, SnapshotFault::Name("00000000000000000009.state".to_owned()));
    let damage = folder.read(Kind::Views, Sequence::new(12)).unwrap_err();
    assert!(matches!(damage.fault, SnapshotFault::Read(_)), "{damage}");
}
