//! Unit tests of `src/engine/projector.rs`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parking_lot::Mutex;
use tokio::sync::oneshot::error::TryRecvError;

use super::*;
use crate::batch_reply::BatchReplies;
use crate::matcher::apply;
use crate::pending::Look;
use crate::pending::fixture::slot_then;
use exchange::command::{Command, Record};
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
        block.push(Record { sequence, time, once: None, command }).unwrap();
    }
    let block = journal.append(block.build(Results::NONE).unwrap()).unwrap();
    apply(&mut Replayer::new(), &block, true).unwrap().0
}

fn projector() -> Projector {
    Projector::new(Arc::new(RwLock::new(ReadModel::new())), None)
}

#[test]
fn whoever_is_answered_is_told_that_what_he_asked_is_shown() {
    let mut projector = projector();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (slots, waiting): (Vec<_>, Vec<_>) = (0..3 * PORTION_RECORDS)
        .map(|_| {
            let (published, seen) = (Arc::clone(&projector.published), Arc::clone(&seen));
            slot_then(move || seen.lock().push(published.load().0))
        })
        .unzip();
    let count = slots.len();
    projector.project(&ticks(count), slots.into_iter().map(Some).collect()).unwrap();
    drop(waiting);
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
    let (slots, answers): (Vec<_>, Vec<_>) = (0..count).map(|_| ReplySlot::new(None)).unzip();
    let replies = slots.into_iter().map(Some).collect();
    let NotFolded { reason, unanswered } = projector.project(&ticks(count), replies).unwrap_err();
    assert_eq!((reason, unanswered.len()), (HaltReason::ReadModelBroken, count));
    let mut came = answers.into_iter().map(|mut answer| answer.try_recv().map(|_| ()));
    assert!(came.all(|came| came == Err(TryRecvError::Empty)));
}

#[test]
fn slots_without_records_are_let_go() {
    let (slots, answers): (Vec<_>, Vec<_>) =
        (0..2 * PORTION_RECORDS).map(|_| ReplySlot::new(None)).unzip();
    projector().project(&ticks(1), slots.into_iter().map(Some).collect()).unwrap();
    let mut came = answers.into_iter().map(|mut answer| answer.try_recv().map(|_| ()));
    assert_eq!(came.next(), Some(Ok(())));
    assert!(came.all(|came| came == Err(TryRecvError::Closed)));
}

#[test]
fn the_first_callers_of_a_large_block_do_not_wait_for_its_last() {
    let (first_slot, first) = ReplySlot::new(None);
    let first = Arc::new(Mutex::new(first));
    let answered_before = Arc::new(Mutex::new(None));
    let looking = |index: usize| {
        let (first, answered_before) = (Arc::clone(&first), Arc::clone(&answered_before));
        let look: Look = Box::new(move |_, _| {
            if first.lock().try_recv().is_ok() {
                *answered_before.lock() = Some(index);
            }
        });
        Some(ReplySlot::new(Some(look)).0)
    };
    let count = 3 * PORTION_RECORDS;
    let replies = std::iter::once(Some(first_slot)).chain((1..count).map(looking)).collect();
    projector().project(&ticks(count), replies).unwrap();
    assert_eq!(*answered_before.lock(), Some(PORTION_RECORDS));
}

#[test]
fn commands_with_one_slot_are_folded_together() {
    let alone = |count| std::iter::repeat_with(|| Some(ReplySlot::new(None).0)).take(count);
    let rest = |count| std::iter::repeat_with(|| None).take(count);
    let count = |slots: Vec<Option<ReplySlot>>| portion(&slots);
    let whole = usize::MAX;
    assert_eq!(count(Vec::new()), whole);
    assert_eq!(count(rest(3 * PORTION_RECORDS).collect()), whole);
    assert_eq!(count(alone(PORTION_RECORDS).collect()), whole);
    assert_eq!(count(alone(PORTION_RECORDS + 1).collect()), PORTION_RECORDS);
    let together = alone(PORTION_RECORDS).chain(rest(9)).chain(alone(1)).chain(rest(9));
    assert_eq!(count(together.collect()), PORTION_RECORDS + 9);
}

#[test]
fn every_portion_answers_with_its_own_records() {
    let mut batch = BatchReplies::new(Arc::default());
    let (sink, first) = batch.reserve(PORTION_RECORDS);
    let together = ReplySlot::in_batch(sink, first..PORTION_RECORDS);
    let (slots, answers): (Vec<_>, Vec<_>) =
        (0..2 * PORTION_RECORDS).map(|_| ReplySlot::new(None)).unzip();
    let mut replies: Vec<Option<ReplySlot>> = slots.into_iter().map(Some).collect();
    // In the middle of the second portion.
    let at = PORTION_RECORDS + PORTION_RECORDS / 2;
    let rest = std::iter::repeat_with(|| None).take(PORTION_RECORDS - 1);
    replies.splice(at..at, std::iter::once(Some(together)).chain(rest));
    projector().project(&ticks(replies.len()), replies).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let numbers = |places: std::ops::Range<usize>| places.map(|index| index as u64 + 1);
    let gained = runtime.block_on(batch.came());
    let together = gained.each().map(|answer| answer.unwrap().sequence.get());
    assert!(together.eq(numbers(at..at + PORTION_RECORDS)));
    let alone = answers.into_iter().map(|mut answer| answer.try_recv().unwrap().unwrap());
    let expected = numbers(0..at).chain(numbers(at + PORTION_RECORDS..3 * PORTION_RECORDS));
    assert!(alone.map(|answer| answer.sequence().get()).eq(expected));
}
