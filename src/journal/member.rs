//! A gzip member (RFC 1952) of a compressed file, which any library can unpack. Its header is
//! canonical and has a checksum of the packed bytes, so that every changed bit is detected, padding
//! included.

use std::io::{self, Read};

use crc32fast::Hasher;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// Bytes of a member before its packed ones.
pub const MEMBER_HEADER_BYTES: usize = 24;
/// Bytes of a member after its packed ones: checksum and length of what they unpack to.
pub const MEMBER_TRAILER_BYTES: usize = 8;
/// Most bytes of blocks in a member written here; a reader accepts any number.
pub const MEMBER_BLOCKS_BYTES: usize = 1 << 20;
/// First bytes of every member: gzip, deflate, an extra field, no time, no system; 12 bytes of
/// extra field with an 8-byte subfield "OP": length of the packed bytes, and checksum of them and
/// the trailer.
pub const MEMBER_START: [u8; 16] = [0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 12, 0, b'O', b'P', 8, 0];
/// First bytes of any gzip file.
pub const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Packed bytes read from a file at a time.
const READ_BYTES: usize = 32 << 10;

/// What is wrong with a member. The codes are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MemberFault {
    /// The file ends inside the member.
    #[error("MEMBER_TRUNCATED: the file ends inside a gzip member; it was cut off")]
    Truncated,
    /// It has not this format's header: damaged, or packed by another program.
    #[error(
        "MEMBER_HEADER: no gzip member of this form begins here; a file packed by another \
         program is to be unpacked first"
    )]
    Header,
    /// The packed bytes do not unpack, or not to their end.
    #[error("MEMBER_DEFLATE: the packed bytes cannot be unpacked")]
    Deflate,
    /// The packed bytes are not those that were written.
    #[error("MEMBER_PACKED_CHECKSUM: the packed bytes changed after they were written")]
    PackedChecksum,
    /// The unpacked bytes are not those that were packed.
    #[error("MEMBER_CHECKSUM: what was unpacked is not what was packed")]
    Checksum,
    /// The unpacked bytes have another length than those that were packed.
    #[error("MEMBER_LENGTH: what was unpacked has another length than what was packed")]
    Length,
}

/// Why a member could not be read.
#[derive(Debug)]
pub enum UnpackError {
    /// The file could not be read.
    Io(io::Error),
    /// The member is damaged.
    Fault(MemberFault),
}

impl From<io::Error> for UnpackError {
    fn from(error: io::Error) -> UnpackError {
        UnpackError::Io(error)
    }
}

impl From<MemberFault> for UnpackError {
    fn from(fault: MemberFault) -> UnpackError {
        UnpackError::Fault(fault)
    }
}

/// Packs bytes into one member. Deterministic.
///
/// # Errors
/// More than 4 GiB, or the compressor failed, which it never does in memory.
pub fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let too_large = |_| io::Error::other("too many bytes for one gzip member");
    let length = u32::try_from(bytes.len()).map_err(too_large)?;
    let mut packed = Vec::with_capacity(bytes.len() / 2);
    // Fastest level: compressing competes with trading for the cores.
    let mut deflate = Compress::new(Compression::fast(), false);
    let mut rest = bytes;
    loop {
        packed.reserve(READ_BYTES);
        let before = deflate.total_in();
        let status = deflate.compress_vec(rest, &mut packed, FlushCompress::Finish)?;
        rest = rest.get(counted(deflate.total_in(), before)..).unwrap_or_default();
        if status == Status::StreamEnd {
            break;
        }
    }
    let packed_length = u32::try_from(packed.len()).map_err(too_large)?;
    // gzip's trailer: checksum and length of the unpacked bytes.
    packed.extend_from_slice(&crc32fast::hash(bytes).to_le_bytes());
    packed.extend_from_slice(&length.to_le_bytes());
    let checksum = crc32fast::hash(&packed).to_le_bytes();
    let parts: [&[u8]; 4] = [&MEMBER_START, &packed_length.to_le_bytes(), &checksum, &packed];
    Ok(parts.concat())
}

/// The fields of a member's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberHeader {
    /// Packed bytes, without header and trailer.
    pub packed_bytes: u32,
    /// CRC-32 of the packed bytes and the trailer.
    pub packed_checksum: u32,
}

impl MemberHeader {
    /// Reads a header; `bytes` may go on after it.
    pub fn read(bytes: &[u8]) -> Result<MemberHeader, MemberFault> {
        // The bytes there are must match, so that garbage at a file's end is not taken for a
        // truncation.
        let start = bytes.get(..MEMBER_START.len()).unwrap_or(bytes);
        if !MEMBER_START.starts_with(start) {
            return Err(MemberFault::Header);
        }
        let rest = bytes.get(MEMBER_START.len()..).unwrap_or_default();
        let both = rest.split_first_chunk::<4>().map(|(a, rest)| (a, rest.first_chunk::<4>()));
        let Some((length, Some(checksum))) = both else { return Err(MemberFault::Truncated) };
        let packed_bytes = u32::from_le_bytes(*length);
        Ok(MemberHeader { packed_bytes, packed_checksum: u32::from_le_bytes(*checksum) })
    }

    /// Length of the whole member.
    pub fn member_bytes(self) -> u64 {
        u64::from(self.packed_bytes).saturating_add(AROUND_BYTES)
    }
}

/// Bytes of header and trailer.
const AROUND_BYTES: u64 = 24 + 8;
const _: () = assert!(MEMBER_HEADER_BYTES + MEMBER_TRAILER_BYTES == 24 + 8);

/// The part of a running total that was added since `before`.
fn counted(total: u64, before: u64) -> usize {
    usize::try_from(total.saturating_sub(before)).unwrap_or(usize::MAX)
}

/// Unpacks consecutive members with bounded memory.
pub struct Members<R> {
    input: R,
    /// Bytes read from the file; the first `used` are consumed.
    buffer: Vec<u8>,
    used: usize,
    open: Option<OpenMember>,
    begun: u64,
    offset: u64,
    next_offset: u64,
    over: bool,
}

/// A member being unpacked.
struct OpenMember {
    header: MemberHeader,
    inflate: Decompress,
    packed_left: u64,
    packed: Hasher,
    unpacked: Hasher,
    /// Unpacked bytes so far, modulo 2^32, as gzip counts them.
    length: u32,
    ended: bool,
}

impl<R: Read> Members<R> {
    /// Over a file's bytes, from the beginning of a member.
    pub const fn new(input: R) -> Members<R> {
        let buffer = Vec::new();
        let (open, over) = (None, false);
        Members { input, buffer, used: 0, open, begun: 0, offset: 0, next_offset: 0, over }
    }

    /// Whether the file has ended, between two members.
    pub const fn over(&self) -> bool {
        self.over
    }

    /// Members begun so far; the number of the open one, counted from 1.
    pub const fn number(&self) -> u64 {
        self.begun
    }

    /// Where in the file the open member begins, or the next if none is open.
    pub const fn offset(&self) -> u64 {
        if self.open.is_some() { self.offset } else { self.next_offset }
    }

    /// Appends unpacked bytes until `out` has `length`, or the member ends and is verified. Begins
    /// the next member if none is open; appends nothing at the file's end.
    pub fn fill(&mut self, out: &mut Vec<u8>, length: usize) -> Result<(), UnpackError> {
        if self.open.is_none() && !self.begin_member()? {
            return Ok(());
        }
        let mut from = out.len();
        out.resize(length.max(from), 0);
        let filled = loop {
            let Some(into) = out.get_mut(from..).filter(|into| !into.is_empty()) else {
                break Ok(());
            };
            match self.unpack(into) {
                Ok(Some(count)) => from = from.saturating_add(count),
                Ok(None) => break self.finish_member(),
                Err(error) => break Err(error),
            }
        };
        out.truncate(from);
        filled
    }

    /// Begins the next member; `false` where the file ends.
    fn begin_member(&mut self) -> Result<bool, UnpackError> {
        self.offset = self.next_offset;
        let mut bytes = Vec::with_capacity(MEMBER_HEADER_BYTES);
        self.take(&mut bytes, MEMBER_HEADER_BYTES)?;
        self.over = bytes.is_empty();
        if self.over {
            return Ok(false);
        }
        self.begun = self.begun.saturating_add(1);
        let header = MemberHeader::read(&bytes)?;
        self.next_offset = self.offset.saturating_add(header.member_bytes());
        self.open = Some(OpenMember {
            header,
            inflate: Decompress::new(false),
            packed_left: u64::from(header.packed_bytes),
            packed: Hasher::new(),
            unpacked: Hasher::new(),
            length: 0,
            ended: false,
        });
        Ok(true)
    }

    /// Unpacks into `into`, which is not empty: the bytes written, or `None` at the member's end.
    fn unpack(&mut self, into: &mut [u8]) -> Result<Option<usize>, UnpackError> {
        loop {
            if self.unread().is_empty() {
                self.refill()?;
            }
            let Some(open) = self.open.as_mut().filter(|open| !open.ended) else {
                return Ok(None);
            };
            let unread = self.buffer.get(self.used..).unwrap_or_default();
            let limit = usize::try_from(open.packed_left).unwrap_or(usize::MAX);
            let packed = unread.get(..limit).unwrap_or(unread);
            if packed.is_empty() && open.packed_left > 0 {
                return Err(MemberFault::Truncated.into());
            }
            let (before_in, before_out) = (open.inflate.total_in(), open.inflate.total_out());
            let status = open.inflate.decompress(packed, into, FlushDecompress::None);
            let status = status.map_err(|_| MemberFault::Deflate)?;
            let taken = counted(open.inflate.total_in(), before_in);
            let made = counted(open.inflate.total_out(), before_out);
            open.packed.update(packed.get(..taken).unwrap_or_default());
            open.packed_left = open.packed_left.saturating_sub(u64::try_from(taken).unwrap_or(0));
            self.used = self.used.saturating_add(taken);
            let unpacked = into.get(..made).unwrap_or_default();
            open.unpacked.update(unpacked);
            open.length = open.length.wrapping_add(u32::try_from(made).unwrap_or(0));
            open.ended = status == Status::StreamEnd;
            match (made, taken) {
                (0, 0) if !open.ended => return Err(MemberFault::Deflate.into()),
                (0, _) if !open.ended => {}
                (0, _) => return Ok(None),
                _ => return Ok(Some(made)),
            }
        }
    }

    /// Verifies the member's trailer and checksums.
    fn finish_member(&mut self) -> Result<(), UnpackError> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        // `offset` reports where the member began until it is verified.
        let after = std::mem::replace(&mut self.next_offset, self.offset);
        if open.packed_left > 0 {
            return Err(MemberFault::Deflate.into());
        }
        let mut trailer = Vec::with_capacity(MEMBER_TRAILER_BYTES);
        self.take(&mut trailer, MEMBER_TRAILER_BYTES)?;
        let parts = trailer.split_first_chunk::<4>().map(|(a, rest)| (a, rest.first_chunk::<4>()));
        let Some((checksum, Some(length))) = parts else {
            return Err(MemberFault::Truncated.into());
        };
        open.packed.update(&trailer);
        if open.packed.finalize() != open.header.packed_checksum {
            return Err(MemberFault::PackedChecksum.into());
        }
        if u32::from_le_bytes(*checksum) != open.unpacked.finalize() {
            return Err(MemberFault::Checksum.into());
        }
        if u32::from_le_bytes(*length) != open.length {
            return Err(MemberFault::Length.into());
        }
        self.next_offset = after;
        Ok(())
    }

    fn unread(&self) -> &[u8] {
        self.buffer.get(self.used..).unwrap_or_default()
    }

    fn refill(&mut self) -> io::Result<()> {
        self.used = 0;
        self.buffer.clear();
        let limit = u64::try_from(READ_BYTES).unwrap_or(u64::MAX);
        self.input.by_ref().take(limit).read_to_end(&mut self.buffer).map(drop)
    }

    /// Appends raw bytes of the file until `out` has `length`, or the file ends.
    fn take(&mut self, out: &mut Vec<u8>, length: usize) -> io::Result<()> {
        while out.len() < length {
            if self.unread().is_empty() {
                self.refill()?;
            }
            let missing = length.saturating_sub(out.len());
            let unread = self.unread();
            let part = unread.get(..missing).unwrap_or(unread);
            if part.is_empty() {
                break;
            }
            out.extend_from_slice(part);
            self.used = self.used.saturating_add(part.len());
        }
        Ok(())
    }
}

impl<R> std::fmt::Debug for Members<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Members").field("begun", &self.begun).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "../../tests/unit/journal/member.rs"]
mod tests;
