//! Unit tests of `src/engine/catch_up.rs`.

use std::num::NonZeroU32;

use super::*;
use exchange::command::{Command, Record};
use exchange::ids::UserNo;
use exchange::results::Results;
use exchange::rules::Rules;
use exchange::units::{Money, TimeMs};
use journal::block::BlockBuilder;
use journal::memory::MemoryJournal;
use views::history::{HistoryError, PageKey, PageStorage};

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
        block.push(Record { sequence, time, once: None, act: None, command }).unwrap();
        journal.append(block.build(Results::NONE).unwrap()).unwrap();
    }
    journal
}

#[test]
fn a_panic_while_folding_ends_the_start() {
    let one = NonZeroU32::MIN;
    let replayed =
        |history: &History| replay(&journal(), Restored::nothing(history), None, &Meter::default());
    let whole = replayed(&History::default().paged(one)).unwrap();
    assert_eq!(whole.read_model.watermark(), Sequence::new(4));
    assert_eq!(whole.sequence(), Sequence::new(4));
    let stopped = replayed(&History::on(Arc::new(PanickingStorage)).paged(one)).unwrap_err();
    let died = HaltReason::ThreadDied("folder");
    assert!(matches!(stopped, StartError::Halted(reason) if reason == died), "{stopped:?}");
}
