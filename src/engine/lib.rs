//! The engine: the threads that process a command, and the handle that callers hold.
//!
//! sequencer (stamp, block, journal) -> matcher (apply) -> projector (fold, answer): one direction,
//! bounded queues. A start replays the journal through the same matcher. Matcher and projector
//! share a thread; an optional archiver copies durable blocks.
//!
//! Must not know: HTTP, JSON, what readers want.

pub mod clock;
pub mod halt;
pub mod batch_reply;
pub mod heartbeats;
pub mod histogram;
pub mod meter;
pub mod mailbox;
pub mod pending;
mod intake_quota;
pub mod matcher_status;
pub mod sequencer;
pub mod matcher;
mod catch_up;
pub mod watcher;
pub mod clock_stamp;
pub mod projector;
mod watermark;
pub mod archiver;
pub mod throttle;
pub mod history;
pub mod restore;
pub mod snapshotter;
pub mod start;
pub mod past;

use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::Sender;
use parking_lot::{RwLock, RwLockReadGuard};
use tokio::sync::oneshot;

use exchange::command::{Command, IdempotencyKey, KeyedCommand};
use exchange::effect::Applied;
use exchange::ids::UserNo;
use exchange::invariant::Broken;
use exchange::trial::Tried;
use exchange::trial::several::KeyedStep;
use exchange::units::{Sequence, TimeMs};
use journal::record::{self, RECORD_BYTES_MAX};
use views::ReadModel;

use batch_reply::BatchReplies;
use halt::{Halt, HaltReason};
use heartbeats::Heartbeats;
use intake_quota::IntakeQuota;
use matcher_status::MatcherStatus;
use meter::Meter;
use past::Past;
use pending::{
    Answer, BatchTrialCallback, CommandBatch, Intake, Look, Pending, Refusal, ReplySlot, Trial,
    TrialCallback,
};
use snapshotter::{SnapshotBoard, SnapshotStatus};
use watermark::PublishedWatermark;

/// Commands that may wait for the sequencer; the next is refused at once. Worth some ten group
/// commits: with more, clients would give up before their turn. Concurrent callers may exceed it by
/// one command each.
pub const INTAKE_MAX: usize = 8_192;

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
    intake: Sender<Intake>,
    quota: IntakeQuota,
    trials: Sender<Trial>,
    read_model: Arc<RwLock<ReadModel>>,
    published: Arc<PublishedWatermark>,
    halt: Arc<Halt>,
    meter: Arc<Meter>,
    past: Past,
    snapshots: Arc<SnapshotBoard>,
    heartbeats: Arc<Heartbeats>,
    status: Arc<MatcherStatus>,
}

/// A submitted command whose caller has not waited for the answer yet.
#[derive(Debug)]
pub struct Asking<T> {
    answer: oneshot::Receiver<Result<Answer, Refusal>>,
    seen: oneshot::Receiver<T>,
    halt: Arc<Halt>,
}

impl<T> Asking<T> {
    /// The answer, and what `look` returned just after the command's record was folded.
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
    /// Has a command journaled, applied and folded, and returns its effects: every later read shows
    /// them. A reject by the exchange is an answer too.
    ///
    /// # Errors
    /// [`Refusal`], which says whether the command may have been accepted.
    pub async fn submit(&self, command: impl Into<KeyedCommand>) -> Result<Answer, Refusal> {
        let answer = self.submit_detached(command)?;
        answer.await.unwrap_or_else(|_| Err(self.0.halt.unanswered()))
    }

    /// As [`Engine::submit`], and calls `look` on the read model after the command's own record was
    /// folded and before the next, so that it sees exactly this command's result.
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

    /// As [`Engine::submit_and_look`], without waiting: one caller's commands keep their order, and
    /// those submitted together share a block.
    ///
    /// # Errors
    /// [`Refusal`] when the command was not taken in: the intake is full, stopped or halted.
    pub fn ask_and_look<T: Send + 'static>(
        &self,
        command: impl Into<KeyedCommand>,
        look: impl FnOnce(&ReadModel, &Applied<'_>) -> T + Send + 'static,
    ) -> Result<Asking<T>, Refusal> {
        let (sender, seen) = oneshot::channel();
        let look: Look = Box::new(move |read_model, applied| {
            // The caller may have gone away meanwhile.
            drop(sender.send(look(read_model, applied)));
        });
        let answer = self.submit_one(command.into(), Some(look))?;
        Ok(Asking { answer, seen, halt: Arc::clone(&self.0.halt) })
    }

    /// Submits a command without waiting for its answer; one caller's commands keep their order.
    ///
    /// # Errors
    /// [`Refusal`] when the command was not taken in: the intake is full, stopped or halted.
    pub fn submit_detached(
        &self,
        command: impl Into<KeyedCommand>,
    ) -> Result<oneshot::Receiver<Result<Answer, Refusal>>, Refusal> {
        self.submit_one(command.into(), None)
    }

    fn submit_one(
        &self,
        asked: KeyedCommand,
        look: Option<Look>,
    ) -> Result<oneshot::Receiver<Result<Answer, Refusal>>, Refusal> {
        let (reply, answer) = ReplySlot::new(look);
        let since = Instant::now();
        self.enqueue(Intake::Command(Pending { asked, reply, since })).map(|()| answer)
    }

    /// An empty batch, for a caller that takes the answers of several commands together.
    pub fn gather(&self) -> BatchReplies {
        BatchReplies::new(Arc::clone(&self.0.halt))
    }

    /// Submits commands as part of a batch, in order, as many as the intake has capacity for. The
    /// rest are answered with a [`Refusal`].
    pub fn ask_several(&self, batch: &mut BatchReplies, mut asked: Vec<KeyedCommand>) {
        let all = asked.len();
        let (sink, first) = batch.reserve(all);
        let reservation = self.0.quota.take(all, self.0.intake.len());
        asked.truncate(reservation.commands());
        let mut rest = all.saturating_sub(asked.len());
        let mut refused = Refusal::Overloaded;
        if !asked.is_empty() {
            let several = CommandBatch::new(asked, sink, first, reservation);
            if let Err(refusal) = self.enqueue(Intake::Several(several)) {
                (rest, refused) = (all, refusal);
            }
        }
        batch.refuse_last(rest, refused);
    }

    fn enqueue(&self, intake: Intake) -> Result<(), Refusal> {
        if let Some(reason) = self.0.halt.reason() {
            return Err(Refusal::JournalUnavailable(reason));
        }
        if self.intake_waiting() >= INTAKE_MAX {
            return Err(Refusal::Overloaded);
        }
        self.0.intake.send(intake).map_err(|_| self.0.halt.not_taken())
    }

    /// Reports what a command would do now; nothing is journaled or changed. `tell` turns its
    /// effects, with the sequence number and time that its record would have, into the result. It
    /// sees the read model without them, whose watermark is the last record that the trial takes
    /// into account. Costs the matcher as much as the command would.
    ///
    /// # Errors
    /// As [`Engine::submit`], but never an unknown outcome.
    pub async fn try_out<T: Send + 'static>(
        &self,
        tried: Tried,
        once: Option<Box<IdempotencyKey>>,
        tell: impl FnOnce(&ReadModel, Result<&Applied<'_>, Broken>) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let (sender, seen) = oneshot::channel();
        let callback: TrialCallback = Box::new(move |view, came| {
            send_trial_result(sender, came.transpose().map(|applied| tell(view, applied)));
        });
        self.submit_trial(Trial::One { tried, once, callback }, seen).await
    }

    /// The same for several commands of one user, each applied after those before it.
    ///
    /// # Errors
    /// As [`try_out`](Engine::try_out).
    pub async fn try_out_several<T: Send + 'static>(
        &self,
        user: UserNo,
        steps: Vec<KeyedStep>,
        tell: impl FnOnce(&ReadModel, Result<&[Applied<'_>], Broken>) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let (sender, seen) = oneshot::channel();
        let callback: BatchTrialCallback = Box::new(move |view, came| {
            send_trial_result(sender, came.transpose().map(|all| tell(view, all)));
        });
        self.submit_trial(Trial::Several { user, steps, callback }, seen).await
    }

    async fn submit_trial<T>(
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

    /// How many commands wait for the sequencer.
    pub fn intake_waiting(&self) -> usize {
        self.0.intake.len().saturating_add(self.0.quota.taken())
    }

    /// The metrics of the engine's stages.
    pub fn meter(&self) -> &Arc<Meter> {
        &self.0.meter
    }

    /// The time by the venue's clock: a record that is stamped later never has an earlier one.
    pub fn now(&self) -> TimeMs {
        self.0.past.now()
    }

    /// Renews a user's heartbeat without a record, if what the reader's view shows of it allows
    /// that; returns when it runs out. The sequencer journals it in time.
    pub fn renew_heartbeat(
        &self,
        user: UserNo,
        timeout_seconds: u32,
        shown: TimeMs,
    ) -> Option<TimeMs> {
        if self.0.halt.reason().is_some() {
            return None;
        }
        self.0.heartbeats.renew(user, timeout_seconds, shown, || self.now())
    }

    /// How many client order ids and idempotency keys are remembered.
    pub fn names(&self) -> u64 {
        self.0.status.names()
    }

    /// When a user who was refused a name has room for one again.
    pub fn name_free_at(&self, user: UserNo) -> Option<TimeMs> {
        self.0.status.name_free_at(user)
    }

    /// When a user's heartbeat runs out by what was answered, which can be later than the read
    /// model shows.
    pub fn heartbeat_promised(&self, user: UserNo) -> Option<TimeMs> {
        self.0.heartbeats.promised(user)
    }

    /// Answers queries about earlier states and records, from the journal.
    pub fn past(&self) -> &Past {
        &self.0.past
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
    match record::encode(command, None, TimeMs::default(), &mut bytes, RECORD_BYTES_MAX) {
        Ok(()) => bytes,
        Err(_) => Vec::new(),
    }
}

/// Passes a trial's result to its caller; `None` is a trial that could match too many orders.
fn send_trial_result<T>(caller: oneshot::Sender<Result<T, Refusal>>, result: Option<T>) {
    // It may have gone away meanwhile.
    drop(caller.send(result.ok_or(Refusal::TrialTooLarge)));
}
