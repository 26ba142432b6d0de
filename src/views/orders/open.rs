//! Open orders: the only orders that effects change, and the only ones kept whole in memory.
//! [`OpenOrder`] is one of them unpacked; [`Open`] keeps all of them packed, since there may be
//! millions.

use super::ALL;
use super::leaves::{Leaves, Spot};
use super::open_names::OpenOrderNames;
use super::row::{OrderRow, OrderStatus};
use crate::fault::Fault;
use crate::history::chain::{RowChain, RowIndex};
use crate::history::pack::RowBuffer;
use exchange::command::{PlaceOrder, TimeInForce, Wording};
use exchange::effect::CancelReason;
use exchange::ids::{MarketNo, OrderNo, Token, UserNo};
use exchange::units::{Lots, Money, Tick, TimeMs};

/// An open order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOrder {
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
    /// Its index among its user's orders.
    pub(super) row_index: RowIndex,
    /// Its fills, as a chain in the user's fill stream.
    pub(super) fills: RowChain,
}

impl OpenOrder {
    /// An order that was just accepted.
    pub(super) fn new(terms: &PlaceOrder, time: TimeMs, row_index: RowIndex) -> OpenOrder {
        OpenOrder {
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
            row_index,
            fills: RowChain::default(),
        }
    }

    /// Checks that the filled quantity and the `remaining` of an effect add up to the order's
    /// quantity.
    pub(super) fn check_parts(&self, no: OrderNo, remaining: Lots) -> Result<(), Fault> {
        let parts = self.filled.plus(remaining)?;
        if parts == self.quantity { Ok(()) } else { Err(Fault::PartsNotWhole(no)) }
    }

    /// When it expires.
    pub(super) const fn expires_at(&self) -> Option<TimeMs> {
        self.time_in_force.expires_at()
    }

    /// The row that readers see.
    pub(super) fn row(&self, no: OrderNo, client_id: Option<Token>) -> OrderRow {
        let partly = !self.filled.is_zero();
        OrderRow {
            no,
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
            client_id,
        }
    }

    /// The row that readers see once the order has ended.
    pub(super) fn ended(
        &self,
        no: OrderNo,
        client_id: Option<Token>,
        reason: Option<CancelReason>,
    ) -> OrderRow {
        let row = self.row(no, client_id);
        OrderRow {
            remaining: Lots::ZERO,
            cancelled: row.remaining,
            status: reason.map_or(OrderStatus::Filled, |_| OrderStatus::Cancelled),
            cancel_reason: reason,
            ..row
        }
    }
}

/// All open orders by user, and their client order ids.
#[derive(Debug, Default)]
pub struct Open {
    users: Vec<Leaves>,
    count: usize,
    names: OpenOrderNames,
    /// Buffer in which rows are packed.
    buffer: RowBuffer,
}

impl Open {
    /// Adds the next user, without orders.
    pub(super) fn add_user(&mut self) {
        self.users.push(Leaves::default());
    }

    /// How many open orders there are.
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// How many open orders a user has.
    pub(super) fn count_of(&self, user: UserNo) -> usize {
        self.users.get(user.index()).map_or(0, Leaves::count)
    }

    /// Where an open order of a user is. Valid until an order of that user is added, changed or
    /// removed.
    pub(super) fn find(&self, user: UserNo, no: OrderNo) -> Option<Spot> {
        self.users.get(user.index())?.find(no)
    }

    /// An open order of a user.
    pub(super) fn get(&self, user: UserNo, no: OrderNo) -> Option<OpenOrder> {
        self.at(user, &self.find(user, no)?)
    }

    /// The user's order at this spot.
    pub(super) fn at(&self, user: UserNo, spot: &Spot) -> Option<OpenOrder> {
        self.users.get(user.index())?.get(user, spot)
    }

    /// Replaces the order at this spot; its user, creation time and row index must stay the same.
    pub(super) fn set(&mut self, spot: Spot, no: OrderNo, order: &OpenOrder) -> Option<()> {
        let own = self.users.get_mut(order.user.index())?;
        own.set(spot, (no, order), &mut self.buffer)
    }

    /// An open order of a user as readers see it.
    pub(super) fn row_of(&self, user: UserNo, no: OrderNo) -> Option<OrderRow> {
        self.get(user, no).map(|order| order.row(no, self.name(no)))
    }

    /// The client order id of an open order.
    pub(super) fn name(&self, no: OrderNo) -> Option<Token> {
        self.names.of(no)
    }

    /// The open order with this client order id, the newest if there are several.
    pub(super) fn named(&self, user: UserNo, name: Token) -> Option<OrderNo> {
        self.names.find(user, &name)
    }

    /// A user's open orders before this one, newest first.
    pub(super) fn before(
        &self,
        user: UserNo,
        no: OrderNo,
    ) -> impl Iterator<Item = (OrderNo, OpenOrder)> {
        let own = self.users.get(user.index());
        own.into_iter().flat_map(move |own| own.before(user, no))
    }

    /// All open orders, in the order they were placed.
    pub(super) fn sorted(&self) -> Vec<(OrderNo, OpenOrder)> {
        let users = (0..).map(UserNo).zip(&self.users);
        let mut all: Vec<(OrderNo, OpenOrder)> = Vec::with_capacity(self.count);
        all.extend(users.flat_map(|(user, own)| own.before(user, ALL)));
        all.sort_unstable_by_key(|(no, _)| *no);
        all
    }

    /// Adds an order, which must be newer than all orders of its user.
    pub(super) fn add(
        &mut self,
        no: OrderNo,
        order: &OpenOrder,
        name: Option<Token>,
    ) -> Result<(), Fault> {
        let user = order.user;
        let own = self.users.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
        own.add(no, order, &mut self.buffer).ok_or(Fault::NotNext(no.0.get()))?;
        self.count = self.count.saturating_add(1);
        if let Some(name) = name {
            self.names.add(user, no, &name);
        }
        Ok(())
    }

    /// Removes the user's order at this spot. Returns its client order id.
    pub(super) fn remove(&mut self, user: UserNo, no: OrderNo, spot: Spot) -> Option<Token> {
        let own = self.users.get_mut(user.index())?;
        own.remove(user, spot, &mut self.buffer)?;
        self.count = self.count.saturating_sub(1);
        self.names.remove(user, no)
    }
}
