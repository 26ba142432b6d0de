//! Unit tests of `src/engine/sequencer.rs`.

use tokio::sync::oneshot::error::TryRecvError;

use super::*;
use crate::batch_reply::BatchReplies;
use crate::clock::Settled;
use crate::intake_quota::IntakeQuota;
use exchange::catalogue::Outcome;
use exchange::command::{Condition, PlaceOrder, SelfTradePrevention, Side, TimeInForce, Wording};
use exchange::ids::{MarketNo, UserNo};
use exchange::units::{Lots, Tick};

/// More than a block holds.
const COUNT: usize = 1_000;
/// The position of a command that no record can hold.
const MISFIT: usize = 5;

fn order(position: usize) -> KeyedCommand {
    let quantity = Lots::new(u64::from(position != MISFIT));
    let order = PlaceOrder {
        user: UserNo(1),
        market: MarketNo(0),
        wording: Wording { outcome: Outcome::Yes, side: Side::Buy },
        price: Tick::parse("0.5").unwrap(),
        quantity,
        time_in_force: TimeInForce::ImmediateOrCancel,
        self_trade: SelfTradePrevention::CancelTaker,
        condition: Condition::Unconditional,
        valid_until: None,
        copy_from: None,
        client_order_id: None,
    };
    Command::PlaceOrder(order).into()
}

fn clock() -> Arc<Clock> {
    Arc::new(Clock::after(TimeMs::default()))
}

#[test]
fn commands_in_a_row_have_one_slot_and_go_on_in_the_next_block() {
    let mut batch = BatchReplies::new(Arc::default());
    let (sink, first) = batch.reserve(COUNT);
    let reservation = IntakeQuota::default().take(COUNT, 0);
    let several = CommandBatch::new((0..COUNT).map(order).collect(), sink, first, reservation);
    let (meter, mut left) = (SequencerMeter::default(), Some(Waiting::Several(several)));
    let (mut blocks, mut slots) = (Vec::new(), Vec::new());
    while let Some(waiting) = left {
        let mut open = OpenBlock::after(&Head::START, TimeMs::default(), 0);
        left = open.add(waiting, &meter);
        blocks.push(open.replies.len());
        slots.push(open.replies.iter().filter(|reply| reply.is_some()).count());
        for slot in open.replies.into_iter().flatten() {
            slot.send(CommandOutcome::Refused(Refusal::Stopping));
        }
    }
    // The refused command splits the first block's run.
    assert_eq!((blocks.len(), slots), (2, vec![2, 1]));
    assert_eq!(blocks.iter().sum::<usize>(), COUNT - 1);
    assert_eq!(meter.intake_wait.read().count(), (COUNT - 1) as u64);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let answers = runtime.block_on(batch.came());
    for (position, answer) in answers.each().enumerate() {
        let refused = if position == MISFIT { Refusal::TooLarge } else { Refusal::Stopping };
        assert_eq!(answer.unwrap_err(), refused, "{position}");
    }
}

#[test]
fn all_that_are_left_are_refused_together() {
    let mut batch = BatchReplies::new(Arc::default());
    let (sink, first) = batch.reserve(3);
    let reservation = IntakeQuota::default().take(3, 0);
    let mut several = CommandBatch::new((0..3).map(order).collect(), sink, first, reservation);
    let taken = several.take().unwrap();
    several.put_back(taken);
    assert_eq!(several.position(), 0);
    Waiting::Several(several).refuse(Refusal::Stopping);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let answers = runtime.block_on(batch.came());
    assert_eq!(answers.each().map(Result::unwrap_err).collect::<Vec<_>>(), [Refusal::Stopping; 3]);
}

#[test]
fn whoever_comes_after_the_end_was_asked_for_is_let_go() {
    let (intake, commands) = intake();
    let blocks = crossbeam_channel::bounded(4).0;
    let (status, halt, meter) = Default::default();
    let journal = journal::memory::MemoryJournal::new();
    let sequencer = Sequencer::new(journal, commands, blocks, status, halt, meter, clock());
    intake.send(Intake::Stop).unwrap();
    let (reply, mut answer) = ReplySlot::new(None);
    let asked = Pending { asked: order(0), reply, since: Instant::now() };
    intake.send(Intake::Command(asked)).unwrap();
    assert_eq!(sequencer.run().head(), &Head::START);
    assert_eq!(answer.try_recv().unwrap_err(), TryRecvError::Closed);
}

/// A durable block is applied by nobody once the engine has halted: its callers must not wait
/// forever.
#[test]
fn whoever_waits_when_the_engine_halts_is_let_go() {
    const LONG: Duration = Duration::from_secs(20);
    let (intake, commands) = intake();
    let (blocks, durable) = crossbeam_channel::bounded(4);
    let halt = Arc::new(Halt::default());
    let (status, meter) = Default::default();
    let journal = journal::memory::MemoryJournal::new();
    let sequencer =
        Sequencer::new(journal, commands, blocks, status, Arc::clone(&halt), meter, clock());
    let ends = std::thread::spawn(move || drop(sequencer.run()));
    let (reply, mut answer) = ReplySlot::new(None);
    let began = Instant::now();
    let asked = Pending { asked: order(0), reply, since: began };
    intake.send(Intake::Command(asked)).unwrap();
    while durable.is_empty() && began.elapsed() < LONG {
        std::thread::yield_now();
    }
    // The matcher ends with the block in its queue, and no more commands come.
    halt.halt(HaltReason::ThreadDied("matcher"));
    drop(durable);
    while !ends.is_finished() && began.elapsed() < LONG {
        std::thread::yield_now();
    }
    assert!(answer.try_recv().is_err_and(|error| error == TryRecvError::Closed));
}

/// A moment that is durable must be answerable while the matcher works on a long record.
#[test]
fn a_durable_block_is_settled_before_the_matcher_takes_it() {
    const LONG: Duration = Duration::from_secs(20);
    let (intake, commands) = intake();
    let (blocks, durable) = crossbeam_channel::bounded(0);
    let (status, halt, meter) = Default::default();
    let clock = clock();
    let journal = journal::memory::MemoryJournal::new();
    let reader = journal.reader();
    let sequencer =
        Sequencer::new(journal, commands, blocks, status, halt, meter, Arc::clone(&clock));
    let ends = std::thread::spawn(move || drop(sequencer.run()));
    let (reply, _answer) = ReplySlot::new(None);
    let asked = Pending { asked: order(0), reply, since: Instant::now() };
    intake.send(Intake::Command(asked)).unwrap();
    let began = Instant::now();
    while reader.head() == Head::START && began.elapsed() < LONG {
        std::thread::yield_now();
    }
    let stamped = reader.head().time;
    while clock.settled(stamped) != Settled::Yes && began.elapsed() < LONG {
        std::thread::yield_now();
    }
    assert_eq!(clock.settled(stamped), Settled::Yes);
    intake.send(Intake::Stop).unwrap();
    assert_eq!(durable.iter().count(), 1);
    ends.join().unwrap();
}
