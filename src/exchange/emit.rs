//! Saying how things stand after a change, in effects.

use super::Exchange;
use super::effect::{CancelReason, Effect};
use super::ids::{MarketNo, UserNo};
use super::invariant::Broken;
use super::ledger::{Account, Position, Purse};
use super::orders::Order;

impl Account {
    /// Says how it stands now.
    pub(super) fn changed(self, user: UserNo) -> Effect {
        let Account { available, reserved } = self;
        Effect::AccountChanged { user, available, reserved }
    }
}

impl Purse {
    /// Says what is held now.
    pub(super) fn position_changed(&self, user: UserNo, market: MarketNo) -> Effect {
        let Position { yes, no, realised } = self.position;
        Effect::PositionChanged { user, market, yes, no, realised }
    }
}

impl Exchange {
    /// Says that what was left of an order is cancelled, and how its owner stands now.
    pub(super) fn emit_cancelled(
        &self,
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
        self.emit_owner(order, effects)
    }

    /// Says how an order's owner stands now.
    pub(super) fn emit_owner(
        &self,
        order: &Order,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let traded_or_locked = !order.filled.is_zero() || !order.backing.contracts.is_zero();
        if traded_or_locked {
            self.emit_position(order.user, order.market, effects)?;
        }
        self.emit_account(order.user, effects)
    }

    /// Says what a user holds in a market now.
    pub(super) fn emit_position(
        &self,
        user: UserNo,
        market: MarketNo,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        effects.push(self.ledger.purse(user, market)?.position_changed(user, market));
        Ok(())
    }

    /// Says how a user's money stands now.
    pub(super) fn emit_account(
        &self,
        user: UserNo,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        effects.push(self.ledger.account(user)?.changed(user));
        Ok(())
    }
}
