//! An order as readers see it.

use crate::exchange::command::{TimeInForce, Wording};
use crate::exchange::effect::CancelReason;
use crate::exchange::ids::{MarketNo, OrderId, OrderNo, Token, UserNo};
use crate::exchange::units::{AveragePrice, Lots, Money, Tick, TimeMs};

/// How far an order has come (semantics 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OrderStatus {
    /// Stands, nothing filled.
    Open,
    /// Stands, part of it filled.
    PartiallyFilled,
    /// Nothing is left. Final.
    Filled,
    /// What was left will not be filled. Final.
    Cancelled,
}

impl OrderStatus {
    /// Whether the order stands on the book.
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
    /// Outcome and side as the owner wrote them.
    pub wording: Wording,
    /// Limit in the owner's words: of the outcome named.
    pub price: Tick,
    /// Contracts wanted, as last amended.
    pub quantity: Lots,
    /// Contracts traded.
    pub filled: Lots,
    /// Contracts on the book; zero once final.
    pub remaining: Lots,
    /// Contracts that will not be filled.
    pub cancelled: Lots,
    /// Sum of price x quantity over the fills, prices in the owner's words.
    pub filled_cost: Money,
    /// Status.
    pub status: OrderStatus,
    /// Why the rest was cancelled.
    pub cancel_reason: Option<CancelReason>,
    /// How long it stands.
    pub time_in_force: TimeInForce,
    /// When it was placed.
    pub created_at: TimeMs,
    /// When it last changed.
    pub updated_at: TimeMs,
    /// Its owner's own name for it.
    pub client_id: Option<Token>,
}

impl OrderRow {
    /// Outside id.
    pub fn id(&self) -> OrderId {
        self.no.id(self.created_at)
    }

    /// The average price of the fills in the owner's words; prints `0.00` before the first.
    pub const fn average_price(&self) -> AveragePrice {
        AveragePrice { notional: self.filled_cost, quantity: self.filled }
    }
}
