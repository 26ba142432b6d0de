//! A command on its way, and what its caller gets back.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::oneshot;

use super::gathering::Gathered;
use super::halt::HaltReason;
use super::mailbox::Mailbox;
use crate::exchange::Exchange;
use crate::exchange::command::{Asked, Once, Record};
use crate::exchange::effect::{Applied, Effect};
use crate::exchange::invariant::Broken;
use crate::exchange::trial::Tried;
use crate::exchange::units::{Sequence, TimeMs};
use crate::journal::replay::Listener;
use crate::projection::ReadModel;

/// A look at the read model as a record has left it, before the next one is folded. Everybody waits
/// for it, so it only takes what the answer needs.
pub type Look = Box<dyn FnOnce(&ReadModel, &Applied<'_>) + Send>;

/// Where an answer goes, and what to look at on the way.
pub struct ReplySlot {
    to: To,
    look: Option<Look>,
    /// The mailbox of the thread that asked.
    home: Option<Arc<Mailbox>>,
}

/// Whoever waits.
enum To {
    /// For this answer.
    One(oneshot::Sender<Result<Answer, Refusal>>),
    /// For several, of which this is the one at a place.
    Gathered(Arc<Gathered>, usize),
}

/// What is said, and to whom.
#[derive(Debug)]
pub enum Letter {
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
        to: oneshot::Sender<Vec<Result<Answer, Refusal>>>,
        /// What came of them, in the order in which was asked.
        answers: Vec<Result<Answer, Refusal>>,
    },
}

impl Letter {
    /// Hands it over. A caller that has gone away needs no answer.
    pub fn deliver(self) {
        match self {
            Letter::One { to, answer } => drop(to.send(answer)),
            Letter::All { to, answers } => drop(to.send(answers)),
        }
    }
}

impl ReplySlot {
    /// A slot and the end at which its answer arrives.
    pub fn new(look: Option<Look>) -> (ReplySlot, oneshot::Receiver<Result<Answer, Refusal>>) {
        let (answer, arrives) = oneshot::channel();
        (ReplySlot { to: To::One(answer), look, home: Mailbox::here() }, arrives)
    }

    /// A slot for one of several answers.
    pub fn gathered(gathered: Arc<Gathered>, place: usize) -> ReplySlot {
        ReplySlot { to: To::Gathered(gathered, place), look: None, home: Mailbox::here() }
    }

    /// Has the look, if there is one, just after the record was folded.
    pub fn look(&mut self, read_model: &ReadModel, applied: &Applied<'_>) {
        if let Some(look) = self.look.take() {
            look(read_model, applied);
        }
    }

    /// The mailbox of the thread that asked, if it has one.
    pub const fn home(&self) -> Option<&Arc<Mailbox>> {
        self.home.as_ref()
    }

    /// The answer, addressed; nothing as long as its caller waits for others too.
    pub fn letter(self, answer: Result<Answer, Refusal>) -> Option<Letter> {
        match self.to {
            To::One(to) => Some(Letter::One { to, answer }),
            To::Gathered(gathered, place) => gathered.put(place, answer),
        }
    }

    /// Answers at once.
    pub fn send(self, answer: Result<Answer, Refusal>) {
        if let Some(letter) = self.letter(answer) {
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
    pub asked: Asked,
    /// Where the answer goes.
    pub reply: ReplySlot,
    /// When it was handed in: only ever told, never acted on.
    pub since: Instant,
}

/// What is made of a trial's effects, on the matcher's thread and with the read model as it is
/// before them; everybody waits for it. `None` is for what could meet too many orders.
pub type Told = Box<dyn FnOnce(&ReadModel, Option<Result<&Applied<'_>, Broken>>) + Send>;

/// A command that is only tried: it is not journaled and changes nothing.
pub struct Trial {
    /// What is tried.
    pub tried: Tried,
    /// The key under which it would be asked.
    pub once: Option<Box<Once>>,
    /// What to make of it.
    pub told: Told,
}

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trial").field("tried", &self.tried).finish_non_exhaustive()
    }
}

/// What the intake takes.
#[derive(Debug)]
pub enum Intake {
    /// A command.
    Command(Pending),
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
    pub fn records(&self) -> impl Iterator<Item = Applied<'_>> {
        self.records.0.iter().map(|record| self.applied(record))
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
    /// The answers to a block's records, in order.
    pub fn of_block(block: &Arc<AppliedBlock>) -> impl Iterator<Item = Answer> + '_ {
        let records = block.records.0.iter();
        records.map(move |record| Answer { block: Arc::clone(block), record: *record })
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
    OutOfReach,
    /// The intake is closed until a restart.
    #[error("{0}")]
    JournalUnavailable(HaltReason),
    /// The command may be in the journal, and then takes effect at the next start: whether it is
    /// shows then, and not before.
    #[error("{0}; whether the command was accepted shows after that")]
    OutcomeUnknown(HaltReason),
}
