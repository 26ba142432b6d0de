//! What several orders and cancels of one user would come to, asked one after the other.
//!
//! Each must be judged by the state that those before it leave, so the checks too run on the
//! excerpt. It holds all that any of them can meet or name: of each side of each market so much as
//! their quantities come to together, the orders that are cancelled, and the orders whose names are
//! given again. What an excerpt would not count by itself is set: the user's open orders, and
//! contracts in other markets. How long names are remembered is not tried: a name is free or taken
//! as it is when the first is asked.

use std::collections::BTreeMap;

use super::{Excerpt, Tried};
use crate::exchange::command::{Command, Direction, IdempotencyKey, PlaceOrder, Record};
use crate::exchange::effect::Effect;
use crate::exchange::ids::{MarketNo, OrderNo, Token, UserNo};
use crate::exchange::invariant::Broken;
use crate::exchange::orders::{Backing, Order};
use crate::exchange::reject::Reject;
use crate::exchange::units::{Lots, Money, Sequence, TimeMs};
use crate::exchange::{Exchange, Stamp, Stop};

/// The number of what is not there.
const NOTHING: u32 = u32::MAX;

/// One of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Places an order.
    Place(PlaceOrder),
    /// Cancels an order.
    Cancel {
        /// The newest to which a step before gave this name, if one did.
        name: Option<Token>,
        /// Otherwise this one.
        order: Option<OrderNo>,
    },
}

/// A step, and the key under which it is asked.
pub type KeyedStep = (Step, Option<Box<IdempotencyKey>>);

impl Exchange {
    /// The effects that records with these steps would have, were they the next ones, of this user
    /// and all stamped `time` (or with the time of the last record, if that is later). `None` where
    /// they could meet more orders than `met_max`, with their user's own that they name: whoever
    /// tries several need not have the money for all that they could meet.
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
    /// The command that it comes to after those before it; `None` where there is no such order.
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
    /// Takes in all that the steps can meet or name; false where that is too much.
    fn prepare(
        &mut self,
        user: UserNo,
        steps: &[KeyedStep],
        at: Stamp,
        met_max: usize,
    ) -> Result<bool, Broken> {
        let whole = self.whole;
        let here = self.user(user)?;
        self.part.standings.venue = whole.standings.venue;
        if let Some(standing) = self.part.standings.users.get_mut(here.index()) {
            *standing = whole.standings.of(user);
        }
        for reach in self.reaches(user, steps, at)? {
            if !self.take_in_met(&reach, at, met_max)? {
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
            let named = whole.firsts_of(&record).into_iter().map(OrderNo);
            for order in named.chain(cancelled) {
                if self.numbers.contains_key(&order) {
                    continue;
                }
                match whole.order(order) {
                    Some(order) => self.take_in(&order)?,
                    None => drop(self.number(order)),
                }
            }
            let Excerpt { part, numbers, .. } = self;
            let number = |first| numbers.get(&OrderNo(first)).map_or(first, |here| here.0);
            part.take_names(whole, &record, number);
        }
        self.part.hold_names(whole, user);
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

    /// For each side of each market an order that reaches as far as any step does, for all that
    /// they ask for there together.
    fn reaches(
        &mut self,
        user: UserNo,
        steps: &[KeyedStep],
        at: Stamp,
    ) -> Result<Vec<Order>, Broken> {
        let mut reaches: BTreeMap<(MarketNo, bool), (PlaceOrder, Lots)> = BTreeMap::new();
        for (step, _) in steps {
            let Step::Place(terms) = step else { continue };
            if self.whole.market(terms.market).is_none() {
                continue;
            }
            self.take_in_owner(user, terms.market)?;
            let limit = |terms: &PlaceOrder| terms.wording.yes_price(terms.price);
            let up = terms.wording.direction() == Direction::Up;
            let (furthest, sum) =
                reaches.entry((terms.market, up)).or_insert((terms.clone(), Lots::ZERO));
            *sum = sum.plus(terms.quantity)?;
            if if up { limit(terms) > limit(furthest) } else { limit(terms) < limit(furthest) } {
                *furthest = terms.clone();
            }
        }
        let order = |(terms, cash): (PlaceOrder, Lots)| {
            let backing = Backing { contracts: Lots::ZERO, cash, fees: Money::ZERO };
            Order::new(OrderNo(at.sequence), &terms, backing)
        };
        Ok(reaches.into_values().map(order).collect())
    }

    /// Does what a record of the whole's asks here, and says what came of it.
    fn take(&mut self, user: UserNo, record: &Record) -> Result<Vec<Effect>, Broken> {
        let here = self.command(user, &record.command)?;
        let sequence = self.number(OrderNo(record.sequence)).0;
        let (at, mut effects) = (Stamp { sequence, time: record.time }, Vec::new());
        match self.part.carry_out(record, &here, at, &mut effects) {
            Ok(()) => self.told(effects),
            Err(Stop::Refused(reject)) => Ok(vec![Effect::Refused(reject)]),
            Err(Stop::Broken(broken)) => Err(broken),
        }
    }

    /// A command in the numbers of the excerpt.
    fn command(&mut self, user: UserNo, command: &Command) -> Result<Command, Broken> {
        let user = self.user(user)?;
        Ok(match command {
            Command::PlaceOrder(terms) => {
                let there = self.whole.market(terms.market).is_some();
                let market = if there { self.market(terms.market)? } else { MarketNo(NOTHING) };
                let copies = |copied: UserNo| match self.whole.known_user(copied) {
                    Ok(()) => self.user(copied),
                    Err(_) => Ok(UserNo(NOTHING)),
                };
                let copy_from = terms.copy_from.map(copies).transpose()?;
                Command::PlaceOrder(PlaceOrder { user, market, copy_from, ..terms.clone() })
            }
            Command::CancelOrder { order, .. } => {
                let nothing = OrderNo(Sequence::new(u64::MAX));
                let order = self.numbers.get(order).copied().unwrap_or(nothing);
                Command::CancelOrder { user, order }
            }
            other => other.clone(),
        })
    }
}
