//! Orders that stand: the only ones that effects change, and the only ones kept in memory whole.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::row::{OrderRow, OrderStatus};
use crate::exchange::command::{PlaceOrder, TimeInForce, Wording};
use crate::exchange::effect::CancelReason;
use crate::exchange::ids::{MarketNo, OrderNo, Token, UserNo};
use crate::exchange::units::{Lots, Money, Tick, TimeMs};
use crate::projection::fault::Fault;
use crate::projection::history::chain::{Chain, Place};

/// Where an open order is kept.
type Slot = u32;

/// An open order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub(super) user: UserNo,
    pub(super) market: MarketNo,
    pub(super) wording: Wording,
    pub(super) price: Tick,
    pub(super) quantity: Lots,
    pub(super) filled: Lots,
    pub(super) remaining: Lots,
    pub(super) filled_cost: Money,
    pub(super) time_in_force: TimeInForce,
    pub(super) created_at: TimeMs,
    pub(super) updated_at: TimeMs,
    /// Where it stands among its user's orders.
    pub(super) place: Place,
    /// Its fills, among those of the user.
    pub(super) fills: Chain,
}

impl Standing {
    /// An order that was just accepted.
    pub(super) fn new(terms: &PlaceOrder, time: TimeMs, place: Place) -> Standing {
        Standing {
            user: terms.user,
            market: terms.market,
            wording: terms.wording,
            price: terms.price,
            quantity: terms.quantity,
            filled: Lots::ZERO,
            remaining: terms.quantity,
            filled_cost: Money::ZERO,
            time_in_force: terms.time_in_force,
            created_at: time,
            updated_at: time,
            place,
            fills: Chain::default(),
        }
    }

    /// That what is filled and what remains is all of it.
    pub(super) fn check_parts(&self, no: OrderNo) -> Result<(), Fault> {
        let parts = self.filled.plus(self.remaining)?;
        if parts == self.quantity { Ok(()) } else { Err(Fault::PartsNotWhole(no)) }
    }

    /// As readers see it.
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
            remaining: self.remaining,
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

    /// As readers see it once it has ended.
    pub(super) fn ended(
        &self,
        no: OrderNo,
        client_id: Option<Token>,
        reason: Option<CancelReason>,
    ) -> OrderRow {
        OrderRow {
            remaining: Lots::ZERO,
            cancelled: self.remaining,
            status: reason.map_or(OrderStatus::Filled, |_| OrderStatus::Cancelled),
            cancel_reason: reason,
            ..self.row(no, client_id)
        }
    }
}

/// All open orders, each by its number and each user's in order, and their names.
#[derive(Debug, Default)]
pub struct Open {
    slots: FxHashMap<OrderNo, Slot>,
    orders: Vec<Standing>,
    free: Vec<Slot>,
    users: Vec<BTreeMap<OrderNo, Slot>>,
    names: FxHashMap<OrderNo, Token>,
    /// Ordered, since clients choose the names and could choose some that a hash does not tell
    /// apart.
    named: BTreeMap<(UserNo, Token), OrderNo>,
}

impl Open {
    /// One more user, who has none.
    pub(super) fn add_user(&mut self) {
        self.users.push(BTreeMap::new());
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// An open order.
    pub(super) fn get(&self, no: OrderNo) -> Option<&Standing> {
        self.orders.get(*self.slots.get(&no)? as usize)
    }

    /// An open order, to be changed.
    pub(super) fn get_mut(&mut self, no: OrderNo) -> Option<&mut Standing> {
        self.orders.get_mut(*self.slots.get(&no)? as usize)
    }

    /// An open order as readers see it.
    pub(super) fn row(&self, no: OrderNo) -> Option<OrderRow> {
        self.get(no).map(|standing| standing.row(no, self.name(no)))
    }

    /// Its owner's own name for an open order.
    pub(super) fn name(&self, no: OrderNo) -> Option<Token> {
        self.names.get(&no).copied()
    }

    /// The open order of that name.
    pub(super) fn named(&self, user: UserNo, name: Token) -> Option<OrderNo> {
        self.named.get(&(user, name)).copied()
    }

    /// A user's open orders before this one, in order of placing.
    pub(super) fn before(
        &self,
        user: UserNo,
        no: OrderNo,
    ) -> impl DoubleEndedIterator<Item = (OrderNo, &Standing)> {
        let open = self.users.get(user.index()).map(|open| open.range(..no));
        open.into_iter()
            .flatten()
            .filter_map(|(no, slot)| Some((*no, self.orders.get(*slot as usize)?)))
    }

    /// All of them, in order of placing.
    pub(super) fn sorted(&self) -> Vec<(OrderNo, &Standing)> {
        let mut all: Vec<(OrderNo, &Standing)> =
            self.slots.keys().filter_map(|no| Some((*no, self.get(*no)?))).collect();
        all.sort_unstable_by_key(|(no, _)| *no);
        all
    }

    /// Adds an order of a user that there is.
    pub(super) fn add(
        &mut self,
        no: OrderNo,
        standing: Standing,
        name: Option<Token>,
    ) -> Result<(), Fault> {
        let user = standing.user;
        let own = self.users.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
        let slot = if let Some(slot) = self.free.pop() {
            if let Some(place) = self.orders.get_mut(slot as usize) {
                *place = standing;
            }
            slot
        } else {
            let slot = Slot::try_from(self.orders.len());
            let slot = slot.map_err(|_| Fault::NotNext(no.0.get()))?;
            self.orders.push(standing);
            slot
        };
        own.insert(no, slot);
        self.slots.insert(no, slot);
        if let Some(name) = name {
            self.names.insert(no, name);
            self.named.insert((user, name), no);
        }
        Ok(())
    }

    /// Takes an order away, and its name.
    pub(super) fn remove(&mut self, no: OrderNo) -> Option<(Standing, Option<Token>)> {
        let slot = self.slots.remove(&no)?;
        let standing = self.orders.get(slot as usize).copied()?;
        self.free.push(slot);
        if let Some(own) = self.users.get_mut(standing.user.index()) {
            own.remove(&no);
        }
        let name = self.names.remove(&no);
        if let Some(key) = name.map(|name| (standing.user, name))
            && self.named.get(&key) == Some(&no)
        {
            self.named.remove(&key);
        }
        Some((standing, name))
    }
}
