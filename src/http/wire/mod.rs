//! The JSON of the interface; no other module knows it. Each answer is a type here, which prints
//! itself by serde and describes itself in the `OpenAPI` document by schemars.
//!
//! Must not know: the engine, HTTP statuses, how an answer was found.

#[macro_use]
mod table;
pub mod words;
pub mod account;
pub mod catalogue;
pub mod conversion;
pub mod depth;
pub mod leaderboard;
pub mod limits;
pub mod operations;
pub mod order;
pub mod placed;
pub mod print;
pub mod problem;
pub mod record;
pub mod statement;
pub mod tape;

use std::borrow::Cow;

use chrono::{DateTime, Datelike, Timelike};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

pub use self::print::printed;
use self::words::Spelled;
use exchange::catalogue::Outcome;
use exchange::decimal::Decimal;
use exchange::units::{LockedOdds, Money, Sequence, TimeMs};

/// A decimal, an id or a word as a JSON string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<T>(pub T);

impl<T: Spelled> Serialize for Text<T> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.spelled(|text| serializer.serialize_str(text))
    }
}

impl<T: Spelled> JsonSchema for Text<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::WORD.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        words::schema(T::WORD)
    }
}

/// An exact decimal as a JSON number, never converted to a float.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number<T>(pub T);

impl<T: Decimal> Serialize for Number<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0.decimal().as_bytes())
    }
}

/// A time as `YYYY-MM-DDTHH:MM:SS.mmmZ`, always with milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp(pub TimeMs);

impl Serialize for Timestamp {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = *b"0000-00-00T00:00:00.000Z";
        // A time is never negative, and its year has four digits.
        let at = DateTime::from_timestamp_millis(self.0.get()).unwrap_or_default();
        let (year, ms) = (at.year().unsigned_abs(), at.timestamp_subsec_millis());
        let days = [(0, year / 100), (2, year), (5, at.month()), (8, at.day())];
        let times = [(11, at.hour()), (14, at.minute()), (17, at.second()), (20, ms / 10)];
        for (place, value) in days.into_iter().chain(times) {
            if let Some([tens, ones, ..]) = text.get_mut(place..) {
                (*tens, *ones) = (digit(value / 10), digit(value));
            }
        }
        if let Some(last) = text.get_mut(22) {
            *last = digit(ms);
        }
        serializer.serialize_str(str::from_utf8(&text).unwrap_or_default())
    }
}

/// The last digit of a number.
#[inline]
fn digit(value: u32) -> u8 {
    u8::try_from(value % 10).map_or(b'0', |digit| b'0'.saturating_add(digit))
}

/// The number of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordNo(pub Sequence);

impl Serialize for RecordNo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0.get())
    }
}

/// An outcome as its id.
pub type OutcomeId = Text<Outcome>;

words::named! {
    Timestamp: "Moment",
    RecordNo: "Sequence",
    Number<Money>: "Amount",
    Number<LockedOdds>: "Odds",
}

/// The echo of the paging that was applied to a list (interface 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Paging {
    /// Things that match, on all pages.
    pub total: u64,
    /// The limit applied.
    pub limit: u64,
    /// The offset applied.
    pub offset: u64,
}

/// The next page of a list read by cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CursorEcho {
    /// Whether there is more after this page. A list without it was not asked with a cursor.
    pub has_more: bool,
    /// What to ask for the next page with; null after the last.
    pub next_cursor: Option<Text<u64>>,
}

#[cfg(test)]
#[path = "../../../tests/unit/http/wire/mod.rs"]
mod tests;
