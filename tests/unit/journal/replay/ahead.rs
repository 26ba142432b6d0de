//! Unit tests of `src/journal/replay/ahead.rs`.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::Journal;
use crate::block::BlockBuilder;
use crate::memory::MemoryJournal;
use exchange::command::{Command, Record};
use exchange::results::Results;
use exchange::units::{Sequence, TimeMs};

fn journal(blocks: u64) -> MemoryJournal {
    let mut journal = MemoryJournal::new();
    for sequence in (1..=blocks).map(Sequence::new) {
        let mut block = BlockBuilder::new(journal.head());
        let (time, command) = (TimeMs::default(), Command::AdvanceClock);
        block.push(Record { sequence, time, once: None, act: None, command }).unwrap();
        journal.append(block.build(Results::NONE).unwrap()).unwrap();
    }
    journal
}

#[test]
fn every_block_comes_in_order_and_then_none() {
    let journal = journal(300);
    let all: Vec<Read> = journal.read(Sequence::new(1)).collect();
    assert_eq!(all.len(), 300);
    reading_ahead(journal.read(Sequence::new(1)), |blocks| {
        assert_eq!(blocks.by_ref().collect::<Vec<Read>>(), all);
        assert_eq!(blocks.next(), None);
    });
}

#[test]
fn what_is_wrong_comes_in_its_place_and_is_the_last() {
    let journal = journal(20);
    let wrong = || Err(JournalError::Stopped);
    let blocks = || journal.read(Sequence::new(1)).take(12).chain([wrong()]);
    let more = blocks().chain(journal.read(Sequence::new(13)));
    let read = reading_ahead(more, |blocks| blocks.collect::<Vec<Read>>());
    assert_eq!(read, blocks().collect::<Vec<Read>>());
}

/// The scope must not wait for a reader whose queue is full.
#[test]
fn what_is_not_taken_is_left() {
    let journal = journal(1_000);
    let read = AtomicUsize::new(0);
    let counted = journal.read(Sequence::new(1)).inspect(|_| {
        read.fetch_add(1, Ordering::Relaxed);
    });
    // One batch is taken, the queue is full, and one more is blocked or rejected.
    let most = (BATCHES_MAX + 2) * BATCH_BLOCKS;
    let first = reading_ahead(counted, |blocks| {
        let first = blocks.next();
        while read.load(Ordering::Relaxed) < most {
            thread::yield_now();
        }
        first
    });
    assert_eq!(first.unwrap().unwrap().first(), Sequence::new(1));
    assert_eq!(read.into_inner(), most);
}

#[test]
fn a_reader_that_is_gone_is_not_the_end() {
    let (sender, batches) = sync_channel(1);
    drop::<SyncSender<Batch>>(sender);
    let mut ahead = ReadAhead::of(batches);
    assert!(matches!(ahead.next(), Some(Err(JournalError::Read(_)))));
    assert_eq!(ahead.next(), None);
}
