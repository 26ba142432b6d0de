//! The projector: folds what happened into the read model, then answers. In this order, so that
//! whoever has an answer finds its effects in every read.

use std::sync::Arc;

use parking_lot::RwLock;

use super::pending::{Answer, AppliedBlock, ReplySlot};
use crate::projection::ReadModel;

/// The projector's state. It works on the matcher's thread: handing blocks to a thread of its own
/// cost more than folding them (`benches/README.md`).
#[derive(Debug)]
pub struct Projector {
    /// The one read model.
    pub read_model: Arc<RwLock<ReadModel>>,
}

impl Projector {
    /// Folds a block's results and answers those who wait; `replies` holds a slot a record, or
    /// nothing when nobody waits.
    pub fn project(&self, block: &Arc<AppliedBlock>, replies: Vec<Option<ReplySlot>>) {
        {
            // A block at a time: a reader sees all of a block or nothing of it.
            let mut read_model = self.read_model.write();
            for applied in block.records() {
                read_model.fold(&applied);
            }
        }
        for (answer, reply) in Answer::of_block(block).zip(replies) {
            if let Some(reply) = reply {
                // A caller that has gone away needs no answer.
                drop(reply.send(Ok(answer)));
            }
        }
    }
}
