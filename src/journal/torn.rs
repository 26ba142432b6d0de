//! What stands in an open segment after its last sound block. A segment is made of zeros before it
//! takes a block, and a disk writes whole sectors: so what a crash left of a write can be told from
//! a block that was whole on the disk and was damaged later.

use memchr::memmem;

use super::block::{self, BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, MAGIC};
use super::sound;

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
    let block_at = |at: usize| sound::sound_span(bytes.get(at..)?);
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
    // A block's own length tells how far it was to reach; without it there is only what is there.
    let claimed = block::block_bytes(bytes).ok();
    let extent = claimed.unwrap_or(end);
    if end > extent || extent > BLOCK_BYTES_MAX {
        return false;
    }
    let block = bytes.get(..extent).unwrap_or(bytes);
    // Whole records that end elsewhere: it is the length that was changed.
    let records = sound::records_end(block);
    if claimed.is_some() && records.is_some_and(|records| records != extent) {
        return false;
    }
    let missing = |sector: &[u8]| ZEROS.starts_with(sector);
    let (begun, sectors) = block.split_at(block.len().min(SECTOR_BYTES - at % SECTOR_BYTES));
    let unfinished = claimed.is_some() && end < extent && records.is_none();
    let short = unfinished || extent.saturating_sub(end) >= ZEROS_TORN;
    let lacks = short || missing(begun) || sectors.chunks(SECTOR_BYTES).any(missing);
    // A block may end with a few zeros that are alone in their sector.
    lacks && !sound::is_one_bit_off(block)
}

#[cfg(test)]
#[path = "../../tests/unit/journal/torn.rs"]
mod tests;
