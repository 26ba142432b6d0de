//! Work that waits for its block.

use super::refuse;
use crate::pending::{CommandBatch, Refusal, ReplySlot};
use exchange::command::{Command, KeyedCommand};
use exchange::ids::UserNo;

/// Work waiting for its block.
pub(super) enum Waiting {
    /// The clock command, for something due; nobody waits for it.
    Clock,
    /// Heartbeats to be renewed, which every block looks after.
    Renewals,
    /// A command that fits a record, and its reply slot.
    One(KeyedCommand, ReplySlot),
    /// A batch of which some commands are not taken out yet.
    Several(CommandBatch),
}

impl Waiting {
    /// The user and the time-out of a heartbeat, and whether it has an idempotency key.
    pub(super) fn heartbeat(&self) -> Option<(UserNo, u32, bool)> {
        match self {
            Waiting::One(KeyedCommand { once, command }, _) => match command {
                Command::Heartbeat { user, timeout_seconds } => {
                    Some((*user, *timeout_seconds, once.is_some()))
                }
                _ => None,
            },
            Waiting::Clock | Waiting::Renewals | Waiting::Several(_) => None,
        }
    }

    /// Refuses its callers.
    pub(super) fn refuse(self, refusal: Refusal) {
        let slot = match self {
            Waiting::Clock | Waiting::Renewals => None,
            Waiting::One(_, reply) => Some(reply),
            Waiting::Several(several) => several.rest(),
        };
        refuse(slot, refusal);
    }
}
