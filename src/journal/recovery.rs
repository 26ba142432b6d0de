//! Recovery: what a journal's state at start leads to. Pure tables, walked whole by the tests;
//! journal-format.md prints them.

use super::block::{Block, BlockFault, Head};
use super::marker::Marker;
use crate::exchange::units::Sequence;

/// Whether the blocks that are to stay end well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// There is none.
    Empty,
    /// The last ones are sound and follow each other.
    Sound,
    /// One of the last ones is not.
    Damaged,
}

/// What the marker says, seen from the blocks before its sequence.
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

/// What the store holds from the refused sequence on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// Nothing.
    Nothing,
    /// One block, stored as the refused one.
    TheRefused,
    /// Something else: other blocks were never written after a refusal.
    Others,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Go on from the tail.
    Accept,
    /// Remove the refused block, make that durable, clear the marker, go on from the tail.
    Cut,
    /// The refused block never arrived, or was removed already: clear the marker, go on.
    Clear,
    /// Touch nothing.
    Refuse(Reason),
}

/// Why a journal is not opened. The codes are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The last blocks are damaged.
    #[error("RECOVERY_TAIL: the last blocks are damaged")]
    TailDamaged,
    /// The marker file is damaged: a refused block could come back.
    #[error("RECOVERY_MARKER: the refused marker cannot be read")]
    MarkerUnreadable,
    /// The marker does not fit the journal: blocks are missing, or it belongs to another one.
    #[error("RECOVERY_MARKER_ELSEWHERE: the refused marker does not follow the last block")]
    MarkerElsewhere,
    /// More follows than the one block that was refused.
    #[error("RECOVERY_BEYOND: other blocks than the refused one follow the last accepted block")]
    OthersBeyond,
}

/// The decision table.
pub const fn decide(tail: Tail, refusal: Refusal, beyond: Beyond) -> Verdict {
    match (tail, refusal, beyond) {
        (Tail::Damaged, _, _) => Verdict::Refuse(Reason::TailDamaged),
        (_, Refusal::Unreadable, _) => Verdict::Refuse(Reason::MarkerUnreadable),
        (_, Refusal::Elsewhere, _) => Verdict::Refuse(Reason::MarkerElsewhere),
        // Without a marker nothing lies beyond the tail; were it said, it would be untrue.
        (_, _, Beyond::Others) | (_, Refusal::Clear, Beyond::TheRefused) => {
            Verdict::Refuse(Reason::OthersBeyond)
        }
        (_, Refusal::AfterTail, Beyond::TheRefused) => Verdict::Cut,
        (_, Refusal::AfterTail, Beyond::Nothing) => Verdict::Clear,
        (_, Refusal::Clear, Beyond::Nothing) => Verdict::Accept,
    }
}

/// What the marker means where the blocks that stay end at `head`.
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

/// Judges one block that was read under `key` where the journal had come to `head`. The order of
/// the checks is the order of precedence: bytes, key, gap, chain, time.
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
