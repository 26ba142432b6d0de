//! Placing, matching, amending and cancelling orders (semantics 4 and 5).
//!
//! A command first passes every check (`admission.rs`), then what it meets is planned (`plan.rs`),
//! then the plan is carried out completely. The owner's purse stays in hand meanwhile: it is stored
//! once.

use super::admission::{Amendment, Incoming, admit_amend, admit_crossing, admit_order, find_own};
use super::command::{PlaceOrder, TimeInForce};
use super::effect::{CancelReason, Effect, Party, Trade};
use super::fees::Fees;
use super::ids::{Group, KeyNo, MarketNo, OrderNo, TradeIndex, UserNo};
use super::invariant::Broken;
use super::ledger::Purse;
use super::orders::{Order, Slot};
use super::plan::{Act, Floor, Plan};
use super::units::{Lots, Tick};
use super::{Exchange, Stamp, Stop};

/// Places an order.
pub(super) fn place_order<F: Floor>(
    floor: &mut F,
    terms: &PlaceOrder,
    at: Stamp,
    effects: &mut Vec<Effect>,
) -> Result<(), Stop> {
    let mut incoming = admit_order(floor, terms, at)?;
    let plan = Plan::of(floor, &incoming.order, terms.time_in_force, at)?;
    let done = execute_order(floor, terms, &mut incoming, &plan, effects);
    floor.return_plan(plan);
    done
}

fn execute_order<F: Floor>(
    floor: &mut F,
    terms: &PlaceOrder,
    incoming: &mut Incoming,
    plan: &Plan,
    effects: &mut Vec<Effect>,
) -> Result<(), Stop> {
    let Incoming { order, purse } = incoming;
    admit_crossing(order, plan)?;
    effects.push(Effect::OrderAccepted { order: order.no, terms: terms.clone() });
    let leftover = match terms.time_in_force {
        TimeInForce::FillOrKill if !plan.is_whole() => {
            push_cancelled(order, CancelReason::FokNotFillable, false, effects)?;
            report(order, purse, effects);
            return Ok(());
        }
        TimeInForce::GoodTillCancelled { .. } => plan.stop,
        TimeInForce::ImmediateOrCancel | TimeInForce::FillOrKill => {
            plan.stop.or(Some(CancelReason::IocRemainder))
        }
    };
    purse.lock(order.terms(), order.backing)?;
    Ok(commit(floor, plan, incoming, leftover, effects)?)
}

/// Changes a resting order. At the same price with no larger a quantity it keeps its time priority;
/// anything else goes to the back of the queue and may trade (semantics 8). One that changes
/// nothing has no effect.
pub(super) fn amend_order<F: Floor>(
    floor: &mut F,
    (user, no): (UserNo, OrderNo),
    price: Option<Tick>,
    quantity: Option<Lots>,
    at: Stamp,
    effects: &mut Vec<Effect>,
) -> Result<(), Stop> {
    let Some(amendment) = admit_amend(floor, (user, no), price, quantity, at)? else {
        return Ok(());
    };
    let Amendment { slot, before, mut incoming, kept_place } = amendment;
    let order = incoming.order;
    if kept_place {
        incoming.amend(&before, true, effects)?;
        let less = before.backing.remaining()?.minus(order.backing.remaining()?)?;
        incoming.put(floor)?;
        floor.lessen(slot, &order, less)?;
        effects.push(incoming.purse.account.changed(user));
        return Ok(());
    }
    // An order that lost its priority matches like a new one: script pitfall_crossed_by_amend.
    let force = TimeInForce::GoodTillCancelled { expires_at: order.expires_at };
    let plan = Plan::of(floor, &order, force, at)?;
    let done = execute_amend(floor, (slot, &before), &mut incoming, &plan, effects);
    floor.return_plan(plan);
    done
}

fn execute_amend<F: Floor>(
    floor: &mut F,
    (slot, before): (Slot, &Order),
    incoming: &mut Incoming,
    plan: &Plan,
    effects: &mut Vec<Effect>,
) -> Result<(), Stop> {
    admit_crossing(&incoming.order, plan)?;
    incoming.amend(before, false, effects)?;
    incoming.put(floor)?;
    floor.take_off(slot, before)?;
    Ok(commit(floor, plan, incoming, plan.stop, effects)?)
}

impl Incoming {
    fn put<F: Floor>(&self, floor: &mut F) -> Result<(), Broken> {
        floor.put(self.order.user, self.order.market, &self.purse)
    }

    /// Backs an amended order anew, and reports it and its owner's position.
    fn amend(
        &mut self,
        before: &Order,
        kept_place: bool,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let Incoming { order, purse } = self;
        effects.push(Effect::OrderAmended {
            order: order.no,
            user: order.user,
            market: order.market,
            direction: order.direction(),
            price_before: before.price,
            price: order.price,
            remaining_before: before.backing.remaining()?,
            quantity: order.quantity,
            remaining: order.backing.remaining()?,
            kept_place,
        });
        purse.lock(order.terms(), order.backing)?;
        // What the order no longer needs.
        purse.merge()?;
        effects.push(purse.position_changed(order.user, order.market));
        Ok(())
    }
}

/// Carries out the plan of an order that is backed: trades and cancels, then rests what is left of
/// it, or cancels that if there is a reason.
fn commit<F: Floor>(
    floor: &mut F,
    plan: &Plan,
    incoming: &mut Incoming,
    leftover: Option<CancelReason>,
    effects: &mut Vec<Effect>,
) -> Result<(), Broken> {
    // A loop without a cap, and no recursion: script pitfall_long_sweep.
    let mut index = TradeIndex(0);
    for (slot, act) in &plan.acts {
        let maker = floor.order_in(*slot)?;
        match act {
            Act::Trade(quantity) => {
                trade(floor, incoming, (*slot, maker), *quantity, index, effects)?;
                index = TradeIndex(index.0.checked_add(1).ok_or(Broken::Capacity)?);
            }
            Act::Cancel(reason) if maker.user == incoming.order.user => {
                incoming.put(floor)?;
                cancel_resting(floor, *slot, &maker, *reason, effects)?;
                incoming.purse = floor.purse(maker.user, maker.market)?;
            }
            Act::Cancel(reason) => cancel_resting(floor, *slot, &maker, *reason, effects)?,
        }
    }
    let Incoming { order, purse } = incoming;
    let remaining = order.backing.remaining()?;
    match leftover {
        _ if remaining.is_zero() => {}
        Some(reason) => {
            purse.release(order.terms(), order.backing)?;
            push_cancelled(order, reason, false, effects)?;
        }
        None => {
            floor.rest(order)?;
            effects.push(Effect::OrderRested {
                order: order.no,
                user: order.user,
                market: order.market,
                direction: order.direction(),
                price: order.price,
                remaining,
            });
        }
    }
    report(order, purse, effects);
    if touches_position(order) {
        floor.put(order.user, order.market, purse)
    } else {
        floor.put_account(order.user, purse.account)
    }
}

/// One trade, at the resting order's price.
fn trade<F: Floor>(
    floor: &mut F,
    taker: &mut Incoming,
    (slot, mut maker): (Slot, Order),
    quantity: Lots,
    index: TradeIndex,
    effects: &mut Vec<Effect>,
) -> Result<(), Broken> {
    // Script pitfall_maker_price.
    let (market, price) = (maker.market, maker.price);
    let fees = floor.venue().market_state(market)?.fees;
    let resting = maker;
    let mut purse = floor.purse(maker.user, market)?;
    // Scripts pitfall_quantity_conserved, pitfall_zero_quantity.
    let maker_party = fill(&mut maker, &mut purse, quantity, price, fees, |fees| fees.maker)?;
    floor.put(maker.user, market, &purse)?;
    if maker_party.remaining.is_zero() {
        floor.take_off(slot, &resting)?;
    } else {
        floor.lessen(slot, &maker, quantity)?;
    }
    let Incoming { order, purse: taker_purse } = taker;
    let taker_party = fill(order, taker_purse, quantity, price, fees, |fees| fees.taker)?;
    floor.earn(maker_party.fee.plus(taker_party.fee)?)?;
    effects.push(Effect::TradeMade(Trade {
        index,
        market,
        price,
        quantity,
        taker_direction: order.direction(),
        taker: taker_party,
        maker: maker_party,
    }));
    effects.push(purse.position_changed(maker.user, market));
    effects.push(purse.account.changed(maker.user));
    Ok(())
}

/// Fills an order in part or whole, and its owner's purse. Returns how the trade left it.
fn fill(
    order: &mut Order,
    purse: &mut Purse,
    quantity: Lots,
    price: Tick,
    fees: Fees,
    rate: impl FnOnce(Fees) -> super::fees::FeeRate,
) -> Result<Party, Broken> {
    let part = order.backing.take(quantity)?;
    order.filled = order.filled.plus(quantity)?;
    let limit = (order.direction(), order.price);
    let charge = order.backing.charge(limit, part, price, (rate(fees), fees))?;
    purse.fill(order.terms(), price, part, charge)?;
    Ok(Party {
        order: order.no,
        user: order.user,
        remaining: order.backing.remaining()?,
        fee: charge.fee()?,
    })
}

/// Cancels one of a user's resting orders.
pub(super) fn cancel_order<F: Floor>(
    floor: &mut F,
    user: UserNo,
    no: OrderNo,
    at: Stamp,
    effects: &mut Vec<Effect>,
) -> Result<(), Stop> {
    floor.venue().known_user(user)?;
    floor.venue().admit_cancelling(user)?;
    let (slot, order) = find_own(floor, user, no)?;
    Ok(cancel_unless_due(floor, slot, &order, CancelReason::User, at, effects)?)
}

/// Cancels a resting order and places another of the same user's: both or neither.
pub(super) fn replace_order<F: Floor>(
    floor: &mut F,
    replaced: OrderNo,
    terms: &PlaceOrder,
    at: Stamp,
    effects: &mut Vec<Effect>,
) -> Result<(), Stop> {
    floor.admit_replacement(replaced, terms, at)?;
    cancel_order(floor, terms.user, replaced, at, effects)?;
    place_order(floor, terms, at, effects)
}

/// Cancels a resting order for `reason`, unless an earlier reason is due but not journaled yet.
fn cancel_unless_due<F: Floor>(
    floor: &mut F,
    slot: Slot,
    order: &Order,
    reason: CancelReason,
    at: Stamp,
    effects: &mut Vec<Effect>,
) -> Result<(), Broken> {
    let due = floor.venue().due_cancel_reason(order, at.time)?;
    cancel_resting(floor, slot, order, due.unwrap_or(reason), effects)
}

/// Cancels a resting order: takes it off its book and releases its backing.
fn cancel_resting<F: Floor>(
    floor: &mut F,
    slot: Slot,
    order: &Order,
    reason: CancelReason,
    effects: &mut Vec<Effect>,
) -> Result<(), Broken> {
    floor.take_off(slot, order)?;
    push_cancelled(order, reason, true, effects)?;
    let (user, market) = (order.user, order.market);
    if touches_position(order) {
        let mut purse = floor.purse(user, market)?;
        purse.release(order.terms(), order.backing)?;
        report(order, &purse, effects);
        return floor.put(user, market, &purse);
    }
    // Cash alone leaves the position as it is.
    let mut account = floor.account(user)?;
    account.free(order.terms().cash(order.backing)?)?;
    effects.push(account.changed(user));
    floor.put_account(user, account)
}

/// Whether an order may have changed its owner's position: it has traded, or contracts back it.
fn touches_position(order: &Order) -> bool {
    !order.filled.is_zero() || !order.backing.contracts.is_zero()
}

/// Reports that the rest of an order is cancelled.
fn push_cancelled(
    order: &Order,
    reason: CancelReason,
    rested: bool,
    effects: &mut Vec<Effect>,
) -> Result<(), Broken> {
    effects.push(Effect::OrderCancelled {
        order: order.no,
        user: order.user,
        market: order.market,
        direction: order.direction(),
        price: order.price,
        quantity: order.backing.remaining()?,
        rested,
        reason,
    });
    Ok(())
}

/// Reports the owner's position, where the order may have changed it, and account.
fn report(order: &Order, purse: &Purse, effects: &mut Vec<Effect>) {
    if touches_position(order) {
        effects.push(purse.position_changed(order.user, order.market));
    }
    effects.push(purse.account.changed(order.user));
}

impl Exchange {
    /// Cancels all of a user's resting orders, oldest first, or only those of a market, those of a
    /// group and those that were sent with a key.
    pub(super) fn cancel_orders(
        &mut self,
        user: UserNo,
        market: Option<MarketNo>,
        (group, key): (Option<Group>, Option<KeyNo>),
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.known_user(user)?;
        self.admit_cancelling(user)?;
        key.map_or(Ok(()), |key| self.known_key(user, key))?;
        let book = market.map(|market| self.public_market(market)).transpose()?;
        let book = book.map(|market| &market.book);
        let own = self.orders.count_of(user) as usize;
        // Whichever are few: a user with thousands of orders elsewhere could otherwise make cheap
        // commands expensive for everybody (script `pitfall_owners_list`).
        let mut slots = match (group, key, book) {
            (Some(group), ..) => self.orders.of_group(user, group).collect(),
            (None, Some(key), book) => match (self.orders.of_key(user, key), book) {
                (all, Some(book)) if book.orders_count() < all.len() => {
                    book.slots(&self.orders, own)
                }
                (all, _) => all.to_vec(),
            },
            (None, None, Some(book)) if book.orders_count() < own => book.slots(&self.orders, own),
            (None, None, _) => self.orders.of_user(user),
        };
        slots.retain(|slot| self.orders.is_among(*slot, user, market, key));
        Ok(self.cancel_all(slots, CancelReason::User, at, effects)?)
    }

    /// Cancels resting orders, oldest first, each unless an earlier reason is due.
    pub(super) fn cancel_all(
        &mut self,
        mut slots: Vec<Slot>,
        reason: CancelReason,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        self.orders.sort_oldest_first(&mut slots);
        for slot in slots {
            self.cancel_slot(slot, reason, at, effects)?;
        }
        Ok(())
    }

    /// Cancels a resting order for `reason`, unless an earlier reason is due.
    pub(super) fn cancel_slot(
        &mut self,
        slot: Slot,
        reason: CancelReason,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let order = self.orders.get(slot)?;
        cancel_unless_due(self, slot, &order, reason, at, effects)
    }
}
