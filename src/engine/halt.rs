//! Why an engine stops taking commands before it is told to: once, for one of a few reasons, until
//! a restart. Reads go on.

use std::sync::OnceLock;

use crate::exchange::invariant::Broken;

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
    /// A thread of the engine died.
    #[error("the {0} thread died; restart")]
    ThreadDied(&'static str),
}

/// The first reason to halt, for everyone to see.
#[derive(Debug, Default)]
pub struct Halt(OnceLock<HaltReason>);

impl Halt {
    /// Halts; the first reason stays.
    pub fn halt(&self, reason: HaltReason) {
        if self.0.set(reason).is_ok() {
            tracing::error!(%reason, "intake is closed until a restart; reads go on");
        }
    }

    /// The reason, once halted.
    pub fn reason(&self) -> Option<HaltReason> {
        self.0.get().copied()
    }
}
