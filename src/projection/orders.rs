//! Every order ever accepted, in its owner's own words, and what it came to.

pub(super) mod image;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::Projection;
use super::chain::{Chain, Place};
use super::fault::{Fault, Faults, is_next};
use super::fills::{FillList, FillRow, Fills, Liquidity};
use crate::exchange::command::{PlaceOrder, TimeInForce, Wording};
use crate::exchange::effect::{Applied, CancelReason, Effect, Party, Trade};
use crate::exchange::ids::{MarketNo, OrderId, OrderNo, Token, TradeId, UserNo};
use crate::exchange::units::{AveragePrice, Lots, Money, Sequence, Tick, TimeMs};

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
    /// Outside id.
    pub id: OrderId,
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
}

impl OrderRow {
    /// The average price of the fills in the owner's words; prints `0.00` before the first.
    pub const fn average_price(&self) -> AveragePrice {
        AveragePrice { notional: self.filled_cost, quantity: self.filled }
    }

    fn check_parts(&self) -> Result<(), Fault> {
        let parts = self.filled.plus(self.remaining)?.plus(self.cancelled)?;
        if parts == self.quantity { Ok(()) } else { Err(Fault::PartsNotWhole(self.no)) }
    }
}

/// Where a row stands in the table of all orders.
type Slot = Place;
/// After all orders.
const ALL: OrderNo = OrderNo(Sequence::new(u64::MAX));

/// Where an order stands among its user's orders.
type OwnPlace = Place;

/// An order, as its user has it.
#[derive(Debug, Clone, Copy)]
struct Own {
    slot: Slot,
    /// Its fills, among those of the user.
    fills: Chain,
}

/// Where an open order stands: in the table and among its user's.
#[derive(Debug, Clone, Copy)]
struct Standing {
    slot: Slot,
    own: OwnPlace,
}

/// One user's orders.
#[derive(Debug, Default)]
struct UserOrders {
    /// In order of placing.
    all: Vec<Own>,
    /// Those that stand, in order of placing.
    open: BTreeSet<Slot>,
}

/// All orders and fills. Effects touch only open orders, which a hash finds in O(1); the rows are
/// in order of their numbers, so a final one is found by bisection.
#[derive(Debug, Default)]
pub struct Orders {
    rows: Vec<OrderRow>,
    /// Leads from each row to the one before it of the same user in the same market.
    links: Vec<Slot>,
    open: FxHashMap<OrderNo, Standing>,
    users: Vec<UserOrders>,
    /// A user's orders in one market.
    by_market: FxHashMap<(UserNo, MarketNo), Chain>,
    client_ids: FxHashMap<OrderNo, Token>,
    /// The newest order of each name; ordered, since clients choose the names and could choose
    /// some that a hash does not tell apart.
    by_client_id: BTreeMap<(UserNo, Token), Slot>,
    fills: Fills,
}

impl Orders {
    /// An order. O(1) while it is open, O(log n) for ever.
    pub fn order(&self, order: OrderNo) -> Option<&OrderRow> {
        let index = match self.open.get(&order) {
            Some(standing) => standing.slot as usize,
            None => self.rows.binary_search_by_key(&order, |row| row.no).ok()?,
        };
        self.rows.get(index)
    }

    /// The order with this outside id, all of it: a right sequence with a wrong time names nothing.
    pub fn order_by_id(&self, id: OrderId) -> Option<&OrderRow> {
        self.order(OrderNo(id.sequence())).filter(|row| row.id == id)
    }

    /// Its owner's own name for an order. O(1).
    pub fn client_id(&self, order: OrderNo) -> Option<Token> {
        self.client_ids.get(&order).copied()
    }

    /// The newest order to which its owner gave this name. O(log n).
    pub fn order_by_client_id(&self, user: UserNo, id: Token) -> Option<&OrderRow> {
        self.rows.get(*self.by_client_id.get(&(user, id))? as usize)
    }

    /// A user's orders, newest first.
    pub fn of(&self, user: UserNo) -> impl DoubleEndedIterator<Item = &OrderRow> {
        self.before(user, ALL)
    }

    /// A user's orders placed before this one, newest first. O(log n), and the page.
    pub fn before(
        &self,
        user: UserNo,
        order: OrderNo,
    ) -> impl DoubleEndedIterator<Item = &OrderRow> {
        let all = self.users.get(user.index()).map_or(&[][..], |orders| &orders.all);
        let end = self.slot_of(order);
        let earlier = all.partition_point(|own| own.slot < end);
        let earlier = all.get(..earlier).unwrap_or_default();
        earlier.iter().rev().filter_map(|own| self.rows.get(own.slot as usize))
    }

    /// How many orders stand. O(1).
    pub fn open_count(&self) -> usize {
        self.open.len()
    }

    /// A user's orders in one market, newest first, whatever was placed elsewhere.
    pub fn of_in(&self, user: UserNo, market: MarketNo) -> impl Iterator<Item = &OrderRow> {
        self.before_in(user, market, ALL)
    }

    /// A user's orders in one market placed before this one, newest first. The newer ones are
    /// passed over link by link, which costs a few nanoseconds each, whatever was placed elsewhere.
    pub fn before_in(
        &self,
        user: UserNo,
        market: MarketNo,
        order: OrderNo,
    ) -> impl Iterator<Item = &OrderRow> {
        let end = self.slot_of(order);
        let all = self.by_market.get(&(user, market)).copied().unwrap_or_default();
        let slots = all.places(|slot| self.links.get(slot as usize).copied());
        let slots = slots.skip_while(move |slot| *slot >= end);
        slots.filter_map(|slot| self.rows.get(slot as usize))
    }

    /// A user's open orders, newest first; the cost is that of the open ones, whatever the history.
    pub fn open_of(&self, user: UserNo) -> impl DoubleEndedIterator<Item = &OrderRow> {
        self.open_before(user, ALL)
    }

    /// A user's open orders placed before this one, newest first.
    pub fn open_before(
        &self,
        user: UserNo,
        order: OrderNo,
    ) -> impl DoubleEndedIterator<Item = &OrderRow> {
        let end = self.slot_of(order);
        let open = self.users.get(user.index()).map(|orders| orders.open.range(..end).rev());
        open.into_iter().flatten().filter_map(|slot| self.rows.get(*slot as usize))
    }

    /// Where an order stands, or would stand. O(log n), and nothing for one after all.
    fn slot_of(&self, order: OrderNo) -> Slot {
        if self.rows.last().is_none_or(|last| last.no < order) {
            return Slot::MAX;
        }
        let slot = self.rows.partition_point(|row| row.no < order);
        Slot::try_from(slot).unwrap_or(Slot::MAX)
    }

    /// A user's fills, newest first. O(page).
    pub fn fills_of(&self, user: UserNo) -> FillList<'_> {
        self.fills.of(user)
    }

    /// A user's fills in one market, newest first. O(offset + page), whatever was traded elsewhere.
    pub fn fills_in(&self, user: UserNo, market: MarketNo) -> FillList<'_> {
        self.fills.in_market(user, market)
    }

    /// An order's fills, newest first. O(offset + page), whatever else its owner traded.
    pub fn fills_of_order(&self, order: &OrderRow) -> FillList<'_> {
        let all = self.users.get(order.user.index()).map_or(&[][..], |orders| &orders.all);
        let place = match self.open.get(&order.no) {
            Some(standing) => Some(standing.own as usize),
            None => all
                .binary_search_by_key(&Some(order.no), |own| {
                    self.rows.get(own.slot as usize).map(|row| row.no)
                })
                .ok(),
        };
        let own = place.and_then(|place| all.get(place));
        self.fills.of_order(order.user, own.map_or_else(Chain::default, |own| own.fills))
    }

    fn fold_effect(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match effect {
            Effect::UserCreated { user, .. } => {
                is_next(user.index(), self.users.len())?;
                self.users.push(UserOrders::default());
                self.fills.add_user();
                Ok(())
            }
            Effect::OrderAccepted { order, terms } => self.accept(at, *order, terms),
            Effect::OrderAmended { order, price, quantity, remaining, .. } => {
                let row = self.open_row(*order)?;
                row.price = row.wording.yes_price(*price);
                row.quantity = *quantity;
                row.remaining = *remaining;
                row.updated_at = at.time;
                row.check_parts()
            }
            Effect::TradeMade(trade) => {
                let taker = self.fill(at, trade, trade.taker, Liquidity::Taker);
                let maker = self.fill(at, trade, trade.maker, Liquidity::Maker);
                taker.and(maker)
            }
            Effect::OrderRested { order, remaining, .. } => {
                let row = self.open_row(*order)?;
                row.remaining = *remaining;
                row.updated_at = at.time;
                row.check_parts()
            }
            Effect::OrderCancelled { order, quantity, reason, .. } => {
                let row = self.open_row(*order)?;
                row.cancelled = *quantity;
                row.remaining = Lots::ZERO;
                row.status = OrderStatus::Cancelled;
                row.cancel_reason = Some(*reason);
                row.updated_at = at.time;
                let (user, whole) = (row.user, row.check_parts());
                self.finish(user, *order);
                whole
            }
            _ => Ok(()),
        }
    }

    fn accept(
        &mut self,
        at: &Applied<'_>,
        order: OrderNo,
        terms: &PlaceOrder,
    ) -> Result<(), Fault> {
        if self.rows.last().is_some_and(|last| last.no >= order) {
            return Err(Fault::NotNext(order.0.get()));
        }
        let slot = Slot::try_from(self.rows.len());
        let slot = slot.map_err(|_| Fault::NotNext(order.0.get()))?;
        let owner = self.users.get_mut(terms.user.index());
        let owner = owner.ok_or(Fault::UnknownUser(terms.user))?;
        let own = OwnPlace::try_from(owner.all.len());
        let own = own.map_err(|_| Fault::NotNext(order.0.get()))?;
        owner.all.push(Own { slot, fills: Chain::default() });
        owner.open.insert(slot);
        let in_market = self.by_market.entry((terms.user, terms.market)).or_default();
        self.links.push(in_market.push(slot));
        self.open.insert(order, Standing { slot, own });
        if let Some(id) = terms.client_order_id {
            self.client_ids.insert(order, id);
            self.by_client_id.insert((terms.user, id), slot);
        }
        self.rows.push(OrderRow {
            no: order,
            id: order.id(at.time),
            user: terms.user,
            market: terms.market,
            wording: terms.wording,
            price: terms.price,
            quantity: terms.quantity,
            filled: Lots::ZERO,
            remaining: terms.quantity,
            cancelled: Lots::ZERO,
            filled_cost: Money::ZERO,
            status: OrderStatus::Open,
            cancel_reason: None,
            time_in_force: terms.time_in_force,
            created_at: at.time,
            updated_at: at.time,
        });
        Ok(())
    }

    fn fill(
        &mut self,
        at: &Applied<'_>,
        trade: &Trade,
        party: Party,
        liquidity: Liquidity,
    ) -> Result<(), Fault> {
        let unknown = Fault::UnknownOrder(party.order);
        let standing = *self.open.get(&party.order).ok_or(unknown)?;
        let row = self.rows.get_mut(standing.slot as usize).ok_or(unknown)?;
        let price = row.wording.yes_price(trade.price);
        row.filled = row.filled.plus(trade.quantity)?;
        row.filled_cost = row.filled_cost.plus(price.times(trade.quantity)?)?;
        row.remaining = party.remaining;
        row.updated_at = at.time;
        row.status = if party.remaining.is_zero() {
            OrderStatus::Filled
        } else {
            OrderStatus::PartiallyFilled
        };
        let fill = FillRow {
            id: TradeId::of(at.time, at.sequence, trade.index),
            order: row.no,
            market: row.market,
            wording: row.wording,
            price,
            quantity: trade.quantity,
            liquidity,
            fee: party.fee,
            time: at.time,
            sequence: at.sequence,
        };
        let (user, whole) = (row.user, row.check_parts());
        let owner = self.users.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
        let own = owner.all.get_mut(standing.own as usize).ok_or(unknown)?;
        let added = self.fills.add(user, fill, &mut own.fills);
        if party.remaining.is_zero() {
            self.finish(user, party.order);
        }
        whole.and(added)
    }

    fn open_row(&mut self, order: OrderNo) -> Result<&mut OrderRow, Fault> {
        let standing = self.open.get(&order).ok_or(Fault::UnknownOrder(order))?;
        self.rows.get_mut(standing.slot as usize).ok_or(Fault::UnknownOrder(order))
    }

    /// Takes a final order off the lists of open ones.
    fn finish(&mut self, user: UserNo, order: OrderNo) {
        let standing = self.open.remove(&order);
        if let (Some(standing), Some(owner)) = (standing, self.users.get_mut(user.index())) {
            owner.open.remove(&standing.slot);
        }
    }
}

impl Projection for Orders {
    fn fold(&mut self, applied: &Applied<'_>, faults: &mut Faults) {
        for effect in applied.effects {
            faults.check(self.fold_effect(applied, effect));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use OrderStatus::{Cancelled, Filled, Open, PartiallyFilled};

    const BID: Placed = Placed { record: 2, user: ANN, wording: BUY_YES, price: 60, quantity: 10 };

    fn with_bid() -> Orders {
        let mut orders: Orders = opened();
        assert_eq!(fold(&mut orders, 2, &[BID.accepted(), BID.rested(10)]), 0);
        orders
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
        let (bid, took) = (orders.order(order(2)).unwrap(), orders.order(order(3)).unwrap());
        assert_eq!((bid.status, bid.remaining.get(), bid.filled.get()), (PartiallyFilled, 6, 4));
        assert_eq!((took.status, took.remaining.get(), took.filled.get()), (Filled, 0, 4));
        assert_eq!(bid.average_price().to_string(), "0.60");
        assert_eq!(took.average_price().to_string(), "0.40");
        assert_eq!((bid.created_at, bid.updated_at), (at(2), at(3)));
        let (made, paid) =
            (orders.fills_of(ANN).next().unwrap(), orders.fills_of(BOB).next().unwrap());
        assert_eq!((made.price, made.liquidity), (tick(60), Liquidity::Maker));
        assert_eq!((paid.price, paid.liquidity), (tick(40), Liquidity::Taker));
        assert_eq!(made.id, paid.id);
        assert_eq!(made.id.sequence(), Sequence::new(3));
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
        assert_eq!(orders.order(order(2)).unwrap().filled_cost, Money::new(40 * 5));
        assert_eq!(orders.order(order(3)).unwrap().filled_cost, Money::new(60 * 5));
        assert_eq!(orders.fills_of(ANN).len(), 1);
    }

    #[test]
    fn a_cancelled_order_says_what_it_traded_and_why_it_ended() {
        let mut orders = with_bid();
        let taker = Placed { record: 3, user: BOB, wording: SELL_YES, price: 60, quantity: 14 };
        let rest = taker.cancelled(4, false, CancelReason::IocRemainder);
        let effects = [taker.accepted(), taker.took(4, BID, 0, 10), rest];
        assert_eq!(fold(&mut orders, 3, &effects), 0);
        let row = orders.order(order(3)).unwrap();
        assert_eq!((row.status, row.cancel_reason), (Cancelled, Some(CancelReason::IocRemainder)));
        let parts = (row.filled.get(), row.remaining.get(), row.cancelled.get());
        assert_eq!(parts, (10, 0, 4));
        assert_eq!(orders.order(order(2)).unwrap().status, Filled);
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
        let row = orders.order(order(2)).unwrap();
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
        let all: Vec<u64> = orders.of(ANN).map(|row| row.no.0.get()).collect();
        assert_eq!(all, [5, 4, 3, 2]);
        let id = order(4).id(at(4));
        assert_eq!(orders.order_by_id(id).map(|row| row.status), Some(Cancelled));
        assert_eq!(orders.order_by_id(order(3).id(at(3))).map(|row| row.status), Some(Open));
        assert_eq!(orders.order_by_id(order(4).id(at(5))), None);
        assert_eq!(orders.order_by_id(OrderId::derive(at(4), Sequence::new(4), 1)), None);
    }

    #[test]
    fn what_is_final_or_unknown_does_not_change() {
        let mut orders = with_bid();
        let cancelled = BID.cancelled(10, true, CancelReason::User);
        assert_eq!(fold(&mut orders, 3, &[cancelled.clone(), cancelled]), 1);
        let stranger = Placed { record: 9, ..BID };
        let before = *orders.order(order(2)).unwrap();
        assert_eq!(fold(&mut orders, 4, &[stranger.took(0, BID, 0, 10), BID.rested(10)]), 2);
        assert_eq!(*orders.order(order(2)).unwrap(), before);
        // Parts that are not the whole, and a number that was there before.
        let next = Placed { record: 5, ..BID };
        assert_eq!(fold(&mut orders, 5, &[next.accepted(), next.rested(9), BID.accepted()]), 2);
    }

    #[test]
    fn rows_stay_small() {
        // There is one for every order ever placed, and two fills for every trade.
        assert!(size_of::<OrderRow>() <= 128, "{}", size_of::<OrderRow>());
        assert!(size_of::<FillRow>() <= 64, "{}", size_of::<FillRow>());
    }
}
