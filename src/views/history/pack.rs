//! Compact packing of rows: numbers close to those of the row before take a byte or two. Every
//! value has exactly one encoding; any other is refused when read.

use exchange::image::coding::{BadImage, ImageSink, ImageSource};
use exchange::units::{Money, Sequence, TimeMs};

/// Bits of a number in a byte.
const BITS: u32 = 7;
/// Set in every byte of a number but its last.
const MORE: u8 = 1 << BITS;
/// [`MORE`] in each byte of a word.
const MORES: u64 = u64::from_le_bytes([MORE; 8]);

/// A multiple of [`BITS`] below 64: this many bits fit in a `u64` without overflow.
const SHORT_BITS: u32 = 9 * BITS;

/// Bits of a number that [`spread`] handles at once: eight bytes of seven bits.
const WORD_BITS: u32 = 8 * BITS;

/// A reusable buffer in which a row is packed. Its space is allocated beforehand, so that a number
/// is a single store.
#[derive(Debug, Default)]
pub struct RowBuffer {
    room: Vec<u8>,
    length: usize,
}

impl RowBuffer {
    /// An empty buffer; allocates nothing.
    pub(crate) const fn new() -> RowBuffer {
        RowBuffer { room: Vec::new(), length: 0 }
    }

    /// Empties the buffer and keeps its space.
    pub(crate) const fn clear(&mut self) {
        self.length = 0;
    }

    /// The row.
    pub(crate) fn row(&self) -> &[u8] {
        self.room.get(..self.length).unwrap_or_default()
    }

    /// The row, to be changed.
    pub(crate) fn row_mut(&mut self) -> &mut [u8] {
        self.room.get_mut(..self.length).unwrap_or_default()
    }

    #[cold]
    fn grow(&mut self, length: usize) {
        self.room.resize(length.saturating_mul(2), 0);
    }
}

impl ImageSink for RowBuffer {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        if self.room.len() < end {
            self.grow(end);
        }
        if let Some(room) = self.room.get_mut(self.length..end) {
            room.copy_from_slice(bytes);
        }
        self.length = end;
    }

    #[inline]
    fn put_first(&mut self, bytes: [u8; 8], count: usize) {
        let room = self.room.get_mut(self.length..).and_then(<[u8]>::first_chunk_mut);
        if let Some(room) = room {
            *room = bytes;
            self.length += count.min(bytes.len());
        } else {
            self.put(bytes.get(..count).unwrap_or(&bytes));
        }
    }
}

/// Writes a number, seven bits per byte, lowest bits first.
#[inline]
pub(crate) fn pack(number: u64, sink: &mut impl ImageSink) {
    if number <= u64::from(!MORE) {
        sink.put_first(number.to_le_bytes(), 1);
    } else {
        pack_more(number, sink);
    }
}

/// As [`pack`], for a number of more than one byte.
fn pack_more(number: u64, sink: &mut impl ImageSink) {
    debug_assert!(number > u64::from(!MORE), "one byte holds it");
    if number < 1 << WORD_BITS {
        // The number of bits divided by seven, rounded up; exact for the bit counts possible here.
        // `| 1` only matters for zero, which never gets here.
        let bits = u64::BITS - (number | 1).leading_zeros();
        let count = (bits * 9 + u64::BITS) / u64::BITS;
        // Every byte but the last has the continuation bit.
        let more = MORES.wrapping_shr(u64::BITS + u8::BITS - u8::BITS * count);
        sink.put_first((spread(number) | more).to_le_bytes(), count as usize);
    } else {
        sink.put_first((spread(number) | MORES).to_le_bytes(), size_of::<u64>());
        pack(number >> WORD_BITS, sink);
    }
}

/// The lowest 56 bits of a number, seven per byte.
const fn spread(number: u64) -> u64 {
    let halves = number & 0x0FFF_FFFF | (number & 0x00FF_FFFF_F000_0000) << 4;
    let quarters = halves & 0x0000_3FFF_0000_3FFF | (halves & 0x0FFF_C000_0FFF_C000) << 2;
    quarters & 0x007F_007F_007F_007F | (quarters & 0x3F80_3F80_3F80_3F80) << 1
}

/// As [`pack`], for 128 bits.
pub(crate) fn pack_wide(mut number: u128, sink: &mut impl ImageSink) {
    let low_bits = |number: u128| u8::try_from(number & u128::from(MORE - 1)).unwrap_or(0);
    loop {
        if let Ok(short) = u64::try_from(number) {
            return pack(short, sink);
        }
        sink.put(&[low_bits(number) | MORE]);
        number >>= BITS;
    }
}

/// Reads a number of at most eight bytes at once, if the source has eight bytes ahead. Nearly all
/// numbers are this short.
#[inline]
fn unpack_at_once(source: &mut impl ImageSource) -> Option<Result<u64, BadImage>> {
    let word = u64::from_le_bytes(source.ahead()?);
    if word & u64::from(MORE) == 0 {
        source.pass(1);
        return Some(Ok(word & u64::from(!MORE)));
    }
    // The last byte of a number has its highest bit clear.
    let ends = !word & MORES;
    if ends == 0 {
        return None;
    }
    let bits = ends.trailing_zeros() + 1;
    let own = word & (u64::MAX >> (u64::BITS - bits));
    source.pass((bits / u8::BITS) as usize);
    // A last byte of zero is redundant: not the canonical form.
    let shortest = bits == u8::BITS || own >> (bits - u8::BITS) != 0;
    Some(if shortest { Ok(gather(own & !MORES)) } else { Err(BadImage::Value("number")) })
}

/// The inverse of [`spread`].
const fn gather(spread: u64) -> u64 {
    let quarters = spread & 0x007F_007F_007F_007F | (spread & 0x7F00_7F00_7F00_7F00) >> 1;
    let halves = quarters & 0x0000_3FFF_0000_3FFF | (quarters & 0x3FFF_0000_3FFF_0000) >> 2;
    halves & 0x0FFF_FFFF | (halves & 0x0FFF_FFFF_0000_0000) >> 4
}

/// Reads what [`pack`] wrote.
#[inline]
pub(crate) fn unpack(source: &mut impl ImageSource) -> Result<u64, BadImage> {
    match unpack_at_once(source) {
        Some(number) => number,
        None => u64::try_from(unpack_slowly(source)?).map_err(|_| BadImage::Value("number")),
    }
}

/// Skips this many numbers written by [`pack`] or [`pack_wide`].
pub(crate) fn pass(mut numbers: u32, source: &mut &[u8]) -> Result<(), BadImage> {
    while numbers > 0 {
        let Some(word) = source.ahead().filter(|_| !source.is_empty()) else {
            return Err(BadImage::Truncated);
        };
        let mut ends = !u64::from_le_bytes(word) & MORES;
        let count = ends.count_ones();
        if count < numbers {
            numbers -= count;
            ImageSource::pass(source, word.len());
            continue;
        }
        for _ in 1..numbers {
            ends &= ends - 1;
        }
        ImageSource::pass(source, (ends.trailing_zeros() / u8::BITS + 1) as usize);
        return Ok(());
    }
    Ok(())
}

/// Reads what [`pack_wide`] wrote.
#[inline]
pub(crate) fn unpack_wide(source: &mut impl ImageSource) -> Result<u128, BadImage> {
    match unpack_at_once(source) {
        Some(number) => number.map(u128::from),
        None => unpack_slowly(source),
    }
}

/// As [`unpack_wide`], byte by byte.
fn unpack_slowly(source: &mut impl ImageSource) -> Result<u128, BadImage> {
    let mut first = [0];
    source.fill(&mut first)?;
    let [first] = first;
    if first & MORE == 0 { Ok(u128::from(first)) } else { unpack_after(first, source) }
}

/// The rest of a number whose first byte has the continuation bit.
fn unpack_after(first: u8, source: &mut impl ImageSource) -> Result<u128, BadImage> {
    let (mut number, mut shift, mut byte) = (u64::from(first & !MORE), BITS, [0]);
    // Nearly all numbers are short, and 128-bit arithmetic is slow.
    while shift < SHORT_BITS {
        source.fill(&mut byte)?;
        number |= u64::from(byte[0] & !MORE) << shift;
        if byte[0] & MORE == 0 {
            return last(byte[0], shift, u128::from(number));
        }
        shift += BITS;
    }
    let mut number = u128::from(number);
    loop {
        source.fill(&mut byte)?;
        let bits = u128::from(byte[0] & !MORE);
        let shifted = bits.checked_shl(shift).filter(|shifted| *shifted >> shift == bits);
        number |= shifted.ok_or(BadImage::Value("number"))?;
        if byte[0] & MORE == 0 {
            return last(byte[0], shift, number);
        }
        shift += BITS;
    }
}

/// Checks the last byte of a number: a last byte of zero is redundant and is refused.
fn last(byte: u8, shift: u32, number: u128) -> Result<u128, BadImage> {
    let shortest = byte != 0 || shift == 0;
    shortest.then_some(number).ok_or(BadImage::Value("number"))
}

/// Reads a number of at most 32 bits.
#[inline]
pub(crate) fn unpack_u32(source: &mut impl ImageSource) -> Result<u32, BadImage> {
    u32::try_from(unpack(source)?).map_err(|_| BadImage::Value("number"))
}

/// Writes a signed number; small magnitudes take few bytes.
pub(crate) fn pack_signed(number: i128, sink: &mut impl ImageSink) {
    let doubled = number.unsigned_abs().wrapping_shl(1);
    // Doubling overflows only for `i128::MIN`, for which the wrapped value is still unique.
    pack_wide(if number < 0 { doubled.wrapping_sub(1) } else { doubled }, sink);
}

/// As [`pack_signed`], for 64 bits.
#[inline]
fn pack_short(number: i64, sink: &mut impl ImageSink) {
    pack((number.wrapping_shl(1) ^ (number >> (i64::BITS - 1))).cast_unsigned(), sink);
}

/// Reads what [`pack_signed`] wrote.
pub(crate) fn unpack_signed(source: &mut impl ImageSource) -> Result<i128, BadImage> {
    let packed = unpack_wide(source)?;
    let half = i128::try_from(packed >> 1).map_err(|_| BadImage::Value("number"))?;
    Ok(if packed & 1 == 0 { half } else { !half })
}

/// Reads what [`pack_short`] wrote.
#[inline]
fn unpack_short(source: &mut impl ImageSource) -> Result<i64, BadImage> {
    let packed = unpack(source)?;
    let half = (packed >> 1).cast_signed();
    Ok(if packed & 1 == 0 { half } else { !half })
}

/// Writes the difference to the number before; both may be any value.
#[inline]
pub(crate) fn pack_from(before: u64, number: u64, sink: &mut impl ImageSink) {
    let further = number.wrapping_sub(before).cast_signed();
    if (further >= 0) == (number >= before) {
        pack_short(further, sink);
    } else {
        pack_signed(i128::from(number) - i128::from(before), sink);
    }
}

/// Reads what [`pack_from`] wrote.
pub(crate) fn unpack_from(before: u64, source: &mut impl ImageSource) -> Result<u64, BadImage> {
    let number = i128::from(before).checked_add(unpack_signed(source)?);
    let number = number.and_then(|number| u64::try_from(number).ok());
    number.ok_or(BadImage::Value("number"))
}

/// Writes a sequence number as the difference to the one before.
pub(crate) fn pack_sequence(before: Sequence, sequence: Sequence, sink: &mut impl ImageSink) {
    pack_from(before.get(), sequence.get(), sink);
}

/// Reads what [`pack_sequence`] wrote.
pub(crate) fn unpack_sequence(
    before: Sequence,
    source: &mut impl ImageSource,
) -> Result<Sequence, BadImage> {
    unpack_from(before.get(), source).map(Sequence::new)
}

/// Writes a time as the difference to the one before.
#[inline]
pub(crate) fn pack_time(before: TimeMs, time: TimeMs, sink: &mut impl ImageSink) {
    // Times are far from the limits of `i64`, so the difference does not overflow.
    pack_short(time.get().wrapping_sub(before.get()), sink);
}

/// Reads what [`pack_time`] wrote.
#[inline]
pub(crate) fn unpack_time(
    before: TimeMs,
    source: &mut impl ImageSource,
) -> Result<TimeMs, BadImage> {
    let ms = before.get().checked_add(unpack_short(source)?);
    ms.and_then(TimeMs::new).ok_or(BadImage::Value("TimeMs"))
}

/// Writes a signed amount of money.
#[inline]
pub(crate) fn pack_money(money: Money, sink: &mut impl ImageSink) {
    pack_short(money.get(), sink);
}

/// Reads what [`pack_money`] wrote.
#[inline]
pub(crate) fn unpack_money(source: &mut impl ImageSource) -> Result<Money, BadImage> {
    unpack_short(source).map(Money::new)
}

#[cfg(test)]
#[path = "../../../tests/unit/views/history/pack.rs"]
mod tests;
