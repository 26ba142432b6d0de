//! Unit tests of `src/views/history/mod.rs`.

use super::*;
use proptest::prelude::*;

/// Packs the fields of a made-up row, or reads them.
fn code(
    row: Option<(u128, i128, u64, TimeMs, Token)>,
    before: u64,
    coder: &mut impl Coder,
) -> Result<(u128, i128, u64, TimeMs, Token), BadImage> {
    Ok((
        coder.wide(row.map(|row| row.0))?,
        coder.sum(row.map(|row| MoneySum::new(row.1)))?.get(),
        coder.from(before, row.map(|row| row.2))?,
        coder.time(TimeMs::default(), row.map(|row| row.3))?,
        coder.token(row.map(|row| row.4))?,
    ))
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_packed_is_unpacked(
        wide in any::<u128>(), shift in 0..128_u32, signed in any::<i128>(),
        (before, number) in any::<(u64, u64)>(), ms in 0..4_000_000_000_000_i64,
        money in any::<i64>(), name in "[a-z0-9-]{1,64}",
    ) {
        let time = TimeMs::new(ms >> (shift % 64)).unwrap();
        let row = (wide >> shift, signed >> shift, number, time, Token::new(&name).unwrap());
        let money = Money::new(money >> (shift % 64));
        let mut bytes = Vec::new();
        prop_assert_eq!(code(Some(row), before, &mut Packing(&mut bytes)), Ok(row));
        prop_assert_eq!(Packing(&mut bytes).money(Some(money)), Ok(money));
        let mut source = bytes.as_slice();
        prop_assert_eq!(code(None, before, &mut Unpacking(&mut source)), Ok(row));
        prop_assert_eq!(Unpacking(&mut source).money(None), Ok(money));
        prop_assert!(source.is_empty());
        for cut in 0..bytes.len() {
            let mut source = &bytes[..cut];
            let read = code(None, before, &mut Unpacking(&mut source));
            let read = read.and_then(|_| Unpacking(&mut source).money(None));
            prop_assert!(read.is_err(), "{} of {}", cut, bytes.len());
        }
    }

    #[test]
    fn any_bytes_are_refused_or_the_one_form_of_a_number(
        bytes in prop::collection::vec(any::<u8>(), 0..24),
    ) {
        let mut source = bytes.as_slice();
        if let Ok(number) = Unpacking(&mut source).wide(None) {
            let mut again = Vec::new();
            Packing(&mut again).wide(Some(number)).unwrap();
            prop_assert_eq!(&again[..], &bytes[..bytes.len() - source.len()]);
        }
    }
}

#[test]
fn the_ends_of_the_range_are_numbers() {
    for number in [i128::MIN, i128::MIN + 1, -1, 0, 1, i128::MAX].map(MoneySum::new) {
        let mut bytes = Vec::new();
        Packing(&mut bytes).sum(Some(number)).unwrap();
        assert_eq!(Unpacking(&mut bytes.as_slice()).sum(None), Ok(number));
    }
    assert!(Unpacking(&mut [0x80, 0].as_slice()).wide(None).is_err());
    assert!(Unpacking(&mut [0xFF; 19].as_slice()).wide(None).is_err());
    let mut bytes = Vec::new();
    Packing(&mut bytes).wide(Some(1 << 64)).unwrap();
    assert!(Unpacking(&mut bytes.as_slice()).number(None).is_err());
    assert!(Packing(&mut bytes).number(None).is_err());
}
