//! The format of a block: header, checksum, hash chain. A block is one group commit, valid only as
//! a whole.
//!
//! The type says what is verified: [`RawBlock`] is unverified bytes, [`Block`] is verified bytes
//! and their records, and `Durable<Block>` is also on disk.

use std::fmt;

use sha2::{Digest, Sha256};

use super::member::MemberFault;
use super::record::{self, EncodeError, RecordError};
use exchange::command::Record;
use exchange::results::{Results, ResultsHash};
use exchange::units::{Sequence, TimeMs};

/// First bytes of every block.
pub const MAGIC: [u8; 8] = *b"OPOUTCRY";
/// Version of the block header.
pub const FORMAT_VERSION: u16 = 1;
/// Bytes before the first record.
pub const BLOCK_HEADER_BYTES: usize = 104;
/// Largest block. Far below the 131 kB at which the store's default would move a value into a
/// file of its own.
pub const BLOCK_BYTES_MAX: usize = 60_000;

/// Size at which a block of more than one record is full: some 580 plain orders of 42 bytes each.
/// sled's cache keeps hundreds of leaves, whatever its capacity, so this bounds the memory of a
/// venue under load.
pub const BLOCK_BYTES_FULL: usize = 24 << 10;

/// Usual bytes of an order, rounded up: the capacity allocated per record.
const RECORD_BYTES_USUAL: usize = 128;

const _: () = assert!(record::RECORD_BYTES_MAX >= 59_500);
const _: () = assert!(BLOCK_BYTES_FULL <= BLOCK_BYTES_MAX && BLOCK_BYTES_MAX <= 60_000);

/// SHA-256 of a whole encoded block; each block carries the one of the block before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChainHash(pub [u8; 32]);

impl ChainHash {
    /// The previous hash that the first block carries.
    pub const ZERO: ChainHash = ChainHash([0; 32]);
}

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&data_encoding::HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The time before any record's.
const EPOCH: TimeMs = match TimeMs::new(0) {
    Some(time) => time,
    None => TimeMs::MAX,
};

/// Where a journal ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The last record; [`Sequence::ZERO`] if there is none.
    pub sequence: Sequence,
    /// Hash of the last block; [`ChainHash::ZERO`] if there is none.
    pub hash: ChainHash,
    /// The last record's time; the zero time if there is none.
    pub time: TimeMs,
    /// The last record whose results the last block records; [`Sequence::ZERO`] if none.
    pub results_through: Sequence,
}

impl Head {
    /// The head of an empty journal.
    pub const START: Head = Head {
        sequence: Sequence::ZERO,
        hash: ChainHash::ZERO,
        time: EPOCH,
        results_through: Sequence::ZERO,
    };
}

/// What is wrong with a block. The codes are stable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockFault {
    /// Fewer bytes than a header, or than the header says.
    #[error("BLOCK_TRUNCATED: {found} bytes where {expected} are needed")]
    Truncated {
        /// Bytes needed.
        expected: usize,
        /// Bytes there.
        found: usize,
    },
    /// Does not begin with the magic bytes.
    #[error("BLOCK_MAGIC: these bytes are no block")]
    Magic,
    /// A format version that this software cannot read.
    #[error("BLOCK_UNKNOWN_VERSION: no reader for block format version {0}")]
    UnknownVersion(u16),
    /// Bits are set that have no meaning in this version.
    #[error("BLOCK_FLAGS: unknown flags {0:#06x}")]
    Flags(u16),
    /// The header claims more than a block may hold, or the bytes go on after its end.
    #[error("BLOCK_LENGTH: {0} bytes is not this block's length")]
    Length(usize),
    /// The checksum does not match: the bytes changed after they were written.
    #[error("BLOCK_CHECKSUM: the bytes changed after they were written")]
    Checksum,
    /// The header's record count does not match the body.
    #[error("BLOCK_COUNT: the header counts {counted} records, {found} follow")]
    Count {
        /// Per the header.
        counted: u32,
        /// In the body.
        found: u32,
    },
    /// A record is invalid.
    #[error("in record {sequence}: {fault}")]
    Record {
        /// Its number.
        sequence: Sequence,
        /// What is wrong with it.
        fault: RecordError,
    },
    /// Stored under another number than its header's first sequence.
    #[error("BLOCK_KEY: the block is stored as {key} and begins with record {first}")]
    Key {
        /// What it is stored under.
        key: Sequence,
        /// What its header says.
        first: Sequence,
    },
    /// Not the next block: records are missing, or duplicated.
    #[error("BLOCK_GAP: record {expected} is next, the block begins with {found}")]
    Gap {
        /// The record after the last.
        expected: Sequence,
        /// What the header says.
        found: Sequence,
    },
    /// The block does not carry the hash of the block before it.
    #[error(
        "BLOCK_CHAIN: the block follows {found}, the block before it is {expected}: this block or \
         the one before it was changed"
    )]
    Chain {
        /// The hash of the block before.
        expected: ChainHash,
        /// The hash carried.
        found: ChainHash,
    },
    /// A record is stamped before the one it follows.
    #[error("BLOCK_TIME: record {0} is stamped earlier than the one before it")]
    Time(Sequence),
    /// The block records results of its own or later records, or a hash of no records.
    #[error("BLOCK_RESULTS: the block cannot record results up to record {0}")]
    Results(Sequence),
    /// The block records the results of fewer records than the block before it.
    #[error(
        "BLOCK_RESULTS_BACK: the block records results up to record {found}, the block before it \
         up to record {before}"
    )]
    ResultsBack {
        /// Up to which record the block before records results.
        before: Sequence,
        /// Up to which record this one does.
        found: Sequence,
    },
    /// The journal ends before the record that is known to be in it.
    #[error("BLOCK_MISSING: the journal ends before record {0}")]
    Missing(Sequence),
    /// The gzip member that holds the block, or should hold it, is damaged.
    #[error(transparent)]
    Member(#[from] MemberFault),
}

/// Unverified bytes from a store or a file, said to be a block.
#[derive(Debug, Clone)]
pub struct RawBlock(Vec<u8>);

impl RawBlock {
    /// Bytes from anywhere.
    pub const fn new(bytes: Vec<u8>) -> RawBlock {
        RawBlock(bytes)
    }

    /// Checks header, length and checksum, then reads every record. Whether the block follows
    /// the one before it is [`Block::follows`].
    pub fn decode(self) -> Result<Block, BlockFault> {
        let header = Header::read(&self.0)?;
        let length = header.block_bytes()?;
        if self.0.len() < length {
            return Err(BlockFault::Truncated { expected: length, found: self.0.len() });
        }
        if self.0.len() > length {
            return Err(BlockFault::Length(self.0.len()));
        }
        if checksum(&self.0) != header.checksum {
            return Err(BlockFault::Checksum);
        }
        let records = header.records(&self.0)?;
        header.check_results()?;
        let hash = hash(&self.0);
        let Header { previous, recorded, .. } = header;
        Ok(Block { bytes: self.0, records, hash, previous, recorded })
    }
}

/// Length of the block that begins with these bytes, for readers of a stream; `bytes` must hold at
/// least its header.
pub fn block_bytes(bytes: &[u8]) -> Result<usize, BlockFault> {
    Header::read(bytes)?.block_bytes()
}

/// Records and checksum of the block that begins with these bytes, per its header.
pub(super) fn count_and_checksum(bytes: &[u8]) -> Option<(u32, u32)> {
    Header::read(bytes).ok().map(|header| (header.count, header.checksum))
}

/// First record, last record and length of the block that begins with these bytes, per its header.
pub(super) fn span(bytes: &[u8]) -> Result<(Sequence, Sequence, usize), BlockFault> {
    let header = Header::read(bytes)?;
    let others = u64::from(header.count).saturating_sub(1);
    let last = Sequence::new(header.first.get().saturating_add(others));
    Ok((header.first, last, header.block_bytes()?))
}

/// A verified block: its bytes and its records. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    bytes: Vec<u8>,
    records: Vec<Record>,
    hash: ChainHash,
    previous: ChainHash,
    recorded: Results,
}

impl Block {
    /// Sequence of its first record.
    pub fn first(&self) -> Sequence {
        self.records.first().map_or(Sequence::ZERO, |record| record.sequence)
    }

    /// Sequence of its last record.
    pub fn last(&self) -> Sequence {
        self.records.last().map_or(Sequence::ZERO, |record| record.sequence)
    }

    /// Its records, at least one.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The encoded block, [`BLOCK_BYTES_MAX`] bytes at most.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// SHA-256 of [`Block::bytes`].
    pub const fn hash(&self) -> ChainHash {
        self.hash
    }

    /// The hash of the block before it.
    pub const fn previous(&self) -> ChainHash {
        self.previous
    }

    /// The results, up to the end of some earlier block, that were known when this block was built.
    /// Only a replay can verify them.
    pub const fn recorded(&self) -> Results {
        self.recorded
    }

    /// The journal's head once this block is its last.
    pub fn head(&self) -> Head {
        let time = self.records.last().map_or(EPOCH, |record| record.time);
        let results_through = self.recorded.through;
        Head { sequence: self.last(), hash: self.hash, time, results_through }
    }

    /// The head that the block was built after. Time and recorded results are unknown, as only the
    /// block before it has them, and are left at the start's.
    pub fn built_after(&self) -> Head {
        let sequence = Sequence::new(self.first().get().saturating_sub(1));
        Head { sequence, hash: self.previous, ..Head::START }
    }

    /// Checks that this block is the next after `head`: no gap, chained, not stamped earlier, and
    /// recording no fewer results.
    pub fn follows(&self, head: &Head) -> Result<(), BlockFault> {
        let expected = head.sequence.next();
        if self.first() != expected {
            return Err(BlockFault::Gap { expected, found: self.first() });
        }
        if self.previous != head.hash {
            return Err(BlockFault::Chain { expected: head.hash, found: self.previous });
        }
        if let Some(record) = self.records.first().filter(|record| record.time < head.time) {
            return Err(BlockFault::Time(record.sequence));
        }
        let (before, found) = (head.results_through, self.recorded.through);
        if found < before { Err(BlockFault::ResultsBack { before, found }) } else { Ok(()) }
    }
}

/// A record that did not fit: seal the block and begin the next with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refill(pub Record);

/// Encodes records into one buffer as they come.
#[derive(Debug)]
pub struct BlockBuilder {
    bytes: Vec<u8>,
    records: Vec<Record>,
    after: Head,
    fault: Option<EncodeError>,
}

impl BlockBuilder {
    /// An empty block after `after`.
    pub fn new(after: &Head) -> BlockBuilder {
        BlockBuilder::expecting(after, 0)
    }

    /// An empty block with capacity for about `records`.
    pub fn expecting(after: &Head, records: usize) -> BlockBuilder {
        let room = records.saturating_mul(RECORD_BYTES_USUAL).min(BLOCK_BYTES_FULL);
        let mut bytes = Vec::with_capacity(room.saturating_add(BLOCK_HEADER_BYTES));
        bytes.resize(BLOCK_HEADER_BYTES, 0);
        BlockBuilder { bytes, records: Vec::with_capacity(records), after: *after, fault: None }
    }

    /// Adds the next record, or returns it if the block is full. A record that fits no block makes
    /// [`BlockBuilder::build`] fail; [`record::admit`] checks that beforehand.
    #[allow(clippy::result_large_err)] // the record is moved back, not copied about
    pub fn push(&mut self, record: Record) -> Result<(), Refill> {
        if self.fault.is_some() {
            return Ok(());
        }
        let last = self
            .records
            .last()
            .map_or((self.after.sequence, self.after.time), |last| (last.sequence, last.time));
        let expected = last.0.next();
        if record.sequence != expected {
            self.fault = Some(EncodeError::Sequence { expected, found: record.sequence });
        } else if record.time < last.1 {
            self.fault = Some(EncodeError::Time(record.sequence));
        } else {
            let Record { time, once, act, command, .. } = &record;
            let beside = (once.as_deref(), act.as_deref());
            let bytes_max = if self.is_empty() { BLOCK_BYTES_MAX } else { BLOCK_BYTES_FULL };
            match record::encode(command, beside, *time, &mut self.bytes, bytes_max) {
                Ok(()) => self.records.push(record),
                Err(EncodeError::TooLarge) if !self.is_empty() => return Err(Refill(record)),
                Err(fault) => self.fault = Some(fault),
            }
        }
        Ok(())
    }

    /// Whether nothing was added yet.
    pub const fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Records added so far.
    pub const fn count(&self) -> usize {
        self.records.len()
    }

    /// Seals the block. `recorded` are the latest results known, up to the end of some earlier
    /// block.
    ///
    /// # Errors
    /// A record's fault, or `recorded` is of records not before this block, or of fewer than the
    /// block before records.
    pub fn build(self, recorded: Results) -> Result<Block, EncodeError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let BlockBuilder { mut bytes, records, after, .. } = self;
        let body = bytes.len().saturating_sub(BLOCK_HEADER_BYTES);
        let (Ok(count), Ok(body)) = (u32::try_from(records.len()), u32::try_from(body)) else {
            return Err(EncodeError::TooLarge);
        };
        if count == 0 {
            return Err(EncodeError::Empty);
        }
        let first = after.sequence.next();
        let previous = after.hash;
        let mut header = Header { count, first, body, checksum: 0, previous, recorded };
        if header.check_results().is_err() || recorded.through < after.results_through {
            return Err(EncodeError::Results(recorded.through));
        }
        header.write(&mut bytes);
        header.checksum = checksum(&bytes);
        header.write(&mut bytes);
        let hash = hash(&bytes);
        let block = Block { bytes, records, hash, previous, recorded };
        debug_assert_eq!(RawBlock(block.bytes.clone()).decode().as_ref(), Ok(&block));
        Ok(block)
    }
}

/// The header's variable fields; the others are constants of the format.
struct Header {
    count: u32,
    first: Sequence,
    body: u32,
    checksum: u32,
    previous: ChainHash,
    recorded: Results,
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Header, BlockFault> {
        let truncated = BlockFault::Truncated { expected: BLOCK_HEADER_BYTES, found: bytes.len() };
        let parts = || {
            let (magic, rest) = bytes.split_first_chunk::<8>()?;
            let (version, rest) = rest.split_first_chunk::<2>()?;
            let (flags, rest) = rest.split_first_chunk::<2>()?;
            let (count, rest) = rest.split_first_chunk::<4>()?;
            let (first, rest) = rest.split_first_chunk::<8>()?;
            let (body, rest) = rest.split_first_chunk::<4>()?;
            let (checksum, rest) = rest.split_first_chunk::<4>()?;
            let (previous, rest) = rest.split_first_chunk::<32>()?;
            let (through, rest) = rest.split_first_chunk::<8>()?;
            let results = rest.first_chunk::<32>()?;
            let header = Header {
                count: u32::from_le_bytes(*count),
                first: Sequence::new(u64::from_le_bytes(*first)),
                body: u32::from_le_bytes(*body),
                checksum: u32::from_le_bytes(*checksum),
                previous: ChainHash(*previous),
                recorded: Results {
                    through: Sequence::new(u64::from_le_bytes(*through)),
                    hash: ResultsHash(*results),
                },
            };
            Some((*magic, u16::from_le_bytes(*version), u16::from_le_bytes(*flags), header))
        };
        match parts() {
            None => Err(truncated),
            Some((magic, ..)) if magic != MAGIC => Err(BlockFault::Magic),
            Some((_, version, ..)) if version != FORMAT_VERSION => {
                Err(BlockFault::UnknownVersion(version))
            }
            Some((.., flags, _)) if flags != 0 => Err(BlockFault::Flags(flags)),
            Some((.., header)) => Ok(header),
        }
    }

    fn write(&self, bytes: &mut [u8]) {
        let parts: [&[u8]; 10] = [
            &MAGIC,
            &FORMAT_VERSION.to_le_bytes(),
            &[0; 2],
            &self.count.to_le_bytes(),
            &self.first.get().to_le_bytes(),
            &self.body.to_le_bytes(),
            &self.checksum.to_le_bytes(),
            &self.previous.0,
            &self.recorded.through.get().to_le_bytes(),
            &self.recorded.hash.0,
        ];
        for (to, from) in bytes.iter_mut().zip(parts.into_iter().flatten()) {
            *to = *from;
        }
    }

    fn block_bytes(&self) -> Result<usize, BlockFault> {
        let body = usize::try_from(self.body).unwrap_or(usize::MAX);
        let length = body.saturating_add(BLOCK_HEADER_BYTES);
        if length > BLOCK_BYTES_MAX { Err(BlockFault::Length(length)) } else { Ok(length) }
    }

    /// Results must be of earlier records, and the hash is zero exactly if there are none: one
    /// encoding only.
    fn check_results(&self) -> Result<(), BlockFault> {
        let Results { through, hash } = self.recorded;
        let none = through == Sequence::ZERO;
        let sound = through < self.first && none == (hash == ResultsHash::ZERO);
        if sound { Ok(()) } else { Err(BlockFault::Results(through)) }
    }

    /// Reads the body: exactly the counted records, dense, times not descending, no bytes left.
    fn records(&self, bytes: &[u8]) -> Result<Vec<Record>, BlockFault> {
        let mut rest = bytes.get(BLOCK_HEADER_BYTES..).unwrap_or_default();
        // A record takes at least its header: this bounds what a forged count may allocate.
        let count_max = rest.len() / record::RECORD_HEADER_BYTES;
        let mut records: Vec<Record> = Vec::with_capacity(count_max.min(self.count as usize));
        let mut found = 0_u32;
        while !rest.is_empty() {
            let sequence = self.first.advanced(u64::from(found));
            let before = records.last().map_or(EPOCH, |last| last.time);
            let taken = record::decode(rest, sequence, &mut records)
                .map_err(|fault| BlockFault::Record { sequence, fault })?;
            if records.last().is_none_or(|record| record.time < before) {
                return Err(BlockFault::Time(sequence));
            }
            found = found.saturating_add(1);
            rest = rest.get(taken..).unwrap_or_default();
        }
        let counted = self.count;
        if found != counted || found == 0 {
            return Err(BlockFault::Count { counted, found });
        }
        Ok(records)
    }
}

/// Offset of the checksum, which does not cover itself.
const CHECKSUM_OFFSET: usize = 28;
/// Where the checksum ends.
const CHECKSUM_END: usize = CHECKSUM_OFFSET + 4;

/// CRC-32 (IEEE) of a block's bytes without the checksum's own four.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(bytes.get(..CHECKSUM_OFFSET).unwrap_or_default());
    crc.update(bytes.get(CHECKSUM_END..).unwrap_or_default());
    crc.finalize()
}

pub(super) fn hash(bytes: &[u8]) -> ChainHash {
    ChainHash(Sha256::digest(bytes).into())
}
