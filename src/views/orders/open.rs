//! Open orders: the only orders that effects change, and the only ones whose rows are kept in
//! memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};

use super::traders::fingerprint;
use super::{OrderRow, OrderStatus};
use crate::fault::Fault;
use crate::history::chain::{RowChain, RowIndex};
use exchange::command::{PlaceOrder, TimeInForce, Wording};
use exchange::effect::CancelReason;
use exchange::ids::{Group, MarketNo, OrderNo, Token, UserNo};
use exchange::units::{Lots, Money, Sequence, Tick, TimeMs};

/// An open order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOrder {
    pub(super) no: OrderNo,
    pub(super) user: UserNo,
    pub(super) market: MarketNo,
    pub(super) wording: Wording,
    pub(super) price: Tick,
    /// The whole quantity: filled and remaining.
    pub(super) quantity: Lots,
    pub(super) filled: Lots,
    pub(super) filled_cost: Money,
    pub(super) time_in_force: TimeInForce,
    pub(super) created_at: TimeMs,
    pub(super) updated_at: TimeMs,
    pub(super) client_id: Option<Token>,
    pub(super) group: Option<Group>,
    /// Its index among its user's orders.
    pub(super) row_index: RowIndex,
    /// Its fills, as a chain in the user's fill stream.
    pub(super) fills: RowChain,
}

impl OpenOrder {
    /// An order that was just accepted.
    pub(super) fn new(
        no: OrderNo,
        terms: &PlaceOrder,
        time: TimeMs,
        row_index: RowIndex,
    ) -> OpenOrder {
        OpenOrder {
            no,
            user: terms.user,
            market: terms.market,
            wording: terms.wording,
            price: terms.price,
            quantity: terms.quantity,
            filled: Lots::ZERO,
            filled_cost: Money::ZERO,
            time_in_force: terms.time_in_force,
            created_at: time,
            updated_at: time,
            client_id: terms.client_order_id.as_deref().copied(),
            group: terms.group.as_deref().copied(),
            row_index,
            fills: RowChain::default(),
        }
    }

    /// Checks that the filled quantity and the `remaining` of an effect add up to the order's
    /// quantity.
    pub(super) fn check_parts(&self, remaining: Lots) -> Result<(), Fault> {
        let parts = self.filled.plus(remaining)?;
        if parts == self.quantity { Ok(()) } else { Err(Fault::PartsNotWhole(self.no)) }
    }

    /// The row that readers see.
    pub(super) fn row(&self) -> OrderRow {
        let partly = !self.filled.is_zero();
        OrderRow {
            no: self.no,
            user: self.user,
            market: self.market,
            wording: self.wording,
            price: self.price,
            quantity: self.quantity,
            filled: self.filled,
            remaining: self.quantity.minus(self.filled).unwrap_or_default(),
            cancelled: Lots::ZERO,
            filled_cost: self.filled_cost,
            status: if partly { OrderStatus::PartiallyFilled } else { OrderStatus::Open },
            cancel_reason: None,
            time_in_force: self.time_in_force,
            created_at: self.created_at,
            updated_at: self.updated_at,
            client_id: self.client_id,
            group: self.group,
        }
    }

    /// The row that readers see once the order has ended.
    pub(super) fn ended(&self, reason: Option<CancelReason>) -> OrderRow {
        let row = self.row();
        OrderRow {
            remaining: Lots::ZERO,
            cancelled: row.remaining,
            status: reason.map_or(OrderStatus::Filled, |_| OrderStatus::Cancelled),
            cancel_reason: reason,
            ..row
        }
    }
}

/// An open order as it is kept: there may be millions, and most never change.
#[derive(Debug)]
struct Standing {
    quantity: Lots,
    created_at: TimeMs,
    row_index: RowIndex,
    more: Option<Box<More>>,
    market: MarketNo,
    price: Tick,
    wording: Wording,
}

/// What only some open orders have.
#[derive(Debug, Default)]
struct More {
    filled: Lots,
    filled_cost: Money,
    /// When it changed after it was placed.
    updated_at: Option<TimeMs>,
    expires_at: Option<TimeMs>,
    fills: RowChain,
    name: Option<Box<str>>,
    group: Option<Box<Group>>,
}

impl Standing {
    fn of(order: &OpenOrder) -> Standing {
        let OpenOrder { quantity, created_at, row_index, market, price, wording, .. } = *order;
        let expires_at = order.time_in_force.expires_at();
        let name = order.client_id.as_ref().map(|name| name.as_str().into());
        let group = order.group.map(Box::new);
        let more = (expires_at.is_some() || name.is_some() || group.is_some())
            .then(|| Box::new(More { expires_at, name, group, ..More::default() }));
        let mut standing =
            Standing { quantity, created_at, row_index, more, market, price, wording };
        standing.set(order);
        standing
    }

    /// Takes over what may change.
    fn set(&mut self, order: &OpenOrder) {
        (self.price, self.quantity) = (order.price, order.quantity);
        let OpenOrder { filled, filled_cost, updated_at, fills, .. } = *order;
        if self.more.is_some() || updated_at != self.created_at || fills != RowChain::default() {
            let more = self.more.get_or_insert_default();
            (more.filled, more.filled_cost, more.fills) = (filled, filled_cost, fills);
            more.updated_at = Some(updated_at);
        }
    }

    fn order(&self, user: UserNo, no: OrderNo) -> OpenOrder {
        let Standing { quantity, created_at, row_index, market, price, wording, .. } = *self;
        let more = self.more.as_deref();
        OpenOrder {
            no,
            user,
            market,
            wording,
            price,
            quantity,
            filled: more.map_or(Lots::ZERO, |more| more.filled),
            filled_cost: more.map_or(Money::ZERO, |more| more.filled_cost),
            time_in_force: TimeInForce::GoodTillCancelled {
                expires_at: more.and_then(|more| more.expires_at),
            },
            created_at,
            updated_at: more.and_then(|more| more.updated_at).unwrap_or(created_at),
            client_id: more.and_then(|more| more.name.as_ref()).and_then(|name| Token::new(name)),
            group: more.and_then(|more| more.group.as_deref()).copied(),
            row_index,
            fills: more.map(|more| more.fills).unwrap_or_default(),
        }
    }
}

/// All open orders, and the client order ids of those that have one.
#[derive(Debug, Default)]
pub struct Open {
    users: Vec<BTreeMap<OrderNo, Standing>>,
    count: usize,
    /// By the name's fingerprint.
    names: BTreeSet<(u64, OrderNo)>,
}

impl Open {
    /// Adds the next user, without orders.
    pub(super) fn add_user(&mut self) {
        self.users.push(BTreeMap::new());
    }

    /// How many open orders there are.
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// How many open orders a user has.
    pub(super) fn count_of(&self, user: UserNo) -> usize {
        self.users.get(user.index()).map_or(0, BTreeMap::len)
    }

    /// An open order of a user.
    pub(super) fn get(&self, user: UserNo, no: OrderNo) -> Option<OpenOrder> {
        Some(self.users.get(user.index())?.get(&no)?.order(user, no))
    }

    /// Changes price, quantity and fills of a user's order. Returns the result of `change`.
    pub(super) fn change<T>(
        &mut self,
        user: UserNo,
        no: OrderNo,
        change: impl FnOnce(&mut OpenOrder) -> T,
    ) -> Option<(OpenOrder, T)> {
        let standing = self.users.get_mut(user.index())?.get_mut(&no)?;
        let mut order = standing.order(user, no);
        let result = change(&mut order);
        standing.set(&order);
        Some((order, result))
    }

    /// The user's open order with this client order id, the newest if there are several.
    pub(super) fn named(&self, user: UserNo, name: Token) -> Option<OpenOrder> {
        let fingerprint = fingerprint(user, &name);
        let same = self.names.range((fingerprint, OrderNo(Sequence::ZERO))..);
        let same = same.take_while(|(other, _)| *other == fingerprint);
        let orders = same.filter_map(|(_, no)| self.get(user, *no));
        orders.filter(|order| order.client_id == Some(name)).last()
    }

    /// A user's open orders before this one, newest first.
    pub(super) fn before(
        &self,
        user: UserNo,
        no: OrderNo,
    ) -> impl DoubleEndedIterator<Item = OpenOrder> {
        let own = self.users.get(user.index());
        let before = own.into_iter().flat_map(move |own| own.range(..no));
        before.map(move |(no, standing)| standing.order(user, *no)).rev()
    }

    /// A user's open orders after this one, oldest first.
    pub(super) fn after(&self, user: UserNo, no: OrderNo) -> impl Iterator<Item = OpenOrder> {
        let own = self.users.get(user.index());
        let after = own.into_iter().flat_map(move |own| own.range((Excluded(no), Unbounded)));
        after.map(move |(no, standing)| standing.order(user, *no))
    }

    /// Adds an order.
    pub(super) fn add(&mut self, order: &OpenOrder) -> Result<(), Fault> {
        let OpenOrder { no, user, client_id, .. } = order;
        let own = self.users.get_mut(user.index()).ok_or(Fault::UnknownUser(*user))?;
        if own.insert(*no, Standing::of(order)).is_some() {
            return Err(Fault::NotNext(no.0.get()));
        }
        self.count = self.count.saturating_add(1);
        if let Some(name) = client_id {
            self.names.insert((fingerprint(*user, name), *no));
        }
        Ok(())
    }

    /// Removes and returns a user's order.
    pub(super) fn remove(&mut self, user: UserNo, no: OrderNo) -> Option<OpenOrder> {
        let order = self.users.get_mut(user.index())?.remove(&no)?.order(user, no);
        self.count = self.count.saturating_sub(1);
        if let Some(name) = &order.client_id {
            self.names.remove(&(fingerprint(user, name), no));
        }
        Some(order)
    }
}
