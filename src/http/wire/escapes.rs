//! Finds the bytes that must be escaped in a JSON string (control characters, quotation marks,
//! backslashes), eight at a time.

/// The index of the first byte that is [`escaped`].
#[inline]
pub fn first_escaped(text: &[u8]) -> Option<usize> {
    let (eights, rest) = text.as_chunks::<8>();
    let mut before = 0_usize;
    for eight in eights {
        let marks = marks(u64::from_le_bytes(*eight));
        if marks != 0 {
            // Only marks above a real one can be wrong, so the lowest is right.
            return before.checked_add(usize::try_from(marks.trailing_zeros() / 8).ok()?);
        }
        before = before.saturating_add(eight.len());
    }
    before.checked_add(rest.iter().position(|byte| escaped(*byte))?)
}

/// Whether a byte must be escaped in a JSON string.
#[inline]
pub const fn escaped(byte: u8) -> bool {
    matches!(byte, 0..b' ' | b'"' | b'\\')
}

/// Non-zero if and only if one of eight bytes is [`escaped`]. A byte is below a bound of at most
/// 128 if subtracting the bound borrows and the byte's highest bit is not set. A borrow may wrongly
/// mark the byte above, but only if the borrowing byte is marked itself.
#[inline]
const fn marks(bytes: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const HIGHEST: u64 = ONES << 7;
    const fn zeros(bytes: u64) -> u64 {
        bytes.wrapping_sub(ONES) & !bytes
    }
    let controls = bytes.wrapping_sub(ONES * b' ' as u64) & !bytes;
    let signs = zeros(bytes ^ (ONES * b'"' as u64)) | zeros(bytes ^ (ONES * b'\\' as u64));
    (controls | signs) & HIGHEST
}

#[cfg(test)]
#[path = "../../../tests/unit/http/wire/escapes.rs"]
mod tests;
