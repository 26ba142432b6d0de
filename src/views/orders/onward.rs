//! A user's orders, oldest first, from one of them on.

use super::list::{ListKind, OrderIds, OrderList, OrderPages};
use super::traders::Begins;
use crate::history::HistoryError;
use crate::history::chain::{RowIndex, length};
use crate::history::onward::Onward;
use exchange::ids::OrderNo;
use exchange::units::TimeMs;

/// A user's orders placed after one, to be read later.
#[derive(Debug)]
pub struct OrdersAfter {
    pub(super) pages: OrderPages,
    /// In one market only.
    pub(super) begins: Option<Begins>,
    pub(super) after: OrderNo,
}

impl OrdersAfter {
    /// The page of the `most` oldest. Its [`next`](Onward::next) is the number of the order after
    /// which to go on.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn onward(self, most: usize) -> Result<Onward<OrderList>, HistoryError> {
        let OrdersAfter { mut pages, begins, after } = self;
        let first = pages.before(OrderNo(after.0.next()))?;
        let (kind, count, newer, last) = match begins {
            None => {
                let (all, first) = (pages.tail.count(), first.min(pages.tail.count()));
                let end = first.saturating_add(most as RowIndex).min(all);
                let last = end.checked_sub(1);
                (ListKind::All(end), length(end - first), length(all - end), last)
            }
            Some(begins) => {
                let mut walk = begins.find()?.orders.walk();
                let (count, newer) = walk.onward(first, most, |index| pages.links(index))?;
                (ListKind::InMarket(walk), count, newer, walk.index())
            }
        };
        let newest = pages.tail.base().0.max(after.0);
        let last = match last.filter(|_| newer > 0) {
            Some(index) => pages.terms(index)?.map(|terms| terms.no.0),
            None => None,
        };
        let orders = OrderList { pages, kind, before: None };
        Ok(Onward { list: orders, count, newer, next: last.unwrap_or(newest).get() })
    }
}

impl OrderIds {
    /// The last order placed before this time, if there is one. Reads O(log n) pages.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn last_before(&mut self, time: TimeMs) -> Result<Option<OrderNo>, HistoryError> {
        let before = self.0.before_by(|terms| terms.created_at < time)?;
        let Some(last) = before.checked_sub(1) else { return Ok(None) };
        Ok(self.0.terms(last)?.map(|terms| terms.no))
    }
}
