//! Ids: the public id of a thing (a UUID) and its number inside the exchange (dense).
//!
//! Public ids are derived from the record that made the thing, never random, so a replay gives the
//! same ones and an id leads to its record without a table (semantics 2). Inside, users and markets
//! are numbered in the order of creation and orders by their record's sequence number, because
//! numbers index arrays where UUIDs would need hashing.

use std::fmt;

use uuid::Uuid;

use super::units::{Sequence, TimeMs};

/// Bits of an id that hold the sequence number.
const SEQUENCE_BITS: u32 = 48;
/// Ids hold the sequence numbers below this one.
pub const SEQUENCE_END: u64 = 1 << SEQUENCE_BITS;
/// Bits of an id that hold the index of a thing among those made by one record.
const INDEX_BITS: u32 = 26;
/// Largest index of a thing within its record.
pub const INDEX_MAX: u32 = (1 << INDEX_BITS) - 1;

/// Makes the UUIDv7-shaped id of the `index`th thing made by the record `sequence` at `time`
/// (RFC 9562 5.7: 48 bits of milliseconds, version, 12 bits, variant, 62 bits).
///
/// The 74 free bits hold the sequence number above the index, so ids sort by time, then sequence,
/// then index. Sequence and index are cut to their 48 and 26 bits. No venue reaches these bounds:
/// it would take eight years at a million commands a second.
fn derive(time: TimeMs, sequence: Sequence, index: u32) -> Uuid {
    let ms = u128::from(time.get().unsigned_abs()) & ((1 << 48) - 1);
    let sequence = u128::from(sequence.get()) & ((1 << SEQUENCE_BITS) - 1);
    let free = (sequence << INDEX_BITS) | u128::from(index & INDEX_MAX);
    let high_12 = free >> 62;
    let low_62 = free & ((1 << 62) - 1);
    Uuid::from_u128((ms << 80) | (7 << 76) | (high_12 << 64) | (0b10 << 62) | low_62)
}

macro_rules! outside_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// The id of the `index`th thing that a record made.
            pub fn derive(time: TimeMs, sequence: Sequence, index: u32) -> Self {
                $name(derive(time, sequence, index))
            }

            /// An id as a client wrote it; there may be no such thing.
            pub const fn from_uuid(uuid: Uuid) -> Self {
                $name(uuid)
            }

            /// The UUID.
            pub const fn uuid(self) -> Uuid {
                self.0
            }

            /// The record that made the thing, if the id was derived.
            pub fn sequence(self) -> Sequence {
                let bits = self.0.as_u128();
                let free = ((bits >> 64) & 0xFFF) << 62 | (bits & ((1 << 62) - 1));
                let sequence = (free >> INDEX_BITS) & ((1 << SEQUENCE_BITS) - 1);
                Sequence::new(u64::try_from(sequence).unwrap_or(u64::MAX))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }
    };
}

outside_id!(/// A user.
    UserId);
outside_id!(/// An API key's public id; not the secret key.
    KeyId);
outside_id!(/// A category of markets.
    CategoryId);
outside_id!(/// A group of markets.
    EventId);
outside_id!(/// A market.
    MarketId);
outside_id!(/// An order.
    OrderId);
outside_id!(/// A trade; both its parties see the same id.
    TradeId);

impl TradeId {
    /// The index of the trade within its record, if the id was derived.
    pub fn index(self) -> TradeIndex {
        let index = self.0.as_u128() & u128::from(INDEX_MAX);
        TradeIndex(u32::try_from(index).unwrap_or(INDEX_MAX).saturating_sub(1))
    }

    /// The id of the `index`th trade of a record. The order that the record placed has index 0,
    /// so trades count from 1.
    pub fn of(time: TimeMs, sequence: Sequence, index: TradeIndex) -> TradeId {
        TradeId::derive(time, sequence, index.0.saturating_add(1))
    }
}

/// A non-empty set of markets, by ascending number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MarketSet(Box<[MarketNo]>);

impl MarketSet {
    /// Sorts the markets; `None` if there are none, or one is listed twice.
    pub fn new(mut markets: Vec<MarketNo>) -> Option<MarketSet> {
        markets.sort_unstable();
        let twice = markets.array_windows().any(|[one, next]| one == next);
        (!markets.is_empty() && !twice).then(|| MarketSet(markets.into()))
    }

    /// The markets, by ascending number.
    pub fn as_slice(&self) -> &[MarketNo] {
        &self.0
    }
}

/// The index of a trade within its record: from 0, in the order they were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TradeIndex(pub u32);

macro_rules! inside_number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The number as an index into an array.
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The number of the next thing after `count` others; `None` past the type's range.
            pub fn next(count: usize) -> Option<Self> {
                u32::try_from(count).ok().map($name)
            }
        }
    };
}

inside_number!(/// A user, in order of creation from 0.
    UserNo);
inside_number!(/// An API key, in order of creation from 0.
    KeyNo);
inside_number!(/// A category, in order of creation from 0.
    CategoryNo);
inside_number!(/// A group of markets, in order of creation from 0.
    EventNo);
inside_number!(/// A market, in order of creation from 0.
    MarketNo);

/// An order: the sequence number of the record that placed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderNo(pub Sequence);

impl OrderNo {
    /// The order's public id; `placed` is the time of the record that placed it.
    pub fn id(self, placed: TimeMs) -> OrderId {
        OrderId::derive(placed, self.0, 0)
    }
}

/// Longest name that a client may give.
pub const TOKEN_BYTES_MAX: usize = 64;

/// Longest name of a group of orders.
pub const GROUP_BYTES_MAX: usize = 32;

macro_rules! labels {
    ($($(#[$doc:meta])* $name:ident($max:ident);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; $max]);

        impl $name {
            /// The label; `None` if the text is not of that form.
            pub fn new(text: &str) -> Option<$name> {
                let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
                let mut bytes = [0; $max];
                bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
                (visible && !text.is_empty()).then_some($name(bytes))
            }

            /// Sorts before all others.
            pub const LEAST: $name = $name([0; $max]);

            /// The text as the client wrote it.
            pub fn as_str(&self) -> &str {
                let length = self.0.iter().position(|byte| *byte == 0).unwrap_or($max);
                let text = self.0.get(..length).map(str::from_utf8);
                text.and_then(Result::ok).unwrap_or_default()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), self.as_str())
            }
        }
    )*};
}

labels! {
    /// A client order id or idempotency key, chosen by the client: 1 to [`TOKEN_BYTES_MAX`] visible
    /// ASCII characters.
    Token(TOKEN_BYTES_MAX);
    /// The group to which an owner counts an order: 1 to [`GROUP_BYTES_MAX`] visible ASCII
    /// characters.
    Group(GROUP_BYTES_MAX);
}

#[cfg(test)]
#[path = "../../tests/unit/exchange/ids.rs"]
mod tests;
