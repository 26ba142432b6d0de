//! The JSON of a mass cancel.

use serde::Serialize;

use super::Text;
use exchange::ids::OrderId;
use exchange::units::Lots;
use views::orders::OrderRow;

/// The orders cancelled by a mass cancel, oldest first.
#[derive(Debug, Default, Serialize)]
pub struct CancelledJson {
    /// Their ids.
    pub cancelled: Vec<Text<OrderId>>,
    /// What came of each.
    pub orders: Vec<CancelledOrderJson>,
}

/// What came of an order that a mass cancel ended.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelledOrderJson {
    /// Its id.
    pub order_id: Text<OrderId>,
    filled_quantity: Text<Lots>,
    cancelled_quantity: Text<Lots>,
}

impl From<OrderRow> for CancelledOrderJson {
    fn from(row: OrderRow) -> CancelledOrderJson {
        CancelledOrderJson {
            order_id: Text(row.id()),
            filled_quantity: Text(row.filled),
            cancelled_quantity: Text(row.cancelled),
        }
    }
}
