//! The JSON of the interface, in and out; no other module knows it.
//!
//! Must not know: the engine, HTTP statuses, how an answer was found.

pub mod account;
pub mod catalogue;
pub mod conversion;
pub mod depth;
pub mod escapes;
pub mod leaderboard;
pub mod limits;
pub mod operations;
pub mod order;
pub mod cancelled;
pub mod print;
pub mod problem;
pub mod record;
pub mod results;
pub mod statement;
pub mod tape;

use std::sync::Arc;

use serde::{Serialize, Serializer};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

use exchange::catalogue::Outcome;
use exchange::decimal::{Decimal, DecimalText};
use exchange::digest::StateDigest;
use exchange::fees::FeeRate;
use exchange::ids::{CategoryId, EventId, KeyId, MarketId, OrderId, Token, TradeId, UserId};
use exchange::results::ResultsHash;
use exchange::units::TimeMs;
use exchange::units::{
    AveragePrice, LockedOdds, Lots, LotsSum, Money, MoneySum, Ratio, SettlementPrice, Tick,
};

/// A decimal, an id or a text as a JSON string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<T>(pub T);

impl<T: Spelled> Serialize for Text<T> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.spell(serializer)
    }
}

/// A value shown as a JSON string. Text that never needs escaping is passed to the printer as
/// bytes, including its quotation marks.
pub trait Spelled {
    /// Serialises the text.
    fn spell<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
}

macro_rules! spelled_decimals {
    ($($type:ty),+ $(,)?) => {
        $(impl Spelled for $type {
            #[inline]
            fn spell<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_bytes(self.decimal().quoted())
            }
        })+
    };
}

spelled_decimals!(
    FeeRate,
    Tick,
    SettlementPrice,
    Lots,
    LotsSum,
    Money,
    MoneySum,
    AveragePrice,
    Ratio,
    LockedOdds,
);

macro_rules! spelled_as {
    ($($type:ty, $value:ident => $text:expr;)+) => {
        $(impl Spelled for $type {
            #[inline]
            fn spell<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $value = self;
                serializer.serialize_str($text)
            }
        })+
    };
}

spelled_as! {
    Token, token => token.as_str();
    Arc<str>, text => text;
    u64, number => DecimalText::of_integer(*number).as_str();
    StateDigest, digest => &digest.to_string();
    ResultsHash, hash => &hash.to_string();
}

macro_rules! spelled_ids {
    ($($type:ty),+) => {
        $(impl Spelled for $type {
            #[inline]
            fn spell<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_bytes(&quoted_id(self.uuid()))
            }
        })+
    };
}

/// An id's text with its quotation marks.
fn quoted_id(id: Uuid) -> [u8; Hyphenated::LENGTH + 2] {
    let mut text = [b'"'; Hyphenated::LENGTH + 2];
    let [_, inner @ .., _] = &mut text;
    id.hyphenated().encode_lower(inner);
    text
}

spelled_ids!(UserId, KeyId, CategoryId, EventId, MarketId, OrderId, TradeId);

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

impl Timestamp {
    /// Bytes of its text with both quotation marks.
    const BYTES: usize = 26;

    /// Its text with both quotation marks.
    fn quoted(self) -> [u8; Timestamp::BYTES] {
        // A time is never negative, and its year has four digits.
        let ms = self.0.get().unsigned_abs();
        let (days, of_day) = (ms / MS_PER_DAY, ms % MS_PER_DAY);
        let (year, month, day) = calendar(days);
        let (of_minute, minutes) = (of_day % 60_000, of_day / 60_000);
        let mut text = *br#""0000-00-00T00:00:00.000Z""#;
        let ms = of_minute % 1000;
        for (place, value) in [
            (1, year / 100),
            (3, year % 100),
            (6, month),
            (9, day),
            (12, minutes / 60),
            (15, minutes % 60),
            (18, of_minute / 1000),
            (21, ms / 10),
        ] {
            if let Some([tens, ones, ..]) = text.get_mut(place..) {
                (*tens, *ones) = (digit(value / 10), digit(value));
            }
        }
        if let Some(last) = text.get_mut(23) {
            *last = digit(ms);
        }
        text
    }
}

impl Serialize for Timestamp {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.quoted())
    }
}

const MS_PER_DAY: u64 = 86_400_000;

/// Year, month and day of the day `days` after 1970-01-01. Years are counted from March, so that a
/// leap day is the last day of its year.
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

/// An outcome as its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutcomeId(pub Outcome);

impl Serialize for OutcomeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.id())
    }
}

/// The echo of the paging that was applied to a list (interface 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Paging {
    /// Matching rows on all pages.
    pub total: u64,
    /// Most rows on a page.
    pub limit: u64,
    /// Rows skipped.
    pub offset: u64,
}

/// The next page of a list read by cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CursorEcho {
    /// Whether there are rows after this page.
    pub has_more: bool,
    /// The cursor of the next page; `null` after the last.
    pub next_cursor: Option<Text<u64>>,
}

#[cfg(test)]
#[path = "../../../tests/unit/http/wire/mod.rs"]
mod tests;
