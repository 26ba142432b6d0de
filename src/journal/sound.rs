//! What a block's bytes say of themselves, before its records are read: whether they are those that
//! were written, and if not, how they differ.

use super::block::{BLOCK_HEADER_BYTES, checksum, count_and_checksum, span};
use super::record::RECORD_HEADER_BYTES;
use exchange::units::Sequence;

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
