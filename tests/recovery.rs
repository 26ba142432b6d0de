//! What survives an interrupted start, damage and a second opener, on a disk of a test's own and on
//! a real one. What else failed writes and lost power do, the simulator shows.

#![allow(clippy::unwrap_used)] // a test may unwrap

mod faults;
mod records;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use exchange::command::Command;
use exchange::units::{Sequence, TimeMs};
use faults::{Disk, Fault, Faulty};
use journal::block::{Block, BlockFault, Head};
use journal::directory::LogJournal;
use journal::memory::{MemoryJournal, MemoryStore};
use journal::recovery::{Marker, Reason};

use journal::store::{BlockSource, BlockStore, OpenError, Step, StoreError, StoredJournal};
use journal::{Damage, Journal, JournalError};
use records::{block_after, chain};

fn append_all(journal: &mut impl Journal, blocks: &[Block]) {
    for block in blocks {
        assert_eq!(&*journal.append(block.clone()).unwrap(), block);
    }
}

fn read_all(journal: &impl Journal) -> Result<Vec<Block>, JournalError> {
    journal.read(Sequence::new(1)).map(|read| read.map(|block| (*block).clone())).collect()
}

/// Another block in the same position: what a restarted venue writes instead of a refused one.
fn instead(head: &Head) -> Block {
    let time = TimeMs::new(1_800_000_000_000).unwrap();
    block_after(head, time, vec![Command::AdvanceClock])
}

#[test]
fn blocks_are_read_back_from_any_record() {
    let blocks = chain(12, 3);
    let mut journal = MemoryJournal::new();
    append_all(&mut journal, &blocks);
    assert_eq!(read_all(&journal), Ok(blocks.clone()));
    for from in 1..=36_u64 {
        let first = journal.read(Sequence::new(from)).next().unwrap().unwrap();
        let holding = (usize::try_from(from).unwrap() - 1) / 3;
        assert_eq!(*first, blocks[holding], "{from}");
        assert_eq!(journal.read(Sequence::new(from)).count(), 12 - holding);
    }
    assert!(journal.read(Sequence::new(37)).next().is_none());
    assert!(MemoryJournal::new().read(Sequence::new(1)).next().is_none());
}

#[test]
fn a_block_that_is_not_the_next_is_not_written() {
    let blocks = chain(3, 2);
    let mut journal = MemoryJournal::new();
    append_all(&mut journal, &blocks[..1]);
    let misfit = journal.append(blocks[2].clone()).unwrap_err();
    assert!(matches!(misfit, JournalError::Misfit { fault: BlockFault::Gap { .. }, .. }));
    assert_eq!(journal.append(blocks[1].clone()), Err(JournalError::Stopped));
    assert_eq!(read_all(&journal), Ok(blocks[..1].to_vec()));
}

/// Recovery cuts the refused block off and then clears its marker; if it fails or loses power in
/// between, the next start repeats it.
#[test]
fn an_interrupted_cut_is_repeated_at_the_next_start() {
    for step in [Step::Remove, Step::Sync, Step::Mark] {
        for arrives in [false, true] {
            let disk = Disk::new();
            let acknowledged = chain(3, 2);
            let mut written = disk.clone();
            for block in &acknowledged {
                written.put(block.first(), block.bytes()).unwrap();
            }
            let head = acknowledged[2].head();
            let refused = instead(&head);
            written.put(refused.first(), refused.bytes()).unwrap();
            let previous = head.hash;
            written.mark(Marker::Refused { first: refused.first(), previous }).unwrap();
            disk.write_out();

            let (store, faults) = Faulty::new(disk.clone());
            faults.lock().unwrap().push(Fault { step, arrives });
            let opened = StoredJournal::over(store);
            assert!(matches!(opened, Err(OpenError::Store(_))), "{step:?}");
            disk.lose_power();
            let (journal, recovered) = StoredJournal::over(disk.clone()).unwrap();
            assert_eq!(recovered.head, head, "{step:?} {arrives}");
            assert_eq!(read_all(&journal), Ok(acknowledged));
            disk.lose_power();
            let (journal, recovered) = StoredJournal::over(disk).unwrap();
            assert_eq!((recovered.head, recovered.cut), (head, None));
            assert_eq!(journal.head(), &head);
        }
    }
}

fn stored(blocks: &[Block]) -> MemoryStore {
    let mut store = MemoryStore::new();
    for block in blocks {
        store.put(block.first(), block.bytes()).unwrap();
    }
    store
}

#[test]
fn damage_near_the_end_is_found_at_the_start_and_damage_before_it_by_reading() {
    let blocks = chain(20, 2);
    let damaged = |index: usize, damage: fn(&mut MemoryStore, &Block)| {
        let mut store = stored(&blocks);
        damage(&mut store, &blocks[index]);
        match StoredJournal::over(store) {
            Err(OpenError::Damaged(damage)) => (true, damage),
            Err(error) => panic!("{error}"),
            Ok((journal, _)) => match read_all(&journal) {
                Err(JournalError::Damaged(damage)) => (false, damage),
                other => panic!("{other:?}"),
            },
        }
    };
    for index in 0..20 {
        let first = blocks[index].first();
        let at_start = index >= 12;
        let (early, damage) = damaged(index, |store, block| {
            let mut bytes = block.bytes().to_vec();
            bytes[80] ^= 0x10;
            store.put(block.first(), &bytes).unwrap();
        });
        let fault = BlockFault::Checksum;
        assert_eq!((early, damage), (at_start, Damage { block: first, fault }), "{index}");
        if index == 19 {
            continue; // without its last block the journal is valid, only shorter
        }
        let (early, damage) = damaged(index, |store, block| {
            let mut kept = MemoryStore::new();
            let mut key = Sequence::ZERO;
            while let Some((found, bytes)) = store.source().at_or_after(key).unwrap() {
                if found != block.first() {
                    kept.put(found, &bytes).unwrap();
                }
                key = found.next();
            }
            *store = kept;
        });
        let next = blocks[index + 1].first();
        let fault = BlockFault::Gap { expected: first, found: next };
        let found_at_start = index >= 12;
        assert_eq!((early, damage), (found_at_start, Damage { block: next, fault }), "{index}");
    }
}

#[test]
fn a_tail_that_vanishes_while_open_is_detected() {
    let blocks = chain(4, 2);
    let mut journal = StoredJournal::over(Vanishing(MemoryStore::new())).unwrap().0;
    append_all(&mut journal, &blocks);
    let damage = Damage { block: Sequence::new(7), fault: BlockFault::Missing(Sequence::new(8)) };
    assert_eq!(read_all(&journal), Err(JournalError::Damaged(damage)));
}

/// A store that drops the block of record 7.
struct Vanishing(MemoryStore);

impl BlockStore for Vanishing {
    fn put(&mut self, first: Sequence, bytes: &[u8]) -> Result<(), StoreError> {
        if first == Sequence::new(7) { Ok(()) } else { self.0.put(first, bytes) }
    }
    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
    fn remove_from(&mut self, first: Sequence) -> Result<(), StoreError> {
        self.0.remove_from(first)
    }
    fn marker(&self) -> Result<Marker, StoreError> {
        self.0.marker()
    }
    fn mark(&mut self, marker: Marker) -> Result<(), StoreError> {
        self.0.mark(marker)
    }
    fn source(&self) -> Arc<dyn BlockSource> {
        self.0.source()
    }
}

#[test]
fn a_marker_never_removes_more_than_the_one_refused_block() {
    let blocks = chain(6, 2);
    let refusing = |index: usize, kept: usize| {
        let mut store = stored(&blocks[..kept]);
        let (first, previous) = (blocks[index].first(), blocks[index].previous());
        store.mark(Marker::Refused { first, previous }).unwrap();
        StoredJournal::over(store).map(|(journal, recovered)| (*journal.head(), recovered.cut))
    };
    assert_eq!(refusing(5, 6), Ok((blocks[4].head(), Some(blocks[5].first()))));
    assert_eq!(refusing(5, 5), Ok((blocks[4].head(), None)));
    assert_eq!(refusing(4, 6), Err(OpenError::Refused(Reason::Beyond)));
    assert_eq!(refusing(0, 6), Err(OpenError::Refused(Reason::Beyond)));
    assert_eq!(refusing(5, 4), Err(OpenError::Refused(Reason::MarkerElsewhere)));
    let mut store = stored(&blocks);
    let first = blocks[5].first();
    store.mark(Marker::Refused { first, previous: blocks[0].hash() }).unwrap();
    let elsewhere = StoredJournal::over(store).map(|_| ());
    assert_eq!(elsewhere, Err(OpenError::Refused(Reason::MarkerElsewhere)));
}

/// A start clears the marker and its sync fails; the next start sees it cleared, and goes on.
#[test]
fn a_marker_that_a_failed_sync_left_on_disk_removes_nothing_that_was_answered() {
    let blocks = chain(1, 2);
    let mut disk = Disk::new();
    let (first, previous) = (Sequence::new(1), Head::START.hash);
    disk.mark(Marker::Refused { first, previous }).unwrap();
    disk.mark_unsynced(Marker::Clear);
    let mut journal = StoredJournal::over(disk.clone()).unwrap().0;
    append_all(&mut journal, &blocks);
    disk.lose_power();
    let journal = StoredJournal::over(disk).unwrap().0;
    assert_eq!(read_all(&journal), Ok(blocks));
}

// On a real disk.

/// The segment that begins with a record.
fn segment(data: &Path, first: u64) -> PathBuf {
    data.join(format!("journal/log/{first:020}.blocks"))
}

#[test]
fn a_directory_keeps_what_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("a").join("venue");
    assert!(matches!(LogJournal::open_existing(&data), Err(OpenError::Missing(_))));
    assert!(!data.exists(), "a refusal to create creates nothing");
    let blocks = chain(30, 4);
    for part in blocks.chunks(10) {
        let (mut journal, recovered) = LogJournal::open(&data).unwrap();
        assert_eq!(recovered.cut, None);
        append_all(&mut journal, part);
    }
    let (journal, recovered) = LogJournal::open_existing(&data).unwrap();
    assert_eq!(recovered.head, blocks[29].head());
    assert_eq!(read_all(&journal), Ok(blocks));
    let mut names: Vec<_> =
        fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["journal", "lock", "refused"]);
}

#[test]
fn a_second_opener_is_refused_as_locked() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _) = LogJournal::open(dir.path()).unwrap();
    let locked = OpenError::Locked(dir.path().to_owned());
    assert_eq!(LogJournal::open(dir.path()).map(|_| ()), Err(locked.clone()));
    assert_eq!(LogJournal::open_existing(dir.path()).map(|_| ()), Err(locked.clone()));
    // Also where somebody took the file for one that a killed server left behind.
    fs::remove_file(dir.path().join("lock")).unwrap();
    assert_eq!(LogJournal::open(dir.path()).map(|_| ()), Err(locked));
    drop(journal);
    assert!(LogJournal::open(dir.path()).is_ok());
}

/// A first start makes the marker last, and the first segment before it.
#[test]
fn an_interrupted_first_start_begins_anew_unless_there_is_a_block() {
    for blocks in [0, 1] {
        let dir = tempfile::tempdir().unwrap();
        let (mut journal, _) = LogJournal::open(dir.path()).unwrap();
        append_all(&mut journal, &chain(blocks, 2));
        drop(journal);
        let marker = dir.path().join("refused");
        fs::remove_file(&marker).unwrap();
        let opened = LogJournal::open(dir.path()).map(|(_, recovered)| recovered.head);
        let missing = Err(OpenError::FileMissing(marker));
        assert_eq!(opened, if blocks == 0 { Ok(Head::START) } else { missing });
    }
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("journal/log")).unwrap();
    fs::write(segment(dir.path(), 1).with_extension("partial"), [0; 100]).unwrap();
    assert!(LogJournal::open(dir.path()).is_ok());
}

#[test]
fn a_lost_or_damaged_marker_stops_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let marker = dir.path().join("refused");
    let (mut journal, _) = LogJournal::open(dir.path()).unwrap();
    append_all(&mut journal, &chain(2, 2));
    drop(journal);
    let sound = fs::read(&marker).unwrap();
    fs::write(&marker, [0; 64]).unwrap();
    let opened = LogJournal::open(dir.path()).map(|_| ());
    assert_eq!(opened, Err(OpenError::Refused(Reason::MarkerUnreadable)));
    fs::remove_file(&marker).unwrap();
    let opened = LogJournal::open(dir.path()).map(|_| ());
    assert_eq!(opened, Err(OpenError::FileMissing(marker.clone())));
    fs::write(&marker, sound).unwrap();
    assert!(LogJournal::open(dir.path()).is_ok());
    fs::remove_file(segment(dir.path(), 1)).unwrap();
    let opened = LogJournal::open(dir.path()).map(|_| ());
    assert_eq!(opened, Err(OpenError::Lost(segment(dir.path(), 1))));
    fs::remove_dir_all(dir.path().join("journal")).unwrap();
    let opened = LogJournal::open(dir.path()).map(|_| ());
    assert_eq!(opened, Err(OpenError::Lost(dir.path().join("journal/log"))));
}

/// A block in memory that the disk may lack, after an append whose outcome is unknown, is written
/// again before anything is built on it.
#[test]
fn the_last_block_is_written_again_at_a_start() {
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, _) = LogJournal::open(dir.path()).unwrap();
    append_all(&mut journal, &chain(3, 2));
    drop(journal);
    let path = segment(dir.path(), 1);
    let before = fs::read(&path).unwrap();
    let written = || fs::metadata(&path).unwrap().modified().unwrap();
    let at = written();
    std::thread::sleep(std::time::Duration::from_millis(20));
    drop(LogJournal::open(dir.path()).unwrap());
    assert!(written() > at);
    assert_eq!(fs::read(&path).unwrap(), before);
}
