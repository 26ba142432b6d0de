//! Decimal text to and from integers of the smallest unit, never through a float.

#![allow(
    clippy::arithmetic_side_effects,
    reason = "digits within the bounds of their types: divided, or checked where they are summed"
)]

use super::units::UnitError;

/// Digits that always fit 64 bits.
const DIGITS_64_BITS: usize = 19;

/// Reads digits, optionally `.` and 1 to `decimals` digits, as an integer of the smallest unit.
#[inline]
pub(super) fn parse_scaled(text: &str, decimals: usize) -> Result<u128, UnitError> {
    let text = text.as_bytes();
    let (whole, fraction) = match text.iter().position(|byte| *byte == b'.') {
        Some(point) => match (text.get(..point), text.get(point + 1..)) {
            (Some(whole), Some(fraction @ [_, ..])) => (whole, fraction),
            _ => return Err(UnitError::Form),
        },
        None => (text, &[][..]),
    };
    let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return Err(UnitError::Form);
    }
    let missing = decimals.checked_sub(fraction.len()).ok_or(UnitError::Precision)?;
    if whole.len() + decimals <= DIGITS_64_BITS {
        let all = whole.iter().chain(fraction);
        let value = all.fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
        return Ok(u128::from((0..missing).fold(value, |value, _| value * 10)));
    }
    let padding = std::iter::repeat_n(&b'0', missing);
    let mut value: u128 = 0;
    for digit in whole.iter().chain(fraction).chain(padding) {
        value = value
            .checked_mul(10)
            .and_then(|v| v.checked_add(u128::from(digit - b'0')))
            .ok_or(UnitError::Range)?;
    }
    Ok(value)
}

/// A number that is printed as a plain decimal.
pub trait Decimal {
    /// The printed form.
    fn decimal(&self) -> DecimalText;
}

/// Implements `Display` for these types by [`Decimal`].
macro_rules! displayed {
    ($($number:ty),+) => {
        $(impl std::fmt::Display for $number {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(Decimal::decimal(self).as_str())
            }
        })+
    };
}
pub(super) use displayed;

/// A plain decimal as text, built from its last digit to its first in a fixed buffer: responses are
/// full of decimals, so printing one must not allocate.
#[derive(Debug, Clone, Copy)]
pub struct DecimalText {
    bytes: [u8; DecimalText::BYTES],
    start: usize,
}

impl DecimalText {
    /// The 39 digits of the largest integer, a leading zero, a point, a sign, and a quotation mark
    /// on either side.
    const BYTES: usize = 44;
    /// The end of the text; the closing quotation mark is already there.
    const END: usize = DecimalText::BYTES - 1;
    const EMPTY: DecimalText =
        DecimalText { bytes: [b'"'; DecimalText::BYTES], start: DecimalText::END };

    /// An integer of the smallest unit: at least `decimals_min` decimals, no padding beyond.
    #[inline]
    pub(super) fn new(value: u128, decimals: u32, decimals_min: u32) -> DecimalText {
        let mut text = DecimalText::EMPTY;
        let scale = 10_u64.pow(decimals);
        // 64-bit division is faster; only sums over all users are larger.
        if let Ok(value) = u64::try_from(value) {
            text.put_fraction(value % scale, decimals, decimals_min);
            text.put_integer(value / scale);
            return text;
        }
        text.put_large(value, scale, decimals, decimals_min);
        text
    }

    #[cold]
    fn put_large(&mut self, value: u128, scale: u64, decimals: u32, decimals_min: u32) {
        let (mut whole, rest) = (value / u128::from(scale), value % u128::from(scale));
        self.put_fraction(u64::try_from(rest).unwrap_or_default(), decimals, decimals_min);
        while whole >= u128::from(u64::MAX) {
            self.put_digit(u64::try_from(whole % 10).unwrap_or_default());
            whole /= 10;
        }
        self.put_integer(u64::try_from(whole).unwrap_or_default());
    }

    /// An integer.
    pub fn of_integer(value: u64) -> DecimalText {
        let mut text = DecimalText::EMPTY;
        text.put_integer(value);
        text
    }

    /// The same with a minus sign before it, if `negative`.
    #[must_use]
    pub fn negative(mut self, negative: bool) -> DecimalText {
        if negative {
            self.put(b'-');
        }
        self
    }

    /// The text, without quotation marks.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// The bytes of its text, which are ASCII.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(self.start..DecimalText::END).unwrap_or_default()
    }

    /// The text between quotation marks, as in JSON.
    pub fn quoted(&self) -> &[u8] {
        self.bytes.get(self.start.saturating_sub(1)..).unwrap_or_default()
    }

    #[inline]
    fn put_fraction(&mut self, mut fraction: u64, decimals: u32, decimals_min: u32) {
        let mut kept = decimals;
        if fraction == 0 {
            kept = decimals_min;
        }
        while kept > decimals_min && fraction.is_multiple_of(10) {
            fraction /= 10;
            kept -= 1;
        }
        for _ in 0..kept {
            self.put_digit(fraction % 10);
            fraction /= 10;
        }
        if kept > 0 {
            self.put(b'.');
        }
    }

    #[inline]
    fn put_integer(&mut self, mut whole: u64) {
        while whole >= 10 {
            self.put_digit(whole % 10);
            whole /= 10;
        }
        self.put_digit(whole);
    }

    #[inline]
    fn put_digit(&mut self, digit: u64) {
        self.put(u8::try_from(digit).map_or(b'0', |digit| b'0'.saturating_add(digit)));
    }

    #[inline]
    fn put(&mut self, byte: u8) {
        self.start = self.start.saturating_sub(1);
        if let Some(target) = self.bytes.get_mut(self.start) {
            *target = byte;
        }
    }
}
