//! The projector: folds what happened into the read model, then answers. In this order, so that
//! whoever has an answer finds its effects in every read.

use std::sync::Arc;

use parking_lot::RwLock;

use super::halt::HaltReason;
use super::history::HistoryStore;
use super::pending::{Answer, AppliedBlock, ReplySlot};
use crate::projection::ReadModel;

/// The projector's state. It works on the matcher's thread: handing a block to another thread
/// costs more than folding it.
#[derive(Debug)]
pub struct Projector {
    /// The one read model.
    pub read_model: Arc<RwLock<ReadModel>>,
    /// Where it puts its pages, if not in memory.
    pub history: Option<HistoryStore>,
}

impl Projector {
    /// Folds a block's results and answers those who wait; `replies` holds a slot a record, or
    /// nothing when nobody waits.
    ///
    /// # Errors
    /// The read model was contradicted; then nobody was answered.
    pub fn project(
        &self,
        block: &Arc<AppliedBlock>,
        mut replies: Vec<Option<ReplySlot>>,
    ) -> Result<(), HaltReason> {
        {
            // A block at a time: a reader sees all of a block or nothing of it.
            let mut read_model = self.read_model.write();
            let mut slots = replies.iter_mut();
            for applied in block.records() {
                read_model.fold(&applied);
                if let Some(Some(slot)) = slots.next() {
                    slot.look(&read_model, &applied);
                }
            }
            if read_model.inconsistencies() > 0 {
                return Err(HaltReason::ReadModelBroken);
            }
            if let Some(history) = &self.history {
                history.folded(read_model.watermark());
            }
        }
        for (answer, slot) in Answer::of_block(block).zip(replies) {
            if let Some(slot) = slot {
                slot.send(Ok(answer));
            }
        }
        Ok(())
    }
}
