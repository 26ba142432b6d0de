//! The refused marker: a file of fixed size, created with the journal and overwritten in place,
//! which says that the block after a certain head was refused and must be discarded. A failed write
//! may still reach the disk; overwriting allocated bytes needs no space, so the refusal can be
//! recorded even on a full disk.

use super::block::ChainHash;
use exchange::units::Sequence;

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
#[path = "../../tests/unit/journal/marker.rs"]
mod tests;
