//! The sequencer: gives every command its place, and makes it durable before anyone acts on it.
//!
//! Group commit: whatever has come in while the last block was being made durable becomes the next
//! one, so an idle venue answers at once and a busy one fills larger blocks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, SendError, Sender, unbounded};

use super::clock::Clock;
use super::halt::{Halt, HaltReason};
use super::matcher_status::MatcherStatus;
use super::meter::{Meter, SequencerMeter};
use super::pending::{CommandBatch, CommandOutcome, Intake, Pending, Refusal, ReplySlot};
use super::start::StartError;
use crate::exchange::command::{Command, KeyedCommand, Record};
use crate::exchange::units::{Sequence, TimeMs};
use crate::journal::block::{Block, BlockBuilder, Head, Refill};
use crate::journal::{Durable, Journal, JournalError, record};

/// How late a deadline, the end of a window or an expiry may be journaled when nothing else
/// happens. No order can use the delay: the exchange judges by the stamp.
const DUE_CHECK_EVERY: Duration = Duration::from_millis(50);

/// How often a start looks whether the matcher has caught up.
const CATCH_UP_CHECK_EVERY: Duration = Duration::from_millis(1);

/// A durable block on its way to the matcher, with the reply slots of its records in order; a
/// record that nobody waits for has none, nor has one whose answer goes where that of the record
/// before it goes.
#[derive(Debug)]
pub struct Sequenced {
    /// The block.
    pub block: Durable<Block>,
    /// Reply slots, one a record; empty when nobody waits for any of them.
    pub replies: Vec<Option<ReplySlot>>,
}

/// The way to a sequencer. Whoever puts something in counts what waits: a bounded queue would keep
/// what comes in just before the sequencer's end, and whoever waits for that.
pub fn intake() -> (Sender<Intake>, Receiver<Intake>) {
    unbounded()
}

/// The sequencer's state.
pub struct Sequencer<J> {
    /// The journal; nobody else writes to it.
    pub journal: J,
    /// Commands come from here.
    pub intake: Receiver<Intake>,
    /// Durable blocks go here.
    pub blocks: Sender<Sequenced>,
    /// What is due.
    pub due: Arc<MatcherStatus>,
    /// Why to stop.
    pub halt: Arc<Halt>,
    /// Where to tell of the work.
    pub meter: Arc<Meter>,
    /// Which time records get.
    pub clock: Arc<Clock>,
    /// The last clock command journaled.
    last_clock: Sequence,
    /// Records in the last block.
    last_records: usize,
    /// Whether [`Intake::Stop`] has come.
    stopping: bool,
}

/// What waits for its block.
enum Waiting {
    /// Something that is due, for which nobody waits.
    Clock,
    /// A command that a record can hold, and whoever waits for it.
    One(KeyedCommand, ReplySlot),
    /// Commands that came together and are not all taken out yet.
    Several(CommandBatch),
}

impl Waiting {
    /// Refuses whoever waits.
    fn refuse(self, refusal: Refusal) {
        let slot = match self {
            Waiting::Clock => None,
            Waiting::One(_, reply) => Some(reply),
            Waiting::Several(several) => several.rest(),
        };
        refuse(slot, refusal);
    }
}

/// Why commands that came together are taken out no further.
enum RunEnd {
    /// There are no more.
    Done,
    /// The block is full; what did not fit was put back.
    Full,
    /// The last one taken out is larger than a record can be.
    Misfit,
}

/// A block being filled.
struct OpenBlock {
    builder: BlockBuilder,
    replies: Vec<Option<ReplySlot>>,
    last: Sequence,
    time: TimeMs,
}

impl OpenBlock {
    /// A block after `head`, with room for about so many records.
    fn after(head: &Head, time: TimeMs, records: usize) -> OpenBlock {
        let builder = BlockBuilder::expecting(head, records);
        OpenBlock { builder, replies: Vec::with_capacity(records), last: head.sequence, time }
    }

    /// Takes in what waits; gives back what no longer fits.
    fn take_in(&mut self, waiting: Waiting, told: &SequencerMeter) -> Option<Waiting> {
        match waiting {
            Waiting::Clock => {
                let full = self.stamp(Command::AdvanceClock.into(), None);
                full.map(|_| Waiting::Clock)
            }
            Waiting::One(asked, reply) => {
                let (asked, reply) = self.stamp(asked, Some(reply))?;
                reply.map(|reply| Waiting::One(asked, reply))
            }
            Waiting::Several(several) => self.take_in_several(several, told).map(Waiting::Several),
        }
    }

    /// Stamps a command as the next record; gives it back when the block is full.
    #[inline]
    fn stamp(
        &mut self,
        asked: KeyedCommand,
        reply: Option<ReplySlot>,
    ) -> Option<(KeyedCommand, Option<ReplySlot>)> {
        let sequence = self.last.next();
        let KeyedCommand { once, command } = asked;
        match self.builder.push(Record { sequence, time: self.time, once, command }) {
            Ok(()) => {
                self.last = sequence;
                self.replies.push(reply);
                None
            }
            Err(Refill(Record { once, command, .. })) => {
                Some((KeyedCommand { once, command }, reply))
            }
        }
    }

    /// The same with commands that came together: those in a row have one slot.
    fn take_in_several(
        &mut self,
        mut several: CommandBatch,
        told: &SequencerMeter,
    ) -> Option<CommandBatch> {
        loop {
            let (place, record) = (several.place(), self.replies.len());
            let end = self.stamp_run(&mut several);
            let run = place..place.saturating_add(self.replies.len().saturating_sub(record));
            told.intake_wait.count_times_since(several.since, run.len());
            if let Some(first) = self.replies.get_mut(record) {
                *first = Some(several.slot(run.clone()));
            }
            match end {
                RunEnd::Done => return None,
                RunEnd::Full => return Some(several),
                RunEnd::Misfit => {
                    let slot = several.slot(run.end..several.place());
                    refuse([slot], Refusal::TooLarge);
                }
            }
        }
    }

    /// Stamps one after the other as long as it can.
    fn stamp_run(&mut self, several: &mut CommandBatch) -> RunEnd {
        while let Some(asked) = several.take() {
            if record::admit(&asked).is_err() {
                return RunEnd::Misfit;
            }
            if let Some((asked, _)) = self.stamp(asked, None) {
                several.put_back(asked);
                return RunEnd::Full;
            }
        }
        RunEnd::Done
    }
}

impl<J: Journal> Sequencer<J> {
    /// A sequencer that goes on where the journal ends.
    pub fn new(
        journal: J,
        intake: Receiver<Intake>,
        blocks: Sender<Sequenced>,
        due: Arc<MatcherStatus>,
        halt: Arc<Halt>,
        meter: Arc<Meter>,
        clock: Arc<Clock>,
    ) -> Sequencer<J> {
        Sequencer {
            journal,
            intake,
            blocks,
            due,
            halt,
            meter,
            clock,
            last_clock: Sequence::ZERO,
            last_records: 0,
            stopping: false,
        }
    }

    /// Hands everything that the journal holds beyond what the matcher began with to it, as if it
    /// had just come in, and waits until it is applied: before that nobody can say what is due.
    ///
    /// # Errors
    /// The journal's own, naming the damage; or the matcher has halted.
    pub fn replay(&mut self) -> Result<(), StartError> {
        for block in self.journal.read(self.due.folded().next()) {
            let sequenced = Sequenced { block: block?, replies: Vec::new() };
            self.blocks.send(sequenced).map_err(|_| self.matcher_gone())?;
        }
        while self.due.folded() < self.journal.head().sequence {
            if let Some(reason) = self.halt.reason() {
                return Err(StartError::Halted(reason));
            }
            std::thread::sleep(CATCH_UP_CHECK_EVERY);
        }
        Ok(())
    }

    fn matcher_gone(&self) -> StartError {
        let died = HaltReason::ThreadDied("matcher");
        StartError::Halted(self.halt.reason().unwrap_or(died))
    }

    /// Takes commands until told to stop, or until the journal fails. Hands the journal back, so
    /// that it stays open for those who still read it.
    pub fn run(mut self) -> J {
        let mut carried = None;
        while let Some(first) = carried.take().or_else(|| self.wait()) {
            match self.commit(first) {
                Ok(left) => carried = left,
                Err(reason) => {
                    self.halt.halt(reason);
                    break;
                }
            }
        }
        if let Some(reason) = self.halt.reason() {
            self.refuse_the_rest(reason);
        }
        self.journal
    }

    /// Waits for the first record of the next block: a command, or something due. `None` when
    /// there will be no more, or the engine has halted: blocks on their way are nobody's then.
    fn wait(&mut self) -> Option<Waiting> {
        while !self.stopping && self.halt.reason().is_none() {
            if self.due.wants_clock(self.clock.now(), self.last_clock) {
                return Some(Waiting::Clock);
            }
            match self.intake.recv_timeout(DUE_CHECK_EVERY) {
                Ok(intake) => {
                    if let Some(waiting) = self.admit(intake) {
                        return Some(waiting);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        None
    }

    /// Another command, if one is waiting now.
    fn take(&mut self) -> Option<Waiting> {
        while !self.stopping {
            let intake = self.intake.try_recv().ok()?;
            if let Some(waiting) = self.admit(intake) {
                return Some(waiting);
            }
        }
        None
    }

    /// What came in; a command that no record can hold is refused at once.
    fn admit(&mut self, intake: Intake) -> Option<Waiting> {
        match intake {
            Intake::Command(Pending { asked, reply, since }) => {
                self.meter.sequencer.intake_wait.count_since(since);
                if record::admit(&asked).is_ok() {
                    return Some(Waiting::One(asked, reply));
                }
                refuse([reply], Refusal::TooLarge);
                None
            }
            Intake::Several(several) => Some(Waiting::Several(several)),
            Intake::Stop => {
                self.stopping = true;
                None
            }
        }
    }

    /// Fills a block, makes it durable and hands it on; gives back what no longer fitted.
    fn commit(&mut self, first: Waiting) -> Result<Option<Waiting>, HaltReason> {
        if let Some(reason) = self.halt.reason() {
            first.refuse(Refusal::JournalUnavailable(reason));
            return Err(reason);
        }
        let time = self.clock.stamp();
        let left = self.commit_at(time, first);
        // Whoever asks for a moment finds the journal's head beyond it by now.
        self.clock.wrote();
        left
    }

    fn commit_at(&mut self, time: TimeMs, first: Waiting) -> Result<Option<Waiting>, HaltReason> {
        let mut open = OpenBlock::after(self.journal.head(), time, self.last_records);
        // What is due comes before what is asked (semantics 3).
        let asked = !matches!(first, Waiting::Clock);
        if asked && self.due.wants_clock(open.time, self.last_clock) {
            open.stamp(Command::AdvanceClock.into(), None);
            self.last_clock = open.last;
        }
        if !asked {
            self.last_clock = open.last.next();
        }
        let left = self.fill(&mut open, first);
        if open.replies.is_empty() {
            // All that came was refused.
            return Ok(left);
        }
        self.last_records = open.replies.len();
        match self.make_durable(open) {
            Ok(()) => Ok(left),
            Err(reason) => {
                if let Some(left) = left {
                    left.refuse(Refusal::JournalUnavailable(reason));
                }
                Err(reason)
            }
        }
    }

    /// Adds what is waiting now; gives back what no longer fits.
    fn fill(&mut self, open: &mut OpenBlock, first: Waiting) -> Option<Waiting> {
        let mut next = Some(first);
        while let Some(waiting) = next {
            let left = open.take_in(waiting, &self.meter.sequencer);
            if left.is_some() {
                return left;
            }
            next = self.take();
        }
        None
    }

    fn make_durable(&mut self, open: OpenBlock) -> Result<(), HaltReason> {
        let OpenBlock { builder, replies, last, .. } = open;
        let began = Instant::now();
        let appended = match builder.build(self.due.results()) {
            Ok(block) => self.journal.append(block).map_err(|error| match error {
                JournalError::Unknown { .. } => (HaltReason::JournalUnknown, error.to_string()),
                _ => (HaltReason::JournalFailed, error.to_string()),
            }),
            Err(error) => Err((HaltReason::JournalFailed, error.to_string())),
        };
        match appended {
            Ok(block) => {
                let told = &self.meter.sequencer;
                told.append.count_since(began);
                told.block_records.count(u64::try_from(replies.len()).unwrap_or(u64::MAX));
                told.post_journal_head(last);
                self.blocks.send(Sequenced { block, replies }).map_err(|SendError(unapplied)| {
                    let died = HaltReason::ThreadDied("matcher");
                    let reason = self.halt.reason().unwrap_or(died);
                    refuse(
                        unapplied.replies.into_iter().flatten(),
                        Refusal::OutcomeUnknown(reason),
                    );
                    reason
                })
            }
            Err((reason, error)) => {
                tracing::error!(error, records = replies.len(), "a block was not made durable");
                // Halted before anyone is told, so that whoever is told and tries again is
                // refused for the same reason.
                self.halt.halt(reason);
                let refusal = match reason {
                    HaltReason::JournalUnknown => Refusal::OutcomeUnknown(reason),
                    _ => Refusal::JournalUnavailable(reason),
                };
                refuse(replies.into_iter().flatten(), refusal);
                Err(reason)
            }
        }
    }

    fn refuse_the_rest(&mut self, reason: HaltReason) {
        let refusal = Refusal::JournalUnavailable(reason);
        for intake in self.intake.try_iter() {
            match intake {
                Intake::Command(pending) => refuse([pending.reply], refusal),
                Intake::Several(several) => refuse(several.rest(), refusal),
                Intake::Stop => {}
            }
        }
    }
}

/// Refuses everyone in `waiting`.
pub fn refuse(waiting: impl IntoIterator<Item = ReplySlot>, refusal: Refusal) {
    for reply in waiting {
        reply.send(CommandOutcome::Refused(refusal));
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;
    use crate::engine::batch_reply::BatchReplies;
    use crate::engine::intake_quota::IntakeQuota;
    use crate::exchange::catalogue::Outcome;
    use crate::exchange::command::{
        Condition, PlaceOrder, SelfTradePrevention, Side, TimeInForce, Wording,
    };
    use crate::exchange::ids::{MarketNo, UserNo};
    use crate::exchange::units::{Lots, Tick};

    /// More than a block holds.
    const COUNT: usize = 1_000;
    /// The place of one that no record can hold.
    const MISFIT: usize = 5;

    fn order(place: usize) -> KeyedCommand {
        let quantity = Lots::new(u64::from(place != MISFIT));
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
        let mut gathering = BatchReplies::new(Arc::default());
        let (gathered, first) = gathering.places(COUNT);
        let room = IntakeQuota::default().take(COUNT, 0);
        let several = CommandBatch::new((0..COUNT).map(order).collect(), gathered, first, room);
        let (told, mut left) = (SequencerMeter::default(), Some(Waiting::Several(several)));
        let (mut blocks, mut slots) = (Vec::new(), Vec::new());
        while let Some(waiting) = left {
            let mut open = OpenBlock::after(&Head::START, TimeMs::default(), 0);
            left = open.take_in(waiting, &told);
            blocks.push(open.replies.len());
            slots.push(open.replies.iter().filter(|reply| reply.is_some()).count());
            for slot in open.replies.into_iter().flatten() {
                slot.send(CommandOutcome::Refused(Refusal::Stopping));
            }
        }
        // The one that was refused parts the first block's.
        assert_eq!((blocks.len(), slots), (2, vec![2, 1]));
        assert_eq!(blocks.iter().sum::<usize>(), COUNT - 1);
        assert_eq!(told.intake_wait.read().count(), (COUNT - 1) as u64);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let answers = runtime.block_on(gathering.came());
        for (place, answer) in answers.each().enumerate() {
            let refused = if place == MISFIT { Refusal::TooLarge } else { Refusal::Stopping };
            assert_eq!(answer.unwrap_err(), refused, "{place}");
        }
    }

    #[test]
    fn all_that_are_left_are_refused_together() {
        let mut gathering = BatchReplies::new(Arc::default());
        let (gathered, first) = gathering.places(3);
        let room = IntakeQuota::default().take(3, 0);
        let mut several = CommandBatch::new((0..3).map(order).collect(), gathered, first, room);
        let taken = several.take().unwrap();
        several.put_back(taken);
        assert_eq!(several.place(), 0);
        Waiting::Several(several).refuse(Refusal::Stopping);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let answers = runtime.block_on(gathering.came());
        assert_eq!(
            answers.each().map(Result::unwrap_err).collect::<Vec<_>>(),
            [Refusal::Stopping; 3]
        );
    }

    #[test]
    fn whoever_comes_after_the_end_was_asked_for_is_let_go() {
        let (intake, commands) = intake();
        let blocks = crossbeam_channel::bounded(4).0;
        let (due, halt, meter) = Default::default();
        let journal = crate::journal::memory::MemoryJournal::new();
        let sequencer = Sequencer::new(journal, commands, blocks, due, halt, meter, clock());
        intake.send(Intake::Stop).unwrap();
        let (reply, mut answer) = ReplySlot::new(None);
        let asked = Pending { asked: order(0), reply, since: Instant::now() };
        intake.send(Intake::Command(asked)).unwrap();
        assert_eq!(sequencer.run().head(), &Head::START);
        assert_eq!(answer.try_recv().unwrap_err(), TryRecvError::Closed);
    }

    /// A block that is durable when the engine halts is applied by nobody: its callers must not
    /// wait for ever.
    #[test]
    fn whoever_waits_when_the_engine_halts_is_let_go() {
        const LONG: Duration = Duration::from_secs(20);
        let (intake, commands) = intake();
        let (blocks, durable) = crossbeam_channel::bounded(4);
        let halt = Arc::new(Halt::default());
        let (due, meter) = Default::default();
        let journal = crate::journal::memory::MemoryJournal::new();
        let sequencer =
            Sequencer::new(journal, commands, blocks, due, Arc::clone(&halt), meter, clock());
        let ends = std::thread::spawn(move || drop(sequencer.run()));
        let (reply, mut answer) = ReplySlot::new(None);
        let began = Instant::now();
        let asked = Pending { asked: order(0), reply, since: began };
        intake.send(Intake::Command(asked)).unwrap();
        while durable.is_empty() && began.elapsed() < LONG {
            std::thread::yield_now();
        }
        // The matcher ends with the block in its queue, and nobody may ask for anything more.
        halt.halt(HaltReason::ThreadDied("matcher"));
        drop(durable);
        while !ends.is_finished() && began.elapsed() < LONG {
            std::thread::yield_now();
        }
        assert!(answer.try_recv().is_err_and(|error| error == TryRecvError::Closed));
    }
}
