//! Unit tests of `src/journal/sled.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::block::BlockBuilder;
use crate::{Journal, JournalError};
use exchange::command::{Command, Record};
use exchange::results::Results;
use exchange::units::TimeMs;

/// A file that cannot be synced.
const UNSYNCED: &str = "/dev/null";

/// Bytes of a text that makes a block of about that size.
const TEXT_BYTES: usize = 50_000;

fn append(journal: &mut StoredJournal<SledStore>) -> Result<(), JournalError> {
    let mut block = BlockBuilder::new(journal.head());
    let profile_name = "x".repeat(TEXT_BYTES);
    let command = Command::CreateUser { profile_name, profile_pic: String::new() };
    let (sequence, time) = (journal.head().sequence.next(), TimeMs::default());
    block.push(Record { sequence, time, once: None, command }).unwrap();
    journal.append(block.build(Results::NONE).unwrap()).map(drop)
}

#[test]
fn what_sled_is_given_goes_to_disk_long_before_a_half_of_the_log_is_full() {
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, _) = SledJournal::open(dir.path()).unwrap();
    let database = dir.path().join(STORE_DIR).join("db");
    let written = || {
        let bytes = fs::read(&database).unwrap();
        bytes.windows(100).any(|bytes| bytes == [b'x'; 100])
    };
    for _ in 0..=FLUSH_EVERY_BYTES / TEXT_BYTES {
        append(&mut journal).unwrap();
        assert!(!written());
    }
    append(&mut journal).unwrap();
    let began = Instant::now();
    while !written() {
        assert!(began.elapsed() < Duration::from_secs(20), "not written");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_half_of_the_log_is_written_over_only_once_sled_has_on_disk_what_stands_there() {
    const BLOCKS: usize = 30;
    // A half holds some twenty blocks.
    const NEAR_HALF: usize = 15;
    let dir = tempfile::tempdir().unwrap();
    let mut store = SledStore::open(dir.path()).unwrap();
    let (signal, signalled) = mpsc::channel::<()>();
    let never = |_| StoreError::new(Step::Sync, "nobody told");
    store.flush_task = FlushTask::Begun(thread::spawn(move || signalled.recv().map_err(never)));
    let mut journal = StoredJournal::begin(store);
    let appended = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&appended);
    let appending = thread::spawn(move || {
        for _ in 0..BLOCKS {
            append(&mut journal).unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let began = Instant::now();
    let count = || appended.load(Ordering::SeqCst);
    while count() < NEAR_HALF && began.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(1));
    }
    // Long enough for the rest.
    thread::sleep(Duration::from_millis(300));
    assert!((NEAR_HALF..BLOCKS).contains(&count()), "{} appended", count());
    signal.send(()).unwrap();
    appending.join().unwrap();
    assert_eq!(count(), BLOCKS);
}

#[test]
fn what_cannot_be_synced_behind_the_log_stops_the_journal_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = SledStore::open(dir.path()).unwrap();
    let (blocks, unsettled) = (store.sled.blocks.clone(), dir.path().join(UNSETTLED_FILE));
    let unsynced = File::open(UNSYNCED).unwrap();
    store.flusher = SledFlusher::of(blocks, unsynced, unsettled.clone());
    let mut journal = StoredJournal::begin(store);
    let mut appended = 0;
    let error = loop {
        match append(&mut journal) {
            Ok(()) => appended += 1,
            Err(error) => break error,
        }
        assert!(appended < 100, "nothing was to be synced");
    };
    assert!(matches!(error, JournalError::Refused { .. }), "{error}");
    // The first were too few for a flush.
    assert!(appended > u64::try_from(FLUSH_EVERY_BYTES / TEXT_BYTES).unwrap());
    drop(journal);
    assert!(unsettled.exists());
    let (_, recovered) = SledJournal::open(dir.path()).unwrap();
    assert_eq!(recovered.head.sequence.get(), appended);
    assert!(!unsettled.exists());
}
