//! Why an engine stops taking commands before it is told to: once, for one of a few reasons, until
//! a restart. Reads go on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use super::pending::Refusal;
use crate::exchange::invariant::Broken;
use crate::journal::replay::ReplayFault;

/// Why the intake closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HaltReason {
    /// A block could not be made durable. Its commands were refused.
    #[error("the journal could not be made durable; free or repair the disk, then restart")]
    JournalFailed,
    /// A block could not be made durable, and the disk did not even take the mark that refuses it:
    /// whether its commands were accepted is known at the next start only.
    #[error("the journal failed in an unknown state; free or repair the disk, then restart")]
    JournalUnknown,
    /// The exchange met something that cannot be. What was journaled is safe; a restart on the
    /// same software meets the same thing.
    #[error("the exchange contradicted itself ({0}); do not restart before this is understood")]
    StateBroken(Broken),
    /// The journal's records come to other results than those that were recorded when they were
    /// answered. A start on the software that wrote the journal, or on the journal as it was
    /// written, is the way out.
    #[error(
        "what was answered is not what the journal comes to ({0}); start the software that wrote \
         this journal, or put back the journal as it was written"
    )]
    ResultsDiffer(ReplayFault),
    /// An effect contradicted the read model. Commands are safe; what reads show is not.
    #[error("the read model contradicted the exchange; restart")]
    ReadModelBroken,
    /// A thread of the engine died.
    #[error("the {0} thread died; restart")]
    ThreadDied(&'static str),
}

impl HaltReason {
    /// The stable code, for those who watch over the process. It says nothing of the state.
    pub const fn code(self) -> &'static str {
        match self {
            HaltReason::JournalFailed => "JOURNAL_FAILED",
            HaltReason::JournalUnknown => "JOURNAL_UNKNOWN",
            HaltReason::StateBroken(_) => "STATE_BROKEN",
            HaltReason::ResultsDiffer(_) => "RESULTS_DIFFER",
            HaltReason::ReadModelBroken => "READ_MODEL_BROKEN",
            HaltReason::ThreadDied(_) => "THREAD_DIED",
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

/// The first reason to halt, and whether the engine was told to end, for everyone to see.
#[derive(Debug, Default)]
pub struct Halt {
    reason: OnceLock<HaltReason>,
    live: AtomicBool,
    told: AtomicBool,
    ending: AtomicBool,
}

impl Halt {
    /// Halts; the first reason stays. During a start it is the start that tells of it.
    pub fn halt(&self, reason: HaltReason) {
        if self.reason.set(reason).is_ok() {
            // Either this or who goes live at the same moment sees the other.
            fence(Ordering::SeqCst);
            if self.live.load(Ordering::SeqCst) {
                self.tell(reason);
            }
        }
    }

    /// Runs a thread's work, whose panic halts instead of going unseen.
    pub fn watch<T>(&self, name: &'static str, work: impl FnOnce() -> T) -> Option<T> {
        let ended = catch_unwind(AssertUnwindSafe(work));
        ended.map_err(|_| self.halt(HaltReason::ThreadDied(name))).ok()
    }

    /// The reason, once halted.
    pub fn reason(&self) -> Option<HaltReason> {
        self.reason.get().copied()
    }

    /// Says that commands are taken from now on; tells of what halted it just before.
    pub fn go_live(&self) {
        self.live.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if let Some(reason) = self.reason() {
            self.tell(reason);
        }
    }

    /// Says it once.
    fn tell(&self, reason: HaltReason) {
        if !self.told.swap(true, Ordering::AcqRel) {
            tracing::error!(%reason, "intake is closed until a restart; reads go on");
        }
    }

    /// Says that the engine is about to end in good order.
    pub fn end(&self) {
        self.ending.store(true, Ordering::Release);
    }

    /// Why a command that was never stamped was not: nothing of it was accepted.
    pub fn not_taken(&self) -> Refusal {
        self.reason().map_or(Refusal::Stopping, Refusal::JournalUnavailable)
    }

    /// Why a command that was taken in got no answer. Only an engine that ends in good order drops
    /// no command that it has stamped; any other may have journaled it.
    pub fn unanswered(&self) -> Refusal {
        match self.reason() {
            Some(reason) => Refusal::OutcomeUnknown(reason),
            None if self.ending.load(Ordering::Acquire) => Refusal::Stopping,
            None => Refusal::OutcomeUnknown(HaltReason::ThreadDied("engine")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_halts_and_an_end_does_not() {
        let halt = Halt::default();
        assert_eq!((halt.watch("folder", || 7), halt.reason()), (Some(7), None));
        let ended: Option<()> = halt.watch("folder", || panic!("on purpose"));
        assert_eq!((ended, halt.reason()), (None, Some(HaltReason::ThreadDied("folder"))));
    }
}
