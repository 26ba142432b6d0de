//! Orders that stand: the only ones that effects change, and the only ones kept in memory whole.
//! Each takes as little room as it can, since there may be millions: [`Standing`] is what is known
//! of one, [`Open`] keeps them packed.

use super::pool::{Entry, Pool, Slot};
use super::row::{OrderRow, OrderStatus};
use super::table::{Spot, Table};
use super::titles::Titles;
use crate::exchange::command::{PlaceOrder, TimeInForce, Wording};
use crate::exchange::effect::CancelReason;
use crate::exchange::ids::{MarketNo, OrderNo, Token, UserNo};
use crate::exchange::units::{Lots, Money, Tick, TimeMs};
use crate::projection::fault::Fault;
use crate::projection::history::chain::{Chain, Place};

/// An open order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub(super) user: UserNo,
    pub(super) market: MarketNo,
    pub(super) wording: Wording,
    pub(super) price: Tick,
    /// All of it: what was filled, and what remains.
    pub(super) quantity: Lots,
    pub(super) filled: Lots,
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
            filled_cost: Money::ZERO,
            time_in_force: terms.time_in_force,
            created_at: time,
            updated_at: time,
            place,
            fills: Chain::default(),
        }
    }

    /// That what is filled and what an effect says remains is all of it.
    pub(super) fn check_parts(&self, no: OrderNo, remaining: Lots) -> Result<(), Fault> {
        let parts = self.filled.plus(remaining)?;
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

    /// As readers see it once it has ended.
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

/// All open orders, each by its number and each user's in order, and their names.
#[derive(Debug, Default)]
pub struct Open {
    pool: Pool,
    slots: Table,
    /// Each user's newest.
    users: Vec<Option<Slot>>,
    names: Titles,
}

impl Open {
    /// One more user, who has none.
    pub(super) fn add_user(&mut self) {
        self.users.push(None);
    }

    /// How many there are.
    pub(super) const fn len(&self) -> usize {
        self.slots.len()
    }

    /// Where an open order is, for as long as none comes or goes.
    pub(super) fn find(&self, no: OrderNo) -> Option<Spot> {
        self.slots.find(no, |slot| self.pool.no(slot))
    }

    /// Whether it is open.
    pub(super) fn has(&self, no: OrderNo) -> bool {
        self.find(no).is_some()
    }

    /// An open order.
    pub(super) fn get(&self, no: OrderNo) -> Option<Standing> {
        self.at(self.find(no)?)
    }

    /// The order that was found there.
    pub(super) fn at(&self, spot: Spot) -> Option<Standing> {
        self.pool.get(spot.slot)
    }

    /// Changes an order that was found there: of whom it is, and when and where it was placed,
    /// stays.
    pub(super) fn set(&mut self, spot: Spot, standing: &Standing) -> Option<()> {
        self.pool.set(spot.slot, standing)
    }

    /// An open order as readers see it.
    pub(super) fn row(&self, no: OrderNo) -> Option<OrderRow> {
        self.get(no).map(|standing| standing.row(no, self.name(no)))
    }

    /// Its owner's own name for an open order.
    pub(super) fn name(&self, no: OrderNo) -> Option<Token> {
        self.names.of(no)
    }

    /// The open order of that name, the newest if there are several.
    pub(super) fn named(&self, user: UserNo, name: Token) -> Option<OrderNo> {
        self.names.find(user, &name)
    }

    /// A user's open orders before this one, newest first. Finding the first of them walks over
    /// those after it, unless this one is open too; a user has thousands at most.
    pub(super) fn before(
        &self,
        user: UserNo,
        no: OrderNo,
    ) -> impl Iterator<Item = (OrderNo, Standing)> {
        let own = |entry: &&Entry| entry.user == user;
        let known = self.find(no).and_then(|spot| self.pool.entry(spot.slot)).filter(own);
        let newest = self.users.get(user.index()).copied().flatten();
        let first = known.map_or(newest, |entry| entry.before);
        let before = |slot: &Slot| self.pool.entry(*slot).and_then(|entry| entry.before);
        std::iter::successors(first, before)
            .filter_map(|slot| Some((self.pool.no(slot)?, self.pool.get(slot)?)))
            .skip_while(move |(other, _)| *other >= no)
    }

    /// All of them, in order of placing.
    pub(super) fn sorted(&self) -> Vec<(OrderNo, Standing)> {
        let mut all: Vec<(OrderNo, Standing)> = self.pool.all().collect();
        all.sort_unstable_by_key(|(no, _)| *no);
        all
    }

    /// Adds an order of a user that there is, newer than all of the user's.
    pub(super) fn add(
        &mut self,
        no: OrderNo,
        standing: &Standing,
        name: Option<Token>,
    ) -> Result<(), Fault> {
        let user = standing.user;
        let newest = self.users.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
        let slot = self.pool.add(no, standing, *newest).ok_or(Fault::NotNext(no.0.get()))?;
        *newest = Some(slot);
        self.slots.add(no, slot, |slot| self.pool.no(slot));
        if let Some(name) = name {
            self.names.add(user, no, &name);
        }
        Ok(())
    }

    /// Takes an order away that was found there, and its name, which it gives.
    pub(super) fn remove(&mut self, no: OrderNo, spot: Spot) -> Option<Token> {
        let Entry { user, before, after, .. } = *self.pool.entry(spot.slot)?;
        self.slots.remove(spot, |slot| self.pool.no(slot));
        if after.is_none()
            && let Some(newest) = self.users.get_mut(user.index())
        {
            *newest = before;
        }
        self.pool.remove(spot.slot);
        self.names.remove(user, no)
    }
}
