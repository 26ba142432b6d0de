//! Unit tests of `src/http/wire/mod.rs`.

use super::*;
use chrono::DateTime;
use exchange::units::{Lots, Money, Ratio, Tick};
use proptest::prelude::*;

fn print(value: &impl Serialize) -> String {
    String::from_utf8(printed(value, 0).unwrap()).unwrap()
}

#[test]
fn decimals_are_strings_and_numbers_are_exact() {
    assert_eq!(print(&Text(Lots::new(2_500_000))), "\"2.5\"");
    assert_eq!(print(&Number(Money::new(1))), "0.00000001");
    assert_eq!(print(&Number(Money::new(i64::MAX))), "92233720368.54775807");
    assert_eq!(print(&Number(Ratio::ONE)), "1");
    let mid = Ratio::midpoint(Tick::MIN, Tick::new(2).unwrap());
    assert_eq!(print(&Number(mid)), "0.015");
}

#[test]
fn milliseconds_are_shown_even_when_zero() {
    let print_ms = |ms| print(&Timestamp(TimeMs::new(ms).unwrap()));
    assert_eq!(print_ms(0), "\"1970-01-01T00:00:00.000Z\"");
    assert_eq!(print_ms(1_700_000_000_007), "\"2023-11-14T22:13:20.007Z\"");
    assert_eq!(print_ms(TimeMs::MAX.get()), "\"9999-12-31T23:59:59.999Z\"");
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn every_timestamp_has_24_characters_and_reads_back(ms in 0..=TimeMs::MAX.get()) {
        let text = print(&Timestamp(TimeMs::new(ms).unwrap()));
        prop_assert_eq!(text.len(), 26);
        let read = DateTime::parse_from_rfc3339(text.trim_matches('"')).unwrap();
        prop_assert_eq!(read.timestamp_millis(), ms);
    }

    #[test]
    fn every_amount_is_a_json_number_of_the_same_digits(units in any::<i64>()) {
        let money = Money::new(units);
        prop_assert_eq!(print(&Number(money)), money.to_string());
    }
}
