//! Trials: the effects that commands would have now, without changing the state. They run on an
//! overlay: a trading floor that reads the venue and keeps what changes to itself, so a trial costs
//! as much as its commands, and each command sees what those before it left.

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;

use super::admission::{admit_crossing, admit_order, admit_sender};
use super::command::{Command, Direction, IdempotencyKey, PlaceOrder, Record};
use super::effect::{CancelReason, Effect};
use super::idempotency::execute;
use super::idempotency::table::{Fingerprint, NameEntry};
use super::ids::{MarketNo, OrderNo, Token, UserNo};
use super::invariant::Broken;
use super::ledger::{Account, Position, Purse};
use super::matching::{amend_order, cancel_order, place_order, replace_order};
use super::orders::{Order, Slot};
use super::plan::{Floor, Met, Plan};
use super::reject::Reject;
use super::units::{Lots, Money, MoneySum, Sequence, TICKS_PER_UNIT, Tick, TimeMs};
use super::{Exchange, Stamp, Stop};

/// One step of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Places an order.
    Place(PlaceOrder),
    /// Amends an order.
    Amend {
        /// Owner.
        user: UserNo,
        /// Order.
        target: Target,
        /// New price, of the outcome that the order names.
        price: Option<Tick>,
        /// New total quantity.
        quantity: Option<Lots>,
    },
    /// Cancels an order.
    Cancel {
        /// Owner.
        user: UserNo,
        /// Order.
        target: Target,
    },
    /// Cancels an order and places another, of the same owner.
    Replace {
        /// The order that gives way.
        target: Target,
        /// The order that is placed.
        terms: Box<PlaceOrder>,
    },
    /// Does nothing: asks only whether an operator's command would be refused that ends a market or
    /// takes fees.
    Act(Box<Command>),
    /// Does nothing: asks only whether its idempotency key was used before.
    Ask,
}

/// The order that a step is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The newest order to which an earlier step gave this client order id, if any did.
    pub name: Option<Token>,
    /// Otherwise this order.
    pub order: Option<OrderNo>,
}

impl Target {
    fn among(&self, placed: &[(Token, OrderNo)]) -> Option<OrderNo> {
        let newest = placed.iter().rev().find(|(given, _)| Some(given) == self.name.as_ref());
        newest.map(|(_, order)| *order).or(self.order)
    }
}

impl From<OrderNo> for Target {
    fn from(order: OrderNo) -> Target {
        Target { name: None, order: Some(order) }
    }
}

/// A step, and the idempotency key that it is sent with.
pub type KeyedStep = (Step, Option<Box<IdempotencyKey>>);

impl Step {
    /// The order that it places, if it places one.
    pub fn placement(&self) -> Option<&PlaceOrder> {
        match self {
            Step::Place(terms) => Some(terms),
            Step::Replace { terms, .. } => Some(terms),
            Step::Amend { .. } | Step::Cancel { .. } | Step::Act(_) | Step::Ask => None,
        }
    }

    /// The step's command, given the orders that the steps before it placed; `None` if there is no
    /// such order.
    fn resolved(&self, placed: &[(Token, OrderNo)]) -> Option<Command> {
        Some(match self {
            Step::Place(terms) => Command::PlaceOrder(terms.clone()),
            &Step::Amend { user, target, price, quantity } => {
                let order = target.among(placed)?;
                Command::AmendOrder { user, order, price, quantity, seen: None }
            }
            Step::Cancel { user, target } => {
                Command::CancelOrder { user: *user, order: target.among(placed)? }
            }
            Step::Replace { target, terms } => {
                Command::ReplaceOrder { replaced: target.among(placed)?, terms: terms.clone() }
            }
            Step::Act(command) => (**command).clone(),
            Step::Ask => Command::AdvanceClock,
        })
    }
}

impl Exchange {
    /// The effects that these steps would have as the next records, all at `time` (or at the time
    /// of the last record, if that is later); `None` if they meet more than `met_max` resting
    /// orders. Names do not expire meanwhile.
    ///
    /// # Errors
    /// [`Broken`] if the state contradicts itself.
    pub fn trial(
        &self,
        steps: &[KeyedStep],
        time: TimeMs,
        met_max: usize,
    ) -> Result<Option<Vec<Vec<Effect>>>, Broken> {
        let mut overlay = Overlay::of(self, met_max);
        let mut at = Stamp { sequence: self.sequence.next(), time: time.max(self.time) };
        let (mut all, mut placed) = (Vec::with_capacity(steps.len()), Vec::new());
        for (step, once) in steps {
            let mut effects = Vec::new();
            if let Some(command) = step.resolved(&placed) {
                let Stamp { sequence, time } = at;
                let record = Record { sequence, time, once: once.clone(), act: None, command };
                match execute(&mut overlay, &record, at, &mut effects) {
                    Ok(()) => {}
                    Err(Stop::Refused(reject)) => effects.push(Effect::Refused(reject)),
                    Err(Stop::OutOfReach) => return Ok(None),
                    Err(Stop::Broken(broken)) => return Err(broken),
                }
                at.sequence = sequence.next();
            } else {
                effects.push(Effect::Refused(Reject::OrderNotFound));
            }
            if let Some(PlaceOrder { client_order_id: Some(name), .. }) = step.placement() {
                let order = effects.iter().find_map(|effect| match effect {
                    Effect::OrderAccepted { order, .. } => Some(*order),
                    Effect::Repeated { first } => Some(OrderNo(*first)),
                    _ => None,
                });
                placed.extend(order.map(|order| (**name, order)));
            }
            all.push(effects);
        }
        Ok(Some(all))
    }

    /// Whether a user's order can be replaced, found on an overlay: there it is gone.
    pub(super) fn try_replacement(
        &self,
        replaced: OrderNo,
        terms: &PlaceOrder,
        at: Stamp,
    ) -> Result<(), Stop> {
        Overlay::of(self, usize::MAX).try_replacement(replaced, terms, at)
    }
}

/// A venue, and what a trial changed of it. Its maps are looked up, never iterated.
#[derive(Clone)]
struct Overlay<'a> {
    venue: &'a Exchange,
    /// The resting orders that changed or came; `None`: gone.
    orders: FxHashMap<Slot, Option<Order>>,
    /// The slots of the orders that came, oldest first: numbers that no order of the venue has.
    came: Vec<Slot>,
    /// Resting orders in all.
    count: u32,
    counts: FxHashMap<UserNo, u32>,
    accounts: FxHashMap<UserNo, Account>,
    positions: FxHashMap<(UserNo, MarketNo), Position>,
    costs: FxHashMap<UserNo, MoneySum>,
    names: FxHashMap<Fingerprint, NameEntry>,
    /// The number of all names.
    names_count: u64,
    names_counts: FxHashMap<UserNo, u32>,
    /// How many resting orders may still be met.
    met_left: usize,
}

impl<'a> Overlay<'a> {
    fn of(venue: &'a Exchange, met_left: usize) -> Overlay<'a> {
        Overlay {
            venue,
            orders: FxHashMap::default(),
            came: Vec::new(),
            count: venue.orders.count(),
            counts: FxHashMap::default(),
            accounts: FxHashMap::default(),
            positions: FxHashMap::default(),
            costs: FxHashMap::default(),
            names: FxHashMap::default(),
            names_count: venue.idempotency.count(),
            names_counts: FxHashMap::default(),
            met_left,
        }
    }

    fn try_replacement(
        mut self,
        replaced: OrderNo,
        terms: &PlaceOrder,
        at: Stamp,
    ) -> Result<(), Stop> {
        // First, since these refusals come before those of a cancel.
        admit_sender(self.venue, terms, at)?;
        let mut ended = Vec::new();
        cancel_order(&mut self, terms.user, replaced, at, &mut ended)?;
        // What is over and only waits for its record is not brought back.
        let mut reasons = ended.iter().filter_map(|effect| match effect {
            Effect::OrderCancelled { reason, .. } => Some(*reason),
            _ => None,
        });
        if reasons.any(|reason| reason != CancelReason::User) {
            return Err(Stop::Refused(Reject::OrderNotOpen));
        }
        let order = admit_order(&self, terms, at)?.order;
        if order.condition.post_only() {
            admit_crossing(&order, &Plan::of(&mut self, &order, terms.time_in_force, at)?)?;
        }
        Ok(())
    }

    /// The orders that came and still rest.
    fn resting(&self) -> impl DoubleEndedIterator<Item = (Slot, &Order)> {
        let order = |slot: &Slot| Some((*slot, self.orders.get(slot)?.as_ref()?));
        self.came.iter().filter_map(order)
    }

    fn count_orders(&mut self, user: UserNo, change: impl Fn(u32) -> Option<u32>) -> Option<()> {
        let (all, own) = self.open_orders(user);
        self.count = change(all)?;
        self.counts.insert(user, change(own)?);
        Some(())
    }

    fn count_names(&mut self, user: UserNo, more: usize, fewer: usize) {
        let (all, own) = self.names_count(user);
        let (more, fewer) = (narrow(more), narrow(fewer));
        self.names_count = all.saturating_add(more.into()).saturating_sub(fewer.into());
        self.names_counts.insert(user, own.saturating_add(more).saturating_sub(fewer));
    }
}

impl Met {
    fn with(slot: Slot, order: &Order) -> Result<Met, Broken> {
        Ok(Met { slot, user: order.user, remaining: order.backing.remaining()? })
    }
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl Floor for Overlay<'_> {
    fn venue(&self) -> &Exchange {
        self.venue
    }

    fn dispatch(
        &mut self,
        record: &Record,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.venue.rules_in_force()?;
        match &record.command {
            Command::PlaceOrder(terms) => place_order(self, terms, at, effects),
            Command::AmendOrder { user, order, price, quantity, .. } => {
                amend_order(self, (*user, *order), *price, *quantity, at, effects)
            }
            Command::CancelOrder { user, order } => cancel_order(self, *user, *order, at, effects),
            Command::ReplaceOrder { replaced, terms } => {
                replace_order(self, *replaced, terms, at, effects)
            }
            act => Ok(self.venue.admit_act(act, at)?),
        }
    }

    fn find(&self, no: OrderNo) -> Option<Slot> {
        let came = self.resting().rev().find(|(_, order)| order.no == no);
        let there = || self.venue.find(no).filter(|slot| self.orders.get(slot) != Some(&None));
        came.map(|(slot, _)| slot).or_else(there)
    }

    fn order_in(&self, slot: Slot) -> Result<Order, Broken> {
        match self.orders.get(&slot) {
            Some(order) => order.ok_or(Broken::Dangling),
            None => self.venue.order_in(slot),
        }
    }

    fn open_orders(&self, user: UserNo) -> (u32, u32) {
        let own = self.counts.get(&user).copied();
        (self.count, own.unwrap_or_else(|| self.venue.orders.count_of(user)))
    }

    fn could_fill(&self, _: &Order) -> Result<bool, Broken> {
        Ok(true)
    }

    fn meet(
        &self,
        order: &Order,
        mut see: impl FnMut(Met) -> Result<ControlFlow<()>, Broken>,
    ) -> Result<(), Broken> {
        let (up, side) = (order.direction() == Direction::Up, order.direction().opposite());
        let book = &self.venue.market_state(order.market)?.book;
        let came: Vec<(Slot, &Order)> = self
            .resting()
            .filter(|(_, came)| came.market == order.market && came.direction() == side)
            .collect();
        for step in 1..TICKS_PER_UNIT {
            let tick = Tick::new(if up { step } else { TICKS_PER_UNIT.saturating_sub(step) });
            let tick = tick.filter(|tick| order.reaches(*tick));
            let Some(tick) = tick else { break };
            for slot in book.queue(&self.venue.orders, side, tick) {
                let gone = self.orders.get(&slot) == Some(&None);
                if !gone && see(Met::with(slot, &self.order_in(slot)?)?)?.is_break() {
                    return Ok(());
                }
            }
            for (slot, resting) in came.iter().filter(|(_, came)| came.price == tick) {
                if see(Met::with(*slot, resting)?)?.is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn rest(&mut self, order: &Order) -> Result<(), Broken> {
        let last = usize::try_from(u32::MAX).map_err(|_| Broken::Capacity)?;
        let slot = Slot::at(last.saturating_sub(self.came.len())).ok_or(Broken::Capacity)?;
        self.came.push(slot);
        self.orders.insert(slot, Some(*order));
        self.count_orders(order.user, |count| count.checked_add(1)).ok_or(Broken::Capacity)
    }

    fn take_off(&mut self, slot: Slot, order: &Order) -> Result<(), Broken> {
        self.orders.insert(slot, None);
        self.count_orders(order.user, |count| count.checked_sub(1)).ok_or(Broken::Dangling)
    }

    fn lessen(&mut self, slot: Slot, order: &Order, _: Lots) -> Result<(), Broken> {
        self.orders.insert(slot, Some(*order));
        Ok(())
    }

    fn account(&self, user: UserNo) -> Result<Account, Broken> {
        self.accounts.get(&user).map_or_else(|| self.venue.ledger.account(user), |own| Ok(*own))
    }

    fn put_account(&mut self, user: UserNo, account: Account) -> Result<(), Broken> {
        self.accounts.insert(user, account);
        Ok(())
    }

    fn purse(&self, user: UserNo, market: MarketNo) -> Result<Purse, Broken> {
        let mut purse = self.venue.ledger.purse(user, market)?;
        purse.account = self.account(user)?;
        if let Some(position) = self.positions.get(&(user, market)) {
            purse.position = *position;
        }
        Ok(purse)
    }

    fn put(&mut self, user: UserNo, market: MarketNo, purse: &Purse) -> Result<(), Broken> {
        let mut costs = self.costs_of(user)?;
        let before = self.purse(user, market)?.position.costs();
        for (was, is) in before.into_iter().zip(purse.position.costs()) {
            costs = costs.minus(was)?.plus(is)?;
        }
        self.costs.insert(user, costs);
        self.accounts.insert(user, purse.account);
        self.positions.insert((user, market), purse.position);
        Ok(())
    }

    fn costs_of(&self, user: UserNo) -> Result<MoneySum, Broken> {
        self.costs.get(&user).map_or_else(|| self.venue.ledger.costs_of(user), |own| Ok(*own))
    }

    // No order depends on them.
    fn earn(&mut self, _: Money) -> Result<(), Broken> {
        Ok(())
    }

    fn name(&self, name: Fingerprint) -> Option<NameEntry> {
        self.names.get(&name).cloned().or_else(|| self.venue.name(name))
    }

    fn names_count(&self, user: UserNo) -> (u64, u32) {
        let own = self.names_counts.get(&user).copied();
        (self.names_count, own.unwrap_or_else(|| self.venue.idempotency.names_of(user)))
    }

    fn give_name(&mut self, _: TimeMs, name: Fingerprint, entry: NameEntry) {
        let before = self.name(name).map_or(0, |before| before.firsts.len());
        self.count_names(entry.user, entry.firsts.len(), before);
        self.names.insert(name, entry);
    }

    fn add_part(&mut self, name: Fingerprint, user: UserNo, first: (u8, Sequence)) {
        if let Some(mut entry) = self.name(name) {
            entry.firsts.push(first);
            self.names.insert(name, entry);
            self.count_names(user, 1, 0);
        }
    }

    fn borrow_plan(&mut self) -> Plan {
        Plan::within(self.met_left)
    }

    fn return_plan(&mut self, plan: Plan) {
        self.met_left = self.met_left.saturating_sub(plan.acts.len());
    }

    fn admit_replacement(
        &self,
        replaced: OrderNo,
        terms: &PlaceOrder,
        at: Stamp,
    ) -> Result<(), Stop> {
        self.clone().try_replacement(replaced, terms, at)
    }
}
