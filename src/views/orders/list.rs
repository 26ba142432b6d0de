//! Reading a user's orders, now or later: open ones from memory, the rest from pages.

use super::OrderRow;
use super::open::OpenOrder;
use super::page::{Ending, OrderPage, Terms, endings_key};
use super::traders::{Begins, Names};
use crate::fills::{FillList, FillRow};
use crate::history::chain::{Links, RowChain, RowIndex, Walk, length};
use crate::history::stream::{Row, Tail};
use crate::history::{History, HistoryError, PageKey};
use exchange::ids::{OrderId, OrderNo, Token, UserNo};
use exchange::image::coding::BadImage;
use exchange::units::{Lots, Money};

/// A user's orders as of one moment.
#[derive(Debug, Clone)]
pub(super) struct OrderPages {
    pub(super) history: History,
    pub(super) user: UserNo,
    pub(super) tail: Tail<Terms>,
    /// The packed endings of the orders in the tail.
    pub(super) endings: Vec<u8>,
    /// Endings that were not stored yet, by page.
    pub(super) waiting: Vec<(u64, Vec<u8>)>,
    /// The orders that were open, in the order they were placed. May be left out if none is asked
    /// for.
    pub(super) open: Vec<OpenOrder>,
    pub(super) cached: Option<Cached>,
}

/// The page read last.
#[derive(Debug, Clone)]
pub(super) struct Cached {
    /// Index of its first order.
    first: RowIndex,
    page: OrderPage,
    /// Endings read from pages so far; more may be stored.
    stored: RowIndex,
}

/// An order that was found.
#[derive(Debug, Clone, Copy)]
struct Found {
    row: OrderRow,
    fills: RowChain,
}

impl OrderPages {
    fn key(&self, index: RowIndex) -> PageKey {
        let page = index / self.history.rows_per_page();
        PageKey { kind: Terms::KIND, owner: self.user.0, page }
    }

    fn damaged(&self, index: RowIndex, cause: BadImage) -> HistoryError {
        HistoryError::Damaged { key: self.key(index), cause }
    }

    fn load(&self, first: RowIndex) -> Result<Cached, HistoryError> {
        let rows = self.history.rows_per_page();
        let damaged = |cause| self.damaged(first, cause);
        if first == self.tail.first(rows) {
            let (_, terms) = self.tail.rows(rows).map_err(damaged)?;
            let mut page = OrderPage { terms, ..OrderPage::default() };
            page.end(&self.endings).map_err(damaged)?;
            return Ok(Cached { first, page, stored: rows });
        }
        let bytes = self.history.get(self.key(first))?;
        let mut page = OrderPage::unpack(first, rows, &bytes).map_err(damaged)?;
        let stored = page.endings.len() as RowIndex;
        for (_, endings) in self.waiting.iter().filter(|(page, _)| *page == first / rows) {
            page.end(endings).map_err(damaged)?;
        }
        Ok(Cached { first, page, stored })
    }

    /// The order at an index as it was placed.
    pub(super) fn terms(&mut self, index: RowIndex) -> Result<Option<Terms>, HistoryError> {
        if index >= self.tail.count() {
            return Ok(None);
        }
        let rows = self.history.rows_per_page();
        let (first, slot) = (index / rows * rows, index % rows);
        if self.cached.as_ref().is_none_or(|held| held.first != first) {
            self.cached = Some(self.load(first)?);
        }
        let held = self.cached.as_ref();
        let terms = held.and_then(|held| held.page.terms.get(length(slot)).copied());
        terms.map(Some).ok_or_else(|| self.damaged(index, BadImage::Truncated))
    }

    /// The ending of the order at an index, whose terms were just read. Reads the pages of endings
    /// up to it.
    fn ending(&mut self, index: RowIndex) -> Result<Ending, HistoryError> {
        let rows = self.history.rows_per_page();
        let neither = || BadImage::Contradiction("an order that neither stands nor ended");
        let absent = self.damaged(index, neither());
        let Some(held) = self.cached.as_mut() else { return Err(absent) };
        loop {
            if let Some(ending) = held.page.endings.get(&(index % rows)) {
                return Ok(*ending);
            }
            if held.stored >= rows {
                return Err(absent);
            }
            let key = endings_key(self.user, held.first, held.stored);
            let bytes = self.history.get(key)?;
            let damaged = |cause| HistoryError::Damaged { key, cause };
            held.stored += held.page.end(&bytes).map_err(damaged)?.max(1);
        }
    }

    fn open(&self, no: OrderNo) -> Option<&OpenOrder> {
        let open = self.open.binary_search_by_key(&no, |open| open.no).ok()?;
        self.open.get(open)
    }

    fn found(&mut self, index: RowIndex) -> Result<Option<Found>, HistoryError> {
        let Some(terms) = self.terms(index)? else { return Ok(None) };
        // An order that was open at that moment stays open, even if its ending is stored by now.
        if let Some(open) = self.open(terms.no) {
            return Ok(Some(Found { row: open.row(), fills: open.fills }));
        }
        let ending = self.ending(index)?;
        Ok(Some(Found { row: ending.row(self.user, &terms), fills: ending.fills }))
    }

    pub(super) fn links(&mut self, index: RowIndex) -> Result<Links, HistoryError> {
        Ok(self.terms(index)?.map_or_else(Links::default, |terms| terms.in_market))
    }

    /// How many orders were placed before this one, by binary search; reads a page at each step.
    pub(super) fn before(&mut self, no: OrderNo) -> Result<RowIndex, HistoryError> {
        if let Some(index) = self.before_in_cached(no) {
            return Ok(index);
        }
        if no.0 > self.tail.base().0 {
            return Ok(self.tail.count());
        }
        self.before_by(|terms| terms.no < no)
    }

    /// How many orders, from the oldest, `passed` is true for.
    pub(super) fn before_by(
        &mut self,
        passed: impl Fn(&Terms) -> bool,
    ) -> Result<RowIndex, HistoryError> {
        let (mut low, mut high) = (0, self.tail.count());
        // The newest orders are asked for most, and are in memory.
        let first = self.tail.first(self.history.rows_per_page());
        if self.terms(first)?.as_ref().is_some_and(&passed) {
            low = first;
        } else {
            high = high.min(first);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.terms(middle)?.as_ref().is_some_and(&passed) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The same, if the page read last answers it.
    fn before_in_cached(&self, no: OrderNo) -> Option<RowIndex> {
        let Cached { first, page, .. } = self.cached.as_ref()?;
        let within = page.terms.first()?.no <= no && no <= page.terms.last()?.no;
        let slot = page.terms.partition_point(|terms| terms.no < no);
        RowIndex::try_from(slot).ok().filter(|_| within).map(|slot| first.saturating_add(slot))
    }

    /// Where an order is, and how it was placed.
    fn numbered(&mut self, no: OrderNo) -> Result<Option<(RowIndex, Terms)>, HistoryError> {
        let index = self.before(no)?;
        let terms = self.terms(index)?.filter(|terms| terms.no == no);
        Ok(terms.map(|terms| (index, terms)))
    }

    fn named(&mut self, names: &Names, name: Token) -> Result<Option<Found>, HistoryError> {
        let (history, user) = (self.history.clone(), self.user);
        names.find(&history, user, &name, |index| {
            let same = self.terms(index)?.is_some_and(|terms| terms.client_id == Some(name));
            if same { self.found(index) } else { Ok(None) }
        })
    }
}

/// The ids of a user's orders.
#[derive(Debug, Clone)]
pub struct OrderIds(pub(super) OrderPages);

impl OrderIds {
    /// The id of an order; `None` if it is not one of this user's. Numbers on the same page are
    /// looked up with one page read.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn id(&mut self, no: OrderNo) -> Result<Option<OrderId>, HistoryError> {
        let found = self.0.numbered(no)?;
        Ok(found.map(|(_, terms)| no.id(terms.created_at)))
    }
}

/// A user's orders as of one moment, newest first, to be read later. Ends after the first error.
#[derive(Debug, Clone)]
pub struct OrderList {
    pub(super) pages: OrderPages,
    pub(super) kind: ListKind,
    /// Only orders placed before this one; `None` once the others have been skipped.
    pub(super) before: Option<OrderNo>,
}

/// Which of a user's orders the list still returns.
#[derive(Debug, Clone, Copy)]
pub(super) enum ListKind {
    /// This many, the oldest ones.
    All(RowIndex),
    InMarket(Walk),
}

impl OrderList {
    /// An upper bound of the orders left.
    pub fn left(&self) -> usize {
        match &self.kind {
            ListKind::All(left) => length(*left),
            ListKind::InMarket(walk) => walk.left(),
        }
    }

    fn advance(&mut self) -> Result<Option<OrderRow>, HistoryError> {
        if let Some(no) = self.before.take() {
            self.pass(no)?;
        }
        let OrderList { pages, kind, .. } = self;
        let index = match kind {
            ListKind::All(left) => {
                let index = left.checked_sub(1);
                *left = index.unwrap_or(0);
                index
            }
            ListKind::InMarket(walk) => walk.advance(|index| pages.links(index))?,
        };
        let Some(index) = index else { return Ok(None) };
        Ok(pages.found(index)?.map(|found| found.row))
    }

    fn pass(&mut self, no: OrderNo) -> Result<(), HistoryError> {
        let OrderList { pages, kind, .. } = self;
        let end = pages.before(no)?;
        match kind {
            ListKind::All(left) => {
                *left = end.min(*left);
                Ok(())
            }
            ListKind::InMarket(walk) => {
                walk.pass_while(|_, index| index >= end, |index| pages.links(index))
            }
        }
    }
}

impl Iterator for OrderList {
    type Item = Result<OrderRow, HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose().inspect(|row| {
            if row.is_err() {
                self.kind = ListKind::All(0);
            }
        })
    }
}

/// A user's orders in one market, to be read later.
#[derive(Debug)]
pub struct OrdersIn {
    pub(super) pages: OrderPages,
    pub(super) begins: Begins,
    pub(super) before: OrderNo,
}

impl OrdersIn {
    /// An upper bound of the orders: exact unless the market has ended. Counts those from `before`
    /// on too.
    pub fn most(&self) -> usize {
        match &self.begins {
            Begins::Known(there) => there.orders.walk().left(),
            Begins::Stored(..) => length(self.pages.tail.count()),
        }
    }

    /// The orders, newest first.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn list(self) -> Result<OrderList, HistoryError> {
        let OrdersIn { pages, begins, before } = self;
        let walk = begins.find()?.orders.walk();
        Ok(OrderList { pages, kind: ListKind::InMarket(walk), before: Some(before) })
    }
}

/// A user's fills in one market, to be read later.
#[derive(Debug)]
pub struct FillsIn {
    pub(super) fills: FillList,
    pub(super) begins: Begins,
}

impl FillsIn {
    /// The fills, newest first.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn list(self) -> Result<FillList, HistoryError> {
        let FillsIn { fills, begins } = self;
        Ok(fills.in_market(begins.find()?.fills))
    }
}

/// One requested order, to be looked up later: only a final order still needs a page read.
#[derive(Debug)]
pub struct Sought(pub(super) Search);

/// Where to look for an order.
#[derive(Debug)]
pub(super) enum Search {
    /// Found in memory: open, or ended by the latest record.
    Found(OrderRow, RowChain),
    /// By number, among the final orders.
    Numbered(Box<OrderPages>, OrderNo),
    /// By client order id, among the final orders.
    Named(Box<OrderPages>, Names, Token),
}

impl Sought {
    /// The order, if there is one.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn row(self) -> Result<Option<OrderRow>, HistoryError> {
        Ok(self.found()?.map(|found| found.row))
    }

    fn found(self) -> Result<Option<Found>, HistoryError> {
        match self.0 {
            Search::Found(row, fills) => Ok(Some(Found { row, fills })),
            Search::Numbered(mut pages, no) => match pages.numbered(no)? {
                Some((index, _)) => pages.found(index),
                None => Ok(None),
            },
            Search::Named(mut pages, names, name) => pages.named(&names, name),
        }
    }
}

/// The fills of one order, to be read later.
#[derive(Debug)]
pub struct SoughtFills {
    pub(super) sought: Sought,
    pub(super) fills: FillList,
}

impl SoughtFills {
    /// The order and its fills, if there is such an order.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn list(self) -> Result<Option<(OrderRow, FillList)>, HistoryError> {
        let found = self.sought.found()?;
        Ok(found.map(|Found { row, fills }| (row, self.fills.of_order(fills))))
    }
}

/// An order as the record that placed it left it, to be read later.
#[derive(Debug)]
pub struct AsPlaced {
    pub(super) pages: OrderPages,
    pub(super) no: OrderNo,
    pub(super) fills: FillList,
}

impl AsPlaced {
    /// The row that the record left, and the fills that it made, oldest first; `None` if there is
    /// no such order.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn read(self) -> Result<Option<(OrderRow, Vec<FillRow>)>, HistoryError> {
        let AsPlaced { mut pages, no, fills } = self;
        let Some((index, terms)) = pages.numbered(no)? else { return Ok(None) };
        let ending = match pages.open(no) {
            Some(_) => None,
            None => Some(pages.ending(index)?),
        };
        let chain = pages.open(no).map(|open| open.fills).or(ending.map(|ending| ending.fills));
        let fills = fills.of_order(chain.unwrap_or_default()).made_until(no.0)?;
        let mut fills = fills.collect::<Result<Vec<_>, _>>()?;
        fills.reverse();
        if let Some(ending) = ending.filter(|ending| ending.at_once) {
            return Ok(Some((ending.row(pages.user, &terms), fills)));
        }
        let lots: u64 = fills.iter().map(|fill| fill.quantity.get()).sum();
        let cost = fills.iter().map(|fill| fill.price.times(fill.quantity));
        let cost = cost.map(|cost| cost.map_or(0, Money::get)).sum();
        Ok(Some((terms.rested(pages.user, Lots::new(lots), Money::new(cost)), fills)))
    }
}
