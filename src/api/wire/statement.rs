//! The JSON of an account's statement.

use serde::Serialize;

use super::{CursorEcho, Text, Timestamp};
use crate::exchange::ids::{MarketId, OrderId};
use crate::exchange::units::Money;
use crate::projection::ReadModel;
use crate::projection::statements::Change;

/// One change of the caller's money.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LedgerLineJson {
    number: u64,
    sequence: u64,
    timestamp: Timestamp,
    cause: &'static str,
    order_id: Option<Text<OrderId>>,
    market_id: Option<Text<MarketId>>,
    available: Text<Money>,
    reserved: Text<Money>,
    available_after: Text<Money>,
    reserved_after: Text<Money>,
}

impl LedgerLineJson {
    /// The change as its owner sees it.
    pub fn of(view: &ReadModel, change: &Change) -> LedgerLineJson {
        let order = change.cause.order().and_then(|order| view.orders.order(order));
        let market = change.cause.paying_market().or_else(|| order.map(|order| order.market));
        let market = market.and_then(|market| view.catalogue.market(market));
        LedgerLineJson {
            number: change.number,
            sequence: change.sequence.get(),
            timestamp: Timestamp(change.time),
            cause: change.cause.name(),
            order_id: order.map(|order| Text(order.id)),
            market_id: market.map(|market| Text(market.id)),
            available: Text(change.available),
            reserved: Text(change.reserved),
            available_after: Text(change.after.available),
            reserved_after: Text(change.after.reserved),
        }
    }
}

/// A page of a statement.
#[derive(Debug, Serialize)]
pub struct LedgerJson {
    /// Newest first.
    pub lines: Vec<LedgerLineJson>,
    /// Where it goes on.
    #[serde(flatten)]
    pub next: CursorEcho,
}
