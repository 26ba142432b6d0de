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
                    refuse(waiting, Refusal::OutcomeUnknown(reason));
                    return self.exchange;
                }
                applied.seal_record(record.sequence, record.time);
            }
            if let Err(reason) = self.projector.project(&Arc::new(applied), replies) {
                self.halt.halt(reason);
                return self.exchange;
            }
            self.due.post(self.exchange.next_due(), self.exchange.sequence());
        }
        self.exchange
    }
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::bounded;
    use parking_lot::RwLock;

    use super::*;
    use crate::engine::pending::ReplySlot;
    use crate::exchange::command::{Command, Record};
    use crate::exchange::invariant::Broken;
    use crate::exchange::units::{Sequence, TimeMs};
    use crate::journal::Journal;
    use crate::journal::block::BlockBuilder;
    use crate::journal::memory::MemoryJournal;
    use crate::projection::ReadModel;

    /// A block is durable before it is applied. If it then turns out that it cannot be, nobody may
    /// say that nothing was accepted: a mended version will apply it.
    #[test]
    fn callers_of_a_block_that_breaks_the_exchange_are_not_told_that_it_was_refused() {
        let mut journal = MemoryJournal::new();
        let mut durable = Vec::new();
        for sequence in [1, 2] {
            let (sequence, time) = (Sequence::new(sequence), TimeMs::default());
            let mut block = BlockBuilder::new(journal.head());
            block
                .push(Record { sequence, time, once: None, command: Command::AdvanceClock })
                .unwrap();
            durable.push(journal.append(block.build().unwrap()).unwrap());
        }
        let (halt, (sends, blocks)) = (Arc::new(Halt::default()), bounded(1));
        let matcher = Matcher {
            exchange: Exchange::new(),
            blocks,
            projector: Projector { read_model: Arc::new(RwLock::new(ReadModel::new())) },
            due: Arc::new(DueBoard::default()),
            halt: Arc::clone(&halt),
        };
        let (slot, mut answer) = ReplySlot::new(None);
        // The second block without the first.
        let block = durable.pop().unwrap();
        sends.send(Sequenced { block, replies: vec![Some(slot)] }).unwrap();
        matcher.run();
        let broken = HaltReason::StateBroken(Broken::OutOfOrder);
        let refusal = answer.try_recv().unwrap().unwrap_err();
        assert_eq!(refusal, Refusal::OutcomeUnknown(broken));
        assert_eq!(halt.reason(), Some(broken));
    }
}
