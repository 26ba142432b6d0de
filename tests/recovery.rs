//! What survives failed writes, lost power, damage and a second opener; on a simulated disk and on
//! real sled.

#![allow(clippy::unwrap_used)] // a test may unwrap

mod faults;
mod records;

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use exchange::command::Command;
use exchange::units::{Sequence, TimeMs};
use faults::{Disk, Fault, Faulty};
use journal::block::{Block, BlockFault, Head};
use journal::marker::{Marker, Witness};
use journal::memory::{MemoryJournal, MemoryStore};
use journal::recovery::Reason;
use journal::sled::{SledJournal, SledStore};
use journal::store::{BlockSource, BlockStore, OpenError, Step, StoreError, StoredJournal};
use journal::{Damage, Journal, JournalError};
use records::{block_after, chain, largest_block};

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

/// Every step of an append fails: with and without taking effect, with and without a marker, with
/// and without a power cut afterwards, at the journal's start and later.
#[test]
fn a_failed_append_is_gone_after_a_restart_and_nothing_else_is() {
    let steps = [Step::Put, Step::Flush, Step::Sync];
    for (step, combination) in steps.into_iter().flat_map(|s| (0..16).map(move |c| (s, c))) {
        let has = |bit: u32| combination & (1 << bit) != 0;
        let (arrives, marked, power, later) = (has(0), has(1), has(2), has(3));
        let acknowledged = chain(if later { 10 } else { 0 }, 2);
        let disk = Disk::new();
        let (store, faults) = Faulty::new(disk.clone());
        let (mut journal, _) = StoredJournal::over(store).unwrap();
        append_all(&mut journal, &acknowledged);
        let head = *journal.head();

        faults.lock().unwrap().push(Fault { step, arrives });
        if !marked {
            faults.lock().unwrap().push(Fault { step: Step::Mark, arrives: false });
        }
        let refused = block_after(&head, TimeMs::MAX, vec![Command::AdvanceClock; 3]);
        let error = journal.append(refused.clone()).unwrap_err();
        assert_eq!(matches!(error, JournalError::Refused { .. }), marked, "{error}");
        assert_eq!(matches!(error, JournalError::Unknown { .. }), !marked, "{error}");
        faults.lock().unwrap().clear();
        assert_eq!(journal.append(refused.clone()), Err(JournalError::Stopped));
        assert_eq!(read_all(&journal), Ok(acknowledged.clone()), "readable while stopped");
        drop(journal);
        if power {
            disk.lose_power();
        } else {
            disk.write_out();
        }

        let (mut journal, recovered) = StoredJournal::over(disk.clone()).unwrap();
        assert_eq!(recovered.head, *journal.head());
        if marked {
            assert_eq!(recovered.head, head, "{step:?} {combination:04b}");
            disk.lose_power();
            let next = instead(&head);
            append_all(&mut journal, std::slice::from_ref(&next));
            let whole: Vec<Block> = acknowledged.into_iter().chain([next]).collect();
            assert_eq!(read_all(&journal), Ok(whole));
        } else {
            // After `Unknown` the block is there whole, or not at all.
            let read = read_all(&journal).unwrap();
            let with: Vec<Block> = acknowledged.iter().cloned().chain([refused]).collect();
            assert!(read == acknowledged || read == with);
        }
    }
}

/// Recovery cuts the refused block off and then clears its marker; if it fails or loses power in
/// between, the next start repeats it.
#[test]
fn an_interrupted_cut_is_repeated_at_the_next_start() {
    for step in [Step::Remove, Step::Flush, Step::Sync, Step::Mark] {
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
    fn flush(&mut self) -> Result<(), StoreError> {
        Ok(())
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
    fn witness(&self) -> Result<Option<Witness>, StoreError> {
        self.0.witness()
    }
    fn attest(&mut self, witness: Witness) -> Result<(), StoreError> {
        self.0.attest(witness)
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
    assert_eq!(refusing(4, 6), Err(OpenError::Refused(Reason::OthersBeyond)));
    assert_eq!(refusing(0, 6), Err(OpenError::Refused(Reason::OthersBeyond)));
    assert_eq!(refusing(5, 4), Err(OpenError::Refused(Reason::MarkerElsewhere)));
    let mut store = stored(&blocks);
    let first = blocks[5].first();
    store.mark(Marker::Refused { first, previous: blocks[0].hash() }).unwrap();
    let elsewhere = StoredJournal::over(store).map(|_| ());
    assert_eq!(elsewhere, Err(OpenError::Refused(Reason::MarkerElsewhere)));
}

// On real sled.

fn database(data: &Path) -> std::path::PathBuf {
    data.join("journal").join("db")
}

#[test]
fn sled_keeps_what_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("a").join("venue");
    assert!(matches!(SledJournal::open_existing(&data), Err(OpenError::Missing(_))));
    assert!(!data.exists(), "a refusal to create creates nothing");
    let blocks = chain(30, 4);
    for part in blocks.chunks(10) {
        let (mut journal, recovered) = SledJournal::open(&data).unwrap();
        assert_eq!(recovered.cut, None);
        append_all(&mut journal, part);
    }
    let (journal, recovered) = SledJournal::open_existing(&data).unwrap();
    assert_eq!(recovered.head, blocks[29].head());
    assert_eq!(read_all(&journal), Ok(blocks));
    let mut names: Vec<_> =
        fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["journal", "lock", "refused", "wal", "witness"]);
}

#[test]
fn a_second_opener_is_refused_as_locked() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _) = SledJournal::open(dir.path()).unwrap();
    let locked = OpenError::Locked(dir.path().to_owned());
    assert_eq!(SledJournal::open(dir.path()).map(|_| ()), Err(locked.clone()));
    assert_eq!(SledJournal::open_existing(dir.path()).map(|_| ()), Err(locked));
    drop(journal);
    assert!(SledJournal::open(dir.path()).is_ok());
}

#[test]
fn a_file_that_sled_never_syncs_stops_the_start_and_every_append() {
    let dir = tempfile::tempdir().unwrap();
    let blocks = chain(3, 2);
    let blob = dir.path().join("journal").join("blobs").join("123");
    let (mut journal, _) = SledJournal::open(dir.path()).unwrap();
    append_all(&mut journal, &blocks[..1]);
    fs::write(&blob, b"x").unwrap();
    let refused = journal.append(blocks[1].clone());
    assert!(matches!(refused, Err(JournalError::Refused { .. })), "{refused:?}");
    assert_eq!(journal.append(blocks[1].clone()), Err(JournalError::Stopped));
    drop(journal);
    let opened = SledJournal::open(dir.path()).map(|_| ());
    assert_eq!(opened, Err(OpenError::Blobs(blob.parent().unwrap().to_owned())));
    assert!(blob.exists(), "the trace is left where it is");
    fs::remove_file(&blob).unwrap();
    let (journal, recovered) = SledJournal::open(dir.path()).unwrap();
    assert_eq!(recovered.cut, None, "the block was not even handed to sled");
    assert_eq!(read_all(&journal), Ok(blocks[..1].to_vec()));
}

#[test]
fn a_metadata_change_of_the_blobs_folder_is_tolerated() {
    let dir = tempfile::tempdir().unwrap();
    let blocks = chain(3, 2);
    let blobs = dir.path().join("journal").join("blobs");
    let (mut journal, _) = SledJournal::open(dir.path()).unwrap();
    append_all(&mut journal, &blocks[..1]);
    let before = fs::metadata(&blobs).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(30));
    fs::set_permissions(&blobs, before.permissions()).unwrap();
    assert_ne!(fs::metadata(&blobs).unwrap().ctime_nsec(), before.ctime_nsec());
    append_all(&mut journal, &blocks[1..]);
    assert_eq!(read_all(&journal), Ok(blocks));
}

/// A power cut may leave sled's settings as zeros, beside a data file in which nothing was written.
#[test]
fn an_interrupted_first_start_begins_anew_unless_there_is_a_block() {
    for blocks in [0, 1] {
        let dir = tempfile::tempdir().unwrap();
        let (mut journal, _) = SledJournal::open(dir.path()).unwrap();
        append_all(&mut journal, &chain(blocks, 2));
        drop(journal);
        for made_last in ["refused", "witness", "wal"] {
            fs::remove_file(dir.path().join(made_last)).unwrap();
        }
        let conf = dir.path().join("journal").join("conf");
        fs::write(&conf, [0; 64]).unwrap();
        let opened = SledJournal::open(dir.path()).map(|(_, recovered)| recovered.head);
        if blocks == 0 {
            assert_eq!(opened, Ok(Head::START));
        } else {
            assert!(matches!(opened, Err(OpenError::Store(_))), "{opened:?}");
            assert_eq!(fs::read(&conf).unwrap(), [0; 64], "it is left as it is");
        }
    }
}

/// The refused block is whole in the write-ahead log, or in sled; it must be gone after the
/// restart.
#[test]
fn a_block_that_reached_sled_but_not_the_disk_does_not_come_back() {
    for (step, written) in [(Step::Put, false), (Step::Flush, true), (Step::Sync, true)] {
        let dir = tempfile::tempdir().unwrap();
        let acknowledged = chain(9, 2);
        let (store, faults) = Faulty::new(SledStore::open(dir.path()).unwrap());
        let (mut journal, _) = StoredJournal::over(store).unwrap();
        append_all(&mut journal, &acknowledged);
        let head = *journal.head();
        let refused = block_after(&head, TimeMs::MAX, vec![Command::AdvanceClock; 3]);
        faults.lock().unwrap().push(Fault { step, arrives: true });
        let error = journal.append(refused.clone()).unwrap_err();
        assert!(matches!(error, JournalError::Refused { .. }), "{error}");
        drop(journal);

        let (mut journal, recovered) = SledJournal::open(dir.path()).unwrap();
        assert_eq!(recovered.cut, written.then_some(refused.first()), "{step:?}");
        assert_eq!(recovered.head, head);
        let next = instead(&head);
        append_all(&mut journal, std::slice::from_ref(&next));
        drop(journal);
        let (journal, recovered) = SledJournal::open(dir.path()).unwrap();
        assert_eq!(recovered.cut, None);
        let whole: Vec<Block> = acknowledged.into_iter().chain([next]).collect();
        assert_eq!(read_all(&journal), Ok(whole));
    }
}

#[test]
fn a_lost_or_damaged_marker_stops_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let marker = dir.path().join("refused");
    let (mut journal, _) = SledJournal::open(dir.path()).unwrap();
    append_all(&mut journal, &chain(2, 2));
    drop(journal);
    let sound = fs::read(&marker).unwrap();
    fs::write(&marker, [0; 64]).unwrap();
    let opened = SledJournal::open(dir.path()).map(|_| ());
    assert_eq!(opened, Err(OpenError::Refused(Reason::MarkerUnreadable)));
    fs::remove_file(&marker).unwrap();
    let opened = SledJournal::open(dir.path()).map(|_| ());
    assert_eq!(opened, Err(OpenError::FileMissing(marker.clone())));
    fs::write(&marker, sound).unwrap();
    assert!(SledJournal::open(dir.path()).is_ok());
    fs::remove_dir_all(dir.path().join("journal")).unwrap();
    let opened = SledJournal::open(dir.path()).map(|_| ());
    assert_eq!(opened, Err(OpenError::Lost(dir.path().join("journal"))));
}

/// Blocks appended to a journal, half of them after a reopen, at which sled writes its first
/// snapshot.
fn written_and_opened_again(data: &Path) -> Vec<Block> {
    let blocks = chain(40, 4);
    for part in blocks.chunks(20) {
        let (mut journal, _) = SledJournal::open(data).unwrap();
        append_all(&mut journal, part);
    }
    blocks
}

/// sled's snapshots are derived and its settings constant: without them all blocks are still there.
#[test]
fn sled_opens_without_its_snapshots_and_with_its_settings_emptied() {
    let dir = tempfile::tempdir().unwrap();
    let blocks = written_and_opened_again(dir.path());
    let mut removed = 0;
    for entry in fs::read_dir(dir.path().join("journal")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_string_lossy().starts_with("snap.") {
            fs::remove_file(entry.path()).unwrap();
            removed += 1;
        }
    }
    assert!(removed > 0, "sled wrote no snapshot: this test says nothing");
    fs::write(dir.path().join("journal").join("conf"), b"").unwrap();
    let (journal, _) = SledJournal::open(dir.path()).unwrap();
    assert_eq!(read_all(&journal), Ok(blocks));
}

/// A copy of a data directory, as a kill would leave it; sled's own files are in `journal/`.
fn copied(data: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    fs::create_dir(copy.path().join("journal")).unwrap();
    for folder in [Path::new(""), Path::new("journal")] {
        for entry in fs::read_dir(data.join(folder)).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                let to = copy.path().join(folder).join(entry.file_name());
                fs::copy(entry.path(), to).unwrap();
            }
        }
    }
    copy
}

/// The newest of sled's snapshots.
fn newest_snapshot(data: &Path) -> std::path::PathBuf {
    let entries = fs::read_dir(data.join("journal")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let named = |path: &std::path::PathBuf| path.to_string_lossy().contains("/snap.");
    // If sled wrote none, this test would check nothing.
    paths.filter(named).max().unwrap()
}

/// At each start sled writes a snapshot under a temporary name first. A start killed meanwhile
/// leaves any prefix of it, and the next start must ignore that.
#[test]
fn a_start_that_was_killed_while_sled_wrote_its_snapshot_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let blocks = written_and_opened_again(dir.path());
    let started = copied(dir.path());
    drop(SledJournal::open(started.path()).unwrap());
    let snapshot = newest_snapshot(started.path());
    let name = snapshot.file_name().unwrap().to_str().unwrap();
    assert!(newest_snapshot(dir.path()).file_name() < snapshot.file_name(), "no newer one");
    let bytes = fs::read(&snapshot).unwrap();
    for cut in (0..bytes.len()).step_by(7).chain([bytes.len()]) {
        let copy = copied(dir.path());
        let unfinished = copy.path().join("journal").join(format!("{name}.generating"));
        fs::write(&unfinished, &bytes[..cut]).unwrap();
        let (journal, _) = SledJournal::open(copy.path()).unwrap();
        assert_eq!(read_all(&journal), Ok(blocks.clone()), "cut at {cut}");
        assert!(!unfinished.exists());
    }
}

/// sled writes its settings first, before its data file exists.
#[test]
fn a_first_start_that_was_killed_while_sled_wrote_its_settings_is_made_again() {
    let made = tempfile::tempdir().unwrap();
    drop(SledJournal::open(made.path()).unwrap());
    let settings = fs::read(made.path().join("journal/conf")).unwrap();
    for cut in 0..settings.len() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("journal")).unwrap();
        fs::write(dir.path().join("journal/conf"), &settings[..cut]).unwrap();
        drop(SledJournal::open(dir.path()).unwrap());
        assert_eq!(fs::read(dir.path().join("journal/conf")).unwrap(), settings, "cut at {cut}");
    }
}

/// sled takes a changed byte in its file for the end of its log, and silently forgets everything
/// after it. The witness detects that: no acknowledged block goes missing unnoticed.
#[test]
fn a_changed_byte_in_sleds_file_never_shortens_the_journal_unnoticed() {
    let dir = tempfile::tempdir().unwrap();
    let blocks = chain(12, 4);
    let (mut journal, _) = SledJournal::open(dir.path()).unwrap();
    append_all(&mut journal, &blocks);
    drop(journal);
    let path = database(dir.path());
    let sound = fs::read(&path).unwrap();
    let used = sound.iter().rposition(|byte| *byte != 0).unwrap();
    let mut torn = 0;
    for place in (0..used).step_by(used / 24 + 1) {
        let copy = tempfile::tempdir().unwrap();
        fs::create_dir(copy.path().join("journal")).unwrap();
        for name in ["refused", "witness", "journal/conf"] {
            fs::copy(dir.path().join(name), copy.path().join(name)).unwrap();
        }
        fs::copy(&path, database(copy.path())).unwrap();
        let file = fs::OpenOptions::new().write(true).open(database(copy.path())).unwrap();
        file.write_all_at(&[sound[place] ^ 0x55], place as u64).unwrap();
        drop(file);
        let damaged = fs::read(database(copy.path())).unwrap();
        match SledJournal::open(copy.path()) {
            Ok((journal, _)) => assert_eq!(read_all(&journal), Ok(blocks.clone()), "{place}"),
            Err(error) => {
                assert_eq!(error, OpenError::Torn { known: blocks[11].last() }, "{place}");
                let left = fs::read(database(copy.path())).unwrap();
                assert!(left == damaged, "{place}: sled was let write behind the damage");
                torn += 1;
            }
        }
    }
    assert!(torn > 9, "only {torn} of the bytes mattered: this test says little");
}

#[test]
fn a_witness_may_lag_and_may_be_torn_but_not_be_lost() {
    let dir = tempfile::tempdir().unwrap();
    let witness = dir.path().join("witness");
    let blocks = chain(6, 2);
    let (mut journal, _) = SledJournal::open(dir.path()).unwrap();
    append_all(&mut journal, &blocks[..2]);
    let lagging = fs::read(&witness).unwrap();
    append_all(&mut journal, &blocks[2..]);
    drop(journal);
    let newest = fs::read(&witness).unwrap();
    for slot in [0, 4096] {
        let mut torn = newest.clone();
        torn[slot..slot + 64].fill(0xEE);
        fs::write(&witness, torn).unwrap();
        let (journal, _) = SledJournal::open(dir.path()).unwrap();
        assert_eq!(read_all(&journal), Ok(blocks.clone()));
    }
    fs::write(&witness, lagging).unwrap();
    assert!(SledJournal::open(dir.path()).is_ok());
    fs::write(&witness, vec![0; 5000]).unwrap();
    let opened = SledJournal::open(dir.path()).map(|_| ());
    assert_eq!(opened, Err(OpenError::Refused(Reason::WitnessUnreadable)));
    fs::remove_file(&witness).unwrap();
    let opened = SledJournal::open(dir.path()).map(|_| ());
    assert_eq!(opened, Err(OpenError::FileMissing(witness)));
}

#[test]
fn a_journal_that_replaced_another_is_detected() {
    let (ours, head) = (chain(3, 2), chain(2, 2)[1].head());
    let theirs = instead(&head);
    for known in [&ours[2], &theirs] {
        let mut store = stored(&ours);
        let (last, hash) = (known.last(), known.hash());
        store.attest(Witness { last, hash }).unwrap();
        let opened = StoredJournal::over(store).map(|(journal, _)| *journal.head());
        let found = ours[2].last();
        let short = Err(OpenError::Short { known: last, found });
        let expected = if known == &ours[2] { Ok(ours[2].head()) } else { short };
        assert_eq!(opened, expected);
    }
}

#[test]
fn a_block_whose_witness_write_fails_is_kept_and_is_the_last() {
    let disk = Disk::new();
    let blocks = chain(3, 2);
    let (store, faults) = Faulty::new(disk.clone());
    let (mut journal, _) = StoredJournal::over(store).unwrap();
    append_all(&mut journal, &blocks[..1]);
    faults.lock().unwrap().push(Fault { step: Step::Attest, arrives: false });
    append_all(&mut journal, &blocks[1..2]);
    assert_eq!(journal.append(blocks[2].clone()), Err(JournalError::Stopped));
    disk.lose_power();
    let (journal, _) = StoredJournal::over(disk).unwrap();
    assert_eq!(read_all(&journal), Ok(blocks[..2].to_vec()));
}

/// 1,500 group commits of the largest size. With sled's default segment size these made 331 blob
/// files.
#[test]
fn the_largest_blocks_leave_no_file_that_is_not_synced() {
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, _) = SledJournal::open(dir.path()).unwrap();
    for index in 0..1_500_u32 {
        let block = largest_block(journal.head(), u8::try_from(index % 251).unwrap());
        // An append fails if a blob file appears.
        journal.append(block).unwrap();
    }
    let head = *journal.head();
    drop(journal);
    assert_eq!(fs::read_dir(dir.path().join("journal").join("blobs")).unwrap().count(), 0);
    let (journal, recovered) = SledJournal::open(dir.path()).unwrap();
    assert_eq!(recovered.head, head);
    let mut count = 0;
    for block in journal.read(Sequence::new(1)) {
        block.unwrap();
        count += 1;
    }
    assert_eq!(count, 1_500);
}
