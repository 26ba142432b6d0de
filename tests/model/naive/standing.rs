//! The twin's switches: heartbeats, trading modes, exposure limits.

use exchange::command::TradingMode;
use exchange::effect::{CancelReason, Effect};
use exchange::ids::{Group, UserNo};
use exchange::reject::Reject;
use exchange::units::{Money, TimeMs};

use super::Naive;
use super::ledger::Ledger;

/// A user's switches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Standing {
    pub mode: TradingMode,
    pub limit: Option<Money>,
}

/// Whose switch: a user's, or that of one of the user's groups.
pub type Whose = (u32, Option<Group>);

/// A switch that is on, or ran out.
#[derive(Debug, Clone, Copy)]
pub struct Beat {
    pub silent_from: TimeMs,
    pub ran_out: bool,
}

impl Naive {
    pub fn standing(&self, user: UserNo) -> Standing {
        self.standings.get(&user.0).copied().unwrap_or_default()
    }

    fn standing_mut(&mut self, user: UserNo) -> &mut Standing {
        self.standings.entry(user.0).or_default()
    }

    /// Whether a switch has run out by now, journaled or not, that guards the user's orders of this
    /// group.
    pub fn silent(&self, user: UserNo, group: Option<&Group>) -> bool {
        let over =
            |group| self.beats.get(&(user.0, group)).is_some_and(|it| it.silent_from <= self.now);
        over(None) || group.is_some_and(|group| over(Some(*group)))
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

    /// Money reserved for orders plus the cost of all contracts.
    pub fn exposure(ledger: &Ledger, user: UserNo) -> i128 {
        let held = ledger.positions.range((user.0, 0)..=(user.0, u32::MAX));
        let costs: i128 = held.map(|(_, position)| position.yes.cost + position.no.cost).sum();
        let held = ledger.withdrawing.get(&user.0).copied().unwrap_or_default();
        costs + ledger.account(user.0).reserved - held
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

    pub(super) fn beat(
        &mut self,
        user: UserNo,
        group: Option<Group>,
        seconds: u32,
    ) -> Result<(), Reject> {
        self.known_user(user)?;
        let whose = (user.0, group);
        let groups = self.beats.keys().filter(|(of, group)| *of == user.0 && group.is_some());
        let before = self.beats.get(&whose).copied();
        if seconds > 0 && group.is_some() && before.is_none() && groups.count() >= 32 {
            return Err(Reject::TooManyHeartbeats);
        }
        let mut left = usize::MAX;
        match before {
            Some(beat) if beat.ran_out => self.cancel_silent(whose, &mut left),
            Some(beat) if beat.silent_from <= self.now => self.fall_silent(whose, &mut left),
            _ => {}
        }
        let silent_from = TimeMs::new(self.now.get() + i64::from(seconds) * 1000).unwrap();
        let until = (seconds > 0).then_some(silent_from);
        match until {
            Some(silent_from) => {
                self.beats.insert(whose, Beat { silent_from, ran_out: false });
            }
            None => drop(self.beats.remove(&whose)),
        }
        self.emit(match group.map(Box::new) {
            Some(group) => Effect::GroupHeartbeatSet { user, group, until },
            None => Effect::HeartbeatSet { user, until },
        });
        Ok(())
    }

    pub(super) fn fall_silent(&mut self, whose: Whose, left: &mut usize) {
        self.beats.get_mut(&whose).unwrap().ran_out = true;
        let user = UserNo(whose.0);
        self.emit(match whose.1.map(Box::new) {
            Some(group) => Effect::GroupHeartbeatExpired { user, group },
            None => Effect::HeartbeatExpired { user },
        });
        self.cancel_silent(whose, left);
    }

    /// The orders that a switch guards, oldest first.
    pub fn guarded(&self, (user, group): Whose) -> Vec<u64> {
        let mut open = self.open_orders(UserNo(user));
        let of = |number: &u64| self.order(*number).terms.group.as_deref().copied();
        open.retain(|number| group.is_none() || of(number) == group);
        open
    }

    /// Cancels the oldest orders that a switch guards, as many as the record may.
    pub(super) fn cancel_silent(&mut self, whose: Whose, left: &mut usize) {
        for number in self.guarded(whose).into_iter().take(*left) {
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
