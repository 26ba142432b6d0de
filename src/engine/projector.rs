//! The projector: folds what happened into the read model, then answers. In this order, so that
//! whoever has an answer finds its effects in every read.

use std::sync::Arc;

use crossbeam_channel::Receiver;
use parking_lot::RwLock;

use super::matcher::Matched;
use super::pending::Answer;
use crate::projection::ReadModel;

/// The projector's state.
#[derive(Debug)]
pub struct Projector {
    /// Results come from here.
    pub results: Receiver<Matched>,
    /// The one read model.
    pub read_model: Arc<RwLock<ReadModel>>,
}

impl Projector {
    /// Folds and answers until there is nothing more to come.
    pub fn run(self) {
        while let Ok(Matched { block, replies }) = self.results.recv() {
            {
                // A block at a time: a reader sees all of a block or nothing of it.
                let mut read_model = self.read_model.write();
                for applied in block.records() {
                    read_model.fold(&applied);
                }
            }
            for (answer, reply) in Answer::of_block(&block).zip(replies) {
                if let Some(reply) = reply {
                    // A caller that has gone away needs no answer.
                    drop(reply.send(Ok(answer)));
                }
            }
        }
    }
}
