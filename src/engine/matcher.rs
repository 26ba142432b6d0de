//! The matcher: applies every durable block in order and passes the effects to the projector.
//!
//! Blocks come from the journal at a start and from the sequencer afterwards. Between blocks it
//! answers trials, since only this thread has the exchange's current state.

use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::{Receiver, select};

use super::TRIAL_MEETS_MAX;
use super::clock::Clock;
use super::halt::{Halt, HaltReason};
use super::matcher_status::MatcherStatus;
use super::meter::Meter;
use super::pending::{AppliedBlock, AppliedRecords, Refusal, Trial};
use super::projector::{NotFolded, Projector};
use super::sequencer::{Sequenced, refuse};
use exchange::command::{Command, Record};
use exchange::effect::{Applied, Effect};
use exchange::reject::Reject;
use exchange::results::{Results, ResultsHasher};
use exchange::units::{Sequence, TimeMs};
use journal::Durable;
use journal::block::Block;
use journal::replay::{Replayer, Stop};

/// Blocks after which a trial no longer waits for what is due: where something comes due all the
/// time, it would hold up every trial behind it.
const TRIAL_BLOCKS_MAX: u32 = 8;

/// Usual number of effects per record, rounded up: the capacity allocated per block.
const EFFECTS_USUAL: usize = 4;

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
    pub held: Option<Trial>,
    /// Live blocks applied while trials waited for due work.
    pub held_blocks: u32,
    /// Whether the last clock command left something due.
    pub slicing: bool,
    /// Folds and answers.
    pub projector: Projector,
    /// The last record to be replayed at the start.
    pub replayed: Sequence,
    /// Where to post results and what is due next.
    pub status: Arc<MatcherStatus>,
    /// Halts the engine.
    pub halt: Arc<Halt>,
    /// Counts the work.
    pub meter: Arc<Meter>,
    /// Gives the time that a trial's command would get.
    pub clock: Arc<Clock>,
}

impl Matcher {
    /// Applies blocks until the channel closes or a fault halts the engine. Returns the exchange.
    pub fn run(mut self) -> Replayer {
        if !self.catch_up() {
            return self.replayer;
        }
        let none = crossbeam_channel::never();
        loop {
            let trials = if self.held.is_none() { &self.trials } else { &none };
            // `select!` picks at random among ready channels, so neither starves.
            select! {
                recv(self.blocks) -> sequenced => {
                    let Ok(sequenced) = sequenced else { return self.replayer };
                    if !self.apply(sequenced) {
                        return self.replayer;
                    }
                }
                recv(trials) -> trial => self.held = trial.ok(),
            }
            self.try_held();
        }
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
        if due && self.held_blocks < TRIAL_BLOCKS_MAX {
            return;
        }
        if !due || self.trials.is_empty() {
            self.held_blocks = 0;
        }
        let first = exchange.sequence().next();
        let view = &self.projector.read_model;
        let Some(Trial { steps, callback }) = self.held.take() else { return };
        let all = exchange.trial(&steps, time, TRIAL_MEETS_MAX);
        let all = all.as_ref().map_err(|broken| *broken);
        let came = all.map(|all| all.as_deref().map(|all| applied(all, first, time)));
        let came = came.as_ref().map(Option::as_deref).map_err(|broken| *broken);
        callback(&view.read(), came);
    }

    /// Applies a block, has it folded and answered; false if the engine must end.
    pub(super) fn apply(&mut self, Sequenced { block, replies }: Sequenced) -> bool {
        let began = Instant::now();
        // Only replayed blocks have no reply slots, and those were counted when they were new.
        let live = !replies.is_empty();
        if live && self.held.is_some() {
            self.held_blocks = self.held_blocks.saturating_add(1);
        }
        let meter = &self.meter.matcher;
        meter.post_blocks_waiting(self.blocks.len());
        let (applied, results) = match apply(&mut self.replayer, &block, true) {
            Ok(applied) => applied,
            Err(reason) => {
                self.halt.halt(reason);
                refuse(replies.into_iter().flatten(), Refusal::OutcomeUnknown(reason));
                return false;
            }
        };
        if live {
            for (record, applied) in block.records().iter().zip(applied.records()) {
                meter.count(&record.command, applied.effects);
                if let [Effect::Refused(Reject::TooManyNames)] = applied.effects {
                    self.post_name_free(record);
                }
            }
        }
        // Before folding: by the time a caller is answered, no reader may be ahead of this figure,
        // and the sequencer must know what is due before the caller's next command.
        let exchange = self.replayer.exchange();
        let is_clock = |record: &Record| matches!(record.command, Command::AdvanceClock);
        if block.records().iter().any(is_clock) {
            self.slicing = exchange.next_due().is_some_and(|due| due <= exchange.time());
            self.status.post_left(self.slicing);
        }
        self.status.post_came(exchange.next_due(), results);
        self.status.post_names(exchange.names());
        meter.post_applied(exchange.sequence());
        if let Err(NotFolded { reason, unanswered }) = self.projector.project(&applied, replies) {
            self.halt.halt(reason);
            refuse(unanswered, Refusal::OutcomeUnknown(reason));
            return false;
        }
        if self.slicing && block.records().iter().any(is_clock) {
            self.status.post_slice(began.elapsed());
        }
        self.status.post_folded(results.through);
        if live {
            meter.apply.count_since(began);
        }
        true
    }
}

impl Matcher {
    /// Posts when whoever sent a record that was refused for its names has room again.
    fn post_name_free(&self, record: &Record) {
        let caller = record.once.as_ref().map(|once| once.caller);
        let user = caller.or(match &record.command {
            Command::PlaceOrder(terms) => Some(terms.user),
            _ => None,
        });
        if let Some(user) = user
            && let Some(at) = self.replayer.exchange().name_free_at(user)
        {
            self.status.post_name_free(user, at);
        }
    }
}

/// The effects of the steps, with the sequence numbers that their records would have.
fn applied(all: &[Vec<Effect>], first: Sequence, time: TimeMs) -> Vec<Applied<'_>> {
    let sequences = std::iter::successors(Some(first), |sequence| Some(sequence.next()));
    let all = sequences.zip(all).map(|(sequence, effects)| Applied { sequence, time, effects });
    all.collect()
}

/// Applies a block: its effects, and the latest results known, all of them if `settles`.
///
/// # Errors
/// Why the engine must halt.
pub(super) fn apply<S: ResultsHasher>(
    replayer: &mut Replayer<S>,
    block: &Durable<Block>,
    settles: bool,
) -> Result<(Arc<AppliedBlock>, Results), HaltReason> {
    let count = block.records().len();
    let mut effects = Vec::with_capacity(count.saturating_mul(EFFECTS_USUAL));
    let mut records = AppliedRecords::expecting(count);
    let results = match replayer.apply(block, &mut effects, &mut records) {
        Ok(()) if !settles => Ok(replayer.known()),
        Ok(()) => replayer.settle(),
        Err(Stop::Listener(never)) => match never {},
        Err(Stop::Fault(fault)) => Err(fault),
    };
    let results = results.map_err(|fault| {
        tracing::error!(block = %block.first(), %fault, "block not applied");
        HaltReason::from(fault)
    })?;
    Ok((Arc::new(AppliedBlock::new(effects, records)), results))
}

#[cfg(test)]
#[path = "../../tests/unit/engine/matcher.rs"]
mod tests;
