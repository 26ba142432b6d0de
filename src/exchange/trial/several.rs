//! A trial of several orders and cancels of one user, one after the other.
//!
//! Each step must be checked against the state that the steps before it leave, so the checks too
//! run on the excerpt. It holds everything that a step can meet or refer to: on each side of each
//! market enough resting orders for all quantities together, the orders to cancel, and the orders
//! whose client order ids are repeated. The user's open orders and contracts elsewhere are not
//! copied; order limits and costs are adjusted for them. Names do not expire during a trial.

use std::collections::BTreeMap;

use super::{Excerpt, Tried};
use crate::command::{Command, Direction, IdempotencyKey, PlaceOrder, Record};
use crate::effect::Effect;
use crate::ids::{MarketNo, OrderNo, Token, UserNo};
use crate::invariant::Broken;
use crate::orders::{Backing, Order};
use crate::reject::Reject;
use crate::units::{Lots, Money, Sequence, TimeMs};
use crate::{Exchange, Stamp, Stop};

/// The number of something that does not exist.
const NO_NUMBER: u32 = u32::MAX;

/// One step of a trial of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Places an order.
    Place(PlaceOrder),
    /// Cancels an order.
    Cancel {
        /// The newest order to which an earlier step gave this client order id, if any did.
        name: Option<Token>,
        /// Otherwise this order.
        order: Option<OrderNo>,
    },
}

/// A step, and the idempotency key that it is sent with.
pub type KeyedStep = (Step, Option<Box<IdempotencyKey>>);

impl Exchange {
    /// The effects that these steps of one user would have as the next records, all at `time` (or
    /// at the time of the last record, if that is later). `None` if they could meet more resting
    /// orders than `met_max`, including the user's own that they refer to; this bound is needed
    /// because the orders to copy are chosen before anyone checks the user's money.
    ///
    /// # Errors
    /// [`Broken`] if the state contradicts itself.
    pub fn trial_of_several(
        &self,
        user: UserNo,
        steps: &[KeyedStep],
        time: TimeMs,
        met_max: usize,
    ) -> Result<Option<Vec<Vec<Effect>>>, Broken> {
        let at = Stamp { sequence: self.sequence.next(), time: time.max(self.time) };
        let mut excerpt = Excerpt::of(self);
        if !excerpt.prepare(user, steps, at, met_max)? {
            return Ok(None);
        }
        let (mut all, mut placed) = (Vec::new(), Vec::new());
        let mut next = at.sequence;
        for (step, once) in steps {
            let effects = if let Some(command) = step.clone().resolved(user, &placed) {
                let record = Record { sequence: next, time: at.time, once: once.clone(), command };
                next = next.next();
                excerpt.take(user, &record)?
            } else {
                vec![Effect::Refused(Reject::OrderNotFound)]
            };
            let order = effects.iter().find_map(|effect| match effect {
                Effect::OrderAccepted { order, .. } => Some(*order),
                Effect::Repeated { first } => Some(OrderNo(*first)),
                _ => None,
            });
            if let Step::Place(PlaceOrder { client_order_id: Some(name), .. }) = step {
                placed.extend(order.map(|order| (**name, order)));
            }
            all.push(effects);
        }
        Ok(Some(all))
    }
}

impl Step {
    /// The step's command, given the orders that the steps before it placed; `None` if there is no
    /// such order.
    fn resolved(self, user: UserNo, placed: &[(Token, OrderNo)]) -> Option<Command> {
        match self {
            Step::Place(terms) => Some(Tried::Place(terms).into()),
            Step::Cancel { name, order } => {
                let newest = placed.iter().rev().find(|(given, _)| Some(*given) == name);
                let of_step = newest.map(|(_, order)| *order);
                of_step.or(order).map(|order| Command::CancelOrder { user, order })
            }
        }
    }
}

impl Excerpt<'_> {
    /// Copies everything that the steps can meet or refer to; false if that is too much.
    fn prepare(
        &mut self,
        user: UserNo,
        steps: &[KeyedStep],
        at: Stamp,
        met_max: usize,
    ) -> Result<bool, Broken> {
        let whole = self.whole;
        let here = self.user(user)?;
        self.part.restrictions.venue = whole.restrictions.venue;
        if let Some(restrictions) = self.part.restrictions.users.get_mut(here.index()) {
            *restrictions = whole.restrictions.of(user);
        }
        for furthest in self.furthest_orders(user, steps, at)? {
            if !self.copy_reachable(&furthest, at, met_max)? {
                return Ok(false);
            }
        }
        for (step, once) in steps {
            let (asked, cancelled) = match step {
                Step::Place(terms) => (Command::PlaceOrder(terms.clone()), None),
                Step::Cancel { order, .. } => (Command::AdvanceClock, *order),
            };
            let once = once.clone();
            let record = Record { sequence: at.sequence, time: at.time, once, command: asked };
            let named = whole.first_executions(&record).into_iter().map(OrderNo);
            for order in named.chain(cancelled) {
                if self.order_numbers.contains_key(&order) {
                    continue;
                }
                match whole.order(order) {
                    Some(order) => self.copy_order(&order)?,
                    None => drop(self.number(order)),
                }
            }
            let Excerpt { part, order_numbers, .. } = self;
            let number = |first| order_numbers.get(&OrderNo(first)).map_or(first, |here| here.0);
            part.copy_names(whole, &record, number);
        }
        self.part.copy_names_count(whole, user);
        self.part.ledger.set_costs(here, whole.ledger.costs_of(user)?)?;
        let (all, own) = (self.part.orders.count(), self.part.orders.count_of(here));
        if let Some(rules) = self.part.rules.as_mut() {
            let less =
                |max: u32, whole: u32, part: u32| max.saturating_sub(whole.saturating_sub(part));
            let (of_user, of_all) = (rules.user_open_orders_max, rules.venue_open_orders_max);
            rules.user_open_orders_max = less(of_user, whole.orders.count_of(user), own);
            rules.venue_open_orders_max = less(of_all, whole.orders.count(), all);
        }
        Ok(true)
    }

    /// For each side of each market one order with the furthest limit of all steps there, and their
    /// total quantity.
    fn furthest_orders(
        &mut self,
        user: UserNo,
        steps: &[KeyedStep],
        at: Stamp,
    ) -> Result<Vec<Order>, Broken> {
        let mut furthest_orders: BTreeMap<(MarketNo, bool), (PlaceOrder, Lots)> = BTreeMap::new();
        for (step, _) in steps {
            let Step::Place(terms) = step else { continue };
            if self.whole.market(terms.market).is_none() {
                continue;
            }
            self.copy_owner(user, terms.market)?;
            let limit = |terms: &PlaceOrder| terms.wording.yes_price(terms.price);
            let up = terms.wording.direction() == Direction::Up;
            let (furthest, sum) =
                furthest_orders.entry((terms.market, up)).or_insert((terms.clone(), Lots::ZERO));
            *sum = sum.plus(terms.quantity)?;
            if if up { limit(terms) > limit(furthest) } else { limit(terms) < limit(furthest) } {
                *furthest = terms.clone();
            }
        }
        let order = |(terms, cash): (PlaceOrder, Lots)| {
            let backing = Backing { contracts: Lots::ZERO, cash, fees: Money::ZERO };
            Order::new(OrderNo(at.sequence), &terms, backing)
        };
        Ok(furthest_orders.into_values().map(order).collect())
    }

    /// Executes a record of the whole on the excerpt, and returns its effects in the whole's
    /// numbers.
    fn take(&mut self, user: UserNo, record: &Record) -> Result<Vec<Effect>, Broken> {
        let here = self.command(user, &record.command)?;
        let sequence = self.number(OrderNo(record.sequence)).0;
        let (at, mut effects) = (Stamp { sequence, time: record.time }, Vec::new());
        match self.part.execute(record, &here, at, &mut effects) {
            Ok(()) => self.all_to_whole(effects),
            Err(Stop::Refused(reject)) => Ok(vec![Effect::Refused(reject)]),
            Err(Stop::Broken(broken)) => Err(broken),
        }
    }

    /// A command in the excerpt's numbers.
    fn command(&mut self, user: UserNo, command: &Command) -> Result<Command, Broken> {
        let user = self.user(user)?;
        Ok(match command {
            Command::PlaceOrder(terms) => {
                let there = self.whole.market(terms.market).is_some();
                let market = if there { self.market(terms.market)? } else { MarketNo(NO_NUMBER) };
                let copies = |copied: UserNo| match self.whole.known_user(copied) {
                    Ok(()) => self.user(copied),
                    Err(_) => Ok(UserNo(NO_NUMBER)),
                };
                let copy_from = terms.copy_from.map(copies).transpose()?;
                Command::PlaceOrder(PlaceOrder { user, market, copy_from, ..terms.clone() })
            }
            Command::CancelOrder { order, .. } => {
                let nothing = OrderNo(Sequence::new(u64::MAX));
                let order = self.order_numbers.get(order).copied().unwrap_or(nothing);
                Command::CancelOrder { user, order }
            }
            other => other.clone(),
        })
    }
}
