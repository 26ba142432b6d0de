//! What an order must pass before anything happens: every check of semantics 4 and 5, in order of
//! precedence. Nothing changes here.

use super::book::Level;
use super::command::{Direction, PlaceOrder, SelfTradePrevention, TimeInForce};
use super::ids::{OrderNo, UserNo};
use super::invariant::Broken;
use super::ledger::Purse;
use super::lifecycle::MarketStatus;
use super::orders::{Order, Slot};
use super::reject::Reject;
use super::units::{Lots, Tick};
use super::{Exchange, Stamp, Stop};

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
                if self.gone(&self.orders.get(slot)?, at.time)?.is_none() {
                    return Err(Stop::Refused(Reject::PostOnlyWouldCross));
                }
            }
        }
        Ok(())
    }

    /// Whether the whole order would be filled under its self-trade mode: with `CANCEL_MAKER`
    /// everything but its owner's orders counts, else nothing behind the first of them.
    pub(super) fn fillable(&self, order: &Order, at: Stamp) -> Result<bool, Broken> {
        let wanted = order.backing.remaining()?;
        // An order that is killed uses nothing up and may be asked again and again: mostly its
        // levels say so, and no queue is gone through.
        let mut stands = Lots::ZERO;
        for (_, level) in self.reachable_levels(order)? {
            stands = stands.plus(level.quantity)?;
        }
        if stands < wanted {
            return Ok(false);
        }
        let mut found = Lots::ZERO;
        for slot in self.reachable(order)? {
            let maker = self.orders.get(slot)?;
            if self.gone(&maker, at.time)?.is_some() {
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
        let within = move |(tick, _): &(Tick, Level)| match direction {
            Direction::Up => *tick <= limit,
            Direction::Down => *tick >= limit,
        };
        Ok(book.levels(direction.opposite()).take_while(within))
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
