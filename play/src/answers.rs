//! The server's answers, as far as `play` reads them: JSON parsed into typed values.

use bytes::Bytes;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use uuid::Uuid;

use exchange::units::{Lots, Money, SettlementPrice, Tick, UnitError};

/// The answer to a creation.
#[derive(Debug, Deserialize)]
pub struct Created {
    /// Its id.
    pub id: String,
}

/// The answer to the creation of a key.
#[derive(Debug, Deserialize)]
pub struct CreatedKey {
    /// The key.
    pub key: String,
}

/// The answer to a placed order.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlacedAnswer {
    /// The order's id.
    #[serde(deserialize_with = "uuid")]
    pub order_id: Uuid,
    /// Status after submission.
    pub status: String,
    /// Quantity filled immediately.
    pub filled_quantity: String,
    /// Left on the book.
    pub remaining_quantity: String,
    /// Average price of the fills.
    pub average_fill_price: String,
    /// The fills, in order.
    pub trades: Vec<TradeAnswer>,
}

/// A trade inside it.
#[derive(Debug, Deserialize)]
pub struct TradeAnswer {
    /// The trade's id.
    #[serde(deserialize_with = "uuid")]
    pub id: Uuid,
    /// Price of the order's own outcome.
    pub price: String,
    /// Contracts.
    pub quantity: String,
}

/// An order, as a cancel answers it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderAnswer {
    /// Which order.
    #[serde(deserialize_with = "uuid")]
    pub id: Uuid,
    /// Its status now.
    pub status: String,
    /// Filled in all.
    pub filled_quantity: String,
    /// Left on the book.
    pub remaining_quantity: String,
}

/// One view of a book.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DepthAnswer {
    /// Buy side, best first.
    pub bids: Vec<LevelAnswer>,
    /// Sell side, best first.
    pub asks: Vec<LevelAnswer>,
    /// Best bid, or `0.00`.
    pub best_bid: String,
    /// Best ask, or `1.00`.
    pub best_ask: String,
    /// Their difference.
    pub spread: String,
}

/// A level of it.
#[derive(Debug, Deserialize)]
pub struct LevelAnswer {
    /// A price of the view's outcome.
    pub price: String,
    /// Contracts.
    pub quantity: String,
    /// Orders.
    pub orders: u64,
}

/// A page of an account's fills.
#[derive(Debug, Deserialize)]
pub struct FillsPage {
    /// Newest first.
    pub fills: Vec<FillAnswer>,
}

/// One party's side of a trade.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FillAnswer {
    /// The trade's id, the same for both parties.
    #[serde(alias = "tradeId")]
    #[serde(deserialize_with = "uuid")]
    pub id: Uuid,
    /// This party's order.
    #[serde(deserialize_with = "uuid")]
    pub order_id: Uuid,
    /// Price of the outcome of this party's order.
    pub price: String,
    /// Contracts.
    pub quantity: String,
    /// `MAKER` or `TAKER`.
    pub liquidity: String,
}

/// A page of an account's positions.
#[derive(Debug, Deserialize)]
pub struct PositionsPage {
    /// Entries.
    pub positions: Vec<PositionAnswer>,
}

/// Contracts of one outcome.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PositionAnswer {
    /// Market.
    pub market_id: String,
    /// `yes` or `no`.
    pub outcome_id: String,
    /// Contracts.
    pub quantity: String,
}

/// An account's cash.
#[derive(Debug, Deserialize)]
pub struct BalanceAnswer {
    /// Free.
    pub available: String,
    /// Backing orders.
    pub reserved: String,
}

/// Ids are UUIDs in the text form; the crate's own serde support is not compiled in.
fn uuid<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Uuid, D::Error> {
    let text = <&str>::deserialize(deserializer)?;
    Uuid::try_parse(text).map_err(D::Error::custom)
}

/// Reads an answer of the shape expected.
///
/// # Errors
/// A description of what does not match.
pub fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| format!("unreadable answer: {error}"))
}

/// Reads a quantity; an answer's may be zero.
///
/// # Errors
/// Not a quantity.
pub fn lots(text: &str) -> Result<Lots, String> {
    if is_zero(text) { Ok(Lots::ZERO) } else { Lots::parse(text).map_err(|e| bad(text, e)) }
}

/// Reads an amount; an answer's may be zero.
///
/// # Errors
/// Not an amount.
pub fn money(text: &str) -> Result<Money, String> {
    if is_zero(text) { Ok(Money::ZERO) } else { Money::parse(text).map_err(|e| bad(text, e)) }
}

/// Reads a price, which the server writes with two decimals.
///
/// # Errors
/// Not a price, or not so written.
pub fn tick(text: &str) -> Result<Tick, String> {
    match Tick::parse(text) {
        Ok(tick) if text.len() == 4 => Ok(tick),
        Ok(_) => Err(bad(text, UnitError::Form)),
        Err(error) => Err(bad(text, error)),
    }
}

/// Reads a best price or a spread, 0.00 to 1.00.
///
/// # Errors
/// Not one.
pub fn bound(text: &str) -> Result<SettlementPrice, String> {
    SettlementPrice::parse(text).map_err(|e| bad(text, e))
}

fn bad(text: &str, error: UnitError) -> String {
    format!("`{text}` {error}")
}

fn is_zero(text: &str) -> bool {
    matches!(text, "0" | "0.00")
}
