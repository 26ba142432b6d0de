//! Readers of a journal that is being appended to: they see durable blocks only, in order, and
//! never a refused block.

#![allow(clippy::unwrap_used)] // a test may unwrap

mod faults;
mod records;

use std::thread;

use exchange::units::Sequence;
use faults::{Disk, Fault, Faulty};
use journal::block::{Block, Head};
use journal::directory::{LogJournal, LogStore};
use journal::memory::MemoryJournal;
use journal::reader::JournalReader;
use journal::store::{BlockStore, Step, StoredJournal};
use journal::{Journal, JournalError};
use records::chain;

const FIRST: Sequence = Sequence::new(1);

/// Reads the whole journal repeatedly until its end is `last`; each read must be a prefix of
/// `blocks`, no shorter than the one before.
fn follow(reader: &JournalReader, blocks: &[Block], last: Head) {
    let mut before = Sequence::ZERO;
    while before < last.sequence {
        let head = reader.head();
        let reading = reader.read(FIRST);
        let end = reading.end();
        assert!(head.sequence >= before && end.sequence >= head.sequence);
        let mut seen = 0;
        for block in reading {
            assert_eq!(*block.unwrap(), blocks[seen]);
            seen += 1;
        }
        let reached = if seen == 0 { Head::START } else { blocks[seen - 1].head() };
        assert_eq!(reached, end);
        before = end.sequence;
    }
}

fn read_by_others_while_written(mut journal: impl Journal, blocks: &[Block]) {
    let last = blocks.last().unwrap().head();
    thread::scope(|scope| {
        for _ in 0..2 {
            let reader = journal.reader();
            scope.spawn(move || follow(&reader, blocks, last));
        }
        let reader = journal.reader();
        for block in blocks {
            assert_eq!(reader.head(), *journal.head());
            journal.append(block.clone()).unwrap();
        }
        assert_eq!(reader.head(), last);
    });
}

#[test]
fn readers_follow_an_appending_journal_in_memory() {
    read_by_others_while_written(MemoryJournal::new(), &chain(300, 2));
}

#[test]
fn readers_follow_an_appending_journal_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _) = LogJournal::open(dir.path()).unwrap();
    read_by_others_while_written(journal, &chain(60, 4));
}

#[test]
fn a_read_ends_at_the_head_it_began_with() {
    let blocks = chain(4, 3);
    let mut journal = MemoryJournal::new();
    journal.append(blocks[0].clone()).unwrap();
    let reader = journal.reader();
    let reading = reader.read(FIRST);
    journal.append(blocks[1].clone()).unwrap();
    assert_eq!(reading.count(), 1);
    // Reading begins with the block that holds the record.
    let held: Vec<Sequence> = reader.read(Sequence::new(5)).map(|b| b.unwrap().first()).collect();
    assert_eq!(held, [Sequence::new(4)]);
    assert_eq!(reader.read(Sequence::new(7)).count(), 0);
}

/// Appends a block, and another that fails at `step`; checks what readers taken before and after
/// see.
fn fail_one(store: impl BlockStore, fault: Fault) {
    let blocks = chain(2, 2);
    let (store, faults) = Faulty::new(store);
    let mut journal = StoredJournal::over(store).unwrap().0;
    let before = journal.reader();
    journal.append(blocks[0].clone()).unwrap();
    faults.lock().unwrap().push(fault);
    assert!(matches!(journal.append(blocks[1].clone()), Err(JournalError::Refused { .. })));
    for reader in [before, journal.reader()] {
        assert_eq!(reader.head(), blocks[0].head(), "{fault:?}");
        let read: Result<Vec<Block>, JournalError> =
            reader.read(FIRST).map(|read| read.map(|block| (*block).clone())).collect();
        assert_eq!(read, Ok(vec![blocks[0].clone()]), "{fault:?}");
        assert_eq!(reader.read(Sequence::new(3)).count(), 0, "{fault:?}");
    }
}

#[test]
fn no_reader_sees_a_block_that_was_refused() {
    for step in [Step::Put, Step::Sync] {
        for arrives in [false, true] {
            let fault = Fault { step, arrives };
            fail_one(Disk::new(), fault);
            let dir = tempfile::tempdir().unwrap();
            fail_one(LogStore::open(dir.path()).unwrap(), fault);
        }
    }
}

#[test]
fn a_leftover_reader_does_not_keep_a_closed_journal_open() {
    let dir = tempfile::tempdir().unwrap();
    let blocks = chain(3, 2);
    let mut left_over = Vec::new();
    for block in &blocks {
        let (mut journal, _) = LogJournal::open(dir.path()).unwrap();
        journal.append(block.clone()).unwrap();
        let mut reading = journal.reader().read(FIRST);
        assert_eq!(*reading.next().unwrap().unwrap(), blocks[0]);
        left_over.push((journal.reader(), reading));
    }
    for ((reader, mut reading), block) in left_over.into_iter().zip(&blocks) {
        // It keeps the head, but reads no more blocks.
        assert_eq!(reader.head(), block.head());
        assert!(matches!(reader.read(FIRST).next(), Some(Err(JournalError::Read(_)))));
        let ended = reading.next();
        assert!(matches!(ended, None | Some(Err(JournalError::Read(_)))), "{ended:?}");
        assert!(reading.next().is_none());
    }
}
