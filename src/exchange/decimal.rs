//! Decimals as text: read from and written as an integer of the smallest unit, never by way of a
//! float.

#![allow(
    clippy::arithmetic_side_effects,
    reason = "digits within the bounds of their types: divided, or checked where they are summed"
)]

use std::fmt;

use super::units::UnitError;

/// Reads digits, optionally `.` and 1 to `decimals` digits, as an integer of the smallest unit.
pub(super) fn parse_scaled(text: &str, decimals: usize) -> Result<u128, UnitError> {
    let (whole, fraction) = match text.split_once('.') {
        Some((_, "")) => return Err(UnitError::Form),
        Some((whole, fraction)) => (whole, fraction),
        None => (text, ""),
    };
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return Err(UnitError::Form);
    }
    if fraction.len() > decimals {
        return Err(UnitError::Precision);
    }
    let padding = std::iter::repeat_n(b'0', decimals - fraction.len());
    let mut value: u128 = 0;
    for digit in whole.bytes().chain(fraction.bytes()).chain(padding) {
        value = value
            .checked_mul(10)
            .and_then(|v| v.checked_add(u128::from(digit - b'0')))
            .ok_or(UnitError::Range)?;
    }
    Ok(value)
}

/// Writes an integer of the smallest unit as a plain decimal: at least `decimals_min` decimals,
/// no padding beyond. Answers are full of these, so nothing is allocated, and the common sizes are
/// divided in 64 bits.
pub(super) fn write_decimal(
    f: &mut fmt::Formatter<'_>,
    value: u128,
    decimals: u32,
    decimals_min: usize,
) -> fmt::Result {
    let scale = 10_u64.pow(decimals);
    let Ok(value) = u64::try_from(value) else {
        // Only sums over everybody are so large: the whole part comes apart from the rest.
        let (whole, rest) = (value / u128::from(scale), value % u128::from(scale));
        write!(f, "{whole}")?;
        let rest = u64::try_from(rest).unwrap_or_default();
        let rest = DecimalText::new(rest, decimals, decimals_min);
        // Without the zero before its point.
        return f.write_str(rest.as_str().get(1..).unwrap_or_default());
    };
    f.write_str(DecimalText::new(value, decimals, decimals_min).as_str())
}

/// A decimal's digits, gathered from the last to the first so that they are written at once.
struct DecimalText {
    bytes: [u8; DecimalText::BYTES],
    from: usize,
}

impl DecimalText {
    /// Twenty digits, and a zero and a point before the last of them.
    const BYTES: usize = 24;

    fn new(value: u64, decimals: u32, decimals_min: usize) -> DecimalText {
        let scale = 10_u64.pow(decimals);
        let (mut whole, mut fraction) = (value / scale, value % scale);
        let mut text = DecimalText { bytes: [0; Self::BYTES], from: Self::BYTES };
        let mut kept = decimals as usize;
        while kept > decimals_min && fraction.is_multiple_of(10) {
            fraction /= 10;
            kept -= 1;
        }
        for _ in 0..kept {
            text.put_digit(fraction % 10);
            fraction /= 10;
        }
        if kept > 0 {
            text.put(b'.');
        }
        text.put_digit(whole % 10);
        while whole >= 10 {
            whole /= 10;
            text.put_digit(whole % 10);
        }
        text
    }

    fn put_digit(&mut self, digit: u64) {
        self.put(u8::try_from(digit).map_or(b'0', |digit| b'0'.saturating_add(digit)));
    }

    fn put(&mut self, byte: u8) {
        self.from = self.from.saturating_sub(1);
        if let Some(place) = self.bytes.get_mut(self.from) {
            *place = byte;
        }
    }

    fn as_str(&self) -> &str {
        let written = self.bytes.get(self.from..).unwrap_or_default();
        // Digits and a point.
        std::str::from_utf8(written).unwrap_or_default()
    }
}
