//! A command on its way from its caller through the engine, and the answer on its way back.

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
use exchange::Exchange;
use exchange::command::{KeyedCommand, Record};
use exchange::effect::{Applied, Effect};
use exchange::invariant::Broken;
use exchange::trial::KeyedStep;
use exchange::units::{Sequence, TimeMs};
use journal::replay::Listener;
use views::ReadModel;

/// Reads the read model as a record left it, before the next one is folded. It delays the projector
/// and all readers, so it must only copy what the answer needs.
pub type Look = Box<dyn FnOnce(&ReadModel, &Applied<'_>) + Send>;

/// Where an answer goes, and an optional look at the read model on the way; or where the answers to
/// a run of consecutive commands go.
pub struct ReplySlot {
    to: To,
    look: Option<Look>,
}

/// Who waits for the answer.
enum To {
    /// The caller of one command, and the mailbox of its thread, if it has one.
    One(oneshot::Sender<Result<Answer, Refusal>>, Option<Arc<Mailbox>>),
    /// The caller of a batch, for the commands at these positions of it.
    Batch(Arc<BatchReplySink>, Range<usize>),
}

/// The outcome of a run of consecutive commands.
#[derive(Debug, Clone)]
pub enum CommandOutcome {
    /// Applied as the block's records from this index on.
    Applied(Arc<AppliedBlock>, usize),
    /// They were refused.
    Refused(Refusal),
}

/// An answer, addressed to its caller.
#[derive(Debug)]
pub enum Delivery {
    /// One answer.
    One {
        /// The caller.
        to: oneshot::Sender<Result<Answer, Refusal>>,
        /// The answer.
        answer: Result<Answer, Refusal>,
    },
    /// Several answers.
    All {
        /// The caller.
        to: oneshot::Sender<Vec<BatchPart>>,
        /// The outcomes.
        parts: Vec<BatchPart>,
    },
}

impl Delivery {
    /// Hands it over. The caller may be gone.
    pub fn deliver(self) {
        match self {
            Delivery::One { to, answer } => drop(to.send(answer)),
            Delivery::All { to, parts } => drop(to.send(parts)),
        }
    }
}

impl ReplySlot {
    /// A slot, and the receiver at which its answer arrives.
    pub fn new(look: Option<Look>) -> (ReplySlot, oneshot::Receiver<Result<Answer, Refusal>>) {
        let (answer, arrives) = oneshot::channel();
        (ReplySlot { to: To::One(answer, Mailbox::current()), look }, arrives)
    }

    /// A slot for the answers at these positions of a batch.
    pub const fn in_batch(sink: Arc<BatchReplySink>, positions: Range<usize>) -> ReplySlot {
        ReplySlot { to: To::Batch(sink, positions), look: None }
    }

    /// Calls the look, if there is one; just after the record was folded.
    pub fn look(&mut self, read_model: &ReadModel, applied: &Applied<'_>) {
        if let Some(look) = self.look.take() {
            look(read_model, applied);
        }
    }

    /// The mailbox of the submitting thread, if it has one.
    pub fn mailbox(&self) -> Option<&Arc<Mailbox>> {
        match &self.to {
            To::One(_, mailbox) => mailbox.as_ref(),
            To::Batch(sink, _) => sink.mailbox(),
        }
    }

    /// Makes the delivery; `None` while a batch waits for other answers.
    pub fn delivery(self, outcome: CommandOutcome) -> Option<Delivery> {
        match self.to {
            To::One(to, _) => {
                let answer = match outcome {
                    CommandOutcome::Applied(block, position) => Ok(Answer::of(block, position)?),
                    CommandOutcome::Refused(refusal) => Err(refusal),
                };
                Some(Delivery::One { to, answer })
            }
            To::Batch(sink, positions) => sink.put(BatchPart { positions, outcome }),
        }
    }

    /// Delivers at once.
    pub fn send(self, outcome: CommandOutcome) {
        if let Some(delivery) = self.delivery(outcome) {
            delivery.deliver();
        }
    }
}

impl fmt::Debug for ReplySlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplySlot").field("looks", &self.look.is_some()).finish_non_exhaustive()
    }
}

/// A command and its reply slot. The sequencer separates them: the slot never enters a block.
#[derive(Debug)]
pub struct Pending {
    /// The command.
    pub asked: KeyedCommand,
    /// Where the answer goes.
    pub reply: ReplySlot,
    /// When it was submitted; for metrics only.
    pub since: Instant,
}

/// Commands that one caller submits together, in their order.
#[derive(Debug)]
pub struct CommandBatch {
    /// The command taken last and put back.
    put_back: Option<KeyedCommand>,
    asked: std::vec::IntoIter<KeyedCommand>,
    sink: Arc<BatchReplySink>,
    /// The next command's position in the batch.
    position: usize,
    /// When they were submitted; for metrics only.
    pub since: Instant,
    /// Held until the last command is taken out.
    _reservation: Reservation,
}

impl CommandBatch {
    /// Commands submitted now, whose answers take the positions from `position` on.
    pub fn new(
        asked: Vec<KeyedCommand>,
        sink: Arc<BatchReplySink>,
        position: usize,
        reservation: Reservation,
    ) -> CommandBatch {
        let (since, asked) = (Instant::now(), asked.into_iter());
        CommandBatch { put_back: None, asked, sink, position, since, _reservation: reservation }
    }

    /// The position of the next command.
    pub const fn position(&self) -> usize {
        self.position
    }

    /// Takes the next command.
    #[inline]
    pub fn take(&mut self) -> Option<KeyedCommand> {
        let asked = self.put_back.take().or_else(|| self.asked.next())?;
        self.position = self.position.saturating_add(1);
        Some(asked)
    }

    /// Puts back the command taken last.
    pub fn put_back(&mut self, asked: KeyedCommand) {
        self.position = self.position.saturating_sub(1);
        self.put_back = Some(asked);
    }

    /// The slot for a run of commands, by their positions.
    pub fn slot(&self, positions: Range<usize>) -> ReplySlot {
        ReplySlot::in_batch(Arc::clone(&self.sink), positions)
    }

    /// The slot for all commands that are left, if there are any.
    pub fn rest(&self) -> Option<ReplySlot> {
        let left = self.asked.len().saturating_add(usize::from(self.put_back.is_some()));
        (left > 0).then(|| self.slot(self.position..self.position.saturating_add(left)))
    }
}

/// Makes the result of a trial from each step's effects, on the matcher's thread and with the read
/// model as it is before them; it delays every command behind it. `None`: too many orders are met.
pub type TrialCallback = Box<dyn FnOnce(&ReadModel, Result<Option<&[Applied<'_>]>, Broken>) + Send>;

/// A trial: not journaled, and changes nothing.
pub struct Trial {
    /// The commands, each applied after those before it.
    pub steps: Vec<KeyedStep>,
    /// Makes the result.
    pub callback: TrialCallback,
}

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Trial").field(&self.steps).finish()
    }
}

/// An element of the intake queue.
#[derive(Debug)]
pub enum Intake {
    /// A command.
    Command(Pending),
    /// A batch of one caller.
    Several(CommandBatch),
    /// Finish what was queued before this, then end.
    Stop,
}

/// The effects of a block's records, in one vector.
#[derive(Debug)]
pub struct AppliedBlock {
    effects: Vec<Effect>,
    records: AppliedRecords,
}

/// Records, while a block is applied, which effects belong to which record.
#[derive(Debug, Default)]
pub struct AppliedRecords(Vec<AppliedRecord>);

#[derive(Debug, Clone, Copy)]
struct AppliedRecord {
    sequence: Sequence,
    time: TimeMs,
    /// Range of its effects in the block's.
    from: usize,
    to: usize,
}

impl AppliedRecords {
    /// None yet, with capacity for `records`.
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
    /// A block's effects, and the records they belong to.
    pub const fn new(effects: Vec<Effect>, records: AppliedRecords) -> AppliedBlock {
        AppliedBlock { effects, records }
    }

    /// The block's records with their effects, in order.
    pub fn records(&self) -> impl ExactSizeIterator<Item = Applied<'_>> {
        self.records.0.iter().map(|record| self.applied(record))
    }

    /// The record at an index, with its effects.
    pub fn record(&self, position: usize) -> Option<Applied<'_>> {
        self.records.0.get(position).map(|record| self.applied(record))
    }

    fn applied(&self, record: &AppliedRecord) -> Applied<'_> {
        Applied {
            sequence: record.sequence,
            time: record.time,
            effects: self.effects.get(record.from..record.to).unwrap_or_default(),
        }
    }
}

/// The answer to a command that was applied: its record's sequence number, time and effects.
#[derive(Debug, Clone)]
pub struct Answer {
    block: Arc<AppliedBlock>,
    record: AppliedRecord,
}

impl Answer {
    /// The answer for a block's record at an index.
    fn of(block: Arc<AppliedBlock>, position: usize) -> Option<Answer> {
        let record = *block.records.0.get(position)?;
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
    /// Too many commands are waiting; the client should retry.
    #[error("too many commands are waiting")]
    Overloaded,
    /// The engine is stopping; the client should retry after the restart.
    #[error("the exchange is stopping")]
    Stopping,
    /// The command is larger than a journal record can be.
    #[error("the command is too large to be journaled")]
    TooLarge,
    /// The trial could match more orders than a trial may.
    #[error("this could meet more orders than a trial may")]
    TrialTooLarge,
    /// The intake is closed until a restart.
    #[error("{0}")]
    JournalUnavailable(HaltReason),
    /// The command may be in the journal and takes effect at the next start if it is; it is unknown
    /// until then.
    #[error("{0}; whether the command was accepted shows after that")]
    OutcomeUnknown(HaltReason),
}

/// Callers for tests.
#[cfg(test)]
pub(super) mod fixture {
    use std::pin::Pin;
    use std::task::{Context, Wake, Waker};

    use super::*;

    /// Runs a closure when a caller is woken by its answer.
    struct OnAnswer<F>(F);

    impl<F: Fn() + Send + Sync> Wake for OnAnswer<F> {
        fn wake(self: Arc<Self>) {
            (self.0)();
        }
    }

    /// A slot whose caller runs `on_answer` when it is answered, and the receiver of the answer.
    pub fn slot_then(
        on_answer: impl Fn() + Send + Sync + 'static,
    ) -> (ReplySlot, oneshot::Receiver<Result<Answer, Refusal>>) {
        let (slot, mut answer) = ReplySlot::new(None);
        let waker = Waker::from(Arc::new(OnAnswer(on_answer)));
        assert!(Pin::new(&mut answer).poll(&mut Context::from_waker(&waker)).is_pending());
        (slot, answer)
    }
}
