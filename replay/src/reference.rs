//! How a user, market or order is named on the command line: by its public id, or by the record
//! that created it.

use std::fmt;

use exchange::ids::{MarketId, OrderId, UserId};
use exchange::slugs::Slug;
use exchange::units::Sequence;
use uuid::Uuid;

/// Length of an id in the form that the interface writes.
const ID_CHARS: usize = 36;

/// A reference to a user, market or order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// By its id.
    Id(Uuid),
    /// By the sequence number of the record that created it.
    Record(Sequence),
}

/// A reference to a market, also by its slug.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarketName {
    /// By id or record.
    Of(Reference),
    /// By a slug that it has or had.
    Slug(Slug),
}

impl MarketName {
    /// Reads an id, a sequence number or a slug. A slug of digits alone is a sequence number.
    pub fn parse(text: &str) -> Result<MarketName, String> {
        let slug = || Slug::new(text).map(MarketName::Slug);
        let named = Reference::parse(text).map(MarketName::Of).ok().or_else(slug);
        named.ok_or_else(|| "is neither an id, nor the number of a record, nor a slug".to_owned())
    }
}

impl Reference {
    /// Reads an id or a sequence number.
    pub fn parse(text: &str) -> Result<Reference, String> {
        if let Ok(sequence) = text.parse() {
            return Ok(Reference::Record(Sequence::new(sequence)));
        }
        let id = if text.len() == ID_CHARS { Uuid::try_parse(text).ok() } else { None };
        id.map(Reference::Id)
            .ok_or_else(|| "is neither an id nor the number of a record".to_owned())
    }

    /// The record that created the referenced item, if the item exists.
    pub fn record(self) -> Sequence {
        match self {
            Reference::Id(id) => OrderId::from_uuid(id).sequence(),
            Reference::Record(sequence) => sequence,
        }
    }

    /// Whether it names this user.
    pub fn names_user(self, id: UserId) -> bool {
        self.names(id.uuid(), id.sequence())
    }

    /// Whether it names this market.
    pub fn names_market(self, id: MarketId) -> bool {
        self.names(id.uuid(), id.sequence())
    }

    /// Whether it names this order. An id must match completely, not only in its record number.
    pub fn names_order(self, id: OrderId) -> bool {
        self.names(id.uuid(), id.sequence())
    }

    fn names(self, id: Uuid, record: Sequence) -> bool {
        match self {
            Reference::Id(named) => named == id,
            Reference::Record(named) => named == record,
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reference::Id(id) => write!(f, "id {}", id.hyphenated()),
            Reference::Record(sequence) => write!(f, "record {sequence}"),
        }
    }
}
