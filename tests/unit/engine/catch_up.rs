//! Unit tests of `src/engine/catch_up.rs`.

use std::num::NonZeroU32;
use std::time::Duration;

use parking_lot::RwLock;

use super::*;
use crate::clock::Clock;
use crate::sequencer::Sequencer;
use crate::start::StartError;
use exchange::command::{Command, Record};
use exchange::ids::UserNo;
use exchange::rules::Rules;
use exchange::units::Money;
use journal::Journal;
use journal::block::BlockBuilder;
use journal::memory::MemoryJournal;
use views::ReadModel;
use views::history::page_storage::PageStorage;
use views::history::{History, HistoryError, PageKey};

/// A page storage that panics at the first page.
#[derive(Debug)]
struct PanickingStorage;

impl PageStorage for PanickingStorage {
    fn put(&self, _: PageKey, _: Vec<u8>) {
        panic!("expected by this test");
    }

    fn get(&self, _: PageKey) -> Result<Option<Vec<u8>>, String> {
        Ok(None)
    }

    fn failed(&self, _: &HistoryError) {}
}

/// Blocks of one record each. With one row per page, the second deposit puts a page.
fn journal() -> MemoryJournal {
    let mut journal = MemoryJournal::new();
    let user = UserNo(0);
    let deposit = || Command::Deposit { user, amount: Money::new(1) };
    let (profile_name, profile_pic) = ("ann".to_owned(), String::new());
    for command in [
        Command::OpenVenue(Rules::current()),
        Command::CreateUser { profile_name, profile_pic },
        deposit(),
        deposit(),
    ] {
        let (sequence, time) = (journal.head().sequence.next(), TimeMs::default());
        let mut block = BlockBuilder::new(journal.head());
        block.push(Record { sequence, time, once: None, command }).unwrap();
        journal.append(block.build(Results::NONE).unwrap()).unwrap();
    }
    journal
}

/// Replays the journal into a read model on this history: what the start returns, and the read
/// model's watermark.
fn replay_into(history: &History) -> (Result<(), StartError>, Sequence) {
    let (journal, read_model) = (journal(), ReadModel::on(history));
    let read_model = Arc::new(RwLock::new(read_model));
    let (durable, blocks) = bounded(1);
    let (halt, status, meter) = (Arc::new(Halt::default()), Arc::default(), Arc::default());
    let clock = Arc::new(Clock::after(journal.head().time));
    let matcher = Matcher {
        replayer: Replayer::new(),
        blocks,
        trials: crossbeam_channel::never(),
        held: None,
        held_blocks: 0,
        slicing: false,
        replayed: journal.head().sequence,
        projector: Projector::new(Arc::clone(&read_model), None),
        status: Arc::clone(&status),
        halt: Arc::clone(&halt),
        meter: Arc::clone(&meter),
        clock: Arc::clone(&clock),
    };
    let commands = crossbeam_channel::never();
    let mut sequencer = Sequencer::new(journal, commands, durable, status, halt, meter, clock);
    let (sender, result) = bounded(1);
    let matcher = thread::spawn(move || matcher.run());
    let start = thread::spawn(move || sender.send(sequencer.replay()));
    let result = result.recv_timeout(Duration::from_secs(20)).expect("the start waits for ever");
    start.join().unwrap().unwrap();
    matcher.join().unwrap();
    let watermark = read_model.read().watermark();
    (result, watermark)
}

/// Without the halt, the start would wait forever for a folder thread that has died.
#[test]
fn a_panic_while_folding_ends_the_start() {
    let one = NonZeroU32::MIN;
    let (result, seen) = replay_into(&History::default().paged(one));
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(seen, Sequence::new(4));
    let (result, seen) = replay_into(&History::on(Arc::new(PanickingStorage)).paged(one));
    let died = HaltReason::ThreadDied("folder");
    assert!(matches!(result, Err(StartError::Halted(reason)) if reason == died), "{result:?}");
    assert!(seen < Sequence::new(4));
}
