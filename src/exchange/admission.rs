//! The checks of an order before it changes anything: all of semantics 4 and 5, in order of
//! precedence. `matching.rs` calls them; nothing here changes the state.

use super::command::{PlaceOrder, SeenTerms, TimeInForce};
use super::ids::{OrderNo, UserNo};
use super::invariant::Broken;
use super::ledger::Purse;
use super::market::{Market, MarketStatus};
use super::orders::{Order, Slot};
use super::plan::{Floor, Plan};
use super::reject::Reject;
use super::units::{Lots, MoneySum, Tick};
use super::{Exchange, Stamp, Stop};

/// An order on its way in, with its owner's purse, which is in hand until the order is done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Incoming {
    pub order: Order,
    pub purse: Purse,
}

/// An admitted amend, before it is executed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amendment {
    /// Where the order rests.
    pub slot: Slot,
    /// The resting order.
    pub before: Order,
    /// The amended order with its new backing; the purse has the old backing released, and the new
    /// one not yet locked.
    pub incoming: Incoming,
    /// Whether the order keeps its time priority.
    pub kept_place: bool,
}

/// The order that these terms make, and its owner's purse before it is backed. Every check of a
/// placement but [`admit_crossing`] is here.
pub(super) fn admit_order<F: Floor>(
    floor: &F,
    terms: &PlaceOrder,
    at: Stamp,
) -> Result<Incoming, Stop> {
    let venue = floor.venue();
    let market = admit_sender(venue, terms, at)?;
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
    let rules = venue.rules_in_force()?;
    let (all, own) = floor.open_orders(terms.user);
    if rests && (own >= rules.user_open_orders_max || all >= rules.venue_open_orders_max) {
        return Err(Stop::Refused(Reject::OpenOrderLimit));
    }
    let purse = floor.purse(terms.user, terms.market)?;
    let limit = (terms.wording.direction(), terms.wording.yes_price(terms.price));
    let backing = purse.backing_for(limit, terms.quantity, market.fees)?;
    let order = Order::new(OrderNo(at.sequence), terms, backing);
    admit_backing(floor, &order, &purse)?;
    Ok(Incoming { order, purse })
}

/// The market of an order whose sender may trade there.
pub(super) fn admit_sender<'a>(
    venue: &'a Exchange,
    terms: &PlaceOrder,
    at: Stamp,
) -> Result<&'a Market, Reject> {
    venue.known_user(terms.user)?;
    if let Some(trader) = terms.copy_from {
        venue.known_user(trader)?;
    }
    venue.admit_trading(terms.user)?;
    venue.admit_heartbeat(terms.user, terms.group.as_deref().copied(), at)?;
    terms.key.map_or(Ok(()), |key| venue.known_key(terms.user, key))?;
    venue.public_market(terms.market)
}

/// Checks reduce-only, available money and the exposure limit.
fn admit_backing<F: Floor>(floor: &F, order: &Order, purse: &Purse) -> Result<(), Stop> {
    if order.condition.reduce_only() && !order.backing.cash.is_zero() {
        return Err(Stop::Refused(Reject::ReduceOnlyExceeded));
    }
    if !purse.affords(order.terms(), order.backing)? {
        return Err(Stop::Refused(Reject::InsufficientFunds));
    }
    admit_exposure(floor, order, purse)
}

/// Whether a cash-backed order leaves its owner within the exposure limit, or no more exposed than
/// before. `purse` is the owner's before the order is backed.
fn admit_exposure<F: Floor>(floor: &F, order: &Order, purse: &Purse) -> Result<(), Stop> {
    let limit = floor.venue().restrictions.of(order.user).exposure_limit;
    let Some(limit) = limit.filter(|_| !order.backing.cash.is_zero()) else { return Ok(()) };
    let now = floor.purse(order.user, order.market)?;
    // What waits to be withdrawn is reserved, too, and at no risk; nor is a bond.
    let costs = floor.costs_of(order.user)?.minus(floor.venue().set_aside(order.user)?)?;
    let before = costs.plus(now.account.reserved)?;
    let mut after = costs.plus(purse.account.reserved)?;
    for (was, is) in now.position.costs().into_iter().zip(purse.position.costs()) {
        after = after.minus(was)?.plus(is)?;
    }
    after = after.plus(order.terms().cash(order.backing)?)?;
    if after > MoneySum::ZERO.plus(limit)? && after > before {
        return Err(Stop::Refused(Reject::ExposureLimit));
    }
    Ok(())
}

/// A post-only order must not cross any resting order, its owner's own included.
pub(super) fn admit_crossing(order: &Order, plan: &Plan) -> Result<(), Reject> {
    let crosses = order.condition.post_only() && !plan.is_empty();
    if crosses { Err(Reject::PostOnlyWouldCross) } else { Ok(()) }
}

/// Refuses an amend of an order that is no longer as its owner saw it. Whether it still rests is
/// for the amend to say.
pub(super) fn admit_seen<F: Floor>(
    floor: &F,
    (user, no): (UserNo, OrderNo),
    seen: Option<SeenTerms>,
) -> Result<(), Reject> {
    let Some(SeenTerms { price, quantity, filled }) = seen else { return Ok(()) };
    let changed = floor.find(no).and_then(|slot| floor.order_in(slot).ok()).is_some_and(|order| {
        let own = (order.price, order.quantity, order.filled);
        order.user == user && own != (order.wording.yes_price(price), quantity, filled)
    });
    if changed { Err(Reject::PreconditionFailed) } else { Ok(()) }
}

/// The amended order; `None` if nothing changes. Every check of an amend but [`admit_seen`] and
/// [`admit_crossing`] is here.
pub(super) fn admit_amend<F: Floor>(
    floor: &F,
    (user, no): (UserNo, OrderNo),
    price: Option<Tick>,
    quantity: Option<Lots>,
    at: Stamp,
) -> Result<Option<Amendment>, Stop> {
    let venue = floor.venue();
    venue.known_user(user)?;
    let keeps_contracts = venue.rules_in_force()?.amends_keep_contracts();
    // Before every other check: what an open order is already is never refused.
    if keeps_contracts && is_open_as(floor, (user, no), price, quantity, at)? {
        return Ok(None);
    }
    venue.admit_trading(user)?;
    let (slot, before) = find_own(floor, user, no)?;
    let over = venue.restrictions.silent(user, before.group, at.time);
    if before.expired(at.time) || over {
        return Err(Stop::Refused(Reject::OrderNotOpen));
    }
    let state = venue.market_state(before.market)?;
    if state.status_at(at.time) != MarketStatus::Active {
        return Err(Stop::Refused(Reject::MarketNotActive));
    }
    let mut order = before;
    order.price = price.map_or(before.price, |price| before.wording.yes_price(price));
    order.quantity = quantity.unwrap_or(before.quantity);
    let remaining = order.quantity.saturating_minus(order.filled);
    if remaining.is_zero() {
        return Err(Stop::Refused(Reject::QuantityFilled));
    }
    let kept_place = order.price == before.price && remaining <= before.backing.remaining()?;
    let mut purse = floor.purse(user, order.market)?;
    if keeps_contracts {
        purse.unlock(before.terms(), before.backing)?;
    } else {
        purse.release(before.terms(), before.backing)?;
    }
    order.backing = purse.backing_for((order.direction(), order.price), remaining, state.fees)?;
    admit_backing(floor, &order, &purse)?;
    Ok(Some(Amendment { slot, before, incoming: Incoming { order, purse }, kept_place }))
}

/// Whether this order of the user's is open, with this price and this total quantity where they are
/// given.
fn is_open_as<F: Floor>(
    floor: &F,
    (user, no): (UserNo, OrderNo),
    price: Option<Tick>,
    quantity: Option<Lots>,
    at: Stamp,
) -> Result<bool, Broken> {
    let Some(slot) = floor.find(no) else { return Ok(false) };
    let (venue, order) = (floor.venue(), floor.order_in(slot)?);
    let same = order.user == user
        && price.is_none_or(|price| order.wording.yes_price(price) == order.price)
        && quantity.is_none_or(|quantity| quantity == order.quantity);
    let keeps_orders = venue.market_state(order.market)?.status_at(at.time).keeps_orders();
    Ok(same && keeps_orders && venue.due_cancel_reason(&order, at.time)?.is_none())
}

/// A resting order of this user. The exchange does not remember orders that are no longer open
/// (script `pitfall_unknown_id`).
pub(super) fn find_own<F: Floor>(
    floor: &F,
    user: UserNo,
    no: OrderNo,
) -> Result<(Slot, Order), Stop> {
    let slot = floor.find(no).ok_or(Reject::OrderNotOpen)?;
    let order = floor.order_in(slot)?;
    if order.user == user { Ok((slot, order)) } else { Err(Stop::Refused(Reject::OrderNotFound)) }
}
