//! Unit tests of `src/engine/projector.rs`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parking_lot::Mutex;

use super::*;
use crate::fixture::{Heard, caller, caller_that, slot};
use crate::matcher::apply;
use exchange::command::{Command, Record};
use exchange::effect::Applied;
use exchange::results::Results;
use exchange::units::{Sequence, TimeMs};
use journal::Journal;
use journal::block::BlockBuilder;
use journal::memory::MemoryJournal;
use journal::replay::Replayer;

/// The outcome of a block of `count` clock commands.
fn ticks(count: usize) -> Arc<AppliedBlock> {
    let mut journal = MemoryJournal::new();
    let mut block = BlockBuilder::new(journal.head());
    let mut sequence = journal.head().sequence;
    for _ in 0..count {
        sequence = sequence.next();
        let (time, command) = (TimeMs::default(), Command::AdvanceClock);
        block.push(Record { sequence, time, once: None, act: None, command }).unwrap();
    }
    let block = journal.append(block.build(Results::NONE).unwrap()).unwrap();
    apply(&mut Replayer::new(), &block).unwrap()
}

fn projector() -> Projector {
    Projector::new(ReadModel::new(), None)
}

#[test]
fn whoever_is_woken_is_told_that_what_he_asked_is_shown() {
    let mut projector = projector();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let count = 3 * PORTION_RECORDS;
    let slots = (0..count).map(|index| {
        let (published, seen) = (Arc::clone(&projector.published), Arc::clone(&seen));
        let wakes = move || seen.lock().push(published.load().0);
        (index, slot(caller_that(|| (), wakes).0, 1))
    });
    let slots = slots.collect();
    projector.project(&ticks(count), (&[], Results::NONE), slots).unwrap();
    // And nothing after its own portion.
    let folded = (1..=3).flat_map(|portion| [portion * PORTION_RECORDS; PORTION_RECORDS]);
    assert!(seen.lock().iter().copied().eq(folded.map(|folded| Sequence::new(folded as u64))));
}

#[test]
fn nobody_is_answered_from_a_broken_read_model_nor_let_go_before_the_engine_halts() {
    let mut projector = projector();
    let again = Applied { sequence: Sequence::ZERO, time: TimeMs::default(), effects: &[] };
    // Debug builds panic here.
    let fold = || projector.read_model.write().fold(&again);
    drop(catch_unwind(AssertUnwindSafe(fold)));
    let count = 3 * PORTION_RECORDS;
    let (caller, heard) = caller();
    let slots = (0..count).map(|index| (index, slot(Arc::clone(&caller), 1))).collect();
    let (reason, unanswered) =
        projector.project(&ticks(count), (&[], Results::NONE), slots).unwrap_err();
    assert_eq!((reason, unanswered.len()), (HaltReason::ReadModelBroken, count));
    assert!(heard.is_empty());
}

#[test]
fn slots_without_records_are_let_go() {
    let (caller, heard) = caller();
    let slots = (0..2 * PORTION_RECORDS).map(|index| (index, slot(Arc::clone(&caller), 1)));
    projector().project(&ticks(1), (&[], Results::NONE), slots.collect()).unwrap();
    let came: Vec<Heard> = heard.try_iter().collect();
    assert_eq!(came.len(), 2 * PORTION_RECORDS);
    let answered = came.iter().filter(|(_, outcome)| outcome.is_some());
    assert!(answered.eq([&(0..1, Some(Ok(Sequence::new(1))))]));
}

#[test]
fn the_first_callers_of_a_large_block_do_not_wait_for_its_last() {
    let (first, heard) = caller();
    let answered_before = Arc::new(Mutex::new(None));
    let looking = |index: usize| {
        let (heard, answered_before) = (heard.clone(), Arc::clone(&answered_before));
        let looks = move || {
            if heard.try_recv().is_ok() {
                *answered_before.lock() = Some(index);
            }
        };
        (index, slot(caller_that(looks, || ()).0, 1))
    };
    let count = 3 * PORTION_RECORDS;
    let slots = std::iter::once((0, slot(first, 1))).chain((1..count).map(looking)).collect();
    projector().project(&ticks(count), (&[], Results::NONE), slots).unwrap();
    assert_eq!(*answered_before.lock(), Some(PORTION_RECORDS));
}

#[test]
fn every_portion_answers_with_its_own_records_and_shows_each_to_its_caller() {
    // A batch in the middle of the second portion, after a record for which nobody waits.
    let at = PORTION_RECORDS + PORTION_RECORDS / 2;
    let count = 3 * PORTION_RECORDS;
    let (mut slots, mut expected) = (Vec::new(), Vec::new());
    let (alone, heard) = caller();
    let looked = Arc::new(Mutex::new(0));
    let looks = Arc::clone(&looked);
    let (together, batch) = caller_that(move || *looks.lock() += 1, || ());
    for index in 0..count {
        match index {
            index if index == at => slots.push((at, slot(Arc::clone(&together), PORTION_RECORDS))),
            index if index + 1 == at || (at..at + PORTION_RECORDS).contains(&index) => {}
            index => {
                slots.push((index, slot(Arc::clone(&alone), 1)));
                expected.push((0..1, Some(Ok(Sequence::new(index as u64 + 1)))));
            }
        }
    }
    projector().project(&ticks(count), (&[], Results::NONE), slots).unwrap();
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), expected);
    let first = Some(Ok(Sequence::new(at as u64 + 1)));
    assert_eq!(batch.try_iter().collect::<Vec<_>>(), [(0..PORTION_RECORDS, first)]);
    assert_eq!(*looked.lock(), PORTION_RECORDS);
}
