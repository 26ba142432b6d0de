//! Orders that stand: the only ones that effects change, and the only ones kept in memory whole.
//! Each takes as little room as it can, since there may be millions: [`Standing`] is what is known
//! of one, [`Open`] keeps them packed.

use super::ALL;
use super::leaves::{Leaves, Spot};
use super::open_names::OpenOrderNames;
use super::row::{OrderRow, OrderStatus};
use crate::exchange::command::{PlaceOrder, TimeInForce, Wording};
use crate::exchange::effect::CancelReason;
use crate::exchange::ids::{MarketNo, OrderNo, Token, UserNo};
use crate::exchange::units::{Lots, Money, Tick, TimeMs};
use crate::projection::fault::Fault;
use crate::projection::history::chain::{RowChain, RowIndex};
use crate::projection::history::pack::RowBuffer;

/// An open order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOrders {
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
    pub(super) place: RowIndex,
    /// Its fills, among those of the user.
    pub(super) fills: RowChain,
}

impl OpenOrders {
    /// An order that was just accepted.
    pub(super) fn new(terms: &PlaceOrder, time: TimeMs, place: RowIndex) -> OpenOrders {
        OpenOrders {
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
            fills: RowChain::default(),
        }
    }

    /// That what is filled and what an effect says remains is all of it.
    pub(super) fn check_parts(&self, no: OrderNo, remaining: Lots) -> Result<(), Fault> {
        let parts = self.filled.plus(remaining)?;
        if parts == self.quantity { Ok(()) } else { Err(Fault::PartsNotWhole(no)) }
    }

    /// When it ends by itself.
    pub(super) const fn expires_at(&self) -> Option<TimeMs> {
        self.time_in_force.expires_at()
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

/// All open orders, each user's in order, and their names.
#[derive(Debug, Default)]
pub struct Open {
    users: Vec<Leaves>,
    count: usize,
    names: OpenOrderNames,
    /// Where rows are packed.
    desk: RowBuffer,
}

impl Open {
    /// One more user, who has none.
    pub(super) fn add_user(&mut self) {
        self.users.push(Leaves::default());
    }

    /// How many there are.
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// How many a user has.
    pub(super) fn count_of(&self, user: UserNo) -> usize {
        self.users.get(user.index()).map_or(0, Leaves::count)
    }

    /// Where an open order of a user is, for as long as none of the user's comes, goes or changes.
    pub(super) fn find(&self, user: UserNo, no: OrderNo) -> Option<Spot> {
        self.users.get(user.index())?.find(no)
    }

    /// An open order of a user.
    pub(super) fn get(&self, user: UserNo, no: OrderNo) -> Option<OpenOrders> {
        self.at(user, &self.find(user, no)?)
    }

    /// The user's order that was found there.
    pub(super) fn at(&self, user: UserNo, spot: &Spot) -> Option<OpenOrders> {
        self.users.get(user.index())?.get(user, spot)
    }

    /// Changes an order that was found there: of whom it is, and when and where it was placed,
    /// stays.
    pub(super) fn set(&mut self, spot: Spot, no: OrderNo, standing: &OpenOrders) -> Option<()> {
        let own = self.users.get_mut(standing.user.index())?;
        own.set(spot, (no, standing), &mut self.desk)
    }

    /// An open order of a user, as readers see it.
    pub(super) fn row_of(&self, user: UserNo, no: OrderNo) -> Option<OrderRow> {
        self.get(user, no).map(|standing| standing.row(no, self.name(no)))
    }

    /// Its owner's own name for an open order.
    pub(super) fn name(&self, no: OrderNo) -> Option<Token> {
        self.names.of(no)
    }

    /// The open order of that name, the newest if there are several.
    pub(super) fn named(&self, user: UserNo, name: Token) -> Option<OrderNo> {
        self.names.find(user, &name)
    }

    /// A user's open orders before this one, newest first.
    pub(super) fn before(
        &self,
        user: UserNo,
        no: OrderNo,
    ) -> impl Iterator<Item = (OrderNo, OpenOrders)> {
        let own = self.users.get(user.index());
        own.into_iter().flat_map(move |own| own.before(user, no))
    }

    /// All of them, in order of placing.
    pub(super) fn sorted(&self) -> Vec<(OrderNo, OpenOrders)> {
        let users = (0..).map(UserNo).zip(&self.users);
        let mut all: Vec<(OrderNo, OpenOrders)> = Vec::with_capacity(self.count);
        all.extend(users.flat_map(|(user, own)| own.before(user, ALL)));
        all.sort_unstable_by_key(|(no, _)| *no);
        all
    }

    /// Adds an order of a user that there is, newer than all of the user's.
    pub(super) fn add(
        &mut self,
        no: OrderNo,
        standing: &OpenOrders,
        name: Option<Token>,
    ) -> Result<(), Fault> {
        let user = standing.user;
        let own = self.users.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
        own.add(no, standing, &mut self.desk).ok_or(Fault::NotNext(no.0.get()))?;
        self.count = self.count.saturating_add(1);
        if let Some(name) = name {
            self.names.add(user, no, &name);
        }
        Ok(())
    }

    /// Takes a user's order away that was found there, and its name, which it gives.
    pub(super) fn remove(&mut self, user: UserNo, no: OrderNo, spot: Spot) -> Option<Token> {
        let own = self.users.get_mut(user.index())?;
        own.remove(user, spot, &mut self.desk)?;
        self.count = self.count.saturating_sub(1);
        self.names.remove(user, no)
    }
}
