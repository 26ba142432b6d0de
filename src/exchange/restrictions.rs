//! Restrictions on trading: the venue's mode, and each user's mode, exposure limit and heartbeat
//! (dead man's switch).

use super::command::TradingMode;
use super::effect::{CancelReason, Effect};
use super::ending::{Due, Work};
use super::ids::UserNo;
use super::invariant::Broken;
use super::market::Market;
use super::orders::Order;
use super::reject::Reject;
use super::units::{Money, TimeMs};
use super::{Exchange, Stamp, Stop};

/// A dead man's switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Heartbeat {
    /// First moment at which it has run out; `None` while it is not armed.
    pub until: Option<TimeMs>,
    /// Whether a record has said so: since then the user's orders are being cancelled.
    pub expired: bool,
}

impl Heartbeat {
    /// Whether it has run out at `now`, even if no record has cancelled the orders yet.
    pub fn over(self, now: TimeMs) -> bool {
        self.until.is_some_and(|until| now >= until)
    }
}

/// The restrictions of one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UserRestrictions {
    /// The user's trading mode.
    pub mode: TradingMode,
    /// The largest sum of reserved money and the cost of contracts held; `None` is no limit.
    pub exposure_limit: Option<Money>,
    /// The user's dead man's switch.
    pub heartbeat: Heartbeat,
}

/// The restrictions of the venue and of all users.
#[derive(Debug, Clone, Default)]
pub struct Restrictions {
    /// The venue's trading mode.
    pub venue: TradingMode,
    /// By user number.
    pub users: Vec<UserRestrictions>,
}

impl Restrictions {
    /// A user's restrictions.
    pub fn of(&self, user: UserNo) -> UserRestrictions {
        self.users.get(user.index()).copied().unwrap_or_default()
    }

    /// The stricter of the venue's mode and the user's.
    pub fn mode_of(&self, user: UserNo) -> TradingMode {
        self.venue.max(self.of(user).mode)
    }

    fn of_mut(&mut self, user: UserNo) -> Result<&mut UserRestrictions, Broken> {
        self.users.get_mut(user.index()).ok_or(Broken::Dangling)
    }
}

impl Exchange {
    /// Whether the user's mode allows placing and amending.
    pub(super) fn admit_trading(&self, user: UserNo) -> Result<(), Reject> {
        match self.restrictions.mode_of(user) {
            TradingMode::Normal => Ok(()),
            TradingMode::CancelOnly => Err(Reject::TradingCancelOnly),
            TradingMode::ReadOnly => Err(Reject::TradingReadOnly),
        }
    }

    /// Whether the user's mode allows cancelling.
    pub(super) fn admit_cancelling(&self, user: UserNo) -> Result<(), Reject> {
        match self.restrictions.mode_of(user) {
            TradingMode::Normal | TradingMode::CancelOnly => Ok(()),
            TradingMode::ReadOnly => Err(Reject::TradingReadOnly),
        }
    }

    /// Whether the user's heartbeat has not run out.
    pub(super) fn admit_heartbeat(&self, user: UserNo, at: Stamp) -> Result<(), Reject> {
        let over = self.restrictions.of(user).heartbeat.over(at.time);
        if over { Err(Reject::HeartbeatExpired) } else { Ok(()) }
    }

    /// Why a resting order would already be cancelled at `now`, had a clock record come in time:
    /// the earliest of its expiry, its market's deadline, the end of its owner's heartbeat and that
    /// of trading in its market; of those at the same time the first in this order. `None` if
    /// nothing is due. Valid until the market's deadline is moved.
    pub(super) fn due_cancel_reason(
        &self,
        order: &Order,
        now: TimeMs,
    ) -> Result<Option<CancelReason>, Broken> {
        // What would end an order early is on the schedule.
        if self.nothing_is_due(now) {
            return Ok(None);
        }
        let Market { deadline, ending, .. } = *self.market_state(order.market)?;
        let heartbeat = self.restrictions.of(order.user).heartbeat.until;
        let dues = [
            order.expires_at.map(|at| (at, CancelReason::Expired)),
            Some((deadline, CancelReason::MarketClosed)),
            heartbeat.map(|at| (at, CancelReason::HeartbeatExpired)),
            ending.map(|ending| (ending.since, ending.reason())),
        ];
        let due = dues.into_iter().flatten().filter(|(at, _)| *at <= now);
        // `min_by_key` returns the first of equals: `dues` is in this order.
        Ok(due.min_by_key(|(at, _)| *at).map(|(_, reason)| reason))
    }

    /// Arms the user's switch to run out after `timeout_seconds`, or disarms it if zero.
    pub(super) fn heartbeat(
        &mut self,
        user: UserNo,
        timeout_seconds: u32,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.known_user(user)?;
        let before = self.restrictions.of(user).heartbeat;
        if before.over(at.time) && !before.expired {
            self.expire_heartbeat(user, &mut Work::unbounded(), at, effects)?;
        } else if before.expired {
            self.cancel_abandoned(user, &mut Work::unbounded(), at, effects)?;
        }
        if let Some(until) = before.until {
            self.schedule.remove(until, Due::Heartbeat(user));
            self.schedule.remove(until, Due::Abandoned(user));
        }
        let until = (timeout_seconds > 0).then(|| at.time.after_seconds(timeout_seconds));
        self.restrictions.of_mut(user)?.heartbeat = Heartbeat { until, expired: false };
        if let Some(until) = until {
            self.schedule.add(until, Due::Heartbeat(user));
        }
        effects.push(Effect::HeartbeatSet { user, until });
        Ok(())
    }

    /// Cancels a user's orders because the heartbeat has run out.
    pub(super) fn expire_heartbeat(
        &mut self,
        user: UserNo,
        work: &mut Work,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        self.restrictions.of_mut(user)?.heartbeat.expired = true;
        effects.push(Effect::HeartbeatExpired { user });
        self.cancel_abandoned(user, work, at, effects)
    }

    pub(super) fn set_venue_mode(
        &mut self,
        mode: TradingMode,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.restrictions.venue = mode;
        effects.push(Effect::VenueModeSet { mode });
        Ok(())
    }

    pub(super) fn set_user_mode(
        &mut self,
        user: UserNo,
        mode: TradingMode,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.known_user(user)?;
        self.restrictions.of_mut(user)?.mode = mode;
        effects.push(Effect::UserModeSet { user, mode });
        Ok(())
    }

    pub(super) fn set_exposure_limit(
        &mut self,
        user: UserNo,
        limit: Option<Money>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.known_user(user)?;
        self.restrictions.of_mut(user)?.exposure_limit = limit;
        effects.push(Effect::ExposureLimitSet { user, limit });
        Ok(())
    }
}
