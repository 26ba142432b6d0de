//! The read model of all orders ever accepted, in the owner's wording, with their outcome. Open
//! orders are in memory; of the others, the newest are packed in memory and the rest on pages.

pub(super) mod image;
mod folding;
mod list;
mod names;
mod page;
mod row;
mod open;
mod traders;
mod unfinished;

pub use list::{AsPlaced, FillsIn, OrderIds, OrderList, OrdersIn, Sought, SoughtFills};
pub use row::{OrderRow, OrderStatus};

use std::collections::VecDeque;

use super::fills::{FillList, Fills};
use super::history::History;
use super::history::chain::{RowIndex, length};
use super::history::stream::Tail;
use exchange::effect::CancelReason;
use exchange::ids::{MarketNo, OrderNo, Token, UserNo};
use exchange::units::{Sequence, TimeMs};
use list::{ListKind, OrderPages, Search};
use names::Names;
use open::{Open, OpenOrder};
use page::Terms;
use traders::{Begins, InMarket, Traders};
use unfinished::UnfinishedPages;

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

#[cfg(test)]
#[path = "../../tests/unit/views/orders.rs"]
mod tests;
