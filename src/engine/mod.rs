//! The engine: the threads that a command passes, and the handle that callers hold.
//!
//! sequencer (stamp, block, journal) -> matcher (apply) -> projector (fold, answer). One
//! direction, bounded queues, and a start that feeds the journal through the same matcher. Matcher
//! and projector share a thread. Beside them, if asked to, the archiver copies what is durable.
//!
//! Must not know: HTTP, JSON, what readers want.

pub mod clock;
pub mod halt;
pub mod batch_reply;
pub mod histogram;
pub mod meter;
pub mod mailbox;
pub mod pending;
mod intake_quota;
pub mod matcher_status;
pub mod sequencer;
pub mod matcher;
mod catch_up;
pub mod projector;
mod watermark;
pub mod archiver;
pub mod throttle;
pub mod history;
mod backlog;
pub mod restore;
pub mod snapshotter;
pub mod start;
pub mod past;

use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::Sender;
use parking_lot::{RwLock, RwLockReadGuard};
use tokio::sync::oneshot;

use crate::exchange::command::{IdempotencyKey, KeyedCommand};
use crate::exchange::effect::Applied;
use crate::exchange::ids::UserNo;
use crate::exchange::invariant::Broken;
use crate::exchange::trial::Tried;
use crate::exchange::trial::several::KeyedStep;
use crate::exchange::units::Sequence;
use crate::projection::ReadModel;

use batch_reply::BatchReplies;
use halt::{Halt, HaltReason};
use intake_quota::IntakeQuota;
use meter::Meter;
use past::Past;
use pending::{
    Answer, BatchTrialCallback, CommandBatch, Intake, Look, Pending, Refusal, ReplySlot, Trial,
    TrialCallback,
};
use snapshotter::{SnapshotBoard, SnapshotStatus};
use watermark::PublishedWatermark;

/// Commands that may wait for the sequencer; the next is refused at once. Some ten group commits'
/// worth: more would only make the wait longer than clients wait. Callers who come at the same
/// instant may exceed it by as many as there are.
pub const INTAKE_MAX: usize = 8_192;

/// Trials that may wait for the matcher; the next is refused at once. Few, because between two
/// blocks it answers one of them at most while commands are waiting.
pub const TRIALS_MAX: usize = 256;

/// Most resting orders that a trial may meet: everybody waits for it, and it can be asked again and
/// again, since it uses nothing up.
pub const TRIAL_MEETS_MAX: usize = 1000;

/// A caller's handle on a running engine. Clones share it.
#[derive(Debug, Clone)]
pub struct Engine(Arc<EngineShared>);

/// What a handle reaches.
#[derive(Debug)]
struct EngineShared {
    intake: Sender<Intake>,
    room: IntakeQuota,
    trials: Sender<Trial>,
    read_model: Arc<RwLock<ReadModel>>,
    shown: Arc<PublishedWatermark>,
    halt: Arc<Halt>,
    meter: Arc<Meter>,
    past: Past,
    snapshots: Arc<SnapshotBoard>,
}

/// A command that was handed in, and what its caller waits for.
#[derive(Debug)]
pub struct Asking<T> {
    answer: oneshot::Receiver<Result<Answer, Refusal>>,
    seen: oneshot::Receiver<T>,
    halt: Arc<Halt>,
}

impl<T> Asking<T> {
    /// What came of it, and what was seen just after it.
    ///
    /// # Errors
    /// As [`Engine::submit`].
    pub async fn came(mut self) -> Result<(Answer, T), Refusal> {
        let answer = self.answer.await.unwrap_or_else(|_| Err(self.halt.unanswered()))?;
        let seen = self.seen.try_recv().map_err(|_| self.halt.unanswered())?;
        Ok((answer, seen))
    }
}

impl Engine {
    /// Has a command journaled, applied and folded, and gives its effects: every later read shows
    /// them. A refusal by the exchange is an answer too.
    ///
    /// # Errors
    /// [`Refusal`], which says whether the command may have been accepted.
    pub async fn submit(&self, command: impl Into<KeyedCommand>) -> Result<Answer, Refusal> {
        let answer = self.submit_detached(command)?;
        answer.await.unwrap_or_else(|_| Err(self.0.halt.unanswered()))
    }

    /// As [`Engine::submit`], with a look at the read model just after the command's own record
    /// and before the next, so that what is seen is what this command made.
    ///
    /// # Errors
    /// As [`Engine::submit`].
    pub async fn submit_and_look<T: Send + 'static>(
        &self,
        command: impl Into<KeyedCommand>,
        look: impl FnOnce(&ReadModel, &Applied<'_>) -> T + Send + 'static,
    ) -> Result<(Answer, T), Refusal> {
        self.ask_and_look(command, look)?.came().await
    }

    /// As [`Engine::submit_and_look`], without waiting: commands handed in by one caller keep their
    /// order, and those handed in together share a block.
    ///
    /// # Errors
    /// [`Refusal`] when it cannot even wait: the intake is full, stopped or halted.
    pub fn ask_and_look<T: Send + 'static>(
        &self,
        command: impl Into<KeyedCommand>,
        look: impl FnOnce(&ReadModel, &Applied<'_>) -> T + Send + 'static,
    ) -> Result<Asking<T>, Refusal> {
        let (shows, seen) = oneshot::channel();
        let look: Look = Box::new(move |read_model, applied| {
            // The caller may have gone away meanwhile.
            drop(shows.send(look(read_model, applied)));
        });
        let answer = self.hand_in(command.into(), Some(look))?;
        Ok(Asking { answer, seen, halt: Arc::clone(&self.0.halt) })
    }

    /// Hands a command in without waiting for its answer; commands handed in by one caller keep
    /// their order.
    ///
    /// # Errors
    /// [`Refusal`] when it cannot even wait: the intake is full, stopped or halted.
    pub fn submit_detached(
        &self,
        command: impl Into<KeyedCommand>,
    ) -> Result<oneshot::Receiver<Result<Answer, Refusal>>, Refusal> {
        self.hand_in(command.into(), None)
    }

    fn hand_in(
        &self,
        asked: KeyedCommand,
        look: Option<Look>,
    ) -> Result<oneshot::Receiver<Result<Answer, Refusal>>, Refusal> {
        let (reply, answer) = ReplySlot::new(look);
        let since = Instant::now();
        self.take_in(Intake::Command(Pending { asked, reply, since })).map(|()| answer)
    }

    /// For a caller that asks several commands and takes their answers together.
    pub fn gather(&self) -> BatchReplies {
        BatchReplies::new(Arc::clone(&self.0.halt))
    }

    /// Hands commands in whose answers come together: in their order, as far as there is room for
    /// them. The rest are answered with a [`Refusal`].
    pub fn ask_several(&self, gathering: &mut BatchReplies, mut asked: Vec<KeyedCommand>) {
        let all = asked.len();
        let (gathered, place) = gathering.places(all);
        let room = self.0.room.take(all, self.0.intake.len());
        asked.truncate(room.commands());
        let mut rest = all.saturating_sub(asked.len());
        let mut refused = Refusal::Overloaded;
        if !asked.is_empty() {
            let several = CommandBatch::new(asked, gathered, place, room);
            if let Err(refusal) = self.take_in(Intake::Several(several)) {
                (rest, refused) = (all, refusal);
            }
        }
        gathering.refuse_last(rest, refused);
    }

    fn take_in(&self, intake: Intake) -> Result<(), Refusal> {
        if let Some(reason) = self.0.halt.reason() {
            return Err(Refusal::JournalUnavailable(reason));
        }
        if self.intake_waiting() >= INTAKE_MAX {
            return Err(Refusal::Overloaded);
        }
        self.0.intake.send(intake).map_err(|_| self.0.halt.not_taken())
    }

    /// Says what a command would do now, without doing it: nothing is journaled or changed. `tell`
    /// makes of its effects, with the sequence and time that its record would have, what the answer
    /// needs; it sees the read model as it is before them, whose watermark is the last record that
    /// the trial knows of. Costs the matcher as much as the command would.
    ///
    /// # Errors
    /// As [`Engine::submit`], though never that its outcome is unknown.
    pub async fn try_out<T: Send + 'static>(
        &self,
        tried: Tried,
        once: Option<Box<IdempotencyKey>>,
        tell: impl FnOnce(&ReadModel, Result<&Applied<'_>, Broken>) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let (shows, seen) = oneshot::channel();
        let told: TrialCallback = Box::new(move |view, came| {
            show(shows, came.transpose().map(|applied| tell(view, applied)));
        });
        self.on_trial(Trial::One { tried, once, told }, seen).await
    }

    /// The same for several commands of one user's, each after those before it.
    ///
    /// # Errors
    /// As [`try_out`](Engine::try_out).
    pub async fn try_out_several<T: Send + 'static>(
        &self,
        user: UserNo,
        steps: Vec<KeyedStep>,
        tell: impl FnOnce(&ReadModel, Result<&[Applied<'_>], Broken>) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let (shows, seen) = oneshot::channel();
        let told: BatchTrialCallback = Box::new(move |view, came| {
            show(shows, came.transpose().map(|all| tell(view, all)));
        });
        self.on_trial(Trial::Several { user, steps, told }, seen).await
    }

    async fn on_trial<T>(
        &self,
        trial: Trial,
        seen: oneshot::Receiver<Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        if let Some(reason) = self.0.halt.reason() {
            return Err(Refusal::JournalUnavailable(reason));
        }
        if self.0.trials.len() >= TRIALS_MAX {
            return Err(Refusal::Overloaded);
        }
        self.0.trials.send(trial).map_err(|_| self.0.halt.not_taken())?;
        seen.await.unwrap_or_else(|_| Err(self.0.halt.not_taken()))
    }

    /// The read model at one moment. Held only briefly: the projector waits for readers.
    pub fn read(&self) -> RwLockReadGuard<'_, ReadModel> {
        self.0.read_model.read()
    }

    /// The last record that every read shows. Waits for nobody.
    pub fn watermark(&self) -> Sequence {
        self.0.shown.load().0
    }

    /// The same, and the record that last gave or took away a key: what was known of keys since it
    /// holds at least as of the first.
    pub fn watermark_and_keys(&self) -> (Sequence, Sequence) {
        self.0.shown.load()
    }

    /// How many commands wait for the sequencer.
    pub fn intake_waiting(&self) -> usize {
        self.0.intake.len().saturating_add(self.0.room.taken())
    }

    /// What the engine's stations tell of their work.
    pub fn meter(&self) -> &Arc<Meter> {
        &self.0.meter
    }

    /// What was, from the journal.
    pub fn past(&self) -> &Past {
        &self.0.past
    }

    /// How snapshots fare.
    pub fn snapshots(&self) -> SnapshotStatus {
        self.0.snapshots.read()
    }

    /// Why the intake is closed until a restart, if it is.
    pub fn halted(&self) -> Option<HaltReason> {
        self.0.halt.reason()
    }
}

/// Shows a caller what was told of a trial; nothing is told of one that could meet too much.
fn show<T>(caller: oneshot::Sender<Result<T, Refusal>>, told: Option<T>) {
    // It may have gone away meanwhile.
    drop(caller.send(told.ok_or(Refusal::TrialTooLarge)));
}
