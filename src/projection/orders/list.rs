//! Reading a user's orders: what is open now from memory, the rest from pages, whenever.

use super::names::Names;
use super::open::OpenOrders;
use super::page::{Ending, OrderPage, Terms};
use super::row::OrderRow;
use super::traders::Begins;
use crate::exchange::ids::{OrderId, OrderNo, Token, UserNo};
use crate::exchange::image::coding::BadImage;
use crate::projection::fills::FillList;
use crate::projection::history::chain::{Links, RowChain, RowIndex, Walk};
use crate::projection::history::stream::{Row, Tail};
use crate::projection::history::{History, HistoryError, PageKey};

/// A user's orders as they were at one moment.
#[derive(Debug, Clone)]
pub(super) struct OrderPages {
    pub(super) history: History,
    pub(super) user: UserNo,
    pub(super) tail: Tail<Terms>,
    /// What became of orders in the tail.
    pub(super) endings: Vec<u8>,
    /// What became of orders on pages that were put away without it.
    pub(super) late: Vec<(u32, Vec<u8>)>,
    /// Those that stood, in order of placing. Whoever looks for none of them may leave them out.
    pub(super) open: Vec<(OrderNo, OpenOrders)>,
    /// The place of the first order of the page that was read last, and the page.
    pub(super) at_hand: Option<(RowIndex, OrderPage)>,
}

/// An order that was found.
#[derive(Debug, Clone, Copy)]
struct Found {
    row: OrderRow,
    fills: RowChain,
}

impl OrderPages {
    fn key(&self, place: RowIndex) -> PageKey {
        let page = u64::from(place / self.history.rows_per_page());
        PageKey { kind: Terms::KIND, owner: self.user.0, page }
    }

    fn damaged(&self, place: RowIndex, cause: BadImage) -> HistoryError {
        HistoryError::Damaged { key: self.key(place), cause }
    }

    fn load(&self, first: RowIndex) -> Result<OrderPage, HistoryError> {
        let rows = self.history.rows_per_page();
        let damaged = |cause| self.damaged(first, cause);
        if first == self.tail.first(rows) {
            let (_, terms) = self.tail.rows(rows).map_err(damaged)?;
            let mut page = OrderPage { terms, ..OrderPage::default() };
            page.end(&self.endings).map_err(damaged)?;
            return Ok(page);
        }
        let bytes = self.history.get(self.key(first))?;
        let mut page = OrderPage::unpack(first, rows, &bytes).map_err(damaged)?;
        let late = self.late.iter().filter(|(page, _)| *page == first / rows);
        for (_, endings) in late {
            page.end(endings).map_err(damaged)?;
        }
        Ok(page)
    }

    /// What was asked for at a place, and what became of it.
    fn at(&mut self, place: RowIndex) -> Result<Option<(Terms, Option<Ending>)>, HistoryError> {
        if place >= self.tail.count() {
            return Ok(None);
        }
        let rows = self.history.rows_per_page();
        let (first, slot) = (place / rows * rows, place % rows);
        if self.at_hand.as_ref().is_none_or(|(held, _)| *held != first) {
            self.at_hand = Some((first, self.load(first)?));
        }
        let page = self.at_hand.as_ref().map(|(_, page)| page);
        let found = page.and_then(|page| {
            Some((*page.terms.get(slot as usize)?, page.endings.get(&slot).copied()))
        });
        found.map(Some).ok_or_else(|| self.damaged(place, BadImage::Truncated))
    }

    fn found(&mut self, place: RowIndex) -> Result<Option<Found>, HistoryError> {
        let Some((terms, ending)) = self.at(place)? else { return Ok(None) };
        // What stood, stood: an ending that a page has by now came later.
        let open = self.open.binary_search_by_key(&terms.no, |(no, _)| *no).ok();
        if let Some((no, standing)) = open.and_then(|index| self.open.get(index)) {
            let row = standing.row(*no, terms.client_id);
            return Ok(Some(Found { row, fills: standing.fills }));
        }
        let unended = || BadImage::Contradiction("an order that neither stands nor ended");
        let ending = ending.ok_or_else(|| self.damaged(place, unended()))?;
        Ok(Some(Found { row: ending.row(self.user, &terms), fills: ending.fills }))
    }

    fn links(&mut self, place: RowIndex) -> Result<Links, HistoryError> {
        Ok(self.at(place)?.map_or_else(Links::default, |(terms, _)| terms.in_market))
    }

    /// How many orders were placed before this one. Reads a page for each halving of the pages.
    fn before(&mut self, no: OrderNo) -> Result<RowIndex, HistoryError> {
        if let Some(place) = self.before_at_hand(no) {
            return Ok(place);
        }
        let (mut low, mut high) = (0, self.tail.count());
        // The newest are asked for most, and are at hand.
        let first = self.tail.first(self.history.rows_per_page());
        if no.0 > self.tail.base().0 {
            return Ok(high);
        }
        if self.at(first)?.is_some_and(|(terms, _)| terms.no < no) {
            low = first;
        } else {
            high = high.min(first);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at(middle)?.is_some_and(|(terms, _)| terms.no < no) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The same if the page at hand tells.
    fn before_at_hand(&self, no: OrderNo) -> Option<RowIndex> {
        let (first, page) = self.at_hand.as_ref()?;
        let within = page.terms.first()?.no <= no && no <= page.terms.last()?.no;
        let slot = page.terms.partition_point(|terms| terms.no < no);
        RowIndex::try_from(slot).ok().filter(|_| within).map(|slot| first.saturating_add(slot))
    }

    fn numbered(&mut self, no: OrderNo) -> Result<Option<Found>, HistoryError> {
        let place = self.before(no)?;
        let there = self.at(place)?.is_some_and(|(terms, _)| terms.no == no);
        if there { self.found(place) } else { Ok(None) }
    }

    fn named(&mut self, names: &Names, name: Token) -> Result<Option<Found>, HistoryError> {
        let (history, user) = (self.history.clone(), self.user);
        names.find(&history, user, &name, |place| {
            let same = self.at(place)?.is_some_and(|(terms, _)| terms.client_id == Some(name));
            if same { self.found(place) } else { Ok(None) }
        })
    }
}

/// The ids of a user's orders.
#[derive(Debug, Clone)]
pub struct OrderIds(pub(super) OrderPages);

impl OrderIds {
    /// The id of an order; `None` if it is not one of this user's. Numbers near each other are
    /// found with one reading.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn id(&mut self, no: OrderNo) -> Result<Option<OrderId>, HistoryError> {
        let place = self.0.before(no)?;
        let found = self.0.at(place)?.filter(|(terms, _)| terms.no == no);
        Ok(found.map(|(terms, _)| no.id(terms.created_at)))
    }
}

/// A user's orders as they were at one moment, newest first, to be read whenever. After an error
/// nothing more comes.
#[derive(Debug, Clone)]
pub struct OrderList {
    pub(super) pages: OrderPages,
    pub(super) kind: ListKind,
    /// Only those placed before this one; `None` once they have been passed over.
    pub(super) before: Option<OrderNo>,
}

/// Which of a user's orders a list still has.
#[derive(Debug, Clone, Copy)]
pub(super) enum ListKind {
    /// So many, the oldest ones.
    All(RowIndex),
    InMarket(Walk),
}

impl OrderList {
    /// How many there are at most.
    pub fn left(&self) -> usize {
        match &self.kind {
            ListKind::All(left) => *left as usize,
            ListKind::InMarket(walk) => walk.left(),
        }
    }

    fn turn(&mut self) -> Result<Option<OrderRow>, HistoryError> {
        if let Some(no) = self.before.take() {
            self.pass(no)?;
        }
        let OrderList { pages, kind, .. } = self;
        let place = match kind {
            ListKind::All(left) => {
                let place = left.checked_sub(1);
                *left = place.unwrap_or(0);
                place
            }
            ListKind::InMarket(walk) => walk.turn(|place| pages.links(place))?,
        };
        let Some(place) = place else { return Ok(None) };
        Ok(pages.found(place)?.map(|found| found.row))
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
                walk.pass_while(|_, place| place >= end, |place| pages.links(place))
            }
        }
    }
}

impl Iterator for OrderList {
    type Item = Result<OrderRow, HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.turn().transpose().inspect(|row| {
            if row.is_err() {
                self.kind = ListKind::All(0);
            }
        })
    }
}

/// A user's orders in one market, to be looked for whenever.
#[derive(Debug)]
pub struct OrdersIn {
    pub(super) pages: OrderPages,
    pub(super) begins: Begins,
    pub(super) before: OrderNo,
}

impl OrdersIn {
    /// How many there may be: as many, unless the market has ended.
    pub fn most(&self) -> usize {
        match &self.begins {
            Begins::Here(there) => there.orders.walk().left(),
            Begins::There(..) => self.pages.tail.count() as usize,
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

/// A user's fills in one market, to be looked for whenever.
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

/// One order that is asked for, to be looked for whenever: only one that is final needs looking
/// for.
#[derive(Debug)]
pub struct Sought(pub(super) Search);

/// Where an order is looked for.
#[derive(Debug)]
pub(super) enum Search {
    /// It is open.
    Found(OrderRow, RowChain),
    /// By number, among those that do not stand.
    Numbered(Box<OrderPages>, OrderNo),
    /// By name, among those that do not stand.
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
            Search::Numbered(mut pages, no) => pages.numbered(no),
            Search::Named(mut pages, names, name) => pages.named(&names, name),
        }
    }
}

/// The fills of one order, to be looked for whenever.
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
