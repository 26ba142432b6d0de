//! Unit tests of `src/engine/sequencer.rs`.

use super::*;
use crate::clock::Settled;
use crate::fixture::{Heard, caller};
use exchange::catalogue::Outcome;
use exchange::command::{PlaceOrder, Side, Wording};
use exchange::ids::{MarketNo, UserNo};
use exchange::units::{Lots, Tick};
use journal::memory::MemoryJournal;

/// More than a block holds.
const COUNT: usize = 1_000;
/// The position of a command that no record can hold.
const MISFIT: usize = 5;
const LONG: Duration = Duration::from_secs(20);

fn order(position: usize) -> KeyedCommand {
    let wording = Wording { outcome: Outcome::Yes, side: Side::Buy };
    let (price, quantity) = (Tick::parse("0.5").unwrap(), Lots::new(u64::from(position != MISFIT)));
    let order = PlaceOrder::plain(UserNo(1), MarketNo(0), wording, price, quantity);
    Command::PlaceOrder(order).into()
}

fn sequencer(
    room: usize,
) -> (Sequencer<MemoryJournal>, IntakeQueue, Receiver<Sequenced>, Arc<Halt>) {
    let (intake, arrivals) = intake();
    let (blocks, durable) = crossbeam_channel::bounded(room);
    let (status, halt, meter) = (Arc::default(), Arc::<Halt>::default(), Arc::default());
    let (journal, stops) = (MemoryJournal::new(), Arc::clone(&halt));
    let clock = Arc::new(Clock::after(TimeMs::default()));
    let sequencer = Sequencer::new(journal, arrivals, blocks, status, stops, meter, clock);
    (sequencer, intake, durable, halt)
}

/// Submits orders; what becomes of them.
fn submit(intake: &IntakeQueue, count: usize) -> Receiver<Heard> {
    let (caller, heard) = caller();
    assert_eq!(intake.reserve(count), count);
    let pending = Pending::new((0..count).map(order).collect(), caller);
    assert!(intake.send(Intake::Commands(pending)).is_none());
    heard
}

#[test]
fn commands_in_a_row_have_one_slot_and_go_on_in_the_next_block() {
    let (mut sequencer, intake, durable, _) = sequencer(4);
    let heard = submit(&intake, COUNT);
    assert_eq!((sequencer.step(), sequencer.step()), (Progress::Worked, Progress::Worked));
    assert!(matches!(sequencer.step(), Progress::Idle(_)));
    let mut last = 0;
    let mut runs = Vec::new();
    for Sequenced { block, slots } in durable.try_iter() {
        assert_eq!(block.first().get(), last + 1);
        last = block.last().get();
        // Each run begins where the one before ends: no record is without a caller.
        let ends = slots.iter().map(|(first, slot)| first + slot.count());
        let begins = slots.iter().map(|(first, _)| *first);
        assert!(std::iter::once(0).chain(ends).eq(begins.chain([block.records().len()])));
        runs.push(slots.len());
    }
    // The refused command splits the first block's run.
    assert_eq!(runs, [2, 1]);
    assert_eq!(usize::try_from(last).unwrap(), COUNT - 1);
    assert_eq!(sequencer.meter.sequencer.intake_wait.read().count(), COUNT as u64);
    assert_eq!(intake.waiting(), 0);
    // The blocks were dropped unanswered.
    let heard: Vec<Heard> = heard.try_iter().collect();
    assert_eq!(heard[0], (MISFIT..MISFIT + 1, Some(Err(Refusal::TooLarge))));
    assert!(heard[1..].iter().all(|(_, came)| came.is_none()));
    assert_eq!(heard.iter().map(|(positions, _)| positions.len()).sum::<usize>(), COUNT);
}

#[test]
fn no_more_room_is_taken_than_there_is() {
    let (intake, arrivals) = intake();
    assert_eq!((intake.reserve(100), intake.waiting()), (100, 100));
    assert_eq!((intake.reserve(INTAKE_MAX), intake.waiting()), (INTAKE_MAX - 100, INTAKE_MAX));
    assert_eq!((intake.reserve(1), intake.waiting()), (0, INTAKE_MAX));
    drop(arrivals);
}

#[test]
fn whoever_comes_after_the_end_was_asked_for_is_let_go() {
    let (sequencer, intake, _durable, _) = sequencer(4);
    assert!(intake.send(Intake::Stop).is_none());
    let heard = submit(&intake, 3);
    assert_eq!(sequencer.run().head(), &Head::START);
    drop(intake);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [(0..3, None)]);
}

/// A durable block is applied by nobody once the engine has halted: its callers must not wait
/// forever.
#[test]
fn whoever_waits_when_the_engine_halts_is_let_go() {
    let (mut sequencer, intake, durable, halt) = sequencer(4);
    let heard = submit(&intake, 1);
    assert_eq!(sequencer.step(), Progress::Worked);
    // The matcher ends with the block in its queue.
    let died = HaltReason::ThreadDied("matcher");
    halt.halt(died);
    drop(durable);
    let late = submit(&intake, 2);
    assert_eq!(sequencer.step(), Progress::Ended);
    drop(sequencer);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [(0..1, None)]);
    let refused = Some(Err(Refusal::JournalUnavailable(died)));
    assert_eq!(late.try_iter().collect::<Vec<_>>(), [(0..2, refused)]);
    assert_eq!(intake.waiting(), 0);
}

/// A moment that is durable must be answerable while the matcher works on a long record.
#[test]
fn a_durable_block_is_settled_before_the_matcher_takes_it() {
    let (sequencer, intake, durable, _) = sequencer(0);
    let (reader, clock) = (sequencer.journal.reader(), Arc::clone(&sequencer.clock));
    let ends = std::thread::spawn(move || drop(sequencer.run()));
    let _heard = submit(&intake, 1);
    let began = Instant::now();
    while reader.head() == Head::START && began.elapsed() < LONG {
        std::thread::yield_now();
    }
    let stamped = reader.head().time;
    while clock.settled(stamped) != Settled::Yes && began.elapsed() < LONG {
        std::thread::yield_now();
    }
    assert_eq!(clock.settled(stamped), Settled::Yes);
    assert!(intake.send(Intake::Stop).is_none());
    assert_eq!(durable.iter().count(), 1);
    ends.join().unwrap();
}
