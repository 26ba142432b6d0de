//! How rows become few bytes: numbers that are near the row before take a byte or two. Every
//! value has one form; another one is refused.

use crate::exchange::image::coding::{BadImage, ImageSink, ImageSource};
use crate::exchange::units::{Money, Sequence, TimeMs};

/// Bits of a number in a byte.
const BITS: u32 = 7;
/// Set in every byte of a number but its last.
const MORE: u8 = 1 << BITS;

/// Bytes that a 64-bit number takes at most.
const SHORT_BYTES: usize = 10;
/// Bits that are surely fewer than 64, in whole bytes.
const SHORT_BITS: u32 = 9 * BITS;

/// A number, seven bits a byte, the lowest first.
pub(in crate::projection) fn pack(mut number: u64, sink: &mut impl ImageSink) {
    let (mut bytes, mut count) = ([0; SHORT_BYTES], 0);
    for byte in &mut bytes {
        let low = u8::try_from(number & u64::from(MORE - 1)).unwrap_or(0);
        number >>= BITS;
        count += 1;
        *byte = if number == 0 { low } else { low | MORE };
        if number == 0 {
            break;
        }
    }
    sink.put(bytes.get(..count).unwrap_or_default());
}

/// As [`pack`].
pub(in crate::projection) fn pack_wide(mut number: u128, sink: &mut impl ImageSink) {
    let low_bits = |number: u128| u8::try_from(number & u128::from(MORE - 1)).unwrap_or(0);
    loop {
        if let Ok(short) = u64::try_from(number) {
            return pack(short, sink);
        }
        sink.put(&[low_bits(number) | MORE]);
        number >>= BITS;
    }
}

/// What [`pack`] wrote.
pub(in crate::projection) fn unpack(source: &mut impl ImageSource) -> Result<u64, BadImage> {
    u64::try_from(unpack_wide(source)?).map_err(|_| BadImage::Value("number"))
}

/// What [`pack_wide`] wrote.
pub(in crate::projection) fn unpack_wide(source: &mut impl ImageSource) -> Result<u128, BadImage> {
    let (mut number, mut shift, mut byte) = (0_u64, 0, [0]);
    // Nearly all numbers are short, and 128 bits are dear.
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

/// A number whose last byte was read. One of nothing could be left out.
fn last(byte: u8, shift: u32, number: u128) -> Result<u128, BadImage> {
    let shortest = byte != 0 || shift == 0;
    shortest.then_some(number).ok_or(BadImage::Value("number"))
}

/// A small number.
pub(in crate::projection) fn unpack_u32(source: &mut impl ImageSource) -> Result<u32, BadImage> {
    u32::try_from(unpack(source)?).map_err(|_| BadImage::Value("number"))
}

/// A number of either sign, small ones in few bytes.
pub(in crate::projection) fn pack_signed(number: i128, sink: &mut impl ImageSink) {
    let doubled = number.unsigned_abs().wrapping_shl(1);
    // The largest magnitude has only one sign, so nothing is lost where doubling overflows.
    pack_wide(if number < 0 { doubled.wrapping_sub(1) } else { doubled }, sink);
}

/// What [`pack_signed`] wrote.
pub(in crate::projection) fn unpack_signed(
    source: &mut impl ImageSource,
) -> Result<i128, BadImage> {
    let packed = unpack_wide(source)?;
    let half = i128::try_from(packed >> 1).map_err(|_| BadImage::Value("number"))?;
    Ok(if packed & 1 == 0 { half } else { !half })
}

/// How much further a number is than the one before; both may be anything.
pub(in crate::projection) fn pack_from(before: u64, number: u64, sink: &mut impl ImageSink) {
    pack_signed(i128::from(number) - i128::from(before), sink);
}

/// What [`pack_from`] wrote.
pub(in crate::projection) fn unpack_from(
    before: u64,
    source: &mut impl ImageSource,
) -> Result<u64, BadImage> {
    let number = i128::from(before).checked_add(unpack_signed(source)?);
    let number = number.and_then(|number| u64::try_from(number).ok());
    number.ok_or(BadImage::Value("number"))
}

/// A sequence, after the one before.
pub(in crate::projection) fn pack_sequence(
    before: Sequence,
    sequence: Sequence,
    sink: &mut impl ImageSink,
) {
    pack_from(before.get(), sequence.get(), sink);
}

/// What [`pack_sequence`] wrote.
pub(in crate::projection) fn unpack_sequence(
    before: Sequence,
    source: &mut impl ImageSource,
) -> Result<Sequence, BadImage> {
    unpack_from(before.get(), source).map(Sequence::new)
}

/// A time, after the one before.
pub(in crate::projection) fn pack_time(before: TimeMs, time: TimeMs, sink: &mut impl ImageSink) {
    pack_signed(i128::from(time.get()) - i128::from(before.get()), sink);
}

/// What [`pack_time`] wrote.
pub(in crate::projection) fn unpack_time(
    before: TimeMs,
    source: &mut impl ImageSource,
) -> Result<TimeMs, BadImage> {
    let ms = i128::from(before.get()).checked_add(unpack_signed(source)?);
    let ms = ms.and_then(|ms| i64::try_from(ms).ok());
    ms.and_then(TimeMs::new).ok_or(BadImage::Value("TimeMs"))
}

/// An amount of either sign.
pub(in crate::projection) fn pack_money(money: Money, sink: &mut impl ImageSink) {
    pack_signed(i128::from(money.get()), sink);
}

/// What [`pack_money`] wrote.
pub(in crate::projection) fn unpack_money(
    source: &mut impl ImageSource,
) -> Result<Money, BadImage> {
    let money = i64::try_from(unpack_signed(source)?);
    money.map(Money::new).map_err(|_| BadImage::Value("Money"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn what_is_packed_is_unpacked(
            wide in any::<u128>(), shift in 0..128_u32, signed in any::<i128>(),
            (before, number) in any::<(u64, u64)>(),
        ) {
            let mut bytes = Vec::new();
            pack_wide(wide >> shift, &mut bytes);
            pack_signed(signed >> shift, &mut bytes);
            pack_from(before, number, &mut bytes);
            let mut source = bytes.as_slice();
            prop_assert_eq!(unpack_wide(&mut source), Ok(wide >> shift));
            prop_assert_eq!(unpack_signed(&mut source), Ok(signed >> shift));
            prop_assert_eq!(unpack_from(before, &mut source), Ok(number));
            prop_assert!(source.is_empty());
        }

        #[test]
        fn any_bytes_are_refused_or_the_one_form_of_a_number(
            bytes in prop::collection::vec(any::<u8>(), 0..24),
        ) {
            let mut source = bytes.as_slice();
            if let Ok(number) = unpack_wide(&mut source) {
                let mut again = Vec::new();
                pack_wide(number, &mut again);
                prop_assert_eq!(&again[..], &bytes[..bytes.len() - source.len()]);
            }
        }
    }

    #[test]
    fn the_ends_of_the_range_are_numbers() {
        for number in [i128::MIN, i128::MIN + 1, -1, 0, 1, i128::MAX] {
            let mut bytes = Vec::new();
            pack_signed(number, &mut bytes);
            assert_eq!(unpack_signed(&mut bytes.as_slice()), Ok(number));
        }
        assert!(unpack_wide(&mut [0x80, 0].as_slice()).is_err());
        assert!(unpack_wide(&mut [0xFF; 19].as_slice()).is_err());
    }
}
