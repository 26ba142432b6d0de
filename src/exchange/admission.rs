//! What an order must pass before anything happens: every check of semantics 4 and 5, in order of
//! precedence. Nothing changes here.

use super::book::Level;
use super::command::{Direction, PlaceOrder, SelfTradePrevention, TimeInForce};
use super::ids::{OrderNo, UserNo};
use super::invariant::Broken;
use super::ledger::Purse;
use super::lifecycle::MarketStatus;
use super::orders::{Order, RestingOrder, Slot};
use super::reject::Reject;
use super::units::{Lots, Tick};
use super::{Exchange, Stamp, Stop};

/// Orders that a fill-or-kill order looks at one by one before it goes by levels and its owner's
/// own orders: few fills need more.
const PASSED_ONE_BY_ONE: usize = 8;

/// Whether the limit of an order in this direction reaches a price on the other side.
fn reaches(direction: Direction, limit: Tick, tick: Tick) -> bool {
    match direction {
        Direction::Up => tick <= limit,
        Direction::Down => tick >= limit,
    }
}

/// Contracts and funds.
pub(super) fn admit_backing(order: &Order, purse: &Purse) -> Result<(), Stop> {
    if order.condition.reduce_only() && !order.backing.cash.is_zero() {
        return Err(Stop::Refused(Reject::ReduceOnlyExceeded));
    }
    if !purse.affords(order.terms(), order.backing)? {
        return Err(Stop::Refused(Reject::InsufficientFunds));
    }
    Ok(())
}

impl Exchange {
    /// Market, time and limits, in order of precedence; hands out the owner's purse.
    pub(super) fn admit_order(&self, terms: &PlaceOrder, at: Stamp) -> Result<Purse, Stop> {
        self.known_user(terms.user)?;
        if let Some(trader) = terms.copy_from {
            self.known_user(trader)?;
        }
        self.admit_trading(terms.user)?;
        self.admit_alive(terms.user, at)?;
        let market = self.public_market(terms.market)?;
        if market.status_at(at.time) != MarketStatus::Active {
            return Err(Stop::Refused(Reject::MarketNotActive));
        }
        let rests = match terms.time_in_force {
            TimeInForce::GoodTillCancelled { expires_at } => {
                if expires_at.is_some_and(|expires_at| at.time >= expires_at) {
                    return Err(Stop::Refused(Reject::OrderTooLate));
                }
                true
            }
            TimeInForce::ImmediateOrCancel | TimeInForce::FillOrKill => false,
        };
        if terms.valid_until.is_some_and(|valid_until| at.time > valid_until) {
            return Err(Stop::Refused(Reject::OrderTooLate));
        }
        let rules = self.rules_in_force()?;
        if rests
            && (self.orders.count_of(terms.user) >= rules.user_open_orders_max
                || self.orders.count() >= rules.venue_open_orders_max)
        {
            return Err(Stop::Refused(Reject::OpenOrderLimit));
        }
        Ok(self.ledger.purse(terms.user, terms.market)?)
    }

    /// A post-only order may meet nothing that stands, its owner's own orders included.
    pub(super) fn admit_crossing(&self, order: &Order, at: Stamp) -> Result<(), Stop> {
        if order.condition.post_only() {
            for slot in self.reachable(order)? {
                if self.due_cancel_reason(&self.orders.get(slot)?, at.time)?.is_none() {
                    return Err(Stop::Refused(Reject::PostOnlyWouldCross));
                }
            }
        }
        Ok(())
    }

    /// Whether the whole order would be filled under its self-trade mode: with `CANCEL_MAKER`
    /// everything but its owner's orders counts, else nothing behind the first of them.
    ///
    /// An order that is killed uses nothing up and may be asked again and again, so no long queue
    /// is gone through for one: its levels say how much there is, and its owner's own orders, which
    /// are bounded, how much of that does not count.
    pub(super) fn fillable(&self, order: &Order, at: Stamp) -> Result<bool, Broken> {
        let wanted = order.backing.remaining()?;
        let mut stands = Lots::ZERO;
        for (_, level) in self.reachable_levels(order)? {
            stands = stands.plus(level.quantity)?;
        }
        if stands < wanted {
            return Ok(false);
        }
        // What is due but not journaled does not count, and no level tells how much that is. A
        // clock command comes before what is asked, so there is none but in others' journals.
        let none_is_gone = self.next_due().is_none_or(|due| due > at.time);
        let mut found = Lots::ZERO;
        for (passed, slot) in self.reachable(order)?.enumerate() {
            if passed >= PASSED_ONE_BY_ONE && none_is_gone {
                return self.fillable_by_levels(order, stands);
            }
            let maker = self.orders.get(slot)?;
            if self.due_cancel_reason(&maker, at.time)?.is_some() {
                continue;
            }
            if maker.user == order.user {
                match order.self_trade {
                    SelfTradePrevention::CancelMaker => continue,
                    SelfTradePrevention::CancelTaker | SelfTradePrevention::CancelBoth => break,
                }
            }
            found = found.plus(maker.backing.remaining()?)?;
            if found >= wanted {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The same where `stands` is all that the order reaches and none of it is due: at most one
    /// level's queue is gone through, if the first of its owner's orders stands there.
    fn fillable_by_levels(&self, order: &Order, stands: Lots) -> Result<bool, Broken> {
        let (wanted, side) = (order.backing.remaining()?, order.direction().opposite());
        let (mut own, mut nearest): (Lots, Option<Tick>) = (Lots::ZERO, None);
        for slot in self.orders.of_user_oldest_first(order.user, Some(order.market))? {
            let RestingOrder { side: its, price, remaining, .. } = self.orders.standing(slot)?;
            if its == side && reaches(order.direction(), order.price, price) {
                own = own.plus(remaining)?;
                nearest = Some(match (side, nearest) {
                    (_, None) => price,
                    (Direction::Up, Some(before)) => price.max(before),
                    (Direction::Down, Some(before)) => price.min(before),
                });
            }
        }
        let nearest = match (order.self_trade, nearest) {
            (_, None) => return Ok(stands >= wanted),
            (SelfTradePrevention::CancelMaker, Some(_)) => {
                return Ok(stands.minus(own)? >= wanted);
            }
            (SelfTradePrevention::CancelTaker | SelfTradePrevention::CancelBoth, Some(tick)) => {
                tick
            }
        };
        let mut found = Lots::ZERO;
        for (tick, level) in self.reachable_levels(order)? {
            if found >= wanted || tick == nearest {
                break;
            }
            found = found.plus(level.quantity)?;
        }
        let book = &self.market_state(order.market)?.book;
        for slot in book.queue(&self.orders, side, nearest) {
            if found >= wanted || self.orders.home(slot)?.0 == order.user {
                break;
            }
            found = found.plus(self.orders.standing(slot)?.remaining)?;
        }
        Ok(found >= wanted)
    }

    /// The resting orders that an order's limit reaches, in the order of matching.
    pub(super) fn reachable(
        &self,
        order: &Order,
    ) -> Result<impl Iterator<Item = Slot> + '_, Broken> {
        let book = &self.market_state(order.market)?.book;
        let side = order.direction().opposite();
        let levels = self.reachable_levels(order)?;
        Ok(levels.flat_map(move |(tick, _)| book.queue(&self.orders, side, tick)))
    }

    /// The price levels that an order's limit reaches, the best first.
    fn reachable_levels(
        &self,
        order: &Order,
    ) -> Result<impl Iterator<Item = (Tick, Level)> + '_, Broken> {
        let book = &self.market_state(order.market)?.book;
        let (direction, limit) = (order.direction(), order.price);
        let levels = book.levels(direction.opposite());
        Ok(levels.take_while(move |(tick, _)| reaches(direction, limit, *tick)))
    }

    /// A resting order of this user. The exchange keeps no memory of orders that no longer stand
    /// (script `pitfall_unknown_id`).
    pub(super) fn find_own(&self, user: UserNo, no: OrderNo) -> Result<Slot, Stop> {
        let slot = self.orders.find(no).ok_or(Reject::OrderNotOpen)?;
        if self.orders.home(slot)?.0 == user {
            Ok(slot)
        } else {
            Err(Stop::Refused(Reject::OrderNotFound))
        }
    }
}
