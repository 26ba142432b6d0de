//! The checks of an order before it changes anything: all of semantics 4 and 5, in order of
//! precedence. `matching.rs` calls them; nothing here changes the state.

use super::book::Level;
use super::command::{Direction, PlaceOrder, SelfTradePrevention, TimeInForce};
use super::due::Due;
use super::ids::{OrderNo, UserNo};
use super::invariant::Broken;
use super::ledger::Purse;
use super::lifecycle::MarketStatus;
use super::orders::{Order, RestingOrder, Slot};
use super::reject::Reject;
use super::units::{Lots, Tick};
use super::{Exchange, Stamp, Stop};

/// Resting orders that a fill-or-kill order is checked against one by one before it is checked by
/// price levels: few need more.
const CHECKED_ONE_BY_ONE: usize = 8;

/// Whether the limit of an order in this direction reaches a price on the other side.
fn reaches(direction: Direction, limit: Tick, tick: Tick) -> bool {
    match direction {
        Direction::Up => tick <= limit,
        Direction::Down => tick >= limit,
    }
}

/// Checks reduce-only and available money.
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
    /// Checks users, modes, market, times and order limits, in order of precedence. Returns the
    /// owner's purse.
    pub(super) fn admit_order(&self, terms: &PlaceOrder, at: Stamp) -> Result<Purse, Stop> {
        self.known_user(terms.user)?;
        if let Some(trader) = terms.copy_from {
            self.known_user(trader)?;
        }
        self.admit_trading(terms.user)?;
        self.admit_heartbeat(terms.user, at)?;
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

    /// A post-only order must not cross any resting order, its owner's own included.
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
    /// everything but its owner's orders counts, else nothing behind the first of them. An order
    /// that is due but not yet cancelled does not count.
    ///
    /// A killed order costs its owner nothing and can be repeated at will, so the check must stay
    /// cheap on long queues: beyond a few orders the levels give the quantity, and the owner's own
    /// orders and those that are due what to subtract. While many are due, all over the venue, the
    /// orders of this one market are fewer.
    pub(super) fn fillable(&self, order: &Order, at: Stamp) -> Result<bool, Broken> {
        let wanted = order.backing.remaining()?;
        let few_are_due = self.schedule.few_are_due(at.time);
        let mut found = Lots::ZERO;
        for (checked, slot) in self.reachable(order)?.enumerate() {
            if checked >= CHECKED_ONE_BY_ONE && few_are_due {
                return self.fillable_by_levels(order, at);
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

    /// As [`Exchange::fillable`]. Walks one level's queue at most: that of the owner's nearest
    /// order.
    fn fillable_by_levels(&self, order: &Order, at: Stamp) -> Result<bool, Broken> {
        let (wanted, side) = (order.backing.remaining()?, order.direction().opposite());
        let mut all = Lots::ZERO;
        for (_, level) in self.reachable_levels(order)? {
            all = all.plus(level.quantity)?;
        }
        if all < wanted {
            return Ok(false);
        }
        let due = self.due_within(order, at)?;
        let is_due = |slot: &Slot| due.binary_search(slot).is_ok();
        let (mut own, mut nearest): (Lots, Option<Tick>) = (Lots::ZERO, None);
        for slot in self.orders.of_user_in(order.user, order.market) {
            let slot = slot?;
            if let Some((price, remaining)) = self.within(order, slot)?
                && !is_due(&slot)
            {
                own = own.plus(remaining)?;
                nearest = Some(match (side, nearest) {
                    (_, None) => price,
                    (Direction::Up, Some(before)) => price.max(before),
                    (Direction::Down, Some(before)) => price.min(before),
                });
            }
        }
        let stops = order.self_trade != SelfTradePrevention::CancelMaker;
        let nearest = nearest.filter(|_| stops);
        // All levels, or those before the nearest at which the order must stop.
        let mut found = Lots::ZERO;
        for (tick, level) in self.reachable_levels(order)? {
            if Some(tick) == nearest {
                break;
            }
            found = found.plus(level.quantity)?;
        }
        for slot in &due {
            let RestingOrder { price, remaining, .. } = self.orders.resting(*slot)?;
            // What is at that level or behind it was not added.
            let added = nearest.is_none_or(|nearest| {
                price != nearest && reaches(order.direction(), nearest, price)
            });
            if added {
                found = found.minus(remaining)?;
            }
        }
        let Some(nearest) = nearest else { return Ok(found.minus(own)? >= wanted) };
        let book = &self.market_state(order.market)?.book;
        for slot in book.queue(&self.orders, side, nearest) {
            if found >= wanted {
                break;
            }
            if is_due(&slot) {
                continue;
            }
            if self.orders.owner_and_market(slot)?.0 == order.user {
                break;
            }
            found = found.plus(self.orders.resting(slot)?.remaining)?;
        }
        Ok(found >= wanted)
    }

    /// The resting orders within the order's limit that are due but not yet cancelled, in the order
    /// of slots. There are some only between the moment at which they are due and the clock record
    /// that cancels them, which walks them too.
    fn due_within(&self, order: &Order, at: Stamp) -> Result<Vec<Slot>, Broken> {
        let mut due_slots = Vec::new();
        let mut add = |slot: Slot| -> Result<(), Broken> {
            if self.within(order, slot)?.is_some() {
                due_slots.push(slot);
            }
            Ok(())
        };
        for due in self.schedule.due_by(at.time) {
            match due {
                Due::Expiry(no) => add(self.orders.find(no).ok_or(Broken::Dangling)?)?,
                Due::Heartbeat(user) | Due::Abandoned(user) => {
                    self.orders.of_user_in(user, order.market).try_for_each(|slot| add(slot?))?;
                }
                // After its own market's deadline the order is refused.
                Due::Deadline(_) | Due::WindowEnd(_) | Due::Ending(_) => {}
            }
        }
        due_slots.sort_unstable();
        due_slots.dedup();
        Ok(due_slots)
    }

    /// Price and quantity of a resting order, if the incoming order's limit reaches it.
    fn within(&self, order: &Order, slot: Slot) -> Result<Option<(Tick, Lots)>, Broken> {
        let RestingOrder { side, price, remaining, .. } = self.orders.resting(slot)?;
        let met = self.orders.owner_and_market(slot)?.1 == order.market
            && side == order.direction().opposite()
            && reaches(order.direction(), order.price, price);
        Ok(met.then_some((price, remaining)))
    }

    /// The resting orders that an order's limit reaches, in price-time priority.
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

    /// A resting order of this user. The exchange does not remember orders that are no
    /// longer open (script `pitfall_unknown_id`).
    pub(super) fn find_own(&self, user: UserNo, no: OrderNo) -> Result<Slot, Stop> {
        let slot = self.orders.find(no).ok_or(Reject::OrderNotOpen)?;
        if self.orders.owner_and_market(slot)?.0 == user {
            Ok(slot)
        } else {
            Err(Stop::Refused(Reject::OrderNotFound))
        }
    }
}
