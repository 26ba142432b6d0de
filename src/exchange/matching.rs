//! Placing, matching, amending and cancelling orders (semantics 4 and 5).
//!
//! A command first passes every check (`admission.rs`), then is executed completely.

use super::admission::admit_backing;
use super::command::{PlaceOrder, SeenTerms, SelfTradePrevention, TimeInForce};
use super::due::Due;
use super::effect::{CancelReason, Effect, Party, Trade};
use super::fees::{Charge, FeeRate, Fees};
use super::ids::{MarketNo, OrderNo, TradeIndex, UserNo};
use super::invariant::Broken;
use super::ledger::{Purse, Terms};
use super::lifecycle::MarketStatus;
use super::orders::{Backing, Order, Slot};
use super::reject::Reject;
use super::units::{Lots, Tick};
use super::{Exchange, Stamp, Stop};

impl Order {
    /// The terms that the ledger needs.
    pub(super) fn terms(&self) -> Terms {
        Terms { direction: self.direction(), limit: self.price, copy_from: self.copy_from }
    }

    /// Charges a fill of this order: see [`Backing::charge`].
    fn charge(
        &mut self,
        part: Backing,
        price: Tick,
        rates: (FeeRate, Fees),
    ) -> Result<Charge, Broken> {
        let limit = (self.direction(), self.price);
        self.backing.charge(limit, part, price, rates)
    }
}

/// An admitted amend, before it is executed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amendment {
    /// The resting order.
    pub before: Order,
    /// The amended order, with its new backing.
    pub order: Order,
    /// The owner's purse, with the old backing released and the new one not yet locked.
    pub purse: Purse,
    /// Whether the order keeps its time priority.
    pub kept_place: bool,
}

impl Exchange {
    /// Places an order.
    pub(super) fn place_order(
        &mut self,
        terms: &PlaceOrder,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        let (order, purse) = self.admit_new_order(terms, at)?;
        Ok(self.execute_new_order(terms, order, purse, at, effects)?)
    }

    /// The order that these terms make, and its owner's purse before it is backed. Every check of
    /// an order is here.
    pub(super) fn admit_new_order(
        &self,
        terms: &PlaceOrder,
        at: Stamp,
    ) -> Result<(Order, Purse), Stop> {
        let purse = self.admit_order(terms, at)?;
        let fees = self.market_state(terms.market)?.fees;
        let limit = (terms.wording.direction(), terms.wording.yes_price(terms.price));
        let backing = purse.backing_for(limit, terms.quantity, fees)?;
        let order = Order::new(OrderNo(at.sequence), terms, backing);
        admit_backing(&order, &purse)?;
        self.admit_exposure(&order, &purse)?;
        self.admit_crossing(&order, at)?;
        Ok((order, purse))
    }

    /// Executes an admitted order.
    pub(super) fn execute_new_order(
        &mut self,
        terms: &PlaceOrder,
        mut order: Order,
        mut purse: Purse,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        effects.push(Effect::OrderAccepted { order: order.no, terms: terms.clone() });
        if terms.time_in_force == TimeInForce::FillOrKill && !self.fillable(&order, at)? {
            return self.emit_cancelled(&order, CancelReason::FokNotFillable, false, effects);
        }
        purse.lock(order.terms(), order.backing)?;
        self.ledger.put_locked(order.user, order.market, purse, order.backing)?;
        let stopped = self.match_incoming(&mut order, at, effects)?;
        let leftover = match terms.time_in_force {
            TimeInForce::GoodTillCancelled { .. } => stopped,
            TimeInForce::ImmediateOrCancel | TimeInForce::FillOrKill => {
                stopped.or(Some(CancelReason::IocRemainder))
            }
        };
        self.finish_incoming(order, leftover, effects)
    }

    /// Changes a resting order. At the same price with no larger a quantity it keeps its time
    /// priority; anything else goes to the back of the queue and may trade (semantics 8). One that
    /// changes nothing has no effect.
    pub(super) fn amend_order(
        &mut self,
        (user, no): (UserNo, OrderNo),
        price: Option<Tick>,
        quantity: Option<Lots>,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        match self.admit_amend((user, no), price, quantity, at)? {
            Some(amendment) => Ok(self.execute_amend(&amendment, at, effects)?),
            None => Ok(()),
        }
    }

    /// Refuses an amend of an order that is no longer as its owner saw it. Whether it still rests
    /// is for the amend to say.
    pub(super) fn admit_seen(
        &self,
        (user, no): (UserNo, OrderNo),
        seen: Option<SeenTerms>,
    ) -> Result<(), Reject> {
        let Some(SeenTerms { price, quantity, filled }) = seen else { return Ok(()) };
        let changed = self.order(no).is_some_and(|order| {
            let own = (order.price, order.quantity, order.filled);
            order.user == user && own != (order.wording.yes_price(price), quantity, filled)
        });
        if changed { Err(Reject::PreconditionFailed) } else { Ok(()) }
    }

    /// The amended order; `None` if nothing changes. Every check of an amend but that of
    /// [`Self::admit_seen`] is here.
    pub(super) fn admit_amend(
        &self,
        (user, no): (UserNo, OrderNo),
        price: Option<Tick>,
        quantity: Option<Lots>,
        at: Stamp,
    ) -> Result<Option<Amendment>, Stop> {
        self.known_user(user)?;
        let keeps_contracts = self.rules_in_force()?.amends_keep_contracts();
        // Before every other check: what an open order is already is never refused.
        if keeps_contracts && self.is_open_as((user, no), price, quantity, at)? {
            return Ok(None);
        }
        self.admit_trading(user)?;
        let slot = self.find_own(user, no)?;
        let before = self.orders.get(slot)?;
        let over = self.restrictions.of(user).heartbeat.over(at.time);
        if before.expired(at.time) || over {
            return Err(Stop::Refused(Reject::OrderNotOpen));
        }
        let state = self.market_state(before.market)?;
        if state.status_at(at.time) != MarketStatus::Active {
            return Err(Stop::Refused(Reject::MarketNotActive));
        }
        let fees = state.fees;
        let mut order = before;
        order.price = price.map_or(before.price, |price| before.wording.yes_price(price));
        order.quantity = quantity.unwrap_or(before.quantity);
        let remaining = order.quantity.saturating_minus(order.filled);
        if remaining.is_zero() {
            return Err(Stop::Refused(Reject::QuantityFilled));
        }
        let remaining_before = before.backing.remaining()?;
        let kept_place = order.price == before.price && remaining <= remaining_before;

        let mut purse = self.ledger.purse(user, order.market)?;
        if keeps_contracts {
            purse.unlock(before.terms(), before.backing)?;
        } else {
            purse.release(before.terms(), before.backing)?;
        }
        order.backing = purse.backing_for((order.direction(), order.price), remaining, fees)?;
        admit_backing(&order, &purse)?;
        self.admit_exposure(&order, &purse)?;
        if !kept_place {
            self.admit_crossing(&order, at)?;
        }
        Ok(Some(Amendment { before, order, purse, kept_place }))
    }

    /// Whether this order of the user's is open, with this price and this total quantity where they
    /// are given.
    fn is_open_as(
        &self,
        (user, no): (UserNo, OrderNo),
        price: Option<Tick>,
        quantity: Option<Lots>,
        at: Stamp,
    ) -> Result<bool, Broken> {
        let Some(slot) = self.orders.find(no) else { return Ok(false) };
        let order = self.orders.get(slot)?;
        let same = order.user == user
            && price.is_none_or(|price| order.wording.yes_price(price) == order.price)
            && quantity.is_none_or(|quantity| quantity == order.quantity);
        let keeps_orders = self.market_state(order.market)?.status_at(at.time).keeps_orders();
        Ok(same && keeps_orders && self.due_cancel_reason(&order, at.time)?.is_none())
    }

    /// Executes an admitted amend.
    pub(super) fn execute_amend(
        &mut self,
        amendment: &Amendment,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let Amendment { before, mut order, mut purse, kept_place } = *amendment;
        let Order { no, user, .. } = order;
        let slot = self.orders.find(no).ok_or(Broken::Dangling)?;
        let (remaining_before, remaining) =
            (before.backing.remaining()?, order.backing.remaining()?);
        effects.push(Effect::OrderAmended {
            order: no,
            user,
            market: order.market,
            direction: order.direction(),
            price_before: before.price,
            price: order.price,
            remaining_before,
            quantity: order.quantity,
            remaining,
            kept_place,
        });
        purse.lock(order.terms(), order.backing)?;
        // What the order no longer needs.
        purse.merge()?;
        self.ledger.put(user, order.market, purse)?;
        if kept_place {
            let less = remaining_before.minus(remaining)?;
            self.market_mut(order.market)?.book.reduce(order.price, less)?;
            self.orders.amend(slot, &order)?;
            self.emit_position(user, order.market, effects)?;
            return self.emit_account(user, effects);
        }
        self.unlink(slot, &before)?;
        self.emit_position(user, order.market, effects)?;
        // An order that lost its priority matches like a new one: script pitfall_crossed_by_amend.
        let stopped = self.match_incoming(&mut order, at, effects)?;
        self.finish_incoming(order, stopped, effects)
    }

    /// Cancels a resting order.
    pub(super) fn cancel_order(
        &mut self,
        user: UserNo,
        no: OrderNo,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.known_user(user)?;
        self.admit_cancelling(user)?;
        let slot = self.find_own(user, no)?;
        Ok(self.cancel_unless_already_due(slot, CancelReason::User, at, effects)?)
    }

    /// Cancels all of a user's resting orders, oldest first, optionally of one market only.
    pub(super) fn cancel_orders(
        &mut self,
        user: UserNo,
        market: Option<MarketNo>,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.known_user(user)?;
        self.admit_cancelling(user)?;
        if let Some(market) = market {
            self.public_market(market)?;
        }
        for slot in self.orders.of_user_oldest_first(user, market)? {
            self.cancel_unless_already_due(slot, CancelReason::User, at, effects)?;
        }
        Ok(())
    }

    /// Matches an incoming order, already backed, against the book. Returns a reason only if
    /// self-trade prevention stopped it before its limit or quantity did.
    fn match_incoming(
        &mut self,
        taker: &mut Order,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<Option<CancelReason>, Broken> {
        let side = taker.direction().opposite();
        // A loop without a cap, and no recursion: script pitfall_long_sweep.
        let mut trades = TradeIndex(0);
        while !taker.backing.remaining()?.is_zero() {
            let book = &self.market_state(taker.market)?.book;
            let Some(best) = book.crossed_by(taker.direction(), taker.price) else { break };
            let slot = book.front(side, best).ok_or(Broken::Dangling)?;
            let maker = self.orders.get(slot)?;
            if let Some(reason) = self.due_cancel_reason(&maker, at.time)? {
                self.cancel_resting(slot, &maker, reason, effects)?;
                continue;
            }
            if maker.user != taker.user {
                self.trade(taker, (slot, maker), trades, effects)?;
                trades = TradeIndex(trades.0.checked_add(1).ok_or(Broken::Capacity)?);
                continue;
            }
            match taker.self_trade {
                SelfTradePrevention::CancelTaker => return Ok(Some(CancelReason::SelfTrade)),
                SelfTradePrevention::CancelMaker => {
                    self.cancel_resting(slot, &maker, CancelReason::SelfTrade, effects)?;
                }
                SelfTradePrevention::CancelBoth => {
                    self.cancel_resting(slot, &maker, CancelReason::SelfTrade, effects)?;
                    return Ok(Some(CancelReason::SelfTrade));
                }
            }
        }
        Ok(None)
    }

    /// One trade, at the resting order's price.
    fn trade(
        &mut self,
        taker: &mut Order,
        (slot, mut maker): (Slot, Order),
        index: TradeIndex,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let fees = self.market_state(taker.market)?.fees;
        // Scripts pitfall_quantity_conserved, pitfall_zero_quantity.
        let quantity = taker.backing.remaining()?.min(maker.backing.remaining()?);
        let maker_part = maker.backing.take(quantity)?;
        maker.filled = maker.filled.plus(quantity)?;
        // Script pitfall_maker_price.
        let (market, price) = (taker.market, maker.price);
        let maker_charge = maker.charge(maker_part, price, (fees.maker, fees))?;
        self.orders.refill(slot, &maker)?;
        let taker_part = taker.backing.take(quantity)?;
        taker.filled = taker.filled.plus(quantity)?;
        let taker_charge = taker.charge(taker_part, price, (fees.taker, fees))?;

        let (owner, terms) = (maker.user, maker.terms());
        let paid = self.ledger.fill(owner, market, terms, price, maker_part, maker_charge)?;
        self.ledger.fill(taker.user, market, taker.terms(), price, taker_part, taker_charge)?;
        self.market_mut(market)?.book.reduce(price, quantity)?;
        let maker_remaining = maker.backing.remaining()?;
        if maker_remaining.is_zero() {
            self.unlink(slot, &maker)?;
        }
        effects.push(Effect::TradeMade(Trade {
            index,
            market,
            price,
            quantity,
            taker_direction: taker.direction(),
            taker: Party {
                order: taker.no,
                user: taker.user,
                remaining: taker.backing.remaining()?,
                fee: taker_charge.fee()?,
            },
            maker: Party {
                order: maker.no,
                user: maker.user,
                remaining: maker_remaining,
                fee: maker_charge.fee()?,
            },
        }));
        effects.push(paid.position_changed(owner, market));
        effects.push(paid.account.changed(owner));
        Ok(())
    }

    /// Rests the unfilled part of an incoming order, or cancels it if there is a reason.
    fn finish_incoming(
        &mut self,
        order: Order,
        leftover: Option<CancelReason>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let remaining = order.backing.remaining()?;
        match leftover {
            _ if remaining.is_zero() => self.emit_owner(&order, effects),
            Some(reason) => {
                let (user, market) = (order.user, order.market);
                self.ledger.release(user, market, order.terms(), order.backing)?;
                self.emit_cancelled(&order, reason, false, effects)
            }
            None => {
                let slot = self.orders.insert(&order)?;
                let market = self.markets.get_mut(order.market.index()).ok_or(Broken::Dangling)?;
                market.book.push(&mut self.orders, slot)?;
                if let Some(expires_at) = order.expires_at {
                    self.schedule.add(expires_at, Due::Expiry(order.no));
                }
                effects.push(Effect::OrderRested {
                    order: order.no,
                    user: order.user,
                    market: order.market,
                    direction: order.direction(),
                    price: order.price,
                    remaining,
                });
                self.emit_owner(&order, effects)
            }
        }
    }

    /// Cancels a resting order: takes it off its book and releases its backing.
    pub(super) fn cancel_resting(
        &mut self,
        slot: Slot,
        order: &Order,
        reason: CancelReason,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        self.unlink(slot, order)?;
        if self.orders.count_of(order.user) == 0 {
            self.nothing_abandoned(order.user);
        }
        self.ledger.release(order.user, order.market, order.terms(), order.backing)?;
        self.emit_cancelled(order, reason, true, effects)
    }

    /// Cancels a resting order for `reason`, unless an earlier reason is due but not journaled yet.
    pub(super) fn cancel_unless_already_due(
        &mut self,
        slot: Slot,
        reason: CancelReason,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let order = self.orders.get(slot)?;
        let due = self.due_cancel_reason(&order, at.time)?;
        self.cancel_resting(slot, &order, due.unwrap_or(reason), effects)
    }

    /// Removes an order from its book, the pool and the schedule.
    fn unlink(&mut self, slot: Slot, order: &Order) -> Result<(), Broken> {
        let state = self.markets.get_mut(order.market.index()).ok_or(Broken::Dangling)?;
        state.book.unlink(&mut self.orders, slot)?;
        self.orders.remove(slot)?;
        if let Some(expires_at) = order.expires_at {
            self.schedule.remove(expires_at, Due::Expiry(order.no));
        }
        Ok(())
    }
}
