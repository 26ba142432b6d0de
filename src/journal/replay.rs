//! From journal to exchange without a server: the loop of whoever checks a journal. A server feeds
//! its matcher the same blocks.

use super::block::{Block, Head};
use super::{Durable, JournalError};
use crate::exchange::Exchange;
use crate::exchange::command::Record;
use crate::exchange::effect::Effect;
use crate::exchange::invariant::Broken;
use crate::exchange::units::Sequence;

/// Why a replay stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The journal could not be read, or is damaged.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The exchange came to a state that cannot be.
    #[error("REPLAY_BROKEN: record {at}: {broken}")]
    Broken {
        /// The record that was being applied.
        at: Sequence,
        /// What cannot be.
        broken: Broken,
    },
}

/// Applies every record that `exchange` has not seen yet and tells of each with its effects, in
/// order. The head is that of the last block read, [`Head::START`] if there was none.
pub fn replay(
    blocks: impl Iterator<Item = Result<Durable<Block>, JournalError>>,
    exchange: &mut Exchange,
    mut tell: impl FnMut(&Record, &[Effect]),
) -> Result<Head, ReplayError> {
    let mut head = Head::START;
    let mut effects = Vec::new();
    for block in blocks {
        let block = block?;
        for record in block.records() {
            // The first block read may begin before the record asked for.
            if record.sequence <= exchange.sequence() {
                continue;
            }
            effects.clear();
            let applied = exchange.apply(record, &mut effects);
            applied.map_err(|broken| ReplayError::Broken { at: record.sequence, broken })?;
            tell(record, &effects);
        }
        head = block.head();
    }
    Ok(head)
}
