//! Pages of orders that are written while some of their orders are open. Endings of those orders
//! wait here, so that several go to one page: until there are a few, or the last order has ended.

use std::collections::BTreeMap;

use super::page::endings_key;
use crate::history::History;
use crate::history::chain::RowIndex;
use exchange::ids::UserNo;

/// Endings that go to a page together. Fewer wait for as long as an order of their page is open,
/// some 30 bytes each.
const TOGETHER: RowIndex = 8;
/// Pages with waiting endings that a user may have: a query copies them.
const WAITING_PAGES_MAX: usize = 256;

/// The orders of one page whose endings are not stored.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    pub(super) open: RowIndex,
    /// Packed endings that wait, and their number.
    pub(super) endings: Vec<u8>,
    pub(super) waiting: RowIndex,
}

/// One user's unfinished pages, by number.
#[derive(Debug, Default)]
pub(super) struct UnfinishedPages {
    pub(super) pages: BTreeMap<u64, Unfinished>,
    /// How many of them have waiting endings.
    pub(super) with_waiting: usize,
}

impl UnfinishedPages {
    /// Adds a page that was just written, with so many open orders.
    pub(super) fn add(&mut self, page: u64, open: RowIndex) {
        if open > 0 {
            self.pages.insert(page, Unfinished { open, ..Unfinished::default() });
        }
    }

    /// Adds an ending, which `pack` appends to the bytes it gets; `None` if no order of that page
    /// is open.
    pub(super) fn end<T>(
        &mut self,
        history: &History,
        (user, page): (UserNo, u64),
        pack: impl FnOnce(&mut Vec<u8>) -> T,
    ) -> Option<T> {
        let unfinished = self.pages.get_mut(&page)?;
        self.with_waiting += usize::from(unfinished.waiting == 0);
        let packed = pack(&mut unfinished.endings);
        unfinished.waiting += 1;
        unfinished.open = unfinished.open.saturating_sub(1);
        if unfinished.open == 0 || unfinished.waiting >= TOGETHER {
            self.store(history, user, page);
        }
        if self.with_waiting > WAITING_PAGES_MAX {
            let oldest = self.pages.iter().find(|(_, unfinished)| unfinished.waiting > 0);
            if let Some(page) = oldest.map(|(page, _)| *page) {
                self.store(history, user, page);
            }
        }
        Some(packed)
    }

    /// A copy of the waiting endings, by page.
    pub(super) fn waiting(&self) -> Vec<(u64, Vec<u8>)> {
        let waiting = self.pages.iter().filter(|(_, unfinished)| unfinished.waiting > 0);
        waiting.map(|(page, unfinished)| (*page, unfinished.endings.clone())).collect()
    }

    /// Writes a page's waiting endings.
    fn store(&mut self, history: &History, user: UserNo, page: u64) {
        let Some(unfinished) = self.pages.get_mut(&page) else { return };
        let rows = history.rows_per_page();
        let stored = rows.saturating_sub(unfinished.open).saturating_sub(unfinished.waiting);
        let key = endings_key(user, page.saturating_mul(rows), stored);
        history.put(key, std::mem::take(&mut unfinished.endings));
        unfinished.waiting = 0;
        self.with_waiting = self.with_waiting.saturating_sub(1);
        if unfinished.open == 0 {
            self.pages.remove(&page);
        }
    }
}
