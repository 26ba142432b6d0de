//! Commands on their way from their caller through the engine, and the outcome on its way back.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use crossbeam_channel::Sender;

use super::halt::HaltReason;
use exchange::Exchange;
use exchange::command::{KeyedCommand, Record};
use exchange::effect::{Applied, Effect};
use exchange::units::{Sequence, TimeMs};
use journal::replay::Listener;
use views::ReadModel;

/// Whoever submits commands, and hears of each of them once.
pub trait Caller: Send + Sync {
    /// The read model as the record of the command at this position left it, before the next is
    /// folded. It delays the projector and all readers, so it must only copy what the answer needs.
    fn look(&self, _position: usize, _: &ReadModel, _: &Applied<'_>) {}

    /// The outcome of the commands at these positions of those submitted. Returns whom to wake for
    /// it: that happens once other callers have heard, too, so that a thread that serves many of
    /// them is woken once.
    fn hear(&self, positions: Range<usize>, outcome: Outcome) -> Option<Waker>;
}

/// What became of a run of consecutive commands.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// They were applied, as the block's records from this index on.
    Applied(Arc<AppliedBlock>, usize),
    /// They were refused.
    Refused(Refusal),
    /// The engine ended without an answer; its handle's `unanswered` says what that means.
    Lost,
}

/// A caller who blocks a thread of its own, for its only command.
impl Caller for Sender<Result<Answer, Refusal>> {
    fn hear(&self, _: Range<usize>, outcome: Outcome) -> Option<Waker> {
        let answer = match outcome {
            Outcome::Applied(block, index) => Answer::of(block, index).map(Ok),
            Outcome::Refused(refusal) => Some(Err(refusal)),
            Outcome::Lost => None,
        };
        if let Some(answer) = answer {
            // It may have gone away meanwhile.
            self.try_send(answer).unwrap_or_default();
        }
        None
    }
}

/// Where the outcome of a run of consecutive commands goes. One that is dropped says that they are
/// lost.
pub struct Slot {
    caller: Arc<dyn Caller>,
    /// The positions of those not heard of yet.
    positions: Range<usize>,
}

impl Slot {
    /// How many commands it is for.
    pub fn count(&self) -> usize {
        self.positions.len()
    }

    /// Shows the read model to the caller, just after the record of the `index`th of the commands
    /// was folded.
    pub fn look(&self, index: usize, view: &ReadModel, applied: &Applied<'_>) {
        self.caller.look(self.positions.start.saturating_add(index), view, applied);
    }

    /// Hands the outcome over; returns whom to wake for it.
    #[must_use]
    pub fn hand_over(mut self, outcome: Outcome) -> Option<Waker> {
        let positions = std::mem::take(&mut self.positions);
        if positions.is_empty() { None } else { self.caller.hear(positions, outcome) }
    }

    /// Refuses the commands.
    pub fn refuse(self, refusal: Refusal) {
        wake(self.hand_over(Outcome::Refused(refusal)));
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let positions = std::mem::take(&mut self.positions);
        if !positions.is_empty() {
            wake(self.caller.hear(positions, Outcome::Lost));
        }
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").field("positions", &self.positions).finish_non_exhaustive()
    }
}

/// Wakes whoever is to be woken.
pub fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Commands that one caller submits together, in their order. The sequencer takes them out: the
/// caller never enters a block.
#[derive(Debug)]
pub struct Pending {
    /// The command taken last and put back.
    put_back: Option<KeyedCommand>,
    commands: std::vec::IntoIter<KeyedCommand>,
    /// For those that are left.
    slot: Slot,
    /// When they were submitted; for metrics only.
    pub since: Instant,
}

impl Pending {
    /// Commands submitted now.
    pub fn new(commands: Vec<KeyedCommand>, caller: Arc<dyn Caller>) -> Pending {
        let slot = Slot { caller, positions: 0..commands.len() };
        let (put_back, commands, since) = (None, commands.into_iter(), Instant::now());
        Pending { put_back, commands, slot, since }
    }

    /// Takes the next command.
    #[inline]
    pub fn take(&mut self) -> Option<KeyedCommand> {
        self.put_back.take().or_else(|| self.commands.next())
    }

    /// Puts back the command taken last.
    pub fn put_back(&mut self, asked: KeyedCommand) {
        self.put_back = Some(asked);
    }

    /// The slot of the next `count` commands taken, which has none yet.
    pub fn slot(&mut self, count: usize) -> Slot {
        let first = self.slot.positions.start;
        let end = first.saturating_add(count).min(self.slot.positions.end);
        self.slot.positions.start = end;
        Slot { caller: Arc::clone(&self.slot.caller), positions: first..end }
    }

    /// How many commands have no slot yet.
    pub fn left(&self) -> usize {
        self.slot.count()
    }

    /// The slot of all that have none yet.
    pub fn rest(self) -> Slot {
        self.slot
    }
}

/// An element of the intake queue.
#[derive(Debug)]
pub enum Intake {
    /// Commands of one caller.
    Commands(Pending),
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
    type Stop = std::convert::Infallible;

    fn after(
        &mut self,
        _: &Exchange,
        record: &Record,
        effects: &[Effect],
    ) -> Result<(), Self::Stop> {
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
    pub fn record(&self, index: usize) -> Option<Applied<'_>> {
        self.records.0.get(index).map(|record| self.applied(record))
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
    pub fn of(block: Arc<AppliedBlock>, index: usize) -> Option<Answer> {
        let record = *block.records.0.get(index)?;
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
