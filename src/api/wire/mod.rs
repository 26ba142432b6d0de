//! The JSON of the interface, in and out; nothing else in the crate knows any.
//!
//! Must not know: the engine, HTTP statuses, how an answer was found.

pub mod account;
pub mod catalogue;
pub mod conversion;
pub mod json;
pub mod leaderboard;
pub mod limits;
pub mod operations;
pub mod order;
pub mod problem;
pub mod record;
pub mod statement;
pub mod tape;

use std::fmt::{self, Display, Write};

use chrono::{DateTime, Datelike, Timelike};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::exchange::catalogue::Outcome;
use crate::exchange::units::TimeMs;

/// A decimal or an id as a JSON string, as it prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<T>(pub T);

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut short = Short::default();
        match write!(short, "{}", self.0) {
            Ok(()) => serializer.serialize_str(short.as_str()),
            Err(_) => serializer.collect_str(&self.0),
        }
    }
}

/// A text short enough to be gathered without asking for memory: ids and decimals are.
struct Short {
    bytes: [u8; Short::BYTES_MAX],
    length: usize,
}

impl Short {
    /// Longer than a UUID, and than any decimal.
    const BYTES_MAX: usize = 48;

    fn as_str(&self) -> &str {
        let written = self.bytes.get(..self.length).unwrap_or_default();
        // Only whole strings are ever added.
        std::str::from_utf8(written).unwrap_or_default()
    }
}

impl Default for Short {
    fn default() -> Short {
        Short { bytes: [0; Short::BYTES_MAX], length: 0 }
    }
}

impl fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length.saturating_add(text.len());
        let place = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// An exact decimal as a JSON number, digit by digit as it prints: no float is ever made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number<T>(pub T);

impl<T: Display> Serialize for Number<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let digits = self.0.to_string();
        let raw: &RawValue = serde_json::from_str(&digits).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// A moment as `YYYY-MM-DDTHH:MM:SS.mmmZ`, the milliseconds always there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp(pub TimeMs);

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let moment = DateTime::from_timestamp_millis(self.0.get())
            .ok_or_else(|| serde::ser::Error::custom("a moment outside the calendar"))?;
        let year = u32::try_from(moment.year()).unwrap_or(0);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        for (place, digits, value) in [
            (0, 4, year),
            (5, 2, moment.month()),
            (8, 2, moment.day()),
            (11, 2, moment.hour()),
            (14, 2, moment.minute()),
            (17, 2, moment.second()),
            (20, 3, moment.timestamp_subsec_millis()),
        ] {
            put_digits(&mut text, place, digits, value);
        }
        serializer.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

/// Writes the last digits of a number over those that stand at a place.
fn put_digits(text: &mut [u8], place: usize, digits: usize, value: u32) {
    let places = text.iter_mut().skip(place).take(digits);
    let mut rest = value;
    for byte in places.rev() {
        *byte = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
}

/// An outcome as its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutcomeId(pub Outcome);

impl Serialize for OutcomeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.id())
    }
}

/// The echo of the paging applied (interface 4), beside a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Paging {
    /// Things that match, on all pages.
    pub total: u64,
    /// Largest number of things on a page.
    pub limit: u64,
    /// Things skipped.
    pub offset: u64,
}

/// Where a list that is read by cursor goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CursorEcho {
    /// Whether there is more after this page.
    pub has_more: bool,
    /// What to ask for the next page with; `null` after the last.
    pub next_cursor: Option<Text<u64>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::units::{Lots, Money, Ratio, Tick};
    use proptest::prelude::*;

    fn print(value: &impl Serialize) -> String {
        serde_json::to_string(value).unwrap()
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
}
