//! The matcher: applies every durable block in order and passes the effects to the projector.
//!
//! Blocks come from the sequencer, after the engine has caught up with the journal. Between blocks
//! it answers trials, since only this thread has the exchange's current state.

use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::{Receiver, TryRecvError, select};
use parking_lot::RwLockReadGuard;

use super::clock::Clock;
use super::halt::{Halt, HaltReason};
use super::matcher_status::{MatcherStatus, Rest};
use super::meter::Meter;
use super::pending::{AppliedBlock, AppliedRecords, Refusal, Slot};
use super::projector::Projector;
use super::sequencer::{Sequenced, refuse};
use exchange::Exchange;
use exchange::command::{Command, Record};
use exchange::effect::Effect;
use exchange::reject::Reject;
use exchange::units::TimeMs;
use journal::Durable;
use journal::block::Block;
use journal::replay::{Replayer, Stop};
use views::ReadModel;

/// Blocks after which a trial no longer waits for what is due: where something comes due all the
/// time, it would hold up every trial behind it.
const TRIAL_BLOCKS_MAX: u32 = 8;

/// Usual number of effects per record, rounded up: the capacity allocated per block.
const EFFECTS_USUAL: usize = 4;

/// A trial: asks the exchange what would be, and changes nothing. It runs between two blocks and
/// delays every command behind it.
pub type Trial = Box<dyn FnOnce(&Trying<'_>) + Send>;

/// What a trial sees.
#[derive(Debug)]
pub struct Trying<'a> {
    /// The state after the last record.
    pub exchange: &'a Exchange,
    /// The time that the next record would have.
    pub time: TimeMs,
    projector: &'a Projector,
}

impl Trying<'_> {
    /// The read model as of the same record.
    pub fn read(&self) -> RwLockReadGuard<'_, ReadModel> {
        self.projector.read_model.read()
    }
}

/// The matcher's state.
#[derive(Debug)]
pub struct Matcher {
    /// The only live exchange, and the hash of its results.
    pub replayer: Replayer,
    /// Source of durable blocks.
    pub blocks: Receiver<Sequenced>,
    /// Source of trials.
    pub trials: Receiver<Trial>,
    /// A trial that waits until due work is journaled, as the command itself would.
    pub held: HeldTrial,
    /// Whether the last clock command left something due.
    pub slicing: bool,
    /// Folds and answers.
    pub projector: Projector,
    /// Where to post results and what is due next.
    pub status: Arc<MatcherStatus>,
    /// Halts the engine.
    pub halt: Arc<Halt>,
    /// Counts the work.
    pub meter: Arc<Meter>,
    /// Gives the time that a trial's command would get.
    pub clock: Arc<Clock>,
}

/// A trial that waits, and how many live blocks were applied meanwhile.
#[derive(Default)]
pub struct HeldTrial {
    trial: Option<Trial>,
    blocks: u32,
}

impl std::fmt::Debug for HeldTrial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeldTrial").field("blocks", &self.blocks).finish_non_exhaustive()
    }
}

impl Matcher {
    /// Applies blocks until the channel closes or a fault halts the engine. Returns the exchange.
    pub fn run(mut self) -> Replayer {
        let none = crossbeam_channel::never();
        loop {
            let trials = if self.held.trial.is_none() { &self.trials } else { &none };
            // `select!` picks at random among ready channels, so neither starves.
            select! {
                recv(self.blocks) -> sequenced => {
                    let Ok(sequenced) = sequenced else { break };
                    if let Err(reason) = self.apply(sequenced) {
                        self.halt.halt(reason);
                        break;
                    }
                }
                recv(trials) -> trial => self.held.trial = trial.ok(),
            }
            self.try_held();
        }
        self.replayer
    }

    /// Applies a block that waits, for who steps every station; false if there is none, or the
    /// engine has halted.
    pub fn step(&mut self) -> bool {
        if self.held.trial.is_none() {
            self.held.trial = self.trials.try_recv().ok();
        }
        let applied = match self.blocks.try_recv() {
            Ok(sequenced) => self.apply(sequenced).map_err(|reason| self.halt.halt(reason)),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => Err(()),
        };
        self.try_held();
        applied.is_ok()
    }

    /// Answers the waiting trial, unless something is due: the sequencer journals that before any
    /// command, and soon even without one. After some blocks it is answered all the same, and so
    /// are those that waited behind it: they judge due orders as a record does whose block has no
    /// clock command before it.
    pub(super) fn try_held(&mut self) {
        let exchange = self.replayer.exchange();
        let time = self.clock.now().max(exchange.time());
        // What is done in slices may take long.
        let due = !self.slicing && exchange.next_due().is_some_and(|due| due <= time);
        if due && self.held.blocks < TRIAL_BLOCKS_MAX {
            return;
        }
        if !due || self.trials.is_empty() {
            self.held.blocks = 0;
        }
        if let Some(trial) = self.held.trial.take() {
            trial(&Trying { exchange, time, projector: &self.projector });
        }
    }

    /// Applies a block, has it folded and answered.
    ///
    /// # Errors
    /// Why the engine halts; that has been done before any caller was told.
    pub(super) fn apply(&mut self, sequenced: Sequenced) -> Result<(), HaltReason> {
        let (began, began_at) = (Instant::now(), self.clock.monotonic());
        let Sequenced { block, slots } = sequenced;
        if self.held.trial.is_some() {
            self.held.blocks = self.held.blocks.saturating_add(1);
        }
        self.meter.matcher.post_blocks_waiting(self.blocks.len());
        let applied = match apply(&mut self.replayer, &block) {
            Ok(applied) => applied,
            Err(reason) => return Err(self.fail(reason, slots)),
        };
        self.count(&block, &applied);
        let exchange = self.replayer.exchange();
        let is_clock = |record: &Record| matches!(record.command, Command::AdvanceClock);
        let clocked = block.records().iter().any(is_clock);
        if clocked {
            self.slicing = exchange.next_due().is_some_and(|due| due <= exchange.time());
        }
        let rest = if self.slicing { Rest::NotBegun } else { Rest::Over };
        let (results, next_due) = (self.replayer.known(), exchange.next_due());
        // By the time a caller is answered, no reader may be ahead of these figures, and the
        // sequencer must know what is due before the caller's next command.
        self.status.post_applied(results, next_due, exchange.names(), clocked.then_some(rest));
        self.meter.matcher.post_applied(results.through);
        if let Err((reason, unanswered)) =
            self.projector.project(&applied, (block.records(), results), slots)
        {
            return Err(self.fail(reason, unanswered));
        }
        if self.slicing && clocked {
            // As long as it took.
            let now = self.clock.monotonic();
            self.status.post_rest(now.saturating_add(now.saturating_sub(began_at)));
        }
        self.meter.matcher.apply.count_since(began);
        Ok(())
    }

    /// Halts, and only then tells the callers.
    fn fail(&self, reason: HaltReason, unanswered: Vec<(usize, Slot)>) -> HaltReason {
        self.halt.halt(reason);
        refuse(unanswered, Refusal::OutcomeUnknown(reason));
        reason
    }

    /// Counts the commands of a new block.
    fn count(&self, block: &Block, applied: &AppliedBlock) {
        for (record, applied) in block.records().iter().zip(applied.records()) {
            self.meter.matcher.count(&record.command, applied.effects);
            if let [Effect::Refused(Reject::TooManyNames)] = applied.effects {
                self.post_name_free(record);
            }
        }
    }

    /// Posts when whoever sent a record that was refused for its names has room again.
    fn post_name_free(&self, record: &Record) {
        let caller = record.once.as_ref().map(|once| once.caller);
        let user = caller.or(record.command.placement().map(|terms| terms.user));
        if let Some(user) = user
            && let Some(at) = self.replayer.exchange().name_free_at(user)
        {
            self.status.post_name_free(user, at);
        }
    }
}

/// Applies a block.
///
/// # Errors
/// Why the engine must halt.
pub(super) fn apply(
    replayer: &mut Replayer,
    block: &Durable<Block>,
) -> Result<Arc<AppliedBlock>, HaltReason> {
    let count = block.records().len();
    let mut effects = Vec::with_capacity(count.saturating_mul(EFFECTS_USUAL));
    let mut records = AppliedRecords::expecting(count);
    let fault = match replayer.apply(block, &mut effects, &mut records) {
        Ok(()) => return Ok(Arc::new(AppliedBlock::new(effects, records))),
        Err(Stop::Listener(never)) => match never {},
        Err(Stop::Fault(fault)) => fault,
    };
    tracing::error!(block = block.first().get(), %fault, "block not applied");
    Err(fault.into())
}

#[cfg(test)]
#[path = "../../tests/unit/engine/matcher.rs"]
mod tests;
