//! Unit tests of `src/s3/archive.rs`, with the archiver over it.

#![allow(clippy::unwrap_used)] // a test may stop

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use engine::archiver::{ArchiveBoard, Archiver};
use engine::background::{Stepped, ending};
use engine::clock::{Clock, Timepiece};
use exchange::command::{Command, Record};
use exchange::results::Results;
use exchange::units::TimeMs;
use journal::Journal;
use journal::block::BlockBuilder;
use journal::memory::MemoryJournal;

use super::*;

/// Objects, and how often they were listed.
#[derive(Debug, Clone, Default)]
struct Shelved(Arc<Mutex<(BTreeMap<String, Bytes>, u32)>>);

impl Objects for Shelved {
    fn list(&mut self) -> io::Result<Vec<String>> {
        let mut all = self.0.lock().unwrap();
        all.1 += 1;
        Ok(all.0.keys().cloned().collect())
    }

    fn read(&mut self, name: &str) -> io::Result<Bytes> {
        Ok(self.0.lock().unwrap().0[name].clone())
    }

    fn make(&mut self, name: &str, bytes: Bytes) -> io::Result<Made> {
        self.0.lock().unwrap().0.insert(name.to_owned(), bytes);
        Ok(Made::New)
    }
}

/// A clock that stands still until it is set.
#[derive(Debug, Clone, Default)]
struct Hand(Arc<AtomicU64>);

impl Timepiece for Hand {
    fn calendar(&self) -> (TimeMs, bool) {
        (TimeMs::new(1_700_000_000_000).unwrap(), true)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

fn append(journal: &mut MemoryJournal) {
    let (sequence, time) = (journal.head().sequence.next(), Hand::default().calendar().0);
    let mut builder = BlockBuilder::new(journal.head());
    let command = Command::AdvanceClock;
    builder.push(Record { sequence, time, once: None, act: None, command }).unwrap();
    journal.append(builder.build(Results::NONE).unwrap()).unwrap();
}

/// What is gone is told of until it is back, without asking all the time, and what follows is
/// archived all the same.
#[test]
fn an_object_that_is_gone_keeps_nothing_from_being_archived() {
    let (store, hand, mut journal) = (Shelved::default(), Hand::default(), MemoryJournal::new());
    append(&mut journal);
    let clock = Clock::reading(Box::new(hand.clone()), journal.head().time);
    let archive = BucketArchive::open("s3://b", Box::new(store.clone()), journal.reader()).unwrap();
    let board = Arc::new(ArchiveBoard::new(archive.head().sequence, journal.reader()));
    let (_end, ending) = ending();
    let (told, clock) = (Arc::clone(&board), Arc::new(clock));
    let mut archiver = Archiver::new(Box::new(archive), journal.reader(), told, ending, clock);
    let mut step = |hours: u64| {
        hand.0.fetch_add(hours * 3_600, Ordering::Relaxed);
        archiver.step();
        let all = store.0.lock().unwrap();
        (all.0.len(), all.1, board.is_failing(), board.status().archived.get())
    };
    // It was listed when it was opened.
    assert_eq!(step(0), (1, 1, false, 1));
    let first = store.0.lock().unwrap().0.remove(&name_of(1)).unwrap();
    append(&mut journal);
    assert_eq!(step(5), (1, 1, false, 2));
    append(&mut journal);
    assert_eq!(step(1), (2, 2, true, 0));
    append(&mut journal);
    assert_eq!(step(0), (3, 2, true, 0));
    store.0.lock().unwrap().0.insert(name_of(1), first);
    assert_eq!(step(0), (4, 2, true, 0));
    assert_eq!(step(1), (4, 3, false, 4));
}
