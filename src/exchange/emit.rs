//! Builds the effects that report accounts and positions after a change, and cancelled orders.

use super::Exchange;
use super::effect::{CancelReason, Effect};
use super::ids::{MarketNo, UserNo};
use super::invariant::Broken;
use super::ledger::{Account, Position, Purse};
use super::orders::Order;

impl Account {
    /// The effect that reports it.
    pub(super) fn changed(self, user: UserNo) -> Effect {
        let Account { available, reserved } = self;
        Effect::AccountChanged { user, available, reserved }
    }
}

impl Purse {
    /// The effect that reports its position.
    pub(super) fn position_changed(&self, user: UserNo, market: MarketNo) -> Effect {
        let Position { yes, no, realised } = self.position;
        Effect::PositionChanged { user, market, yes, no, realised }
    }
}

impl Exchange {
    /// Reports that the rest of an order is cancelled, then its owner's position and account.
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

    /// Reports the position, where the order may have changed it, and the account of its owner.
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

    /// Reports a user's position in a market.
    pub(super) fn emit_position(
        &self,
        user: UserNo,
        market: MarketNo,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        effects.push(self.ledger.purse(user, market)?.position_changed(user, market));
        Ok(())
    }

    /// Reports a user's money.
    pub(super) fn emit_account(
        &self,
        user: UserNo,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        effects.push(self.ledger.account(user)?.changed(user));
        Ok(())
    }
}
