//! A plan: what an incoming order would do to the book, made by reading it alone. Fill-or-kill asks
//! whether the plan is whole, post-only whether it is empty; `matching.rs` carries it out.

use std::ops::ControlFlow;

use super::command::{SelfTradePrevention, TimeInForce};
use super::effect::CancelReason;
use super::floor::{Floor, Met};
use super::invariant::Broken;
use super::orders::{Order, Slot};
use super::units::Lots;
use super::{Stamp, Stop};

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
