//! The matcher: applies every durable record, in order, and hands on what happened.
//!
//! At a start the blocks come from the journal, later from the sequencer; the matcher cannot tell.

use std::sync::Arc;

use crossbeam_channel::Receiver;

use super::due::DueBoard;
use super::halt::{Halt, HaltReason};
use super::pending::{AppliedBlock, Refusal};
use super::projector::Projector;
use super::sequencer::{Sequenced, refuse};
use crate::exchange::Exchange;

/// The matcher's state.
#[derive(Debug)]
pub struct Matcher {
    /// The one exchange.
    pub exchange: Exchange,
    /// Durable blocks come from here.
    pub blocks: Receiver<Sequenced>,
    /// Results go here.
    pub projector: Projector,
    /// Where to say what is due.
    pub due: Arc<DueBoard>,
    /// Why to stop.
    pub halt: Arc<Halt>,
}

impl Matcher {
    /// Applies blocks until there are no more, or until one breaks the exchange. Hands the
    /// exchange back.
    pub fn run(mut self) -> Exchange {
        while let Ok(Sequenced { block, replies }) = self.blocks.recv() {
            let mut applied = AppliedBlock::default();
            for record in block.records() {
                if let Err(broken) = self.exchange.apply(record, applied.effects_mut()) {
                    tracing::error!(sequence = %record.sequence, %broken, "record not applied");
                    let reason = HaltReason::StateBroken(broken);
                    self.halt.halt(reason);
                    let waiting = replies.into_iter().flatten();
                    refuse(waiting, Refusal::JournalUnavailable(reason));
                    return self.exchange;
                }
                applied.seal_record(record.sequence, record.time);
            }
            self.due.post(self.exchange.next_due(), self.exchange.sequence());
            self.projector.project(&Arc::new(applied), replies);
        }
        self.exchange
    }
}
