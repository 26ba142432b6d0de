//! The engine: what happens to a command, and the handle that callers hold.
//!
//! sequencer (stamp, block, journal) -> matcher (apply) -> projector (fold, answer): one direction,
//! bounded queues. Each is a state that is stepped; [`start`](start::start) alone decides which
//! thread steps it, after it has caught up with the journal.
//!
//! Must not know: HTTP, JSON, async runtimes, what readers want.

pub mod pending;
pub mod sequencer;
pub mod heartbeats;
pub mod matcher;
pub mod matcher_status;
pub mod projector;
pub mod announcer;
mod watermark;
pub mod clock;
pub mod clock_stamp;
pub mod halt;
pub mod histogram;
pub mod meter;
pub mod start;
pub mod catch_up;
pub mod background;
pub mod watcher;
pub mod archiver;
pub mod shelf;
pub mod throttle;
pub mod snapshotter;
pub mod restore;
pub mod history;
pub mod past;
pub mod follower;
#[cfg(test)]
#[path = "../../tests/unit/engine/fixture.rs"]
mod fixture;

pub use sequencer::INTAKE_MAX;

use std::sync::{Arc, OnceLock};

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::{RwLock, RwLockReadGuard};

use exchange::command::{Command, KeyedCommand};
use exchange::ids::UserNo;
use exchange::restrictions::Guarded;
use exchange::units::{Sequence, TimeMs};
use journal::record::{self, RECORD_BYTES_MAX};
use views::ReadModel;

use announcer::Announcer;
use clock::Clock;
use follower::Followed;
use halt::{Halt, HaltReason};
use heartbeats::Heartbeats;
use matcher::{Trial, Trying};
use matcher_status::MatcherStatus;
use meter::Meter;
use past::Past;
use pending::{Answer, Caller, Intake, Outcome, Pending, Refusal, wake};
use sequencer::IntakeQueue;
use snapshotter::{SnapshotBoard, SnapshotStatus};
use watermark::PublishedWatermark;

/// Trials that may wait for the matcher; the next is refused at once. Few, because while blocks are
/// waiting the matcher answers about one of them between two blocks.
pub const TRIALS_MAX: usize = 256;

/// Most resting orders that a trial may match: it delays every command behind it, and it uses
/// nothing up, so it can be repeated at no cost.
pub const TRIAL_MEETS_MAX: usize = 1000;

/// A caller's handle on a running engine. Clones share it.
#[derive(Debug, Clone)]
pub struct Engine(Arc<EngineShared>);

/// State shared by all handles.
#[derive(Debug)]
struct EngineShared {
    intake: IntakeQueue,
    trials: Sender<Trial>,
    read_model: Arc<RwLock<ReadModel>>,
    published: Arc<PublishedWatermark>,
    announcer: Arc<OnceLock<Arc<dyn Announcer>>>,
    halt: Arc<Halt>,
    meter: Arc<Meter>,
    past: Arc<Past>,
    followed: Followed,
    snapshots: Arc<SnapshotBoard>,
    heartbeats: Arc<Heartbeats>,
    status: Arc<MatcherStatus>,
    clock: Arc<Clock>,
}

/// The answer to come of a command, for a thread that waits for it.
#[derive(Debug)]
pub struct Coming {
    answer: Receiver<Result<Answer, Refusal>>,
    halt: Arc<Halt>,
}

impl Coming {
    /// The answer, if it is there already; it comes once.
    pub fn now(&self) -> Option<Result<Answer, Refusal>> {
        self.answer.try_recv().ok()
    }

    /// Waits for it.
    ///
    /// # Errors
    /// As [`Engine::ask`].
    pub fn wait(self) -> Result<Answer, Refusal> {
        self.answer.recv().unwrap_or_else(|_| Err(self.halt.unanswered()))
    }
}

impl Engine {
    /// Submits commands together, in their order; one caller's commands keep theirs. The caller
    /// hears of each once it is journaled, applied and folded, so that every later read shows it,
    /// or of its refusal: of those that the intake has no room for at once.
    pub fn submit(&self, mut commands: Vec<KeyedCommand>, caller: Arc<dyn Caller>) {
        let all = commands.len();
        let (room, refusal) = match self.0.halt.reason() {
            Some(reason) => (0, Refusal::JournalUnavailable(reason)),
            None => (self.0.intake.reserve(all), Refusal::Overloaded),
        };
        if room < all {
            commands.truncate(room);
            wake(caller.hear(room..all, Outcome::Refused(refusal)));
        }
        if room > 0 {
            let pending = Intake::Commands(Pending::new(commands, caller));
            if let Some(pending) = self.0.intake.send(pending) {
                pending.rest().refuse(self.0.halt.not_taken());
            }
        }
    }

    /// Submits a command of a thread that waits for the answer later.
    pub fn begin(&self, command: impl Into<KeyedCommand>) -> Coming {
        let (sender, answer) = bounded(1);
        self.submit(vec![command.into()], Arc::new(sender));
        Coming { answer, halt: Arc::clone(&self.0.halt) }
    }

    /// Submits a command and waits for its answer. A reject by the exchange is an answer too.
    ///
    /// # Errors
    /// [`Refusal`], which says whether the command may have been accepted.
    pub fn ask(&self, command: impl Into<KeyedCommand>) -> Result<Answer, Refusal> {
        self.begin(command).wait()
    }

    /// What it means that a command which was taken in has no answer.
    pub fn unanswered(&self) -> Refusal {
        self.0.halt.unanswered()
    }

    /// What it means that a trial has no answer: it has no effect in any case.
    pub fn untried(&self) -> Refusal {
        self.0.halt.not_taken()
    }

    /// Has a trial see what the next command would: the state, the read model, whose watermark is
    /// the last record that the trial takes into account, and the time. One that is dropped is not
    /// answered: [`Engine::untried`].
    ///
    /// # Errors
    /// [`Refusal`] when it was not taken in.
    pub fn try_out(&self, trial: impl FnOnce(&Trying<'_>) + Send + 'static) -> Result<(), Refusal> {
        if let Some(reason) = self.0.halt.reason() {
            return Err(Refusal::JournalUnavailable(reason));
        }
        if self.0.trials.len() >= TRIALS_MAX {
            return Err(Refusal::Overloaded);
        }
        self.0.trials.send(Box::new(trial)).map_err(|_| self.untried())
    }

    /// Locks the read model for reading. Hold it only briefly: the projector waits for readers.
    pub fn read(&self) -> RwLockReadGuard<'_, ReadModel> {
        self.0.read_model.read()
    }

    /// The last record that every read shows. Takes no lock.
    pub fn watermark(&self) -> Sequence {
        self.0.published.load().0
    }

    /// The watermark, and the last record that added or revoked an API key: what a reader knew of
    /// keys at that record or later still holds at the watermark.
    pub fn watermark_and_keys(&self) -> (Sequence, Sequence) {
        self.0.published.load()
    }

    /// Has all records from now on announced. Whoever wants to miss nothing reads after this. False
    /// if there is an announcer already: there can be one.
    pub fn announce(&self, announcer: Arc<dyn Announcer>) -> bool {
        self.0.announcer.set(announcer).is_ok()
    }

    /// How many commands wait for the sequencer.
    pub fn intake_waiting(&self) -> usize {
        self.0.intake.waiting()
    }

    /// The metrics of the engine's stages.
    pub fn meter(&self) -> &Arc<Meter> {
        &self.0.meter
    }

    /// The time by the venue's clock: a record that is stamped later never has an earlier one.
    pub fn now(&self) -> TimeMs {
        self.0.clock.now()
    }

    /// Renews a heartbeat without a record, if what the reader's view shows of it allows
    /// that; returns when it runs out. The sequencer journals it in time.
    pub fn renew_heartbeat(
        &self,
        whose: Guarded,
        timeout_seconds: u32,
        shown: TimeMs,
    ) -> Option<TimeMs> {
        if self.0.halt.reason().is_some() {
            return None;
        }
        self.0.heartbeats.renew(whose, timeout_seconds, shown, || self.now())
    }

    /// When a heartbeat runs out by what was answered, which can be later than the read
    /// model shows.
    pub fn heartbeat_promised(&self, whose: Guarded) -> Option<TimeMs> {
        self.0.heartbeats.promised(whose)
    }

    /// How many client order ids and idempotency keys are remembered.
    pub fn names(&self) -> u64 {
        self.0.status.names()
    }

    /// When a user who was refused a name has room for one again.
    pub fn name_free_at(&self, user: UserNo) -> Option<TimeMs> {
        self.0.status.name_free_at(user)
    }

    /// Earlier states and records, from the journal.
    pub fn past(&self) -> &Arc<Past> {
        &self.0.past
    }

    /// The journal, to be followed from any record on.
    pub fn followed(&self) -> &Followed {
        &self.0.followed
    }

    /// The state of snapshotting.
    pub fn snapshots(&self) -> SnapshotStatus {
        self.0.snapshots.read()
    }

    /// Why the intake is closed until a restart, if it is.
    pub fn halted(&self) -> Option<HaltReason> {
        self.0.halt.reason()
    }
}

/// What a command asks for, in bytes: equal for equal commands, in this version and every later
/// one. Empty if no record can hold it.
pub fn meaning(command: &Command) -> Vec<u8> {
    let mut bytes = Vec::new();
    match record::encode(command, (None, None), TimeMs::default(), &mut bytes, RECORD_BYTES_MAX) {
        Ok(()) => bytes,
        Err(_) => Vec::new(),
    }
}
