//! Builds the effects that report accounts and positions after a change.

use super::Exchange;
use super::effect::Effect;
use super::ids::{MarketNo, UserNo};
use super::invariant::Broken;
use super::ledger::{Account, Position, Purse};

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
