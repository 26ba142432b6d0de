//! The read model of all orders ever accepted, in the owner's wording, with their outcome. Open
//! orders are kept whole in memory; of final orders, the newest are packed in memory and the rest
//! are on pages.

pub(super) mod image;
mod compact_user_map;
mod folding;
mod late;
mod leaf;
mod leaves;
mod list;
mod marks;
mod names;
mod page;
mod row;
mod open;
mod open_names;
mod traders;

pub use list::{FillsIn, OrderIds, OrderList, OrdersIn, Sought, SoughtFills};
pub use row::{OrderRow, OrderStatus};

use super::fills::{FillList, Fills};
use super::history::History;
use super::history::chain::length;
use super::history::pack::RowBuffer;
use super::history::stream::Tail;
use exchange::effect::CancelReason;
use exchange::ids::{MarketNo, OrderNo, Token, UserNo};
use exchange::units::{Sequence, TimeMs};
use late::Late;
use list::{ListKind, OrderPages, Search};
use names::Names;
use open::{Open, OpenOrder};
use page::Terms;
use traders::{Begins, InMarket, Traders};

/// Greater than any order number.
const ALL: OrderNo = OrderNo(Sequence::new(u64::MAX));

/// One user's orders.
#[derive(Debug, Default)]
struct UserOrders {
    /// In the order they were placed.
    tail: Tail<Terms>,
    /// The packed endings of the orders in the tail.
    endings: Vec<u8>,
    names: Names,
}

/// The order that the current record places, held until the record says what becomes of it: most
/// takers end within their own record and never become open orders.
#[derive(Debug, Clone, Copy)]
struct Incoming {
    no: OrderNo,
    open_order: OpenOrder,
    client_id: Option<Token>,
}

/// An order that the latest record ended.
#[derive(Debug, Clone, Copy)]
struct JustEnded {
    no: OrderNo,
    open_order: OpenOrder,
    reason: Option<CancelReason>,
    client_id: Option<Token>,
}

impl JustEnded {
    fn row(&self) -> OrderRow {
        let JustEnded { no, open_order, reason, client_id } = self;
        open_order.ended(*no, *client_id, *reason)
    }
}

/// All orders and fills.
#[derive(Debug, Default)]
pub struct Orders {
    history: History,
    open: Open,
    incoming: Option<Incoming>,
    users: Vec<UserOrders>,
    /// By market, each user's orders and fills in it.
    markets: Vec<Traders>,
    /// Endings of orders whose page was already written.
    late: Late,
    /// Orders that the latest record ended, readable from memory until the next record.
    just_ended: Vec<JustEnded>,
    /// When the orders changed by the latest record were placed, in the order of its effects.
    placed: Vec<Option<TimeMs>>,
    /// The newest order.
    newest: Option<OrderNo>,
    fills: Fills,
    /// Buffer in which rows are packed.
    buffer: RowBuffer,
}

impl Orders {
    /// No orders yet; pages go to `history`.
    pub(super) fn on(history: History) -> Orders {
        Orders { fills: Fills::on(history.clone()), history, ..Orders::default() }
    }

    /// Rows of a page of history.
    pub(super) const fn rows_per_page(&self) -> u64 {
        self.history.rows_per_page()
    }

    /// This user's order, if it is open. O(log n) in the user's open orders.
    pub fn open_order_of(&self, user: UserNo, order: OrderNo) -> Option<OrderRow> {
        self.open.row_of(user, order)
    }

    /// Whether this user's order is open. O(log n) in the user's open orders.
    pub fn stands(&self, user: UserNo, order: OrderNo) -> bool {
        self.open.find(user, order).is_some()
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
        let open = self.open.named(user, name).and_then(|order| self.found(user, order));
        Sought(open.unwrap_or_else(|| {
            let names = self.users.get(user.index()).map(|own| own.names.clone());
            Search::Named(Box::new(self.pages(user)), names.unwrap_or_default(), name)
        }))
    }

    fn found(&self, user: UserNo, order: OrderNo) -> Option<Search> {
        let (row, fills) = if let Some(open_order) = self.open.get(user, order) {
            (open_order.row(order, self.open.name(order)), open_order.fills)
        } else {
            let ended = self.just_ended.iter().find(|ended| ended.no == order)?;
            (ended.row(), ended.open_order.fills)
        };
        (row.user == user).then_some(Search::Found(row, fills))
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
        let open = self.open.before(user, order).filter(|(_, open)| open.market == market);
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
        let open = self.open.before(user, order);
        open.map(|(no, open_order)| open_order.row(no, self.open.name(no)))
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
            late: self.late.of(user).map(|(page, endings)| (page, endings.clone())).collect(),
            open: Vec::new(),
            cached: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fills::Liquidity;
    use super::super::fixture::*;
    use super::*;
    use OrderStatus::{Cancelled, Filled, Open, PartiallyFilled};
    use exchange::effect::Effect;
    use exchange::units::{Lots, Money};

    const BID: Placed = Placed { record: 2, user: ANN, wording: BUY_YES, price: 60, quantity: 10 };

    fn with_bid() -> Orders {
        let mut orders: Orders = opened();
        assert_eq!(fold(&mut orders, 2, &[BID.accepted(), BID.rested(10)]), 0);
        orders
    }

    fn of(orders: &Orders, user: UserNo, no: u64) -> OrderRow {
        orders.order(user, order(no)).row().unwrap().unwrap()
    }

    fn open(orders: &Orders, user: UserNo) -> Vec<u64> {
        orders.open_of(user).map(|row| row.no.0.get()).collect()
    }

    #[test]
    fn each_party_reads_the_trade_in_its_own_words() {
        let mut orders = with_bid();
        let taker = Placed { record: 3, user: BOB, wording: BUY_NO, price: 45, quantity: 4 };
        let effects = [taker.accepted(), taker.took(0, BID, 6, 4)];
        assert_eq!(fold(&mut orders, 3, &effects), 0);

        // Ann bought yes at 0.60; Bob bought no at 0.40, better than the 0.45 he offered.
        let (bid, took) = (of(&orders, ANN, 2), of(&orders, BOB, 3));
        assert_eq!((bid.status, bid.remaining.get(), bid.filled.get()), (PartiallyFilled, 6, 4));
        assert_eq!((took.status, took.remaining.get(), took.filled.get()), (Filled, 0, 4));
        assert_eq!(bid.average_price().to_string(), "0.60");
        assert_eq!(took.average_price().to_string(), "0.40");
        assert_eq!((bid.created_at, bid.updated_at), (at(2), at(3)));
        let (made, paid) =
            (orders.fills_of(ANN).next().unwrap(), orders.fills_of(BOB).next().unwrap());
        let (made, paid) = (made.unwrap(), paid.unwrap());
        assert_eq!((made.price, made.liquidity), (tick(60), Liquidity::Maker));
        assert_eq!((paid.price, paid.liquidity), (tick(40), Liquidity::Taker));
        assert_eq!((made.id(), made.order_id()), (paid.id(), bid.id()));
        assert_eq!(made.id().sequence(), Sequence::new(3));
        assert_eq!((open(&orders, ANN), open(&orders, BOB)), (vec![2], vec![]));
        assert_eq!(orders.open_count(), 1);
    }

    #[test]
    fn a_seller_of_no_reads_the_price_of_no() {
        let mut orders: Orders = opened();
        let maker = Placed { record: 2, user: ANN, wording: SELL_NO, price: 40, quantity: 5 };
        let taker = Placed { record: 3, user: BOB, wording: SELL_YES, price: 50, quantity: 5 };
        assert_eq!(fold(&mut orders, 2, &[maker.accepted(), maker.rested(5)]), 0);
        assert_eq!(fold(&mut orders, 3, &[taker.accepted(), taker.took(0, maker, 0, 5)]), 0);
        assert_eq!(of(&orders, ANN, 2).filled_cost, Money::new(40 * 5));
        assert_eq!(of(&orders, BOB, 3).filled_cost, Money::new(60 * 5));
        assert_eq!(orders.fills_of(ANN).len(), 1);
    }

    #[test]
    fn a_cancelled_order_says_what_it_traded_and_why_it_ended() {
        let mut orders = with_bid();
        let taker = Placed { record: 3, user: BOB, wording: SELL_YES, price: 60, quantity: 14 };
        let rest = taker.cancelled(4, false, CancelReason::IocRemainder);
        let effects = [taker.accepted(), taker.took(4, BID, 0, 10), rest];
        assert_eq!(fold(&mut orders, 3, &effects), 0);
        let row = of(&orders, BOB, 3);
        assert_eq!((row.status, row.cancel_reason), (Cancelled, Some(CancelReason::IocRemainder)));
        let parts = (row.filled.get(), row.remaining.get(), row.cancelled.get());
        assert_eq!(parts, (10, 0, 4));
        assert_eq!(of(&orders, ANN, 2).status, Filled);
        assert_eq!((open(&orders, ANN), open(&orders, BOB)), (vec![], vec![]));
    }

    #[test]
    fn an_amended_order_keeps_its_number_and_its_fills() {
        let mut orders = with_bid();
        let taker = Placed { record: 3, user: BOB, wording: SELL_YES, price: 60, quantity: 4 };
        assert_eq!(fold(&mut orders, 3, &[taker.accepted(), taker.took(0, BID, 6, 4)]), 0);
        let amended = Effect::OrderAmended {
            order: order(2),
            user: ANN,
            market: RAIN,
            direction: BUY_YES.direction(),
            price_before: tick(60),
            price: tick(65),
            remaining_before: Lots::new(6),
            quantity: Lots::new(12),
            remaining: Lots::new(8),
            kept_place: false,
        };
        let rested = Placed { price: 65, ..BID }.rested(8);
        assert_eq!(fold(&mut orders, 4, &[amended, rested]), 0);
        let row = of(&orders, ANN, 2);
        assert_eq!((row.status, row.price), (PartiallyFilled, tick(65)));
        assert_eq!((row.quantity.get(), row.filled.get(), row.remaining.get()), (12, 4, 8));
        assert_eq!(row.updated_at, at(4));
        assert_eq!(open(&orders, ANN), [2]);
    }

    #[test]
    fn the_newest_comes_first_and_final_orders_stay_readable() {
        let mut orders = with_bid();
        for record in 3..6 {
            let next = Placed { record, ..BID };
            assert_eq!(fold(&mut orders, record, &[next.accepted(), next.rested(10)]), 0);
        }
        let gone = Placed { record: 4, ..BID }.cancelled(10, true, CancelReason::User);
        assert_eq!(fold(&mut orders, 6, &[gone]), 0);
        assert_eq!(open(&orders, ANN), [5, 3, 2]);
        let all: Vec<u64> = orders.of(ANN).map(|row| row.unwrap().no.0.get()).collect();
        assert_eq!(all, [5, 4, 3, 2]);
        assert_eq!((of(&orders, ANN, 4).status, of(&orders, ANN, 3).status), (Cancelled, Open));
        assert_eq!(of(&orders, ANN, 4).id(), order(4).id(at(4)));
        assert_eq!(orders.order(BOB, order(3)).row(), Ok(None));
        assert_eq!(orders.order(ANN, order(6)).row(), Ok(None));
    }

    #[test]
    fn what_is_final_or_unknown_does_not_change() {
        let mut orders = with_bid();
        let cancelled = BID.cancelled(10, true, CancelReason::User);
        assert_eq!(fold(&mut orders, 3, &[cancelled.clone(), cancelled]), 1);
        let stranger = Placed { record: 9, ..BID };
        let before = of(&orders, ANN, 2);
        assert_eq!(fold(&mut orders, 4, &[stranger.took(0, BID, 0, 10), BID.rested(10)]), 2);
        assert_eq!(of(&orders, ANN, 2), before);
        // Parts that do not add up to the quantity, and an order number used before.
        let next = Placed { record: 5, ..BID };
        assert_eq!(fold(&mut orders, 5, &[next.accepted(), next.rested(9), BID.accepted()]), 2);
    }
}
