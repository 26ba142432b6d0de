//! Unit tests of `src/views/history/pack.rs`.

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
        (before, number) in any::<(u64, u64)>(), money in any::<i64>(),
    ) {
        let mut bytes = Vec::new();
        pack_wide(wide >> shift, &mut bytes);
        pack_signed(signed >> shift, &mut bytes);
        pack_from(before, number, &mut bytes);
        pack_from(number, number.wrapping_add_signed(money >> (shift % 64)), &mut bytes);
        pack_money(Money::new(money >> (shift % 64)), &mut bytes);
        let mut source = bytes.as_slice();
        prop_assert_eq!(unpack_wide(&mut source), Ok(wide >> shift));
        prop_assert_eq!(unpack_signed(&mut source), Ok(signed >> shift));
        prop_assert_eq!(unpack_from(before, &mut source), Ok(number));
        let near = number.wrapping_add_signed(money >> (shift % 64));
        prop_assert_eq!(unpack_from(number, &mut source), Ok(near));
        prop_assert_eq!(unpack_money(&mut source), Ok(Money::new(money >> (shift % 64))));
        prop_assert!(source.is_empty());
        let mut source = bytes.as_slice();
        for count in 0..=5 {
            let mut source = source;
            pass(count, &mut source).unwrap();
            pass(5 - count, &mut source).unwrap();
            prop_assert_eq!((source.len(), pass(0, &mut source)), (0, Ok(())));
            prop_assert_eq!(pass(1, &mut source), Err(BadImage::Truncated));
        }
        prop_assert_eq!(pass(6, &mut source), Err(BadImage::Truncated));
    }

    #[test]
    fn short_ways_to_pack_give_the_one_form(
        (before, number) in any::<(u64, u64)>(), money in any::<i64>(), shift in 0..64_u32,
    ) {
        let (number, money) = (number >> shift, money >> shift);
        let (mut short, mut wide) = (Vec::new(), Vec::new());
        let mut rest = number;
        while rest >= 128 {
            wide.push(u8::try_from(rest % 128).unwrap() | MORE);
            rest /= 128;
        }
        wide.push(u8::try_from(rest).unwrap());
        pack(number, &mut short);
        pack_from(before, number, &mut short);
        pack_money(Money::new(money), &mut short);
        let mut buffer = RowBuffer::new();
        for _ in 0..2 {
            buffer.clear();
            pack(number, &mut buffer);
            pack_from(before, number, &mut buffer);
            pack_money(Money::new(money), &mut buffer);
        }
        prop_assert_eq!(buffer.row(), &short[..]);
        pack_signed(i128::from(number) - i128::from(before), &mut wide);
        pack_signed(i128::from(money), &mut wide);
        prop_assert_eq!(short, wide);
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
