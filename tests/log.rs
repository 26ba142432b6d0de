//! The log of a data directory and its copy: segments that are sealed, damaged, lost or put back,
//! copies of a directory in use, and directories of an earlier version.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may stop

mod records;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use exchange::units::Sequence;
use journal::block::{Block, ChainHash, Head};
use journal::directory::{LogJournal, read_only};
use journal::import::{OldJournal, import};
use journal::reader::JournalReader;
use journal::recovery::Marker;
use journal::store::{OpenError, Recovered};
use journal::{Durable, Journal, JournalError};
use records::{chain, largest_block};

/// Blocks of the largest size that fill a segment of 8 MiB.
const FULL: usize = (8 << 20) / 60_000;

/// Enough blocks for two full segments and a part of a third.
fn blocks() -> &'static [Block] {
    static BLOCKS: OnceLock<Vec<Block>> = OnceLock::new();
    BLOCKS.get_or_init(|| history(0))
}

/// That many blocks of one of several histories, alike but for their contents.
fn history(which: usize) -> Vec<Block> {
    let (mut head, mut blocks) = (Head::START, Vec::new());
    for index in 0..2 * FULL + 5 {
        let block = largest_block(&head, u8::try_from((index + which) % 251).unwrap());
        head = block.head();
        blocks.push(block);
    }
    blocks
}

fn first_of(segment: usize) -> Sequence {
    blocks()[segment * FULL].first()
}

fn segment(data: &Path, index: usize) -> PathBuf {
    data.join(format!("journal/log/{:020}.blocks", first_of(index).get()))
}

/// A directory with these blocks, sealed and copied, and closed.
fn directory(blocks: &[Block]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, _) = LogJournal::open(dir.path()).unwrap();
    for block in blocks {
        journal.append(block.clone()).unwrap();
    }
    assert_eq!(journal.files().unwrap().change(), None);
    drop(journal);
    dir
}

/// A copy of such a directory.
fn copied() -> tempfile::TempDir {
    static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let dir = tempfile::tempdir().unwrap();
    copy(MADE.get_or_init(|| directory(blocks())).path(), dir.path());
    dir
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn read(
    blocks: impl Iterator<Item = Result<Durable<Block>, JournalError>>,
) -> Result<Vec<ChainHash>, JournalError> {
    blocks.map(|read| read.map(|block| block.hash())).collect()
}

/// Blocks by their hashes: they are large.
fn hashes(blocks: &[Block]) -> Vec<ChainHash> {
    blocks.iter().map(Block::hash).collect()
}

fn read_all(journal: &JournalReader) -> Result<Vec<ChainHash>, JournalError> {
    read(journal.read(Sequence::new(1)))
}

/// Opens a directory and reads everything; says how many repairs that took.
fn opened(data: &Path) -> Result<(Vec<ChainHash>, u64), String> {
    let (journal, Recovered { repairs, .. }) =
        LogJournal::open_existing(data).map_err(|error| error.to_string())?;
    let read = read_all(&journal.reader()).map_err(|error| error.to_string())?;
    drop(journal);
    Ok((read, repairs.count()))
}

/// All files below a folder, with their contents.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            all.extend(contents(&entry.path()));
        } else {
            all.push((entry.path(), fs::read(entry.path()).unwrap()));
        }
    }
    all.sort();
    all
}

fn flip(path: &Path, at: u64) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
}

#[test]
fn full_segments_are_sealed_as_members_and_read_from_any_record() {
    let dir = copied();
    for index in 0..2 {
        let bytes = fs::read(segment(dir.path(), index)).unwrap();
        assert_eq!(bytes[..2], [0x1f, 0x8b]);
        // In the archive's form: any reader of that takes it.
        let named = dir.path().join("segment.gz");
        fs::write(&named, bytes).unwrap();
        if index == 0 {
            let file = journal::portable::PortableFile::open(&named).unwrap();
            assert_eq!(read(file), Ok(hashes(&blocks()[..FULL])));
        }
        fs::remove_file(named).unwrap();
    }
    assert_eq!(fs::metadata(segment(dir.path(), 2)).unwrap().len(), 8 << 20);
    let (journal, recovered) = LogJournal::open(dir.path()).unwrap();
    assert_eq!(recovered.head, blocks().last().unwrap().head());
    for index in [0, 1, FULL - 1, FULL, FULL + 1, 2 * FULL - 1, 2 * FULL, 2 * FULL + 4] {
        let mut reading = journal.read(blocks()[index].first());
        assert!(*reading.next().unwrap().unwrap() == blocks()[index], "{index}");
        let next = reading.next().map(|next| next.unwrap().hash());
        assert_eq!(next, blocks().get(index + 1).map(Block::hash), "{index}");
    }
    assert_eq!(read_all(&journal.reader()), Ok(hashes(blocks())));
}

#[test]
fn idle_starts_add_nothing_to_the_disk() {
    let dir = copied();
    assert_eq!(opened(dir.path()).unwrap().1, 0);
    let size = |data: &Path| -> u64 {
        contents(data).iter().map(|(_, bytes)| u64::try_from(bytes.len()).unwrap()).sum()
    };
    let before = size(dir.path());
    for _ in 0..10 {
        drop(LogJournal::open(dir.path()).unwrap());
    }
    let after = size(dir.path());
    assert!(after <= before + (64 << 10), "{before} {after}");
}

#[test]
fn reading_only_changes_no_byte_and_needs_no_lock() {
    let dir = copied();
    let before = contents(dir.path());
    let (journal, removed) = read_only(dir.path()).unwrap();
    assert_eq!((read_all(&journal), removed), (Ok(hashes(blocks())), None));
    assert_eq!(contents(dir.path()), before);
    // Beside a server, up to what was there then.
    let (mut running, _) = LogJournal::open(dir.path()).unwrap();
    let (beside, _) = read_only(dir.path()).unwrap();
    let next = largest_block(running.head(), 3);
    running.append(next.clone()).unwrap();
    assert_eq!(read_all(&beside), Ok(hashes(blocks())));
    assert_eq!(read_only(dir.path()).unwrap().0.head(), next.head());
}

/// Damage to a full segment, and what it is.
type Deed = fn(&Path);

#[test]
fn a_damaged_full_segment_is_made_anew_from_the_copy() {
    let deeds: [(usize, Deed); 6] = [
        (0, |path| flip(path, 5_000)),
        (0, |path| flip(path, 3)),
        (1, |path| flip(path, fs::metadata(path).unwrap().len() - 20)),
        (0, |path| fs::remove_file(path.with_extension("blocks")).unwrap()),
        (1, |path| File::options().write(true).open(path).unwrap().set_len(70_000).unwrap()),
        (1, |path| fs::write(path, b"something else").unwrap()),
    ];
    for (number, (index, deed)) in deeds.into_iter().enumerate() {
        let dir = copied();
        let path = segment(dir.path(), index);
        let sound = fs::read(&path).unwrap();
        deed(&path);
        let lost = number == 3;
        let tool = read_only(dir.path()).map(|(journal, _)| read_all(&journal));
        assert!(!matches!(tool, Ok(Ok(_))), "{number}: the tool says nothing");
        if lost {
            // Without record 1 it is no journal: nothing is made up.
            let lost = LogJournal::open(dir.path()).map(drop);
            assert_eq!(lost, Err(OpenError::Lost(path)));
            continue;
        }
        assert_eq!(opened(dir.path()), Ok((hashes(blocks()), 1)), "{number}");
        assert_eq!(fs::read(&path).unwrap(), sound, "{number}");
        assert_eq!(opened(dir.path()), Ok((hashes(blocks()), 0)), "{number}");
    }
}

#[test]
fn a_full_segment_that_is_gone_is_made_anew_and_without_a_copy_the_start_is_refused() {
    for copy in [true, false] {
        let dir = copied();
        let path = segment(dir.path(), 1);
        fs::remove_file(&path).unwrap();
        if copy {
            assert_eq!(opened(dir.path()), Ok((hashes(blocks()), 1)));
            continue;
        }
        fs::remove_dir_all(dir.path().join("journal/sled")).unwrap();
        let error = opened(dir.path()).unwrap_err();
        assert!(error.contains("there is no copy"), "{error}");
    }
    // Renamed, it is as good as gone; named again, it is all there.
    let dir = copied();
    let (path, away) = (segment(dir.path(), 1), dir.path().join("journal/log/away"));
    fs::remove_dir_all(dir.path().join("journal/sled")).unwrap();
    fs::rename(&path, &away).unwrap();
    assert!(opened(dir.path()).is_err());
    fs::rename(&away, &path).unwrap();
    assert_eq!(opened(dir.path()), Ok((hashes(blocks()), 0)));
}

#[test]
fn the_copy_of_another_journal_mends_nothing() {
    let (dir, other) = (copied(), directory(&history(1)));
    let sled = dir.path().join("journal/sled");
    fs::remove_dir_all(&sled).unwrap();
    copy(&other.path().join("journal/sled"), &sled);
    flip(&segment(dir.path(), 0), 9_000);
    let damaged = fs::read(segment(dir.path(), 0)).unwrap();
    let error = opened(dir.path()).unwrap_err();
    assert!(error.contains("the copy does not lead to what follows"), "{error}");
    assert!(fs::read(segment(dir.path(), 0)).unwrap() == damaged, "nothing was written");
}

#[test]
fn a_lost_open_segment_is_refused_once_another_is_sealed() {
    let dir = copied();
    let path = segment(dir.path(), 2);
    fs::remove_file(&path).unwrap();
    assert_eq!(LogJournal::open(dir.path()).map(drop), Err(OpenError::Lost(path.clone())));
    assert_eq!(read_only(dir.path()).map(drop), Err(OpenError::Lost(path)));
}

/// The copy, without a thread that holds it open after it is dropped.
fn sled_at(folder: &Path) -> sled::Db {
    let config = sled::Config::new().path(folder).segment_size(8 << 20);
    config.flush_every_ms(None).open().unwrap()
}

/// Opens a journal until its copy is whole again, as if the copy were behind: it is looked at when
/// it is to be given something, and a journal that is closed at once may not come to that. Also
/// counts the repairs.
fn fed_again(data: &Path) -> (Vec<ChainHash>, u64) {
    let fed = data.join("journal/sled.fed");
    let whole = fs::read(&fed).unwrap();
    fs::remove_file(&fed).unwrap();
    let mut repairs = 0;
    for _ in 0..100 {
        let (read, noted) = opened(data).unwrap();
        repairs += noted;
        if fs::read(&fed).is_ok_and(|now| now == whole) {
            return (read, repairs);
        }
    }
    panic!("the copy is not fed again");
}

/// What sled keeps can all be made again.
#[test]
fn a_copy_that_is_lost_garbage_behind_or_of_another_journal_is_made_anew() {
    let deeds: [(&str, Deed, u64); 4] = [
        ("lost", |sled| fs::remove_dir_all(sled).unwrap(), 0),
        ("garbage", |sled| fs::write(sled.join("db"), vec![0xA5; 1 << 20]).unwrap(), 1),
        ("settings", |sled| fs::write(sled.join("conf"), b"no settings").unwrap(), 1),
        (
            "contradicting",
            |sled| {
                let db = sled_at(sled);
                let members = db.open_tree("blocks").unwrap();
                let (last, _) = members.last().unwrap().unwrap();
                members.insert(last, b"no member").unwrap();
                db.flush().unwrap();
            },
            1,
        ),
    ];
    for (name, deed, repairs) in deeds {
        let dir = copied();
        let sled = dir.path().join("journal/sled");
        deed(&sled);
        let (read, noted) = fed_again(dir.path());
        assert_eq!((read.len(), noted), (blocks().len(), repairs), "{name}");
        assert_eq!(sled.with_extension("aside").exists(), repairs == 1, "{name}");
        // It serves again.
        flip(&segment(dir.path(), 0), 9_000);
        assert_eq!(opened(dir.path()), Ok((hashes(blocks()), 1)), "{name}");
    }
    // Behind: what it lacks, it gets.
    let dir = copied();
    let sled = dir.path().join("journal/sled");
    {
        let db = sled_at(&sled);
        let members = db.open_tree("blocks").unwrap();
        let last = first_of(1).get().to_be_bytes();
        let later: Vec<_> = members.range(last..).keys().map(Result::unwrap).collect();
        for key in later {
            drop(members.remove(key).unwrap());
        }
        db.flush().unwrap();
    }
    assert_eq!(fed_again(dir.path()).1, 0);
    flip(&segment(dir.path(), 1), 9_000);
    assert_eq!(opened(dir.path()), Ok((hashes(blocks()), 1)));
}

/// A log that ends before its copy, as in a copy of a directory that was in use.
#[test]
fn what_only_the_copy_has_is_put_back_into_the_log() {
    let dir = copied();
    fs::remove_file(segment(dir.path(), 2)).unwrap();
    let zeros = vec![0; 8 << 20];
    fs::write(segment(dir.path(), 1), zeros).unwrap();
    let until = &blocks()[..2 * FULL];
    assert_eq!(opened(dir.path()), Ok((hashes(until), 1)));
    assert_eq!(opened(dir.path()), Ok((hashes(until), 0)));
    // Not if it is of another history.
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, _) = LogJournal::open(dir.path()).unwrap();
    let other = chain(3, 2);
    for block in &other {
        drop(journal.append(block.clone()).unwrap());
    }
    drop(journal);
    copy(&copied().path().join("journal/sled"), &dir.path().join("journal/sled"));
    assert_eq!(opened(dir.path()), Ok((hashes(&other), 1)));
    assert!(dir.path().join("journal/sled.aside").exists());
}

/// `cp -r` of a running server's directory, again and again.
#[test]
fn a_copy_of_a_directory_in_use_is_a_beginning_of_its_journal() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("live");
    let (mut journal, _) = LogJournal::open(&data).unwrap();
    let mut copies = 0;
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for block in blocks() {
                journal.append(block.clone()).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        while !writer.is_finished() {
            let copy = dir.path().join("copy");
            let made = std::process::Command::new("cp").arg("-r").arg(&data).arg(&copy).output();
            made.unwrap();
            let (journal, _) = read_only(&copy).unwrap();
            let (read, journal_end) = (read_all(&journal).unwrap(), journal.head().sequence);
            assert_eq!(read, hashes(&blocks()[..read.len()]));
            let (journal, recovered) = LogJournal::open(&copy).unwrap();
            assert!(recovered.head.sequence >= journal_end);
            drop(journal);
            fs::remove_dir_all(&copy).unwrap();
            copies += 1;
        }
    });
    assert!(copies > 0, "no copy, no test");
}

#[test]
fn an_imported_journal_is_the_same_log() {
    let made = copied();
    let dir = tempfile::tempdir().unwrap();
    let (journal, _) = read_only(made.path()).unwrap();
    let head = import(dir.path(), journal.read(Sequence::new(1)), |_| ()).unwrap();
    assert_eq!(head, journal.head());
    for index in 0..3 {
        let ours = fs::read(segment(dir.path(), index)).unwrap();
        assert!(ours == fs::read(segment(made.path(), index)).unwrap(), "{index}");
    }
}

/// The form of version 0.1: sled's values of several blocks each, and the newest in `wal`.
#[test]
fn a_directory_of_an_earlier_version_is_read_by_an_import_and_named_by_a_start() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old"), dir.path().join("new"));
    fs::create_dir_all(&old).unwrap();
    let blocks = chain(40, 4);
    {
        let config = sled::Config::new().path(old.join("journal")).segment_size(16 << 20);
        let db = config.open().unwrap();
        let tree = db.open_tree("blocks").unwrap();
        for group in blocks[..30].chunks(3) {
            let bytes: Vec<u8> = group.iter().flat_map(Block::bytes).copied().collect();
            tree.insert(group[0].first().get().to_be_bytes(), bytes).unwrap();
        }
    }
    // Both halves of the log, the newer one first; the last block was refused.
    let half = |blocks: &[Block]| {
        let mut bytes: Vec<u8> = blocks.iter().flat_map(Block::bytes).copied().collect();
        bytes.resize(1 << 20, 0);
        bytes
    };
    fs::write(old.join("wal"), [half(&blocks[34..]), half(&blocks[28..34])].concat()).unwrap();
    let refused = &blocks[39];
    let (first, previous) = (refused.first(), refused.previous());
    let marker = Marker::Refused { first, previous };
    fs::write(old.join("refused"), marker.encode()).unwrap();
    fs::write(old.join("witness"), vec![0; 8192]).unwrap();
    for opened in [LogJournal::open(&old), LogJournal::open_existing(&old)] {
        let error = opened.map(drop).unwrap_err();
        assert_eq!(error, OpenError::Old(old.clone()));
        assert!(error.to_string().contains("openoutcry-replay import"), "{error}");
    }
    let head = import(&new, OldJournal::open(&old).unwrap(), |_| ()).unwrap();
    assert_eq!(head, blocks[38].head());
    assert_eq!(opened(&new), Ok((hashes(&blocks[..39]), 0)));
    // What sled has lost of it is missed.
    fs::remove_file(old.join("wal")).unwrap();
    let mut slot = [0; 64];
    slot[..8].copy_from_slice(b"OPACKNOW");
    slot[8..16].copy_from_slice(&blocks[38].last().get().to_le_bytes());
    slot[16..48].copy_from_slice(&blocks[38].hash().0);
    let sum = crc32fast::hash(&slot[..60]).to_le_bytes();
    slot[60..].copy_from_slice(&sum);
    fs::write(old.join("witness"), [slot.as_slice(), &[0; 8128]].concat()).unwrap();
    assert!(read(OldJournal::open(&old).unwrap()).is_err());
}

/// Appends while segments are sealed and readers read them.
#[test]
fn readers_follow_the_log_across_its_segments() {
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, _) = LogJournal::open(dir.path()).unwrap();
    let reader = journal.reader();
    std::thread::scope(|scope| {
        let following = scope.spawn(|| {
            let (mut seen, began) = (0, Instant::now());
            while seen < blocks().len() && began.elapsed() < Duration::from_mins(4) {
                let from = blocks()[seen].first();
                for block in reader.read(from) {
                    assert!(*block.unwrap() == blocks()[seen]);
                    seen += 1;
                }
            }
            seen
        });
        for block in blocks() {
            journal.append(block.clone()).unwrap();
        }
        assert_eq!(following.join().unwrap(), blocks().len());
    });
}
