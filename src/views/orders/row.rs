//! An order as readers see it.

use exchange::command::{TimeInForce, Wording};
use exchange::effect::CancelReason;
use exchange::ids::{Group, MarketNo, OrderId, OrderNo, Token, UserNo};
use exchange::units::{AveragePrice, Lots, Money, Tick, TimeMs};

/// The status of an order (semantics 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OrderStatus {
    /// On the book, nothing filled.
    Open,
    /// On the book, partly filled.
    PartiallyFilled,
    /// Filled completely. Final.
    Filled,
    /// The remaining quantity was cancelled. Final.
    Cancelled,
}

impl OrderStatus {
    /// Whether the order is on the book.
    pub const fn open(self) -> bool {
        matches!(self, OrderStatus::Open | OrderStatus::PartiallyFilled)
    }

    /// The interface's name of the status (interface 3).
    pub const fn name(self) -> &'static str {
        match self {
            OrderStatus::Open => "OPEN",
            OrderStatus::PartiallyFilled => "PARTIALLY_FILLED",
            OrderStatus::Filled => "FILLED",
            OrderStatus::Cancelled => "CANCELLED",
        }
    }
}

/// An order. Always `quantity` = `filled` + `remaining` + `cancelled`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderRow {
    /// Number: the sequence of the record that placed it.
    pub no: OrderNo,
    /// Owner.
    pub user: UserNo,
    /// Market.
    pub market: MarketNo,
    /// Outcome and side as the owner stated them.
    pub wording: Wording,
    /// Limit price of the stated outcome.
    pub price: Tick,
    /// Quantity in lots, as last amended.
    pub quantity: Lots,
    /// Lots traded.
    pub filled: Lots,
    /// Lots on the book; zero once final.
    pub remaining: Lots,
    /// Lots that will not be filled.
    pub cancelled: Lots,
    /// Sum of price x quantity over the fills, at prices of the stated outcome.
    pub filled_cost: Money,
    /// Status.
    pub status: OrderStatus,
    /// Why the rest was cancelled.
    pub cancel_reason: Option<CancelReason>,
    /// Time in force.
    pub time_in_force: TimeInForce,
    /// When it was placed.
    pub created_at: TimeMs,
    /// When it last changed.
    pub updated_at: TimeMs,
    /// Client order id.
    pub client_id: Option<Token>,
    /// The group to which its owner counts it.
    pub group: Option<Group>,
}

impl OrderRow {
    /// Public id.
    pub fn id(&self) -> OrderId {
        self.no.id(self.created_at)
    }

    /// The average fill price of the stated outcome; prints `0.00` before the first fill.
    pub const fn average_price(&self) -> AveragePrice {
        AveragePrice { notional: self.filled_cost, quantity: self.filled }
    }
}
