//! The engine: the threads that a command passes, and the handle that callers hold.
//!
//! sequencer (stamp, block, journal) -> matcher (apply) -> projector (fold, answer). One
//! direction, bounded queues, and a start that feeds the journal through the same matcher.
//!
//! Must not know: HTTP, JSON, what readers want.

pub mod clock;
pub mod halt;
pub mod pending;
pub mod due;
pub mod sequencer;
pub mod matcher;
pub mod projector;
pub mod start;

use std::sync::Arc;

use crossbeam_channel::{Sender, TrySendError};
use parking_lot::{RwLock, RwLockReadGuard};
use tokio::sync::oneshot;

use crate::exchange::command::Command;
use crate::projection::ReadModel;

use halt::{Halt, HaltReason};
use pending::{Answer, Intake, Pending, Refusal};

/// Commands that may wait for the sequencer; the next is refused at once. Some ten group commits'
/// worth: more would only make the wait longer than clients wait.
pub const INTAKE_MAX: usize = 8_192;

/// A caller's handle on a running engine. Clones share it.
#[derive(Debug, Clone)]
pub struct Engine {
    intake: Sender<Intake>,
    read_model: Arc<RwLock<ReadModel>>,
    halt: Arc<Halt>,
}

impl Engine {
    /// Has a command journaled, applied and folded, and gives its effects: every later read shows
    /// them. A refusal by the exchange is an answer too.
    ///
    /// # Errors
    /// [`Refusal`], and the command was not accepted.
    pub async fn submit(&self, command: Command) -> Result<Answer, Refusal> {
        let answer = self.submit_detached(command)?;
        answer.await.unwrap_or_else(|_| Err(self.why_unanswered()))
    }

    /// Hands a command in without waiting for its answer; commands handed in by one caller keep
    /// their order.
    ///
    /// # Errors
    /// [`Refusal`] when it cannot even wait: the intake is full, stopped or halted.
    pub fn submit_detached(
        &self,
        command: Command,
    ) -> Result<oneshot::Receiver<Result<Answer, Refusal>>, Refusal> {
        if let Some(reason) = self.halt.reason() {
            return Err(Refusal::JournalUnavailable(reason));
        }
        let (reply, answer) = oneshot::channel();
        match self.intake.try_send(Intake::Command(Pending { command, reply })) {
            Ok(()) => Ok(answer),
            Err(TrySendError::Full(_)) => Err(Refusal::Overloaded),
            Err(TrySendError::Disconnected(_)) => Err(self.why_unanswered()),
        }
    }

    /// The read model at one moment. Held only briefly: the projector waits for readers.
    pub fn read(&self) -> RwLockReadGuard<'_, ReadModel> {
        self.read_model.read()
    }

    /// Why the intake is closed until a restart, if it is.
    pub fn halted(&self) -> Option<HaltReason> {
        self.halt.reason()
    }

    fn why_unanswered(&self) -> Refusal {
        self.halt.reason().map_or(Refusal::Stopping, Refusal::JournalUnavailable)
    }
}
