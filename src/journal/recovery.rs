//! Recovery: decides from a journal's state at a start whether and how it is opened. Pure decision
//! tables, tested exhaustively; journal-format.md prints them.

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

/// Whether the last block known to be acknowledged is among those kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledged {
    /// It is, or none was acknowledged yet.
    There,
    /// It is not: the store has lost its tail.
    Gone,
    /// The witness cannot be read.
    Unreadable,
}

/// What the store holds from the refused sequence on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// Nothing.
    Nothing,
    /// One block, under the refused sequence.
    TheRefused,
    /// Something else: no block was ever written after a refusal.
    Others,
}

/// The decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Continue from the tail.
    Accept,
    /// Remove the refused block, make that durable, clear the marker, continue from the tail.
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
    /// The witness file is damaged: a lost tail would not be noticed.
    #[error(
        "RECOVERY_WITNESS: the witness of the last acknowledged block cannot be read; see \
         `openoutcry-replay salvage`"
    )]
    WitnessUnreadable,
    /// The journal ends before a block that was acknowledged.
    #[error("RECOVERY_SHORT: the journal ends before a block that was acknowledged")]
    Short,
    /// The marker does not fit the journal: blocks are missing, or it belongs to another one.
    #[error("RECOVERY_MARKER_ELSEWHERE: the refused marker does not follow the last block")]
    MarkerElsewhere,
    /// Other blocks than the refused one follow.
    #[error("RECOVERY_BEYOND: other blocks than the refused one follow the last accepted block")]
    OthersBeyond,
}

/// The decision table.
pub const fn decide(
    tail: Tail,
    acknowledged: Acknowledged,
    refusal: Refusal,
    beyond: Beyond,
) -> Verdict {
    match acknowledged {
        _ if matches!(tail, Tail::Damaged) => return Verdict::Refuse(Reason::TailDamaged),
        Acknowledged::Unreadable => return Verdict::Refuse(Reason::WitnessUnreadable),
        Acknowledged::Gone => return Verdict::Refuse(Reason::Short),
        Acknowledged::There => {}
    }
    match (refusal, beyond) {
        (Refusal::Unreadable, _) => Verdict::Refuse(Reason::MarkerUnreadable),
        (Refusal::Elsewhere, _) => Verdict::Refuse(Reason::MarkerElsewhere),
        // Without a marker nothing may follow the tail.
        (_, Beyond::Others) | (Refusal::Clear, Beyond::TheRefused) => {
            Verdict::Refuse(Reason::OthersBeyond)
        }
        (Refusal::AfterTail, Beyond::TheRefused) => Verdict::Cut,
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
