//! Halting: why an engine closes its intake before it is stopped. The first reason stays until a
//! restart; reads go on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::pending::Refusal;
use exchange::invariant::Broken;
use journal::replay::ReplayFault;
use journal::watch::FileChange;

/// Why the intake closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HaltReason {
    /// A block could not be made durable. Its commands were refused.
    #[error("the journal could not be made durable; free or repair the disk, then restart")]
    JournalFailed,
    /// A block could not be made durable, and neither could the marker that refuses it: whether its
    /// commands were accepted is known only at the next start.
    #[error("the journal failed in an unknown state; free or repair the disk, then restart")]
    JournalUnknown,
    /// The exchange broke an invariant. What was journaled is safe; a restart on the same software
    /// breaks it again.
    #[error("the exchange contradicted itself ({0}); do not restart before this is understood")]
    StateBroken(Broken),
    /// A replay gives other results than those recorded in the journal. The way out is a start on
    /// the software that wrote the journal, or on the journal as it was written.
    #[error(
        "what was answered is not what the journal comes to ({0}); start the software that wrote \
         this journal, or put back the journal as it was written"
    )]
    ResultsDiffer(ReplayFault),
    /// An effect contradicted the read model. Commands are safe; what reads show is not.
    #[error("the read model contradicted the exchange; restart")]
    ReadModelBroken,
    /// A file of the journal is not what it was. What was acknowledged may be lost with the
    /// process: its open descriptors still hold it.
    #[error(
        "{0} under the running server; its log says how to save what only the server still holds, \
         and what to do next"
    )]
    FilesChanged(FileChange),
    /// A thread of the engine died.
    #[error("the {0} thread died; restart")]
    ThreadDied(&'static str),
}

impl HaltReason {
    /// The stable code, for monitoring. It reveals nothing of the state.
    pub const fn code(self) -> &'static str {
        match self {
            HaltReason::JournalFailed => "JOURNAL_FAILED",
            HaltReason::JournalUnknown => "JOURNAL_UNKNOWN",
            HaltReason::StateBroken(_) => "STATE_BROKEN",
            HaltReason::ResultsDiffer(_) => "RESULTS_DIFFER",
            HaltReason::ReadModelBroken => "READ_MODEL_BROKEN",
            HaltReason::FilesChanged(_) => "FILES_CHANGED",
            HaltReason::ThreadDied(_) => "THREAD_DIED",
        }
    }
}

impl HaltReason {
    /// Whether the journal contradicts itself or this software, so that a replay halts again.
    pub const fn is_contradiction(self) -> bool {
        match self {
            HaltReason::StateBroken(_)
            | HaltReason::ResultsDiffer(_)
            | HaltReason::ReadModelBroken => true,
            HaltReason::JournalFailed
            | HaltReason::JournalUnknown
            | HaltReason::FilesChanged(_)
            | HaltReason::ThreadDied(_) => false,
        }
    }
}

impl From<ReplayFault> for HaltReason {
    fn from(fault: ReplayFault) -> HaltReason {
        match fault {
            ReplayFault::Broken { broken, .. } => HaltReason::StateBroken(broken),
            ReplayFault::ResultsDiffer { .. }
            | ReplayFault::ResultsPlace { .. }
            | ReplayFault::ResultsLag { .. } => HaltReason::ResultsDiffer(fault),
        }
    }
}

/// The first reason to halt, and whether the engine is stopping; shared by all threads.
#[derive(Debug, Default)]
pub struct Halt {
    reason: OnceLock<HaltReason>,
    ending: AtomicBool,
}

impl Halt {
    /// Halts; the first reason stays.
    pub fn halt(&self, reason: HaltReason) {
        if self.reason.set(reason).is_ok() {
            tracing::error!(%reason, "intake is closed until a restart; reads go on");
        }
    }

    /// Runs a thread's work; a panic halts the engine instead of going unnoticed.
    pub fn watch<T>(&self, name: &'static str, work: impl FnOnce() -> T) -> Option<T> {
        let ended = catch_unwind(AssertUnwindSafe(work));
        ended.map_err(|_| self.halt(HaltReason::ThreadDied(name))).ok()
    }

    /// The reason, once halted.
    pub fn reason(&self) -> Option<HaltReason> {
        self.reason.get().copied()
    }

    /// Marks that the engine is being stopped in an orderly way.
    pub fn end(&self) {
        self.ending.store(true, Ordering::Release);
    }

    /// The refusal for a command that was never stamped: nothing of it was accepted.
    pub fn not_taken(&self) -> Refusal {
        self.reason().map_or(Refusal::Stopping, Refusal::JournalUnavailable)
    }

    /// The refusal for a command that was taken in and got no answer. Only an engine that is
    /// stopping in an orderly way has journaled no such command; any other may have.
    pub fn unanswered(&self) -> Refusal {
        match self.reason() {
            Some(reason) => Refusal::OutcomeUnknown(reason),
            None if self.ending.load(Ordering::Acquire) => Refusal::Stopping,
            None => Refusal::OutcomeUnknown(HaltReason::ThreadDied("engine")),
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/engine/halt.rs"]
mod tests;
