//! The sequencer: gives every command its place, and makes it durable before anyone acts on it.
//!
//! Group commit: whatever has come in while the last block was being made durable becomes the next
//! one, so an idle venue answers at once and a busy one fills larger blocks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, SendError, TryRecvError};

use super::bell::{Bell, Ringing};
use super::clock;
use super::due::DueBoard;
use super::halt::{Halt, HaltReason};
use super::meter::Meter;
use super::pending::{Came, Intake, Pending, Refusal, ReplySlot, Several};
use super::start::StartError;
use crate::exchange::command::{Asked, Command, Record};
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

/// The sequencer's state.
pub struct Sequencer<J> {
    /// The journal; nobody else writes to it.
    pub journal: J,
    /// Commands come from here.
    pub intake: Receiver<Intake>,
    /// Durable blocks go here.
    pub blocks: Ringing<Sequenced>,
    /// Rings when a command comes.
    pub bell: Arc<Bell>,
    /// What is due.
    pub due: Arc<DueBoard>,
    /// Why to stop.
    pub halt: Arc<Halt>,
    /// Where to tell of the work.
    pub meter: Arc<Meter>,
    /// The last clock command journaled.
    last_clock: Sequence,
    /// Records in the last block.
    last_records: usize,
    /// Commands that came together and are not all taken out yet.
    several: Option<Several>,
    /// Whether [`Intake::Stop`] has come.
    stopping: bool,
}

/// A command waiting for its block, and whoever waits for it.
type Waiting = (Asked, Option<ReplySlot>);

/// A block being filled.
struct OpenBlock {
    builder: BlockBuilder,
    replies: Vec<Option<ReplySlot>>,
    /// The place of the last slot.
    last_slot: usize,
    last: Sequence,
    time: TimeMs,
}

impl OpenBlock {
    /// A block after `head`, with room for about so many records.
    fn after(head: &Head, time: TimeMs, records: usize) -> OpenBlock {
        let builder = BlockBuilder::expecting(head, records);
        let replies = Vec::with_capacity(records);
        OpenBlock { builder, replies, last_slot: 0, last: head.sequence, time }
    }

    /// Stamps a command as the next record; gives it back when the block is full.
    fn push(&mut self, (asked, reply): Waiting) -> Option<Waiting> {
        let sequence = self.last.next();
        let Asked { once, command } = asked;
        match self.builder.push(Record { sequence, time: self.time, once, command }) {
            Ok(()) => {
                self.last = sequence;
                self.wait_for(reply);
                None
            }
            Err(Refill(Record { once, command, .. })) => Some((Asked { once, command }, reply)),
        }
    }

    /// Keeps a record's slot, or has the slot before it wait for this answer too.
    fn wait_for(&mut self, reply: Option<ReplySlot>) {
        let last = self.replies.get_mut(self.last_slot).and_then(Option::as_mut);
        let reply = match (last, reply) {
            (Some(last), Some(reply)) => last.join(reply),
            (_, reply) => reply,
        };
        if reply.is_some() {
            self.last_slot = self.replies.len();
        }
        self.replies.push(reply);
    }
}

impl<J: Journal> Sequencer<J> {
    /// A sequencer that goes on where the journal ends.
    pub fn new(
        journal: J,
        intake: Receiver<Intake>,
        blocks: Ringing<Sequenced>,
        due: Arc<DueBoard>,
        halt: Arc<Halt>,
        meter: Arc<Meter>,
    ) -> Sequencer<J> {
        Sequencer {
            journal,
            intake,
            blocks,
            bell: Arc::default(),
            due,
            halt,
            meter,
            last_clock: Sequence::ZERO,
            last_records: 0,
            several: None,
            stopping: false,
        }
    }

    /// Hands everything that the journal holds beyond what the matcher began with to it, as if it
    /// had just come in, and waits until it is applied: before that nobody can say what is due.
    ///
    /// # Errors
    /// The journal's own, naming the damage; or the matcher has halted.
    pub fn replay(&mut self) -> Result<(), StartError> {
        for block in self.journal.read(self.due.applied().next()) {
            let sequenced = Sequenced { block: block?, replies: Vec::new() };
            self.blocks.send(sequenced).map_err(|_| self.matcher_gone())?;
        }
        while self.due.applied() < self.journal.head().sequence {
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
                    self.refuse_the_rest(reason);
                    break;
                }
            }
        }
        self.journal
    }

    /// Waits for the first record of the next block: a command, or something due. `None` when
    /// there will be no more.
    fn wait(&mut self) -> Option<Waiting> {
        while !self.stopping {
            if self.due.wants_clock(self.now(), self.last_clock) {
                return Some((Command::AdvanceClock.into(), None));
            }
            if let Some(waiting) = self.next_of_several() {
                return Some(waiting);
            }
            let came = self.bell.wait(DUE_CHECK_EVERY, || match self.intake.try_recv() {
                Err(TryRecvError::Empty) => None,
                came => Some(came.ok()),
            });
            match came {
                Some(Some(intake)) => {
                    if let Some(waiting) = self.admit(intake) {
                        return Some(waiting);
                    }
                }
                // Nobody can ask for anything any more.
                Some(None) => return None,
                None => {}
            }
        }
        None
    }

    /// Another command, if one is waiting now.
    fn take(&mut self) -> Option<Waiting> {
        while !self.stopping {
            if let Some(waiting) = self.next_of_several() {
                return Some(waiting);
            }
            let intake = self.intake.try_recv().ok()?;
            if let Some(waiting) = self.admit(intake) {
                return Some(waiting);
            }
        }
        None
    }

    /// The next of the commands that came together.
    fn next_of_several(&mut self) -> Option<Waiting> {
        loop {
            let Some(pending) = self.several.as_mut()?.next() else {
                self.several = None;
                return None;
            };
            if let Some(waiting) = self.admit_one(pending) {
                return Some(waiting);
            }
        }
    }

    /// What came in as a command; those that came together are taken out one by one.
    fn admit(&mut self, intake: Intake) -> Option<Waiting> {
        match intake {
            Intake::Command(pending) => self.admit_one(pending),
            Intake::Several(several) => {
                self.several = Some(several);
                self.next_of_several()
            }
            Intake::Stop => {
                self.stopping = true;
                None
            }
        }
    }

    /// A command that a record can hold; any other is refused at once.
    fn admit_one(&self, Pending { asked, reply, since }: Pending) -> Option<Waiting> {
        self.meter.sequencer.intake_wait.count_since(since);
        if record::admit(&asked).is_ok() {
            return Some((asked, Some(reply)));
        }
        refuse([reply], Refusal::TooLarge);
        None
    }

    /// Fills a block, makes it durable and hands it on; gives back what no longer fitted.
    fn commit(&mut self, first: Waiting) -> Result<Option<Waiting>, HaltReason> {
        if let Some(reason) = self.halt.reason() {
            refuse(first.1, Refusal::JournalUnavailable(reason));
            return Err(reason);
        }
        let mut open = OpenBlock::after(self.journal.head(), self.now(), self.last_records);
        // What is due comes before what is asked (semantics 3).
        let asked = first.0.command != Command::AdvanceClock;
        if asked && self.due.wants_clock(open.time, self.last_clock) {
            open.push((Command::AdvanceClock.into(), None));
            self.last_clock = open.last;
        }
        if !asked {
            self.last_clock = open.last.next();
        }
        let mut left = open.push(first);
        if left.is_none() {
            left = self.fill(&mut open);
        }
        self.last_records = open.replies.len();
        match self.make_durable(open) {
            Ok(()) => Ok(left),
            Err(reason) => {
                refuse(left.and_then(|(_, reply)| reply), Refusal::JournalUnavailable(reason));
                Err(reason)
            }
        }
    }

    /// Adds what is waiting now; gives back what no longer fits.
    fn fill(&mut self, open: &mut OpenBlock) -> Option<Waiting> {
        while let Some(waiting) = self.take() {
            if let Some(left) = open.push(waiting) {
                return Some(left);
            }
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

    /// Now, but never earlier than the last record.
    fn now(&self) -> TimeMs {
        clock::now().max(self.journal.head().time)
    }

    fn refuse_the_rest(&mut self, reason: HaltReason) {
        let refusal = Refusal::JournalUnavailable(reason);
        let replies = |several: Several| several.map(|pending| pending.reply);
        refuse(self.several.take().into_iter().flat_map(replies), refusal);
        for intake in self.intake.try_iter() {
            match intake {
                Intake::Command(pending) => refuse([pending.reply], refusal),
                Intake::Several(several) => refuse(replies(several), refusal),
                Intake::Stop => {}
            }
        }
    }
}

/// Refuses everyone in `waiting`.
pub fn refuse(waiting: impl IntoIterator<Item = ReplySlot>, refusal: Refusal) {
    for reply in waiting {
        reply.send(Came::Refused(refusal));
    }
}
