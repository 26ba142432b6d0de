//! A snapshot's header: which state of which journal the body is an image of.

use bincode::config::{Configuration, Fixint, LittleEndian};
use bincode::{Decode, Encode};

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

/// Numbers of fixed width, lowest byte first, with nothing between fields.
const LITTLE_ENDIAN: Configuration<LittleEndian, Fixint> = bincode::config::legacy();

/// The header as it stands in the file.
#[derive(Debug, Encode, Decode)]
struct Layout {
    magic: [u8; 8],
    version: u16,
    kind: u16,
    checksum: u32,
    sequence: u64,
    time: i64,
    chain: [u8; 32],
    results: [u8; 32],
    state: [u8; 32],
    body_bytes: u64,
}

impl Layout {
    fn bytes(&self) -> [u8; SNAPSHOT_HEADER_BYTES] {
        let mut bytes = [0; SNAPSHOT_HEADER_BYTES];
        let written = bincode::encode_into_slice(self, &mut bytes, LITTLE_ENDIAN);
        debug_assert_eq!(written.ok(), Some(SNAPSHOT_HEADER_BYTES));
        bytes
    }
}

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
        let Point { sequence, time, chain, results, state } = self.point;
        let mut layout = Layout {
            magic: SNAPSHOT_MAGIC,
            version: SNAPSHOT_VERSION,
            kind: self.kind.number(),
            checksum: 0,
            sequence: sequence.get(),
            time: time.get(),
            chain: chain.0,
            results: results.0,
            state: state.0,
            body_bytes: self.body_bytes,
        };
        layout.checksum = checksum(&layout.bytes());
        layout.bytes()
    }

    /// Decodes a file's first bytes; or the first fault and its offset.
    pub fn decode(bytes: &[u8]) -> Result<Header, (u64, SnapshotFault)> {
        let read: Result<(Layout, usize), _> = bincode::decode_from_slice(bytes, LITTLE_ENDIAN);
        let truncated = SnapshotFault::Truncated { expected: SNAPSHOT_HEADER_BYTES };
        let Ok((layout, _)) = read else { return Err((0, truncated)) };
        let Layout { magic, version, kind, checksum: sum, .. } = layout;
        let Layout { sequence, time, chain, results, state, body_bytes, .. } = layout;
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
