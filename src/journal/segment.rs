//! The bytes of a segment: blocks in a run, what stands after the last of them, and the sealed
//! form, in which members of the portable form replace a full segment's blocks under the same
//! name.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use memchr::memmem;

use super::block::{
    self, BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, MAGIC, checksum, count_and_checksum, span,
};
use super::disk::{self, File, OpenOptions};
use super::member::{
    self, MEMBER_HEADER_BYTES, MEMBER_TRAILER_BYTES, MemberFault, MemberHeader, Members,
    UnpackError,
};
use super::portable::sync_folder_of;
use super::record::RECORD_HEADER_BYTES;
use super::store::Stored;
use exchange::units::Sequence;

// Consecutive blocks in memory, as they stand in a segment or a member of one: where each begins.

/// Whole blocks, one after the other, each of which follows the one before it by number.
#[derive(Debug)]
pub(super) struct Run {
    bytes: Vec<u8>,
    /// First record and offset of each block.
    starts: Vec<(Sequence, usize)>,
    /// The record after the last.
    next: Sequence,
}

impl Run {
    /// The sound blocks at the beginning of `bytes`, from record `first` on, and the bytes after
    /// them.
    pub(super) fn read(mut bytes: Vec<u8>, first: Sequence) -> (Run, Vec<u8>) {
        let (mut starts, mut next, mut used) = (Vec::new(), first, 0_usize);
        while let Some((begins, last, length)) = sound_span(bytes.get(used..).unwrap_or_default())
            && begins == next
        {
            starts.push((begins, used));
            (next, used) = (last.next(), used.saturating_add(length));
        }
        let rest = bytes.split_off(used.min(bytes.len()));
        (Run { bytes, starts, next }, rest)
    }

    /// Adds the next block.
    pub(super) fn push(&mut self, first: Sequence, block: &[u8]) {
        self.starts.push((first, self.bytes.len()));
        self.bytes.extend_from_slice(block);
        self.next = block::span(block).map_or(first, |(_, last, _)| last).next();
    }

    /// Drops the blocks from a record on; returns how many bytes are left.
    pub(super) fn cut(&mut self, from: Sequence) -> usize {
        let kept = self.starts.partition_point(|(first, _)| *first < from);
        if let Some((first, offset)) = self.starts.get(kept).copied() {
            self.bytes.truncate(offset);
            self.starts.truncate(kept);
            self.next = first;
        }
        self.bytes.len()
    }

    /// The bytes of all blocks.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The record after the last.
    pub(super) const fn next(&self) -> Sequence {
        self.next
    }

    /// Whether one of the blocks holds a record.
    pub(super) fn holds(&self, record: Sequence) -> bool {
        self.starts.first().is_some_and(|(first, _)| *first <= record) && record < self.next
    }

    /// The blocks, each with its first record.
    pub(super) fn blocks(&self) -> impl DoubleEndedIterator<Item = (Sequence, &[u8])> {
        let ends = self.starts.iter().skip(1).map(|(_, offset)| *offset);
        let ends = ends.chain([self.bytes.len()]).collect::<Vec<_>>();
        let starts = self.starts.iter().zip(ends);
        let blocks = starts.map(|((first, from), to)| (*first, self.bytes.get(*from..to)));
        blocks
            .map(|(first, block)| (first, block.unwrap_or_default()))
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// The last block that begins at or before a record.
    pub(super) fn at_or_before(&self, record: Sequence) -> Option<Stored> {
        let after = self.starts.partition_point(|(first, _)| *first <= record);
        self.block(after.checked_sub(1)?)
    }

    /// The first block that begins at or after a record.
    pub(super) fn at_or_after(&self, record: Sequence) -> Option<Stored> {
        self.block(self.starts.partition_point(|(first, _)| *first < record))
    }

    fn block(&self, index: usize) -> Option<Stored> {
        let (first, from) = self.starts.get(index).copied()?;
        let to = self.starts.get(index.saturating_add(1)).map_or(self.bytes.len(), |next| next.1);
        self.bytes.get(from..to).map(|block| (first, block.to_vec()))
    }
}

// What a block's bytes say of themselves, before its records are read: whether they are those that
// were written, and if not, how they differ.

/// The polynomial of CRC-32, reversed.
const CRC_POLYNOMIAL: u32 = 0xEDB8_8320;

/// First record, last record and length of the block that begins with these bytes, if they are
/// those that were written, as far as the checksum tells.
pub(super) fn sound_span(bytes: &[u8]) -> Option<(Sequence, Sequence, usize)> {
    let (count, written) = count_and_checksum(bytes)?;
    let (first, last, length) = span(bytes).ok()?;
    let whole = bytes.get(..length)?;
    (count > 0 && checksum(whole) == written).then_some((first, last, length))
}

/// Whether one flipped bit is what the checksum misses in the block that these bytes are.
pub(super) fn is_one_bit_off(bytes: &[u8]) -> bool {
    let Some((_, written)) = count_and_checksum(bytes) else { return false };
    let difference = checksum(bytes) ^ written;
    // The error of a bit is that of the bit one byte later, moved on by a byte of zeros.
    let moved = |crc: u32| {
        (0..8).fold(crc, |crc, _| if crc & 1 == 1 { crc >> 1 ^ CRC_POLYNOMIAL } else { crc >> 1 })
    };
    let mut errors = [0, 1, 2, 3, 4, 5, 6, 7].map(|bit| moved(1 << bit));
    let covered = bytes.len().saturating_sub(size_of::<u32>());
    let found = (0..covered).any(|_| {
        let found = errors.contains(&difference);
        errors = errors.map(moved);
        found
    });
    found || difference.is_power_of_two()
}

/// Where the records end that a block's header counts, as their own headers say; `None` if these do
/// not say so.
pub(super) fn records_end(bytes: &[u8]) -> Option<usize> {
    let ((count, _), mut end) = (count_and_checksum(bytes)?, BLOCK_HEADER_BYTES);
    for _ in 0..count {
        let record = bytes.get(end..)?.first_chunk::<{ RECORD_HEADER_BYTES }>()?;
        let [a, b, c, d, kind @ ..] = record;
        if kind.starts_with(&[0, 0]) {
            return None;
        }
        let body = usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).ok()?;
        end = end.saturating_add(RECORD_HEADER_BYTES).saturating_add(body);
    }
    Some(end)
}

// What stands in an open segment after its last sound block. A segment is made of zeros before it
// takes a block, and a disk writes whole sectors: so what a crash left of a write can be told from
// a block that was whole on the disk and was damaged later.

/// The least that a disk writes as a whole.
const SECTOR_BYTES: usize = 512;
/// So many zeros end no block, but for one of empty texts; a write that was cut short leaves more.
const ZEROS_TORN: usize = 16;
/// Bytes compared with zeros at a time.
const ZEROS: [u8; 4096] = [0; 4096];

/// What stands after the last sound block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Zeros.
    Nothing,
    /// A part of one block, with zeros where the rest of it was to be: a write that did not end.
    Torn,
    /// Bytes that no interrupted write leaves: a block was damaged after it was written.
    Damaged,
    /// A sound block after such bytes, or one that is not the next: none is written before the one
    /// before it is on disk.
    Others,
}

/// Judges the bytes from the last block's end to the segment's, which begin at offset `at`.
pub(super) fn rest(bytes: &[u8], at: usize) -> Rest {
    let Some(end) = used(bytes) else { return Rest::Nothing };
    let block_at = |at: usize| sound_span(bytes.get(at..)?);
    if memmem::find_iter(bytes, &MAGIC).any(|at| block_at(at).is_some()) {
        return Rest::Others;
    }
    if is_torn(bytes, at, end) { Rest::Torn } else { Rest::Damaged }
}

/// Where the last byte that is not zero ends.
fn used(bytes: &[u8]) -> Option<usize> {
    let chunks = bytes.chunks(ZEROS.len());
    let last = chunks.into_iter().rposition(|chunk| !ZEROS.starts_with(chunk))?;
    let from = last.saturating_mul(ZEROS.len());
    let within = bytes.get(from..)?.iter().take(ZEROS.len()).rposition(|byte| *byte != 0)?;
    Some(from.saturating_add(within).saturating_add(1))
}

/// Whether these bytes, of which the first `end` are not all zeros, are a part of one block.
fn is_torn(bytes: &[u8], at: usize, end: usize) -> bool {
    if end <= BLOCK_HEADER_BYTES {
        return true;
    }
    let missing = |sector: &[u8]| ZEROS.starts_with(sector);
    let first = SECTOR_BYTES - at % SECTOR_BYTES;
    // A block's own length tells how far it was to reach; without it there is only what is there.
    // A header of which a sector is missing tells nothing.
    let second = bytes.get(first..end.min(first.saturating_add(SECTOR_BYTES)));
    let in_part = first < BLOCK_HEADER_BYTES && second.is_some_and(missing);
    let claimed = if in_part { None } else { block::block_bytes(bytes).ok() };
    let extent = claimed.unwrap_or(end);
    if end > extent || extent > BLOCK_BYTES_MAX {
        return false;
    }
    let block = bytes.get(..extent).unwrap_or(bytes);
    // Whole records that end elsewhere: it is the length that was changed.
    let records = records_end(block);
    if claimed.is_some() && records.is_some_and(|records| records != extent) {
        return false;
    }
    let (begun, sectors) = block.split_at(block.len().min(first));
    let unfinished = claimed.is_some() && end < extent && records.is_none();
    let short = unfinished || extent.saturating_sub(end) >= ZEROS_TORN;
    let lacks = short || missing(begun) || sectors.chunks(SECTOR_BYTES).any(missing);
    // A block may end with a few zeros that are alone in their sector.
    lacks && !is_one_bit_off(block)
}

/// The parts of a block at offset `at` that are one set bit alone in their sector, each with where
/// it stands in the block. Without such a part the block looks like one of which a bit was flipped.
pub(super) fn lone_bits(block: &[u8], at: usize) -> impl Iterator<Item = (usize, &[u8])> {
    // What stands in the first sector has more: a block begins with its magic.
    let first = SECTOR_BYTES - at % SECTOR_BYTES;
    let sectors = block.get(first..).unwrap_or_default().chunks(SECTOR_BYTES);
    let is_lone = |part: &[u8]| part.iter().map(|byte| byte.count_ones()).sum::<u32>() == 1;
    (first..).step_by(SECTOR_BYTES).zip(sectors).filter(move |(_, part)| is_lone(part))
}

// A sealed segment: the blocks of a full one, packed into the gzip members of the portable form.
// It replaces the open form under the same name, so that whoever lists the folder finds each
// segment once, in either form.

/// Bytes of blocks in a member, at most; a larger block is a member alone. A read of one block
/// unpacks a member.
pub(super) const MEMBER_BYTES: usize = 128 << 10;
/// Unpacked bytes that a member of a segment may claim.
const UNPACKED_MAX: usize = 2 << 20;
/// Suffix of a file's name while it is being written.
pub(super) const PARTIAL: &str = "partial";

/// A member and its first record.
pub(super) type Packed = (Sequence, Vec<u8>);

/// Packs blocks; the same blocks give the same bytes.
pub(super) fn pack(run: &Run) -> io::Result<Vec<Packed>> {
    let (mut members, mut open): (Vec<Packed>, Option<(Sequence, Vec<u8>)>) = (Vec::new(), None);
    for (first, block) in run.blocks() {
        match &mut open {
            Some((_, bytes)) if bytes.len().saturating_add(block.len()) <= MEMBER_BYTES => {
                bytes.extend_from_slice(block);
            }
            _ => {
                if let Some((first, bytes)) = open.replace((first, block.to_vec())) {
                    members.push((first, member::pack(&bytes)?));
                }
            }
        }
    }
    if let Some((first, bytes)) = open {
        members.push((first, member::pack(&bytes)?));
    }
    Ok(members)
}

/// The blocks of one member, which begin with record `first`.
pub(super) fn unpack(packed: &[u8], first: Sequence) -> Result<Run, String> {
    let length = packed.last_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length));
    let length = usize::try_from(length).unwrap_or(usize::MAX).min(UNPACKED_MAX);
    let (mut members, mut bytes) = (Members::new(packed), Vec::new());
    // One byte more than it claims: so its end is reached and verified.
    members.fill(&mut bytes, length.saturating_add(1)).map_err(told)?;
    let (run, rest) = self::Run::read(bytes, first);
    if rest.is_empty() && !run.bytes().is_empty() {
        return Ok(run);
    }
    Err(format!("the block of record {} is not sound", run.next()))
}

/// Where the members of a sealed segment stand in its bytes, each with its first record; the first
/// one's is that of the segment, whose name tells it.
pub(super) fn places(
    bytes: &[u8],
    first: Sequence,
) -> Result<Vec<(Sequence, Range<usize>)>, String> {
    let (mut places, mut offset) = (Vec::new(), 0_usize);
    while let Some(rest) = bytes.get(offset..).filter(|rest| !rest.is_empty()) {
        let faulty = |fault: MemberFault| format!("at byte {offset}: {fault}");
        let header = MemberHeader::read(rest).map_err(faulty)?;
        let length = usize::try_from(header.member_bytes()).unwrap_or(usize::MAX);
        let whole = rest.get(..length).ok_or_else(|| faulty(MemberFault::Truncated))?;
        let end = offset.saturating_add(length);
        places.push((if offset == 0 { first } else { begins(whole)? }, offset..end));
        offset = end;
    }
    Ok(places)
}

/// The first record of a member.
pub(super) fn begins(member: &[u8]) -> Result<Sequence, String> {
    let mut header = Vec::new();
    Members::new(member).fill(&mut header, BLOCK_HEADER_BYTES).map_err(told)?;
    let (first, ..) = block::span(&header).map_err(|fault| fault.to_string())?;
    Ok(first)
}

const _: () = assert!(MEMBER_BYTES + MEMBER_HEADER_BYTES + MEMBER_TRAILER_BYTES < UNPACKED_MAX);

fn told(error: UnpackError) -> String {
    match error {
        UnpackError::Io(error) => error.to_string(),
        UnpackError::Fault(fault) => fault.to_string(),
    }
}

/// Writes a file under another name, and gives it its own once it is on disk; the folder too.
pub(super) fn place<'a>(
    path: &Path,
    parts: impl IntoIterator<Item = &'a [u8]>,
) -> io::Result<File> {
    let partial = path.with_extension(PARTIAL);
    let mut file =
        OpenOptions::new().create(true).truncate(true).read(true).write(true).open(&partial)?;
    let written = parts.into_iter().try_for_each(|part| file.write_all(part));
    let placed = written.and_then(|()| file.sync_all()).and_then(|()| disk::rename(&partial, path));
    if let Err(error) = placed {
        // What cannot be removed has a name that no reader takes.
        drop(disk::remove_file(&partial));
        return Err(error);
    }
    sync_folder_of(path)?;
    Ok(file)
}

#[cfg(test)]
#[path = "../../tests/unit/journal/torn.rs"]
mod tests;
