//! Recovery: decides from a journal's state at a start whether and how it is opened. Pure decision
//! tables, tested exhaustively; data-directory.md prints them.

use super::block::{Block, BlockFault, ChainHash, Head};
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

// The refused marker: a file of fixed size, created with the journal and overwritten in place,
// which says that the block after a certain head was refused and must be discarded. A failed write
// may still reach the disk; overwriting allocated bytes needs no space, so the refusal can be
// recorded even on a full disk.

/// Size of the marker file.
pub const SLOT_BYTES: usize = 64;
/// First bytes of the marker file.
pub const MARKER_MAGIC: [u8; 8] = *b"OPREFUSE";
/// Bytes that the checksum covers: all before it.
const COVERED_BYTES: usize = SLOT_BYTES - 4;

/// What the marker file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// No block is refused.
    Clear,
    /// The block that begins with `first` is refused.
    Refused {
        /// Its first sequence.
        first: Sequence,
        /// Hash of the block before it, [`ChainHash::ZERO`] if it would have been the first.
        previous: ChainHash,
    },
    /// The file does not hold a marker: its size, magic, checksum or padding is wrong.
    Unreadable,
}

impl Marker {
    /// The marker file's bytes. An unreadable marker is never written; it encodes as clear.
    pub fn encode(self) -> [u8; SLOT_BYTES] {
        match self {
            Marker::Refused { first, previous } => encode(MARKER_MAGIC, first, previous),
            Marker::Clear | Marker::Unreadable => {
                encode(MARKER_MAGIC, Sequence::ZERO, ChainHash::ZERO)
            }
        }
    }

    /// What a marker file's bytes say.
    pub fn decode(bytes: &[u8]) -> Marker {
        match decode(MARKER_MAGIC, bytes) {
            Some((Sequence::ZERO, ChainHash::ZERO)) => Marker::Clear,
            Some((Sequence::ZERO, _)) | None => Marker::Unreadable,
            Some((first, previous)) => Marker::Refused { first, previous },
        }
    }
}

fn encode(magic: [u8; 8], sequence: Sequence, hash: ChainHash) -> [u8; SLOT_BYTES] {
    let mut bytes = [0; SLOT_BYTES];
    let number = sequence.get().to_le_bytes();
    let parts: [&[u8]; 3] = [&magic, &number, &hash.0];
    for (to, from) in bytes.iter_mut().zip(parts.into_iter().flatten()) {
        *to = *from;
    }
    let crc = crc32fast::hash(bytes.get(..COVERED_BYTES).unwrap_or_default()).to_le_bytes();
    for (to, from) in bytes.iter_mut().skip(COVERED_BYTES).zip(crc) {
        *to = from;
    }
    bytes
}

/// What a slot of this form says; `None` if it is not whole.
pub(super) fn decode(magic: [u8; 8], bytes: &[u8]) -> Option<(Sequence, ChainHash)> {
    let number = bytes.get(8..)?.first_chunk::<8>()?;
    let hash = ChainHash(*bytes.get(16..)?.first_chunk::<32>()?);
    let sequence = Sequence::new(u64::from_le_bytes(*number));
    // Only exactly what we would write is accepted: magic, padding, checksum, length.
    (encode(magic, sequence, hash) == bytes).then_some((sequence, hash))
}

#[cfg(test)]
#[path = "../../tests/unit/journal/recovery.rs"]
mod tests;

#[cfg(test)]
#[path = "../../tests/unit/journal/marker.rs"]
mod marker_tests;
