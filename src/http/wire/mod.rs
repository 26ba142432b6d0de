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
pub mod impact;
pub mod leaderboard;
pub mod limits;
pub mod operations;
pub mod order;
pub mod placed;
pub mod print;
pub mod problem;
pub mod profile;
pub mod quotes;
pub mod record;
pub mod said;
pub mod site;
pub mod statement;
pub mod transfer;
pub mod proposal;
pub mod dispute;
pub mod stream;
pub mod tape;

use std::borrow::Cow;
use std::fmt;

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
        self.0.spell(serializer)
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
        // A time is never negative, and its year has four digits.
        let ms = self.0.get().unsigned_abs();
        let (days, of_day) = (ms / MS_PER_DAY, ms % MS_PER_DAY);
        let ((year, month, day), of_minute) = (calendar(days), of_day % 60_000);
        let (minutes, ms) = (of_day / 60_000, of_minute % 1000);
        let mut text = *br#""0000-00-00T00:00:00.000Z""#;
        let dates = [(1, year / 100), (3, year), (6, month), (9, day)];
        let times = [(12, minutes / 60), (15, minutes % 60), (18, of_minute / 1000), (21, ms / 10)];
        for (place, value) in dates.into_iter().chain(times) {
            if let Some([tens, ones, ..]) = text.get_mut(place..) {
                (*tens, *ones) = (digit(value / 10), digit(value));
            }
        }
        if let Some(last) = text.get_mut(23) {
            *last = digit(ms);
        }
        serializer.serialize_bytes(&text)
    }
}

const MS_PER_DAY: u64 = 86_400_000;

/// Year, month and day of the day `days` after 1970-01-01. By chrono, the text of a time took some
/// 1,100 instructions. Years are counted from March, so that a leap day is the last of its year.
const fn calendar(days: u64) -> (u64, u64, u64) {
    const DAYS_PER_400_YEARS: u64 = 146_097;
    /// From 0000-03-01.
    const DAYS_BEFORE_1970: u64 = 719_468;
    let days = days + DAYS_BEFORE_1970;
    let (era, of_era) = (days / DAYS_PER_400_YEARS, days % DAYS_PER_400_YEARS);
    let leaps = of_era / 1460 - of_era / 36_524 + of_era / 146_096;
    let year_of_era = (of_era - leaps) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // The five months from March, and the five from August, have 153 days each.
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let (month, later) = match month_from_march {
        0..=9 => (month_from_march + 3, 0),
        _ => (month_from_march - 9, 1),
    };
    (400 * era + year_of_era + later, month, day)
}

/// The last digit of a number.
#[inline]
fn digit(value: u64) -> u8 {
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
    /// What to ask for the next page with; null after the last. Oldest first it is never null:
    /// after the last page it goes on with what comes later.
    pub next_cursor: Option<Text<Cursor>>,
}

/// Where the next page of a list is. Opaque to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cursor {
    /// Older rows than that of this key.
    Before(u64),
    /// Oldest first, from this place on.
    After(u64),
}

impl Cursor {
    /// What the text of a cursor that leads to newer rows begins with.
    pub const AFTER: &str = "after";
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cursor::Before(key) => write!(f, "{key}"),
            Cursor::After(place) => write!(f, "{}{place}", Cursor::AFTER),
        }
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/http/wire/mod.rs"]
mod tests;
