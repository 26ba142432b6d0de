//! The sequencer: gives every command its sequence number and time, and makes it durable before it
//! is applied.
//!
//! Group commit: what arrives while the last block is made durable becomes the next block, so an
//! idle venue answers at once and a busy one fills larger blocks.

mod renewals;
mod waiting;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, SendError, Sender, unbounded};

use super::clock::Clock;
use super::halt::{Halt, HaltReason};
use super::heartbeats::Heartbeats;
use super::matcher_status::MatcherStatus;
use super::meter::{Meter, SequencerMeter};
use super::pending::{CommandBatch, CommandOutcome, Intake, Pending, Refusal, ReplySlot};
use super::start::StartError;
use super::watcher;
use exchange::command::{Command, KeyedCommand, Record};
use exchange::units::{Sequence, TimeMs};
use journal::block::{Block, BlockBuilder, Head, Refill};
use journal::{Durable, Journal, JournalError, record};
use waiting::Waiting;

/// How late a deadline, the end of a window or an expiry may be journaled when nothing else
/// happens. No order can exploit the delay: the exchange decides by the stamp.
const DUE_CHECK_EVERY: Duration = Duration::from_millis(50);

/// How often a start checks whether the matcher has caught up.
const CATCH_UP_CHECK_EVERY: Duration = Duration::from_millis(1);

/// A durable block on its way to the matcher, with the reply slots of its records in order. A
/// record has no slot if nobody waits for it, or if the slot of an earlier record covers it.
#[derive(Debug)]
pub struct Sequenced {
    /// The block.
    pub block: Durable<Block>,
    /// Reply slots, one per record; empty only for a replayed block.
    pub replies: Vec<Option<ReplySlot>>,
}

/// The intake queue. Unbounded, and senders check its length: a bounded queue would keep commands
/// that arrive just before the sequencer ends, and their callers would wait forever.
pub fn intake() -> (Sender<Intake>, Receiver<Intake>) {
    unbounded()
}

/// The sequencer's state.
pub struct Sequencer<J> {
    /// The journal; the sequencer is its only writer.
    pub journal: J,
    /// Source of commands.
    pub intake: Receiver<Intake>,
    /// Destination of durable blocks.
    pub blocks: Sender<Sequenced>,
    /// Says what is due, and the results so far.
    pub status: Arc<MatcherStatus>,
    /// Halts the engine.
    pub halt: Arc<Halt>,
    /// Counts the work.
    pub meter: Arc<Meter>,
    /// Stamps records.
    pub clock: Arc<Clock>,
    /// Heartbeats renewed without a record, which are journaled in time.
    pub heartbeats: Arc<Heartbeats>,
    /// The last clock command journaled.
    last_clock: Sequence,
    /// Records in the last block.
    last_records: usize,
    /// Whether [`Intake::Stop`] has come.
    stopping: bool,
}

/// Why a run of a batch's commands ended.
enum RunEnd {
    /// The batch is finished.
    Done,
    /// The block is full; the command that did not fit was put back.
    Full,
    /// The command taken last is larger than a record can be.
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
    /// A block after `head`, with capacity for about `records`.
    fn after(head: &Head, time: TimeMs, records: usize) -> OpenBlock {
        let builder = BlockBuilder::expecting(head, records);
        OpenBlock { builder, replies: Vec::with_capacity(records), last: head.sequence, time }
    }

    /// Adds waiting work; returns what no longer fits.
    fn add(&mut self, waiting: Waiting, meter: &SequencerMeter) -> Option<Waiting> {
        match waiting {
            Waiting::Clock => {
                let full = self.stamp(Command::AdvanceClock.into(), None);
                full.map(|_| Waiting::Clock)
            }
            Waiting::Renewals => None,
            Waiting::One(asked, reply) => {
                let (asked, reply) = self.stamp(asked, Some(reply))?;
                reply.map(|reply| Waiting::One(asked, reply))
            }
            Waiting::Several(several) => self.add_batch(several, meter).map(Waiting::Several),
        }
    }

    /// Stamps a command as the next record; returns it if the block is full.
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

    /// Adds a batch's commands; each run of consecutive ones shares one slot.
    fn add_batch(
        &mut self,
        mut several: CommandBatch,
        meter: &SequencerMeter,
    ) -> Option<CommandBatch> {
        loop {
            let (position, record) = (several.position(), self.replies.len());
            let end = self.stamp_run(&mut several);
            let run = position..position.saturating_add(self.replies.len().saturating_sub(record));
            meter.intake_wait.count_times_since(several.since, run.len());
            if let Some(first) = self.replies.get_mut(record) {
                *first = Some(several.slot(run.clone()));
            }
            match end {
                RunEnd::Done => return None,
                RunEnd::Full => return Some(several),
                RunEnd::Misfit => {
                    let slot = several.slot(run.end..several.position());
                    refuse([slot], Refusal::TooLarge);
                }
            }
        }
    }

    /// Stamps commands until one does not fit.
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
    /// A sequencer that continues where the journal ends.
    pub fn new(
        journal: J,
        intake: Receiver<Intake>,
        blocks: Sender<Sequenced>,
        status: Arc<MatcherStatus>,
        halt: Arc<Halt>,
        meter: Arc<Meter>,
        clock: Arc<Clock>,
    ) -> Sequencer<J> {
        Sequencer {
            journal,
            intake,
            blocks,
            status,
            halt,
            meter,
            clock,
            heartbeats: Arc::default(),
            last_clock: Sequence::ZERO,
            last_records: 0,
            stopping: false,
        }
    }

    /// Sends the matcher every journaled block that it has not folded, as if just committed, and
    /// waits until all are folded: before that it is unknown what is due.
    ///
    /// # Errors
    /// The journal's own, naming the damage; or the matcher has halted.
    pub fn replay(&mut self) -> Result<(), StartError> {
        for block in self.journal.read(self.status.folded().next()) {
            let sequenced = Sequenced { block: block?, replies: Vec::new() };
            self.blocks.send(sequenced).map_err(|_| self.matcher_gone())?;
        }
        while self.status.folded() < self.journal.head().sequence {
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

    /// Takes commands until stopped, or until the engine halts. Returns the journal, so that it
    /// stays open for its readers.
    pub fn run(mut self) -> J {
        let mut carried = None;
        while let Some(first) = carried.take().or_else(|| self.next_work()) {
            match self.commit(first) {
                Ok(left) => carried = left,
                Err(reason) => {
                    self.halt.halt(reason);
                    break;
                }
            }
        }
        if self.halt.reason().is_none()
            && let Err(reason) = self.keep_promises()
        {
            self.halt.halt(reason);
        }
        if let Some(reason) = self.halt.reason() {
            self.refuse_the_rest(reason);
        }
        self.journal
    }

    /// Waits for the first record of the next block: a command, or something due. `None` when the
    /// engine is stopping or has halted: a block committed after a halt would be applied by nobody.
    fn next_work(&mut self) -> Option<Waiting> {
        while !self.stopping && self.halt.reason().is_none() {
            if self.status.wants_clock(self.clock.now(), self.last_clock) {
                return Some(Waiting::Clock);
            }
            if self.heartbeats.wake(self.clock.now()) {
                return Some(Waiting::Renewals);
            }
            let wait = self.status.ask_again_in(self.last_clock, DUE_CHECK_EVERY);
            match self.intake.recv_timeout(wait) {
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

    /// Another command, if one is queued now.
    fn poll_work(&mut self) -> Option<Waiting> {
        while !self.stopping {
            let intake = self.intake.try_recv().ok()?;
            if let Some(waiting) = self.admit(intake) {
                return Some(waiting);
            }
        }
        None
    }

    /// The work that an intake element brings; a command too large for a record is refused at once.
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

    /// Fills a block, makes it durable and passes it on; returns what no longer fit.
    fn commit(&mut self, first: Waiting) -> Result<Option<Waiting>, HaltReason> {
        if let Some(reason) = self.halt.reason() {
            first.refuse(Refusal::JournalUnavailable(reason));
            return Err(reason);
        }
        let time = match self.stamp_after_renewals() {
            Ok(time) => time,
            Err(reason) => {
                first.refuse(Refusal::JournalUnavailable(reason));
                return Err(reason);
            }
        };
        let mut open = OpenBlock::after(self.journal.head(), time, self.last_records);
        // Due work comes before commands (semantics 3).
        let asked = !matches!(first, Waiting::Clock | Waiting::Renewals);
        if asked && self.status.wants_clock(open.time, self.last_clock) {
            open.stamp(Command::AdvanceClock.into(), None);
            self.last_clock = open.last;
        }
        if matches!(first, Waiting::Clock) {
            self.last_clock = open.last.next();
        }
        let left = self.fill(&mut open, first);
        if open.replies.is_empty() {
            // All commands were refused: no block of this stamp will ever be.
            self.clock.wrote();
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

    /// Adds what is queued now; returns what no longer fits.
    fn fill(&mut self, open: &mut OpenBlock, first: Waiting) -> Option<Waiting> {
        let mut next = Some(first);
        while let Some(waiting) = next {
            let left = match waiting.heartbeat() {
                None => open.add(waiting, &self.meter.sequencer),
                Some(beat) => self.add_heartbeat(open, waiting, beat),
            };
            if left.is_some() {
                return left;
            }
            next = self.poll_work();
        }
        None
    }

    fn make_durable(&mut self, open: OpenBlock) -> Result<(), HaltReason> {
        let OpenBlock { builder, replies, last, .. } = open;
        let began = Instant::now();
        let appended = match builder.build(self.status.results()) {
            Ok(block) => {
                let appended = self.journal.append(block);
                appended.map_err(|error| (self.reason_of(&error), error.to_string()))
            }
            Err(error) => Err((HaltReason::JournalFailed, error.to_string())),
        };
        // A block whose outcome is unknown counts as being written until the next start decides.
        if !matches!(appended, Err((HaltReason::JournalUnknown, _))) {
            // Before the matcher takes the block, which may last. The journal's head includes the
            // block by now, which queries about the past rely on.
            self.clock.wrote();
        }
        match appended {
            Ok(block) => {
                let meter = &self.meter.sequencer;
                meter.append.count_since(began);
                meter.block_records.count(u64::try_from(replies.len()).unwrap_or(u64::MAX));
                meter.post_journal_head(last);
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
                // Halt before anyone is answered, so that a caller that retries is refused for the
                // same reason.
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

    /// Why a failed append halts the engine: what was done to the journal's files, if that is why.
    fn reason_of(&self, error: &JournalError) -> HaltReason {
        if matches!(error, JournalError::Unknown { .. }) {
            return HaltReason::JournalUnknown;
        }
        let changed = self.journal.files().as_deref().and_then(watcher::changed);
        changed.unwrap_or(HaltReason::JournalFailed)
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

/// Refuses every slot.
pub fn refuse(waiting: impl IntoIterator<Item = ReplySlot>, refusal: Refusal) {
    for reply in waiting {
        reply.send(CommandOutcome::Refused(refusal));
    }
}

#[cfg(test)]
#[path = "../../tests/unit/engine/sequencer.rs"]
mod tests;
