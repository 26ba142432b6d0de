//! The twin's switches: heartbeats, trading modes, exposure limits.

use exchange::command::TradingMode;
use exchange::effect::{CancelReason, Effect};
use exchange::ids::UserNo;
use exchange::reject::Reject;
use exchange::units::{Money, TimeMs};

use super::Naive;
use super::ledger::Ledger;

/// A user's switches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Standing {
    pub mode: TradingMode,
    pub limit: Option<Money>,
    pub silent_from: Option<TimeMs>,
    pub ran_out: bool,
}

impl Naive {
    pub fn standing(&self, user: UserNo) -> Standing {
        self.standings.get(&user.0).copied().unwrap_or_default()
    }

    fn standing_mut(&mut self, user: UserNo) -> &mut Standing {
        self.standings.entry(user.0).or_default()
    }

    /// Whether the user's heartbeat has expired by now, journaled or not.
    pub fn silent(&self, user: UserNo) -> bool {
        self.standing(user).silent_from.is_some_and(|from| from <= self.now)
    }

    fn strictest(&self, user: UserNo) -> [TradingMode; 2] {
        [self.venue_mode, self.standing(user).mode]
    }

    pub(super) fn may_trade(&self, user: UserNo) -> Result<(), Reject> {
        self.may_cancel(user)?;
        if self.strictest(user).contains(&TradingMode::CancelOnly) {
            return Err(Reject::TradingCancelOnly);
        }
        Ok(())
    }

    pub(super) fn may_cancel(&self, user: UserNo) -> Result<(), Reject> {
        if self.strictest(user).contains(&TradingMode::ReadOnly) {
            return Err(Reject::TradingReadOnly);
        }
        Ok(())
    }

    /// Reserved money plus the cost of all contracts.
    pub fn exposure(ledger: &Ledger, user: UserNo) -> i128 {
        let held = ledger.positions.range((user.0, 0)..=(user.0, u32::MAX));
        let costs: i128 = held.map(|(_, position)| position.yes.cost + position.no.cost).sum();
        costs + ledger.account(user.0).reserved
    }

    /// Whether an order, whose backing is tried on the copy `copy`, stays within its owner's
    /// exposure limit.
    pub(super) fn within_limit(
        &self,
        user: UserNo,
        copy: &Ledger,
        takes_cash: bool,
    ) -> Result<(), Reject> {
        let Some(limit) = self.standing(user).limit else { return Ok(()) };
        let mut tried = self.ledger.clone();
        tried.adopt(copy.clone());
        let (before, after) = (Naive::exposure(&self.ledger, user), Naive::exposure(&tried, user));
        if takes_cash && after > i128::from(limit.get()) && after > before {
            return Err(Reject::ExposureLimit);
        }
        Ok(())
    }

    pub(super) fn beat(&mut self, user: UserNo, seconds: u32) -> Result<(), Reject> {
        self.known_user(user)?;
        let mut left = usize::MAX;
        if self.silent(user) && !self.standing(user).ran_out {
            self.fall_silent(user, &mut left);
        } else if self.standing(user).ran_out {
            self.cancel_silent(user, &mut left);
        }
        let until = TimeMs::new(self.now.get() + i64::from(seconds) * 1000).unwrap();
        let standing = self.standing_mut(user);
        standing.silent_from = (seconds > 0).then_some(until);
        standing.ran_out = false;
        let until = standing.silent_from;
        self.emit(Effect::HeartbeatSet { user, until });
        Ok(())
    }

    pub(super) fn fall_silent(&mut self, user: UserNo, left: &mut usize) {
        self.standing_mut(user).ran_out = true;
        self.emit(Effect::HeartbeatExpired { user });
        self.cancel_silent(user, left);
    }

    /// Cancels the oldest orders of a silent user, as many as the record may.
    pub(super) fn cancel_silent(&mut self, user: UserNo, left: &mut usize) {
        for number in self.open_orders(user).into_iter().take(*left) {
            *left -= 1;
            self.cancel_in_time(number, CancelReason::HeartbeatExpired);
        }
    }

    pub(super) fn set_mode(
        &mut self,
        user: Option<UserNo>,
        mode: TradingMode,
    ) -> Result<(), Reject> {
        if let Some(user) = user {
            self.known_user(user)?;
            self.standing_mut(user).mode = mode;
            self.emit(Effect::UserModeSet { user, mode });
        } else {
            self.venue_mode = mode;
            self.emit(Effect::VenueModeSet { mode });
        }
        Ok(())
    }

    pub(super) fn set_limit(&mut self, user: UserNo, limit: Option<Money>) -> Result<(), Reject> {
        self.known_user(user)?;
        self.standing_mut(user).limit = limit;
        self.emit(Effect::ExposureLimitSet { user, limit });
        Ok(())
    }
}
