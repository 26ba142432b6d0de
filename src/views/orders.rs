//! The read model of all orders ever accepted, in the owner's wording, with their outcome. Open
//! orders are in memory; of the others, the newest are packed in memory and the rest on pages.

mod folding;
mod list;
mod page;
mod open;
mod onward;
mod traders;

pub use self::onward::OrdersAfter;
use std::collections::{BTreeMap, VecDeque};

pub use self::list::{AsPlaced, FillsIn, OrderIds, OrderList, OrdersIn, Sought, SoughtFills};
use self::list::{ListKind, OrderPages, Search};
use self::open::{Open, OpenOrder};
use self::page::{Terms, endings_key};
use self::traders::{Begins, InMarket, Names, Traders};
use super::fills::{FillList, Fills};
use super::history::History;
use super::history::chain::{RowIndex, length};
use super::history::stream::Tail;
use exchange::command::{TimeInForce, Wording};
use exchange::effect::CancelReason;
use exchange::ids::{Group, MarketNo, OrderId, OrderNo, Token, UserNo};
use exchange::units::{AveragePrice, Lots, Money, Sequence, Tick, TimeMs};

/// Greater than any order number.
const ALL: OrderNo = OrderNo(Sequence::new(u64::MAX));

/// One user's orders.
#[derive(Debug, Default)]
struct UserOrders {
    /// In the order they were placed.
    tail: Tail<Terms>,
    /// The packed endings of the orders in the tail, and their number.
    endings: Vec<u8>,
    ended: RowIndex,
    unfinished: UnfinishedPages,
    names: Names,
}

/// An order that the latest record ended.
#[derive(Debug, Clone, Copy)]
struct JustEnded {
    order: OpenOrder,
    reason: Option<CancelReason>,
}

impl JustEnded {
    fn row(&self) -> OrderRow {
        self.order.ended(self.reason)
    }
}

/// All orders and fills.
#[derive(Debug, Default)]
pub struct Orders {
    history: History,
    open: Open,
    /// The order that the current record places, held until the record says what becomes of it:
    /// most takers end within their own record and never become open orders.
    incoming: Option<OpenOrder>,
    users: Vec<UserOrders>,
    /// By market, each user's orders and fills in it.
    markets: Vec<Traders>,
    /// Markets that ended and whose users are being moved to pages.
    ended: VecDeque<MarketNo>,
    /// Orders that the latest record ended, readable from memory until the next record.
    just_ended: Vec<JustEnded>,
    /// When the orders changed by the latest record were placed, in the order of its effects.
    placed: Vec<Option<TimeMs>>,
    /// The newest order.
    newest: Option<OrderNo>,
    fills: Fills,
}

impl Orders {
    /// No orders yet; pages go to `history`.
    pub(super) fn on(history: History) -> Orders {
        Orders { fills: Fills::on(history.clone()), history, ..Orders::default() }
    }

    /// Where its pages of history are.
    pub(super) const fn history(&self) -> &History {
        &self.history
    }

    /// Rows of a page of history.
    pub(super) const fn rows_per_page(&self) -> u64 {
        self.history.rows_per_page()
    }

    /// This user's order, if it is open. O(log n) in the user's open orders.
    pub fn open_order_of(&self, user: UserNo, order: OrderNo) -> Option<OrderRow> {
        self.open.get(user, order).map(|order| order.row())
    }

    /// When the orders that the latest record amended, matched as maker or cancelled were placed,
    /// in the order of the effects; `None` for an unknown order.
    pub(super) fn placed(&self) -> &[Option<TimeMs>] {
        &self.placed
    }

    /// The orders that the latest record ended, in the order of its effects. Read from memory,
    /// however old the orders are.
    pub fn just_ended(&self) -> impl ExactSizeIterator<Item = OrderRow> {
        self.just_ended.iter().map(JustEnded::row)
    }

    /// An order of this user. Finding one that is not open reads O(log n) pages.
    pub fn order(&self, user: UserNo, order: OrderNo) -> Sought {
        match self.found(user, order) {
            Some(found) => Sought(found),
            None => Sought(Search::Numbered(Box::new(self.pages(user)), order)),
        }
    }

    /// The newest order with this client order id. Finding one that is not open reads one page for
    /// each of a few dozen runs of names.
    pub fn named(&self, user: UserNo, name: Token) -> Sought {
        let open = self.open.named(user, name);
        Sought(open.map_or_else(
            || {
                let names = self.users.get(user.index()).map(|own| own.names.clone());
                Search::Named(Box::new(self.pages(user)), names.unwrap_or_default(), name)
            },
            |open| Search::Found(open.row(), open.fills),
        ))
    }

    fn found(&self, user: UserNo, order: OrderNo) -> Option<Search> {
        if let Some(open) = self.open.get(user, order) {
            return Some(Search::Found(open.row(), open.fills));
        }
        let ended = self.just_ended.iter().find(|ended| ended.order.no == order)?;
        (ended.order.user == user).then(|| Search::Found(ended.row(), ended.order.fills))
    }

    /// A user's orders, newest first.
    pub fn of(&self, user: UserNo) -> OrderList {
        self.before(user, ALL, usize::MAX)
    }

    /// A user's orders placed before this one, newest first. The caller promises to read no more
    /// than `most`. Reads O(log n) pages, plus those of the rows read.
    pub fn before(&self, user: UserNo, order: OrderNo, most: usize) -> OrderList {
        let mut pages = self.pages(user);
        // An open order beyond the newest `most` open ones is not among the newest `most` of all
        // orders.
        pages.open = self.open.before(user, order).take(most).collect();
        pages.open.reverse();
        let left = pages.tail.count();
        OrderList { pages, kind: ListKind::All(left), before: Some(order) }
    }

    /// A user's orders in one market placed before this one, newest first. The caller promises to
    /// read no more than `most`.
    pub fn before_in(
        &self,
        user: UserNo,
        market: MarketNo,
        order: OrderNo,
        most: usize,
    ) -> OrdersIn {
        let mut pages = self.pages(user);
        let open = self.open.before(user, order).filter(|open| open.market == market);
        pages.open = open.take(most).collect();
        pages.open.reverse();
        OrdersIn { pages, begins: self.begins(user, market), before: order }
    }

    /// A user's orders placed after this one, in one market or all. The caller promises to read no
    /// page of more than `most`.
    pub fn after(
        &self,
        user: UserNo,
        market: Option<MarketNo>,
        order: OrderNo,
        most: usize,
    ) -> OrdersAfter {
        let mut pages = self.pages(user);
        let open = self.open.after(user, order);
        let open = open.filter(|open| market.is_none_or(|market| open.market == market));
        pages.open = open.take(most).collect();
        let begins = market.map(|market| self.begins(user, market));
        OrdersAfter { pages, begins, after: order }
    }

    /// A user's open orders placed after this one, oldest first.
    pub fn open_after(&self, user: UserNo, order: OrderNo) -> impl Iterator<Item = OrderRow> {
        self.open.after(user, order).map(|open_order| open_order.row())
    }

    /// Looks up the ids of a user's orders by their numbers.
    pub fn ids(&self, user: UserNo) -> OrderIds {
        OrderIds(self.pages(user))
    }

    /// How many orders a user has placed. O(1).
    pub fn count(&self, user: UserNo) -> usize {
        self.users.get(user.index()).map_or(0, |own| length(own.tail.count()))
    }

    /// How many open orders a user has. O(1).
    pub fn open_count_of(&self, user: UserNo) -> usize {
        self.open.count_of(user)
    }

    /// How many open orders there are. O(1).
    pub fn open_count(&self) -> usize {
        self.open.len()
    }

    /// A user's open orders, newest first; the cost depends only on how many are read.
    pub fn open_of(&self, user: UserNo) -> impl Iterator<Item = OrderRow> {
        self.open_before(user, ALL)
    }

    /// A user's open orders placed before this one, newest first.
    pub fn open_before(&self, user: UserNo, order: OrderNo) -> impl Iterator<Item = OrderRow> {
        self.open.before(user, order).map(|open_order| open_order.row())
    }

    /// The record of a user's last fill. O(1).
    pub fn last_fill_of(&self, user: UserNo) -> Sequence {
        self.fills.last(user)
    }

    /// A user's fills, newest first.
    pub fn fills_of(&self, user: UserNo) -> FillList {
        self.fills.of(user)
    }

    /// A user's fills in one market, newest first.
    pub fn fills_in(&self, user: UserNo, market: MarketNo) -> FillsIn {
        FillsIn { fills: self.fills.of(user), begins: self.begins(user, market) }
    }

    /// The fills of an order of this user, newest first.
    pub fn fills_of_order(&self, user: UserNo, order: OrderNo) -> SoughtFills {
        SoughtFills { sought: self.order(user, order), fills: self.fills.of(user) }
    }

    /// An order of this user as the record that placed it left it.
    pub fn as_placed(&self, user: UserNo, order: OrderNo) -> AsPlaced {
        let mut pages = self.pages(user);
        pages.open = self.open.get(user, order).into_iter().collect();
        AsPlaced { pages, no: order, fills: self.fills.of(user) }
    }

    fn begins(&self, user: UserNo, market: MarketNo) -> Begins {
        match self.markets.get(market.index()) {
            Some(traders) => traders.begins(&self.history, market, user),
            None => Begins::Known(InMarket::default()),
        }
    }

    /// A copy of a user's orders as they are now, without the open ones.
    fn pages(&self, user: UserNo) -> OrderPages {
        let own = self.users.get(user.index());
        OrderPages {
            history: self.history.clone(),
            user,
            tail: own.map(|own| own.tail.clone()).unwrap_or_default(),
            endings: own.map(|own| own.endings.clone()).unwrap_or_default(),
            waiting: own.map(|own| own.unfinished.waiting()).unwrap_or_default(),
            open: Vec::new(),
            cached: None,
        }
    }
}

// An order as readers see it.

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

// Pages of orders that are written while some of their orders are open. Endings of those orders
// wait here, so that several go to one page: until there are a few, or the last order has ended.

/// Endings that go to a page together. Fewer wait for as long as an order of their page is open,
/// some 30 bytes each.
const TOGETHER: RowIndex = 8;
/// Pages with waiting endings that a user may have: a query copies them.
const WAITING_PAGES_MAX: usize = 256;

/// The orders of one page whose endings are not stored.
#[derive(Debug, Default)]
struct Unfinished {
    open: RowIndex,
    /// Packed endings that wait, and their number.
    endings: Vec<u8>,
    waiting: RowIndex,
}

/// One user's unfinished pages, by number.
#[derive(Debug, Default)]
struct UnfinishedPages {
    pages: BTreeMap<u64, Unfinished>,
    /// How many of them have waiting endings.
    with_waiting: usize,
}

impl UnfinishedPages {
    /// Adds a page that was just written, with so many open orders.
    fn add(&mut self, page: u64, open: RowIndex) {
        if open > 0 {
            self.pages.insert(page, Unfinished { open, ..Unfinished::default() });
        }
    }

    /// Adds an ending, which `pack` appends to the bytes it gets; `None` if no order of that page
    /// is open.
    fn end<T>(
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
    fn waiting(&self) -> Vec<(u64, Vec<u8>)> {
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

#[cfg(test)]
#[path = "../../tests/unit/views/orders.rs"]
mod tests;
