//! Recovery: decides from a journal's state at a start whether and how it is opened. Pure decision
//! tables, tested exhaustively; data-directory.md prints them.

use super::block::{Block, BlockFault, Head};
use super::marker::Marker;
use exchange::units::Sequence;

/// The state of the last blocks that are to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// There are none.
    Empty,
    /// They are sound and follow each other.
    Sound,
    /// One of them is damaged.
    Damaged,
}

/// What the marker says, relative to the blocks before its sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing is refused.
    Clear,
    /// The block after the tail is refused, and the marker names the tail's own last hash.
    AfterTail,
    /// A block is refused that would not follow the tail.
    Elsewhere,
    /// The marker cannot be read.
    Unreadable,
}

/// What stands after the blocks that are to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// Nothing.
    Nothing,
    /// One block, under the refused sequence, and nothing else that is whole.
    TheRefused,
    /// What an interrupted write left.
    Torn,
    /// A block that was damaged after it was written.
    Damaged,
    /// Other blocks: none was ever written after a refusal, or before the one before it.
    Others,
}

/// The decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Continue from the tail.
    Accept,
    /// Remove what stands after the tail, make that durable, clear the marker, continue from the
    /// tail.
    Cut,
    /// The refused block never arrived, or was removed already: clear the marker, continue.
    Clear,
    /// Do not open; change nothing.
    Refuse(Reason),
}

/// Why a journal is not opened. The codes are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The last blocks are damaged.
    #[error("RECOVERY_TAIL: the last blocks are damaged")]
    TailDamaged,
    /// The marker file is damaged: a refused block could come back.
    #[error("RECOVERY_MARKER: the refused marker cannot be read; see `openoutcry-replay salvage`")]
    MarkerUnreadable,
    /// The marker does not fit the journal: blocks are missing, or it belongs to another one.
    #[error("RECOVERY_MARKER_ELSEWHERE: the refused marker does not follow the last block")]
    MarkerElsewhere,
    /// What stands after the last block is neither nothing nor what may be removed.
    #[error(
        "RECOVERY_BEYOND: after the last sound block there are bytes that no interrupted write \
         leaves: a block was damaged; see `openoutcry-replay salvage`"
    )]
    Beyond,
}

/// The decision table.
pub const fn decide(tail: Tail, refusal: Refusal, beyond: Beyond) -> Verdict {
    if matches!(tail, Tail::Damaged) {
        return Verdict::Refuse(Reason::TailDamaged);
    }
    match (refusal, beyond) {
        (Refusal::Unreadable, _) => Verdict::Refuse(Reason::MarkerUnreadable),
        (Refusal::Elsewhere, _) => Verdict::Refuse(Reason::MarkerElsewhere),
        (_, Beyond::Others) | (Refusal::Clear, Beyond::TheRefused | Beyond::Damaged) => {
            Verdict::Refuse(Reason::Beyond)
        }
        // Whatever a refused write left, in any form.
        (Refusal::AfterTail, Beyond::TheRefused | Beyond::Torn | Beyond::Damaged)
        | (Refusal::Clear, Beyond::Torn) => Verdict::Cut,
        (Refusal::AfterTail, Beyond::Nothing) => Verdict::Clear,
        (Refusal::Clear, Beyond::Nothing) => Verdict::Accept,
    }
}

/// What the marker means if the kept blocks end at `head`.
pub fn refusal(marker: Marker, head: &Head) -> Refusal {
    match marker {
        Marker::Clear => Refusal::Clear,
        Marker::Unreadable => Refusal::Unreadable,
        Marker::Refused { first, previous } => {
            let follows = first == head.sequence.next() && previous == head.hash;
            if follows { Refusal::AfterTail } else { Refusal::Elsewhere }
        }
    }
}

/// Checks one block that was read under `key` against the head before it. The order of the checks
/// is their precedence: bytes, key, gap, chain, time, results.
pub fn judge(
    key: Sequence,
    read: Result<Block, BlockFault>,
    head: &Head,
) -> Result<Block, BlockFault> {
    let block = read?;
    if block.first() != key {
        return Err(BlockFault::Key { key, first: block.first() });
    }
    block.follows(head)?;
    Ok(block)
}

#[cfg(test)]
#[path = "../../tests/unit/journal/recovery.rs"]
mod tests;
