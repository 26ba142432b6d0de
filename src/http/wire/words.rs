//! The words of the interface: how a value of the venue is spelled in a string, and the name of
//! the schema that says so in the `OpenAPI` document.

use std::sync::Arc;

use schemars::Schema;
use serde::Serializer;
use serde_json::{Value, json};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

use super::Cursor;
use exchange::catalogue::Outcome;
use exchange::command::{Role, Side, TimeInForce, TradingMode};
use exchange::decimal::{Decimal, DecimalText};
use exchange::effect::CancelReason;
use exchange::fees::FeeRate;
use exchange::ids::{CategoryId, EventId, Group, KeyId, MarketId, OrderId, Token, TradeId, UserId};
use exchange::market::MarketStatus;
use exchange::results::{ResultsHash, StateDigest};
use exchange::units::{AveragePrice, Lots, LotsSum, Money, MoneySum, SettlementPrice, Tick};
use views::fills::Liquidity;
use views::orders::OrderStatus;
use views::positions::Resolution;
use views::statements::Cause;

/// A value that a JSON string shows. What never needs escaping is passed on as bytes, with its
/// quotation marks.
pub trait Spelled {
    /// The name of its schema.
    const WORD: &str;

    /// Serialises its text.
    fn spell<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
}

macro_rules! spelled {
    ($by:ident: $($type:ty, $word:literal, $value:ident => $text:expr;)+) => {
        $(impl Spelled for $type {
            const WORD: &str = $word;

            #[inline]
            fn spell<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $value = self;
                serializer.$by($text)
            }
        })+
    };
}

macro_rules! spelled_decimals {
    ($($type:ty: $word:literal),+ $(,)?) => {
        spelled! { serialize_bytes: $($type, $word, value => value.decimal().quoted();)+ }
    };
}

macro_rules! spelled_ids {
    ($($type:ty),+) => {
        spelled! { serialize_bytes: $($type, "Uuid", id => &quoted(id.uuid());)+ }
    };
}

/// An id's text with its quotation marks.
fn quoted(id: Uuid) -> [u8; Hyphenated::LENGTH + 2] {
    let mut text = [b'"'; Hyphenated::LENGTH + 2];
    let [_, inner @ .., _] = &mut text;
    id.hyphenated().encode_lower(inner);
    text
}

spelled_decimals! {
    FeeRate: "FeeRate",
    Tick: "Price",
    SettlementPrice: "Price",
    Lots: "Quantity",
    LotsSum: "Quantity",
    Money: "Money",
    MoneySum: "Money",
    AveragePrice: "AveragePrice",
}

spelled_ids!(UserId, KeyId, CategoryId, EventId, MarketId, OrderId, TradeId);

spelled! {
    serialize_str:
    Token, "Token", token => token.as_str();
    Group, "GroupName", group => group.as_str();
    Arc<str>, "Text", text => text;
    u64, "Text", number => DecimalText::of_integer(*number).as_str();
    Cursor, "Text", cursor => &cursor.to_string();
    StateDigest, "Hash", digest => &digest.to_string();
    ResultsHash, "Hash", hash => &hash.to_string();
    Outcome, "OutcomeId", outcome => outcome.id();
    Side, "Side", side => side.name();
    TimeInForce, "TimeInForce", time => time.name();
    TradingMode, "TradingMode", mode => mode.name();
    Role, "Role", role => role.name();
    CancelReason, "CancelReason", reason => reason.code();
    MarketStatus, "MarketStatus", status => status.name();
    OrderStatus, "OrderStatus", status => status.name();
    Resolution, "Resolution", resolution => resolution.name();
    Cause, "LedgerCause", cause => cause.name();
    Liquidity, "Liquidity", liquidity => match liquidity {
        Liquidity::Maker => "MAKER",
        Liquidity::Taker => "TAKER",
    };
}

/// A reference to the schema of this name.
pub fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// The same as schemars has it.
pub fn schema(name: &str) -> Schema {
    Schema::try_from(reference(name)).unwrap_or_default()
}

/// Gives types the schemas of these names.
macro_rules! named {
    ($($type:ty: $name:literal),+ $(,)?) => {
        $(impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::wire::words::schema($name)
            }
        })+
    };
}
pub(crate) use named;

/// Schemas of members whose Rust type says less: `#[schemars(with = "Url")]`.
macro_rules! words {
    ($($(#[$about:meta])* $name:ident = $word:literal),+ $(,)?) => {
        $($(#[$about])*
        #[derive(Debug)]
        pub struct $name;
        named!($name: $word);)+
    };
}

words! {
    /// An address.
    Url = "Url",
    /// A user's picture.
    Picture = "Picture",
    /// The name of a market or an event in addresses.
    AddressSlug = "AddressSlug",
    /// An id, or a slug in its place.
    IdOrSlug = "IdOrSlug",
    /// How many.
    Count = "Count",
    /// An API key.
    ApiKey = "ApiKey",
    /// What a user's own key may do.
    Scope = "Scope",
    /// 0 to 1.
    Probability = "Probability",
    /// 1 over a price.
    Odds = "Odds",
    /// Seconds until a resolved market is settled.
    DisputeWindow = "DisputeWindow",
    /// The type of an order.
    OrderType = "OrderType",
    /// A side, of a trade that is not told in its taker's words.
    SideWord = "Side",
    /// The name of a change of status.
    MoveName = "MoveName",
    /// The length of a candle.
    Interval = "Interval",
    /// What a leaderboard ranks by.
    Ranking = "Ranking",
    /// The days that a leaderboard is of.
    Period = "Period",
    /// The status of the process.
    StatusWord = "StatusWord",
    /// What fails beside the venue.
    WarningWord = "WarningWord",
    /// A problem's code.
    ErrorCode = "ErrorCode",
    /// Whether money comes in or goes out.
    TransferDirection = "TransferDirection",
    /// What became of a transfer.
    TransferState = "TransferState",
    /// What became of a dispute.
    DisputeState = "DisputeState",
    /// What a proposal would do.
    ProposalAction = "ProposalAction",
    /// A field's fault.
    FieldCode = "FieldCode",
}
