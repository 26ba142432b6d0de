//! What each user's orders traded, as that user sees it.

mod image;

use rustc_hash::FxHashMap;

use super::fault::Fault;
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

/// Where a fill stands among its user's fills.
type RowNo = u32;

/// Every user's fills, oldest first, and which of them a market or an order has.
#[derive(Debug, Default)]
pub(super) struct Fills {
    of: Vec<Vec<FillRow>>,
    by_market: FxHashMap<(UserNo, MarketNo), Vec<RowNo>>,
    /// An order has one owner: its rows are of that user's fills.
    by_order: FxHashMap<OrderNo, Vec<RowNo>>,
}

impl Fills {
    /// All of a user's fills.
    pub(super) fn of(&self, user: UserNo) -> FillList<'_> {
        let rows = self.rows(user);
        FillList { rows, picked: None, left: rows.len() }
    }

    /// A user's fills in one market.
    pub(super) fn in_market(&self, user: UserNo, market: MarketNo) -> FillList<'_> {
        self.picked(user, self.by_market.get(&(user, market)))
    }

    /// The fills of an order of this user.
    pub(super) fn of_order(&self, user: UserNo, order: OrderNo) -> FillList<'_> {
        self.picked(user, self.by_order.get(&order))
    }

    pub(super) fn add_user(&mut self) {
        self.of.push(Vec::new());
    }

    /// Adds a fill of a user that was added before.
    pub(super) fn add(&mut self, user: UserNo, fill: FillRow) -> Result<(), Fault> {
        let fills = self.of.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
        let row = RowNo::try_from(fills.len());
        let row = row.map_err(|_| Fault::NotNext(fills.len() as u64))?;
        self.by_market.entry((user, fill.market)).or_default().push(row);
        self.by_order.entry(fill.order).or_default().push(row);
        fills.push(fill);
        Ok(())
    }

    fn rows(&self, user: UserNo) -> &[FillRow] {
        self.of.get(user.index()).map_or(&[], Vec::as_slice)
    }

    fn picked<'a>(&'a self, user: UserNo, picked: Option<&'a Vec<RowNo>>) -> FillList<'a> {
        let picked = picked.map_or(&[][..], Vec::as_slice);
        FillList { rows: self.rows(user), picked: Some(picked), left: picked.len() }
    }
}

/// Fills of one user, newest first. Its length is known, and passing over any number of them
/// costs nothing: a page deep in a long history is O(page). The default is empty.
#[derive(Debug, Clone, Default)]
pub struct FillList<'a> {
    rows: &'a [FillRow],
    /// Which of the rows, oldest first; `None` is all of them.
    picked: Option<&'a [RowNo]>,
    left: usize,
}

impl<'a> Iterator for FillList<'a> {
    type Item = &'a FillRow;

    fn next(&mut self) -> Option<&'a FillRow> {
        self.nth(0)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }

    fn nth(&mut self, passed: usize) -> Option<&'a FillRow> {
        let Some(place) = self.left.checked_sub(passed).and_then(|left| left.checked_sub(1)) else {
            self.left = 0;
            return None;
        };
        self.left = place;
        let row = match self.picked {
            Some(picked) => *picked.get(place)? as usize,
            None => place,
        };
        self.rows.get(row)
    }
}

impl ExactSizeIterator for FillList<'_> {}
