//! What each user's orders traded, as that user sees it.

use crate::exchange::command::Wording;
use crate::exchange::ids::{MarketNo, OrderNo, TradeId, UserNo};
use crate::exchange::units::{Lots, Sequence, Tick, TimeMs};

/// Which of a trade's two orders it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Liquidity {
    /// The resting order.
    Maker,
    /// The incoming order.
    Taker,
}

/// One party's view of a trade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillRow {
    /// The trade; both parties see the same id.
    pub id: TradeId,
    /// The party's order.
    pub order: OrderNo,
    /// Market.
    pub market: MarketNo,
    /// The order's outcome and side.
    pub wording: Wording,
    /// Price in the order's own words: of the outcome it names.
    pub price: Tick,
    /// Contracts.
    pub quantity: Lots,
    /// Resting or incoming.
    pub liquidity: Liquidity,
    /// When.
    pub time: TimeMs,
    /// The record that made the trade.
    pub sequence: Sequence,
}

/// Every user's fills, oldest first.
#[derive(Debug, Default)]
pub(super) struct Fills {
    of: Vec<Vec<FillRow>>,
}

impl Fills {
    pub(super) fn of(&self, user: UserNo) -> &[FillRow] {
        self.of.get(user.index()).map_or(&[], Vec::as_slice)
    }

    pub(super) fn add_user(&mut self) {
        self.of.push(Vec::new());
    }

    /// Adds a fill of a user that was added before; of another it would be lost.
    pub(super) fn add(&mut self, user: UserNo, fill: FillRow) {
        if let Some(fills) = self.of.get_mut(user.index()) {
            fills.push(fill);
        }
    }
}
