//! A plan: what an incoming order would do to the book, made by reading it alone. Fill-or-kill asks
//! whether the plan is whole, post-only whether it is empty; `matching.rs` carries it out.

use std::ops::ControlFlow;

use super::command::{PlaceOrder, Record, SelfTradePrevention, TimeInForce};
use super::effect::{CancelReason, Effect};
use super::ending::Due;
use super::idempotency::table::{Fingerprint, NameEntry};
use super::ids::{MarketNo, OrderNo, UserNo};
use super::invariant::Broken;
use super::ledger::{Account, Purse};
use super::orders::{Order, Slot};
use super::units::{Lots, Money, MoneySum, Sequence, TimeMs};
use super::{Exchange, Stamp, Stop};

/// What becomes of a resting order that is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// It trades this much; more than zero.
    Trade(Lots),
    /// It is cancelled: it is its owner's own, or it is due to be cancelled.
    Cancel(CancelReason),
}

/// What an incoming order meets, in price-time priority.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    /// The resting orders that are met. The buffer is kept from order to order.
    pub acts: Vec<(Slot, Act)>,
    /// Why matching stops before the limit or the quantity of the order does.
    pub stop: Option<CancelReason>,
    /// What is left of the order.
    left: Lots,
    /// Whether it meets an order that is not due to be cancelled.
    crosses: bool,
    /// How many orders may be met; `None`: any number.
    bound: Option<usize>,
}

impl Plan {
    /// An empty plan of an order that may meet this many others.
    pub fn within(bound: usize) -> Plan {
        Plan { bound: Some(bound), ..Plan::default() }
    }

    /// Plans an order on a floor's own buffer.
    ///
    /// # Errors
    /// [`Stop::OutOfReach`] if more orders are met than the floor allows.
    pub fn of<F: Floor>(
        floor: &mut F,
        order: &Order,
        force: TimeInForce,
        at: Stamp,
    ) -> Result<Plan, Stop> {
        let mut plan = floor.borrow_plan();
        plan.acts.clear();
        (plan.stop, plan.crosses, plan.left) = (None, false, order.backing.remaining()?);
        let hopeless = force == TimeInForce::FillOrKill
            && !order.condition.post_only()
            && !floor.could_fill(order)?;
        if hopeless || plan.walk(floor, order, at)? {
            return Ok(plan);
        }
        floor.return_plan(plan);
        Err(Stop::OutOfReach)
    }

    /// Whether nothing is left of the order. A killed one trades nothing.
    pub fn is_whole(&self) -> bool {
        self.left.is_zero()
    }

    /// Whether it meets no order, its owner's own included, but such as are due to be cancelled.
    pub const fn is_empty(&self) -> bool {
        !self.crosses
    }

    /// Walks the book; false if that is out of reach.
    fn walk<F: Floor>(&mut self, floor: &F, order: &Order, at: Stamp) -> Result<bool, Broken> {
        let venue = floor.venue();
        let mut quiet = None;
        let mut within = true;
        floor.meet(order, |Met { slot, user, remaining }| {
            within = self.bound.is_none_or(|bound| self.acts.len() < bound);
            if !within {
                return Ok(ControlFlow::Break(()));
            }
            let due = if *quiet.get_or_insert_with(|| venue.nothing_is_due(at.time)) {
                None
            } else {
                venue.due_cancel_reason(&floor.order_in(slot)?, at.time)?
            };
            if let Some(reason) = due {
                self.acts.push((slot, Act::Cancel(reason)));
                return Ok(ControlFlow::Continue(()));
            }
            self.crosses = true;
            if order.condition.post_only() {
                // It will be refused.
                return Ok(ControlFlow::Break(()));
            }
            if user != order.user {
                let quantity = self.left.min(remaining);
                self.left = self.left.minus(quantity)?;
                self.acts.push((slot, Act::Trade(quantity)));
                let whole = self.left.is_zero();
                return Ok(if whole { ControlFlow::Break(()) } else { ControlFlow::Continue(()) });
            }
            if order.self_trade != SelfTradePrevention::CancelTaker {
                self.acts.push((slot, Act::Cancel(CancelReason::SelfTrade)));
            }
            if order.self_trade == SelfTradePrevention::CancelMaker {
                return Ok(ControlFlow::Continue(()));
            }
            self.stop = Some(CancelReason::SelfTrade);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(within)
    }
}

// The trading floor: what placing, matching, amending and cancelling read and change. One floor is
// the venue itself. The other is an overlay of it whose changes nobody keeps (`trial.rs`): so a
// dry run is trading on that, and never differs from it.

/// A resting order that an incoming one meets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Met {
    pub slot: Slot,
    pub user: UserNo,
    pub remaining: Lots,
}

/// What trading reads and changes.
pub(super) trait Floor {
    /// What no order changes: rules, users, markets, restrictions, the schedule.
    fn venue(&self) -> &Exchange;

    /// Executes the command of a record that was not executed before.
    fn dispatch(
        &mut self,
        record: &Record,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop>;

    /// The slot of a resting order; `None` if it does not rest.
    fn find(&self, no: OrderNo) -> Option<Slot>;

    /// The resting order in a slot.
    fn order_in(&self, slot: Slot) -> Result<Order, Broken>;

    /// Resting orders in all, and of one user.
    fn open_orders(&self, user: UserNo) -> (u32, u32);

    /// Whether enough rests within an order's limit to fill it, whoever owns it. Only a hint: true
    /// says nothing.
    fn could_fill(&self, order: &Order) -> Result<bool, Broken>;

    /// Shows the resting orders that an order's limit reaches, in price-time priority, until `see`
    /// breaks off.
    fn meet(
        &self,
        order: &Order,
        see: impl FnMut(Met) -> Result<ControlFlow<()>, Broken>,
    ) -> Result<(), Broken>;

    /// Adds an order to the book.
    fn rest(&mut self, order: &Order) -> Result<(), Broken>;

    /// Takes a resting order off the book.
    fn take_off(&mut self, slot: Slot, order: &Order) -> Result<(), Broken>;

    /// Stores a resting order that keeps its place, and of which less is left by this much.
    fn lessen(&mut self, slot: Slot, order: &Order, by: Lots) -> Result<(), Broken>;

    /// A user's money.
    fn account(&self, user: UserNo) -> Result<Account, Broken>;

    /// Stores a user's money.
    fn put_account(&mut self, user: UserNo, account: Account) -> Result<(), Broken>;

    /// A user's money and contracts in a market.
    fn purse(&self, user: UserNo, market: MarketNo) -> Result<Purse, Broken>;

    /// Stores a purse.
    fn put(&mut self, user: UserNo, market: MarketNo, purse: &Purse) -> Result<(), Broken>;

    /// The cost of a user's contracts, in all markets.
    fn costs_of(&self, user: UserNo) -> Result<MoneySum, Broken>;

    /// Adds trading fees to the operator's money.
    fn earn(&mut self, fees: Money) -> Result<(), Broken>;

    /// What is remembered of a name.
    fn name(&self, name: Fingerprint) -> Option<NameEntry>;

    /// The number of all names, and of one user's.
    fn names_count(&self, user: UserNo) -> (u64, u32);

    /// Remembers a name, in place of an earlier one.
    fn give_name(&mut self, until: TimeMs, name: Fingerprint, entry: NameEntry);

    /// Remembers a further part of a key.
    fn add_part(&mut self, name: Fingerprint, user: UserNo, first: (u8, Sequence));

    /// Lends the floor's empty plan. Its bound is how many orders may still be met.
    fn borrow_plan(&mut self) -> Plan;

    /// Gives a plan back.
    fn return_plan(&mut self, plan: Plan);

    /// Whether a user's order can be cancelled and, where it is gone, the other one be placed.
    fn admit_replacement(
        &self,
        replaced: OrderNo,
        terms: &PlaceOrder,
        at: Stamp,
    ) -> Result<(), Stop>;
}

impl Floor for Exchange {
    fn venue(&self) -> &Exchange {
        self
    }

    fn dispatch(
        &mut self,
        record: &Record,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.dispatch_record(record, at, effects)
    }

    fn find(&self, no: OrderNo) -> Option<Slot> {
        self.orders.find(no)
    }

    fn order_in(&self, slot: Slot) -> Result<Order, Broken> {
        self.orders.get(slot)
    }

    fn open_orders(&self, user: UserNo) -> (u32, u32) {
        (self.orders.count(), self.orders.count_of(user))
    }

    // A killed order costs its owner nothing and can be repeated at will: it must stay cheap on
    // long queues.
    fn could_fill(&self, order: &Order) -> Result<bool, Broken> {
        let (book, wanted) = (&self.market_state(order.market)?.book, order.backing.remaining()?);
        let levels = book.levels(order.direction().opposite());
        let mut found = Lots::ZERO;
        for (_, level) in levels.take_while(|(tick, _)| order.reaches(*tick)) {
            found = found.plus(level.quantity)?;
            if found >= wanted {
                return Ok(true);
            }
        }
        Ok(false)
    }

    #[inline]
    fn meet(
        &self,
        order: &Order,
        mut see: impl FnMut(Met) -> Result<ControlFlow<()>, Broken>,
    ) -> Result<(), Broken> {
        let (book, side) = (&self.market_state(order.market)?.book, order.direction().opposite());
        let mut best = book.best(side);
        while let Some(tick) = best.filter(|tick| order.reaches(*tick)) {
            let mut next = book.front(side, tick);
            while let Some(slot) = next {
                let resting = self.orders.resting(slot)?;
                let met = Met { slot, user: resting.user, remaining: resting.remaining };
                if see(met)?.is_break() {
                    return Ok(());
                }
                next = resting.queue.after;
            }
            best = book.next_behind(side, tick);
        }
        Ok(())
    }

    fn rest(&mut self, order: &Order) -> Result<(), Broken> {
        let slot = self.orders.insert(order)?;
        let market = self.markets.get_mut(order.market.index()).ok_or(Broken::Dangling)?;
        market.book.push(&mut self.orders, slot)?;
        if let Some(expires_at) = order.expires_at {
            self.schedule.add(expires_at, Due::Expiry(order.no));
        }
        Ok(())
    }

    fn take_off(&mut self, slot: Slot, order: &Order) -> Result<(), Broken> {
        let market = self.markets.get_mut(order.market.index()).ok_or(Broken::Dangling)?;
        market.book.unlink(&mut self.orders, slot)?;
        self.orders.remove(slot)?;
        if let Some(expires_at) = order.expires_at {
            self.schedule.remove(expires_at, Due::Expiry(order.no));
        }
        if self.orders.count_of(order.user) == 0 {
            self.nothing_abandoned((order.user, None));
        }
        if order.group.is_some() {
            self.nothing_abandoned((order.user, order.group));
        }
        Ok(())
    }

    fn lessen(&mut self, slot: Slot, order: &Order, by: Lots) -> Result<(), Broken> {
        self.market_mut(order.market)?.book.reduce(order.price, by)?;
        self.orders.store(slot, order)
    }

    fn account(&self, user: UserNo) -> Result<Account, Broken> {
        self.ledger.account(user)
    }

    fn put_account(&mut self, user: UserNo, account: Account) -> Result<(), Broken> {
        self.ledger.put_account(user, account)
    }

    fn purse(&self, user: UserNo, market: MarketNo) -> Result<Purse, Broken> {
        self.ledger.purse(user, market)
    }

    fn put(&mut self, user: UserNo, market: MarketNo, purse: &Purse) -> Result<(), Broken> {
        self.ledger.put(user, market, purse)
    }

    fn costs_of(&self, user: UserNo) -> Result<MoneySum, Broken> {
        self.ledger.costs_of(user)
    }

    fn earn(&mut self, fees: Money) -> Result<(), Broken> {
        self.ledger.earn(fees)
    }

    fn name(&self, name: Fingerprint) -> Option<NameEntry> {
        self.idempotency.get(name)
    }

    fn names_count(&self, user: UserNo) -> (u64, u32) {
        (self.idempotency.count(), self.idempotency.names_of(user))
    }

    fn give_name(&mut self, until: TimeMs, name: Fingerprint, entry: NameEntry) {
        self.idempotency.add(until, name, &entry);
    }

    fn add_part(&mut self, name: Fingerprint, user: UserNo, first: (u8, Sequence)) {
        self.idempotency.add_part(name, user, first);
    }

    fn borrow_plan(&mut self) -> Plan {
        std::mem::take(&mut self.plan)
    }

    fn return_plan(&mut self, plan: Plan) {
        self.plan = plan;
    }

    fn admit_replacement(
        &self,
        replaced: OrderNo,
        terms: &PlaceOrder,
        at: Stamp,
    ) -> Result<(), Stop> {
        self.try_replacement(replaced, terms, at)
    }
}
