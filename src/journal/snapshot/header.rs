//! A snapshot's header: which state of which journal the body is an image of.

use super::{Kind, Point, SnapshotFault};
use crate::block::ChainHash;
use exchange::digest::StateDigest;
use exchange::results::ResultsHash;
use exchange::units::{Sequence, TimeMs};

/// First bytes of every snapshot.
pub const SNAPSHOT_MAGIC: [u8; 8] = *b"OPSNAPSH";
/// Version of header and chunks; the images inside have versions of their own.
pub const SNAPSHOT_VERSION: u16 = 1;
/// Bytes before the first chunk.
pub const SNAPSHOT_HEADER_BYTES: usize = 136;
/// Offset of the checksum, which covers everything else in the header.
const CHECKSUM_AT: usize = 12;
/// Offsets of fields, for reporting faults.
const SEQUENCE_AT: u64 = 16;
const TIME_AT: u64 = 24;
const KIND_AT: u64 = 10;

/// The header's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What the body holds.
    pub kind: Kind,
    /// The point that it is an image of.
    pub point: Point,
    /// Bytes of the image.
    pub body_bytes: u64,
}

impl Header {
    /// The header's bytes.
    pub fn encode(&self) -> [u8; SNAPSHOT_HEADER_BYTES] {
        let mut bytes = [0; SNAPSHOT_HEADER_BYTES];
        let Point { sequence, time, chain, results, state } = &self.point;
        let parts: [&[u8]; 10] = [
            &SNAPSHOT_MAGIC,
            &SNAPSHOT_VERSION.to_le_bytes(),
            &self.kind.number().to_le_bytes(),
            &[0; 4],
            &sequence.get().to_le_bytes(),
            &time.get().to_le_bytes(),
            &chain.0,
            &results.0,
            &state.0,
            &self.body_bytes.to_le_bytes(),
        ];
        for (to, from) in bytes.iter_mut().zip(parts.into_iter().flatten()) {
            *to = *from;
        }
        let checksum = checksum(&bytes).to_le_bytes();
        for (to, from) in bytes.iter_mut().skip(CHECKSUM_AT).zip(checksum) {
            *to = from;
        }
        bytes
    }

    /// Decodes a file's first bytes; or the first fault and its offset.
    pub fn decode(bytes: &[u8]) -> Result<Header, (u64, SnapshotFault)> {
        let truncated = SnapshotFault::Truncated { expected: SNAPSHOT_HEADER_BYTES };
        let parts = || {
            let (magic, rest) = bytes.split_first_chunk::<8>()?;
            let (version, rest) = rest.split_first_chunk::<2>()?;
            let (kind, rest) = rest.split_first_chunk::<2>()?;
            let (checksum, rest) = rest.split_first_chunk::<4>()?;
            let (sequence, rest) = rest.split_first_chunk::<8>()?;
            let (time, rest) = rest.split_first_chunk::<8>()?;
            let (chain, rest) = rest.split_first_chunk::<32>()?;
            let (results, rest) = rest.split_first_chunk::<32>()?;
            let (state, rest) = rest.split_first_chunk::<32>()?;
            let body = rest.first_chunk::<8>()?;
            let numbers = (
                u16::from_le_bytes(*version),
                u16::from_le_bytes(*kind),
                u32::from_le_bytes(*checksum),
                u64::from_le_bytes(*sequence),
                i64::from_le_bytes(*time),
                u64::from_le_bytes(*body),
            );
            Some((*magic, numbers, (*chain, *results, *state)))
        };
        let Some((magic, numbers, (chain, results, state))) = parts() else {
            return Err((0, truncated));
        };
        let (version, kind, sum, sequence, time, body_bytes) = numbers;
        if magic != SNAPSHOT_MAGIC {
            return Err((0, SnapshotFault::Magic));
        }
        if version != SNAPSHOT_VERSION {
            return Err((0, SnapshotFault::UnknownVersion(version)));
        }
        if sum != checksum(bytes) {
            return Err((0, SnapshotFault::Header));
        }
        let kind = Kind::of_number(kind).ok_or((KIND_AT, SnapshotFault::Field("kind")))?;
        // There is no state before the first record.
        if sequence == 0 {
            return Err((SEQUENCE_AT, SnapshotFault::Field("sequence")));
        }
        let time = TimeMs::new(time).ok_or((TIME_AT, SnapshotFault::Field("time")))?;
        let (sequence, chain) = (Sequence::new(sequence), ChainHash(chain));
        let (results, state) = (ResultsHash(results), StateDigest(state));
        let point = Point { sequence, time, chain, results, state };
        Ok(Header { kind, point, body_bytes })
    }
}

/// CRC-32 of the header without the checksum itself.
fn checksum(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(bytes.get(..CHECKSUM_AT).unwrap_or_default());
    hasher.update(bytes.get(CHECKSUM_AT + 4..SNAPSHOT_HEADER_BYTES).unwrap_or_default());
    hasher.finalize()
}
