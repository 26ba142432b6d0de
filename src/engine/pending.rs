//! A command on its way, and what its caller gets back.

use std::convert::Infallible;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::oneshot;

use super::batch_reply::{BatchPart, BatchReplySink};
use super::halt::HaltReason;
use super::intake_quota::Reservation;
use super::mailbox::Mailbox;
use crate::exchange::Exchange;
use crate::exchange::command::{IdempotencyKey, KeyedCommand, Record};
use crate::exchange::effect::{Applied, Effect};
use crate::exchange::ids::UserNo;
use crate::exchange::invariant::Broken;
use crate::exchange::trial::Tried;
use crate::exchange::trial::several::KeyedStep;
use crate::exchange::units::{Sequence, TimeMs};
use crate::journal::replay::Listener;
use crate::projection::ReadModel;

/// A look at the read model as a record has left it, before the next one is folded. Everybody waits
/// for it, so it only takes what the answer needs.
pub type Look = Box<dyn FnOnce(&ReadModel, &Applied<'_>) + Send>;

/// Where an answer goes, and what to look at on the way; or where the answers go to commands in a
/// row.
pub struct ReplySlot {
    to: To,
    look: Option<Look>,
}

/// Whoever waits.
enum To {
    /// For this answer, on the thread of this mailbox if it has one.
    One(oneshot::Sender<Result<Answer, Refusal>>, Option<Arc<Mailbox>>),
    /// For several, of which these are the ones at these places.
    Gathered(Arc<BatchReplySink>, Range<usize>),
}

/// What came of commands in a row.
#[derive(Debug, Clone)]
pub enum CommandOutcome {
    /// The block's records from this place on.
    Applied(Arc<AppliedBlock>, usize),
    /// They were refused.
    Refused(Refusal),
}

/// What is said, and to whom.
#[derive(Debug)]
pub enum Delivery {
    /// One answer.
    One {
        /// Who asked.
        to: oneshot::Sender<Result<Answer, Refusal>>,
        /// What came of it.
        answer: Result<Answer, Refusal>,
    },
    /// Several answers.
    All {
        /// Who asked.
        to: oneshot::Sender<Vec<BatchPart>>,
        /// What came of them.
        gained: Vec<BatchPart>,
    },
}

impl Delivery {
    /// Hands it over. A caller that has gone away needs no answer.
    pub fn deliver(self) {
        match self {
            Delivery::One { to, answer } => drop(to.send(answer)),
            Delivery::All { to, gained } => drop(to.send(gained)),
        }
    }
}

impl ReplySlot {
    /// A slot and the end at which its answer arrives.
    pub fn new(look: Option<Look>) -> (ReplySlot, oneshot::Receiver<Result<Answer, Refusal>>) {
        let (answer, arrives) = oneshot::channel();
        (ReplySlot { to: To::One(answer, Mailbox::here()), look }, arrives)
    }

    /// A slot for the answers at these places among several.
    pub const fn gathered(gathered: Arc<BatchReplySink>, places: Range<usize>) -> ReplySlot {
        ReplySlot { to: To::Gathered(gathered, places), look: None }
    }

    /// Has the look, if there is one, just after the record was folded.
    pub fn look(&mut self, read_model: &ReadModel, applied: &Applied<'_>) {
        if let Some(look) = self.look.take() {
            look(read_model, applied);
        }
    }

    /// The mailbox of the thread that asked, if it has one.
    pub fn home(&self) -> Option<&Arc<Mailbox>> {
        match &self.to {
            To::One(_, home) => home.as_ref(),
            To::Gathered(gathered, _) => gathered.home(),
        }
    }

    /// The answer, addressed; nothing as long as its caller waits for others too.
    pub fn letter(self, came: CommandOutcome) -> Option<Delivery> {
        match self.to {
            To::One(to, _) => {
                let answer = match came {
                    CommandOutcome::Applied(block, place) => Ok(Answer::of(block, place)?),
                    CommandOutcome::Refused(refusal) => Err(refusal),
                };
                Some(Delivery::One { to, answer })
            }
            To::Gathered(gathered, places) => gathered.put(BatchPart { places, came }),
        }
    }

    /// Answers at once.
    pub fn send(self, came: CommandOutcome) {
        if let Some(letter) = self.letter(came) {
            letter.deliver();
        }
    }
}

impl fmt::Debug for ReplySlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplySlot").field("looks", &self.look.is_some()).finish_non_exhaustive()
    }
}

/// A command and its reply slot. The two part at the sequencer: the slot never enters a block.
#[derive(Debug)]
pub struct Pending {
    /// What is asked.
    pub asked: KeyedCommand,
    /// Where the answer goes.
    pub reply: ReplySlot,
    /// When it was handed in: only ever told, never acted on.
    pub since: Instant,
}

/// Commands that one caller hands in together, in their order.
#[derive(Debug)]
pub struct CommandBatch {
    /// What was taken out and put back.
    back: Option<KeyedCommand>,
    asked: std::vec::IntoIter<KeyedCommand>,
    gathered: Arc<BatchReplySink>,
    /// The next one's place among the answers.
    place: usize,
    /// When they were handed in: only ever told, never acted on.
    pub since: Instant,
    /// Until the last is taken out.
    _room: Reservation,
}

impl CommandBatch {
    /// Commands whose answers are gathered from this place on, handed in now.
    pub fn new(
        asked: Vec<KeyedCommand>,
        gathered: Arc<BatchReplySink>,
        place: usize,
        room: Reservation,
    ) -> CommandBatch {
        let (since, asked) = (Instant::now(), asked.into_iter());
        CommandBatch { back: None, asked, gathered, place, since, _room: room }
    }

    /// The place among the answers of what is taken out next.
    pub const fn place(&self) -> usize {
        self.place
    }

    /// Takes out the next command.
    #[inline]
    pub fn take(&mut self) -> Option<KeyedCommand> {
        let asked = self.back.take().or_else(|| self.asked.next())?;
        self.place = self.place.saturating_add(1);
        Some(asked)
    }

    /// Puts back what was taken out last.
    pub fn put_back(&mut self, asked: KeyedCommand) {
        self.place = self.place.saturating_sub(1);
        self.back = Some(asked);
    }

    /// The slot of commands that were taken out one after the other, by their places.
    pub fn slot(&self, places: Range<usize>) -> ReplySlot {
        ReplySlot::gathered(Arc::clone(&self.gathered), places)
    }

    /// The slot of all that are still to be taken out, if there are any.
    pub fn rest(&self) -> Option<ReplySlot> {
        let left = self.asked.len().saturating_add(usize::from(self.back.is_some()));
        (left > 0).then(|| self.slot(self.place..self.place.saturating_add(left)))
    }
}

/// What is made of a trial's effects, on the matcher's thread and with the read model as it is
/// before them; everybody waits for it. `None` is for what could meet too many orders.
pub type TrialCallback = Box<dyn FnOnce(&ReadModel, Result<Option<&Applied<'_>>, Broken>) + Send>;

/// What is made in the same way of what several commands would come to, each with its effects.
pub type BatchTrialCallback =
    Box<dyn FnOnce(&ReadModel, Result<Option<&[Applied<'_>]>, Broken>) + Send>;

/// What is only tried: it is not journaled and changes nothing.
pub enum Trial {
    /// One command.
    One {
        /// What is tried.
        tried: Tried,
        /// The key under which it would be asked.
        once: Option<Box<IdempotencyKey>>,
        /// What to make of it.
        told: TrialCallback,
    },
    /// Several of one user's, each after those before it.
    Several {
        /// Whose.
        user: UserNo,
        /// What is tried.
        steps: Vec<KeyedStep>,
        /// What to make of it.
        told: BatchTrialCallback,
    },
}

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trial::One { tried, .. } => f.debug_tuple("One").field(tried).finish(),
            Trial::Several { steps, .. } => f.debug_tuple("Several").field(steps).finish(),
        }
    }
}

/// What the intake takes.
#[derive(Debug)]
pub enum Intake {
    /// A command.
    Command(Pending),
    /// Commands of one caller's.
    Several(CommandBatch),
    /// Finish what was taken before this, then end.
    Stop,
}

/// What a block's records did: the effects of all of them, one after the other.
#[derive(Debug)]
pub struct AppliedBlock {
    effects: Vec<Effect>,
    records: AppliedRecords,
}

/// Marks, while a block is applied, which effects are which record's.
#[derive(Debug, Default)]
pub struct AppliedRecords(Vec<AppliedRecord>);

#[derive(Debug, Clone, Copy)]
struct AppliedRecord {
    sequence: Sequence,
    time: TimeMs,
    /// Where its effects begin and end in the block's.
    from: usize,
    to: usize,
}

impl AppliedRecords {
    /// Nothing marked yet, with room for so many records.
    pub fn expecting(records: usize) -> AppliedRecords {
        AppliedRecords(Vec::with_capacity(records))
    }
}

impl Listener for AppliedRecords {
    type Stop = Infallible;

    fn after(
        &mut self,
        _: &Exchange,
        record: &Record,
        effects: &[Effect],
    ) -> Result<(), Infallible> {
        let from = self.0.last().map_or(0, |record| record.to);
        let to = from.saturating_add(effects.len());
        self.0.push(AppliedRecord { sequence: record.sequence, time: record.time, from, to });
        Ok(())
    }
}

impl AppliedBlock {
    /// A block's effects, all of them, and the records that were marked meanwhile.
    pub const fn new(effects: Vec<Effect>, records: AppliedRecords) -> AppliedBlock {
        AppliedBlock { effects, records }
    }

    /// The block's records with their effects, in order.
    pub fn records(&self) -> impl ExactSizeIterator<Item = Applied<'_>> {
        self.records.0.iter().map(|record| self.applied(record))
    }

    /// The record at a place, with its effects.
    pub fn record(&self, place: usize) -> Option<Applied<'_>> {
        self.records.0.get(place).map(|record| self.applied(record))
    }

    fn applied(&self, record: &AppliedRecord) -> Applied<'_> {
        Applied {
            sequence: record.sequence,
            time: record.time,
            effects: self.effects.get(record.from..record.to).unwrap_or_default(),
        }
    }
}

/// What came of a command: its place in the journal and its effects.
#[derive(Debug, Clone)]
pub struct Answer {
    block: Arc<AppliedBlock>,
    record: AppliedRecord,
}

impl Answer {
    /// The answer to a block's record at a place.
    fn of(block: Arc<AppliedBlock>, place: usize) -> Option<Answer> {
        let record = *block.records.0.get(place)?;
        Some(Answer { block, record })
    }

    /// The record's position in the journal.
    pub const fn sequence(&self) -> Sequence {
        self.record.sequence
    }

    /// The record's time.
    pub const fn time(&self) -> TimeMs {
        self.record.time
    }

    /// What happened, in order.
    pub fn effects(&self) -> &[Effect] {
        self.block.applied(&self.record).effects
    }
}

/// Why a command has no answer from the exchange. Unless it says otherwise, nothing was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Too many commands are waiting; trying again is right.
    #[error("too many commands are waiting")]
    Overloaded,
    /// The engine is ending in good order; trying again after the restart is right.
    #[error("the exchange is stopping")]
    Stopping,
    /// The command is larger than a journal record can be.
    #[error("the command is too large to be journaled")]
    TooLarge,
    /// More orders could be met than a trial may meet.
    #[error("this could meet more orders than a trial may")]
    TrialTooLarge,
    /// The intake is closed until a restart.
    #[error("{0}")]
    JournalUnavailable(HaltReason),
    /// The command may be in the journal, and then takes effect at the next start: whether it is
    /// shows then, and not before.
    #[error("{0}; whether the command was accepted shows after that")]
    OutcomeUnknown(HaltReason),
}

/// Callers for the tests of whoever answers them.
#[cfg(test)]
pub(super) mod fixture {
    use std::pin::Pin;
    use std::task::{Context, Wake, Waker};

    use super::*;

    /// Does something at the moment in which somebody is answered.
    struct OnAnswer<F>(F);

    impl<F: Fn() + Send + Sync> Wake for OnAnswer<F> {
        fn wake(self: Arc<Self>) {
            (self.0)();
        }
    }

    /// A slot whose caller does this when he is answered, and his answer.
    pub fn slot_then(
        does: impl Fn() + Send + Sync + 'static,
    ) -> (ReplySlot, oneshot::Receiver<Result<Answer, Refusal>>) {
        let (slot, mut answer) = ReplySlot::new(None);
        let waker = Waker::from(Arc::new(OnAnswer(does)));
        assert!(Pin::new(&mut answer).poll(&mut Context::from_waker(&waker)).is_pending());
        (slot, answer)
    }
}
