//! The refused marker: a file of fixed size, made when the journal is made and overwritten in
//! place, which says that the block after a certain head was refused and must not come back.
//!
//! A write that failed may still have reached the disk. Overwriting bytes that are already
//! allocated needs no new space, so the refusal can be recorded on a disk that is full.

use super::block::ChainHash;
use crate::exchange::units::Sequence;

/// Size of the marker file.
pub const MARKER_BYTES: usize = 64;
/// First bytes of the marker file.
pub const MARKER_MAGIC: [u8; 8] = *b"OPREFUSE";
/// Bytes that the checksum covers: all before it.
const COVERED_BYTES: usize = MARKER_BYTES - 4;

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
    pub fn encode(self) -> [u8; MARKER_BYTES] {
        let (first, previous) = match self {
            Marker::Refused { first, previous } => (first, previous),
            Marker::Clear | Marker::Unreadable => (Sequence::ZERO, ChainHash::ZERO),
        };
        let mut bytes = [0; MARKER_BYTES];
        let number = first.get().to_le_bytes();
        let parts: [&[u8]; 3] = [&MARKER_MAGIC, &number, &previous.0];
        for (to, from) in bytes.iter_mut().zip(parts.into_iter().flatten()) {
            *to = *from;
        }
        let crc = checksum(&bytes).to_le_bytes();
        for (to, from) in bytes.iter_mut().skip(COVERED_BYTES).zip(crc) {
            *to = from;
        }
        bytes
    }

    /// What a marker file's bytes say.
    pub fn decode(bytes: &[u8]) -> Marker {
        let number = bytes.get(8..).and_then(|rest| rest.first_chunk::<8>());
        let previous = bytes.get(16..).and_then(|rest| rest.first_chunk::<32>());
        let marker = match (number, previous) {
            (Some([0, 0, 0, 0, 0, 0, 0, 0]), Some(_)) => Marker::Clear,
            (Some(number), Some(previous)) => Marker::Refused {
                first: Sequence::new(u64::from_le_bytes(*number)),
                previous: ChainHash(*previous),
            },
            _ => Marker::Unreadable,
        };
        // Only what we would write ourselves is a marker.
        if marker.encode() == bytes { marker } else { Marker::Unreadable }
    }
}

fn checksum(bytes: &[u8; MARKER_BYTES]) -> u32 {
    crc32fast::hash(bytes.get(..COVERED_BYTES).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_as_written_and_any_other_byte_makes_it_unreadable() {
        let refused = Marker::Refused { first: Sequence::new(7), previous: ChainHash([0xAB; 32]) };
        for marker in [Marker::Clear, refused] {
            let bytes = marker.encode();
            assert_eq!(Marker::decode(&bytes), marker);
            for bit in 0..MARKER_BYTES * 8 {
                let mut flipped = bytes;
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Marker::decode(&flipped), Marker::Unreadable, "bit {bit}");
            }
            for length in 0..MARKER_BYTES {
                assert_eq!(Marker::decode(&bytes[..length]), Marker::Unreadable, "{length}");
            }
        }
        assert_eq!(Marker::decode(&[0; MARKER_BYTES]), Marker::Unreadable);
    }
}
