//! How each user stands with the venue: what may be asked, for how much, and until when without a
//! sign of life; and the venue's own switch.

use super::command::TradingMode;
use super::due::Due;
use super::effect::{CancelReason, Effect};
use super::ids::UserNo;
use super::invariant::Broken;
use super::ledger::Purse;
use super::orders::Order;
use super::reject::Reject;
use super::units::{Money, MoneySum, TimeMs};
use super::{Exchange, Stamp, Stop};

/// A dead man's switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Heartbeat {
    /// First moment at which it has run out; `None` while it is not armed.
    pub until: Option<TimeMs>,
    /// Whether it has run out and its orders are cancelled.
    pub expired: bool,
}

impl Heartbeat {
    /// Whether it has run out at `now`, journaled or not.
    pub fn over(self, now: TimeMs) -> bool {
        self.until.is_some_and(|until| now >= until)
    }
}

/// How one user stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UserRestrictions {
    /// What the user may ask.
    pub mode: TradingMode,
    /// What reserved money and the cost of contracts held may come to; `None` is no limit.
    pub exposure_limit: Option<Money>,
    /// The user's switch.
    pub heartbeat: Heartbeat,
}

/// How all stand.
#[derive(Debug, Clone, Default)]
pub struct Restrictions {
    /// What anybody may ask.
    pub venue: TradingMode,
    /// By user number.
    pub users: Vec<UserRestrictions>,
}

impl Restrictions {
    /// How a user stands.
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
    /// Whether the user may place and amend.
    pub(super) fn admit_trading(&self, user: UserNo) -> Result<(), Reject> {
        match self.standings.mode_of(user) {
            TradingMode::Normal => Ok(()),
            TradingMode::CancelOnly => Err(Reject::TradingCancelOnly),
            TradingMode::ReadOnly => Err(Reject::TradingReadOnly),
        }
    }

    /// Whether the user may cancel.
    pub(super) fn admit_cancelling(&self, user: UserNo) -> Result<(), Reject> {
        match self.standings.mode_of(user) {
            TradingMode::Normal | TradingMode::CancelOnly => Ok(()),
            TradingMode::ReadOnly => Err(Reject::TradingReadOnly),
        }
    }

    /// Whether the user has given a sign of life in time.
    pub(super) fn admit_alive(&self, user: UserNo, at: Stamp) -> Result<(), Reject> {
        let over = self.standings.of(user).heartbeat.over(at.time);
        if over { Err(Reject::HeartbeatExpired) } else { Ok(()) }
    }

    /// Whether an order that takes cash leaves its owner within the limit, or less exposed than
    /// before. `purse` is as it is before the order is backed.
    pub(super) fn admit_exposure(&self, order: &Order, purse: &Purse) -> Result<(), Stop> {
        let Some(limit) = self.standings.of(order.user).exposure_limit else { return Ok(()) };
        if order.backing.cash.is_zero() {
            return Ok(());
        }
        let before = self.ledger.exposure(order.user)?;
        let now = self.ledger.purse(order.user, order.market)?;
        let mut after = before.minus(now.account.reserved)?.plus(purse.account.reserved)?;
        for (was, is) in now.position.costs().into_iter().zip(purse.position.costs()) {
            after = after.minus(was)?.plus(is)?;
        }
        after = after.plus(order.terms().cash(order.backing)?)?;
        if after > MoneySum::ZERO.plus(limit)? && after > before {
            return Err(Stop::Refused(Reject::ExposureLimit));
        }
        Ok(())
    }

    /// Why an order that stands would be gone at `now`, had every clock come in time: whichever
    /// came first of its expiry, its market's deadline and the end of its owner's heartbeat, and
    /// of those at one moment the first in the order of the schedule. `None` while it rightly
    /// stands. Holds until the market's deadline is moved.
    pub(super) fn due_cancel_reason(
        &self,
        order: &Order,
        now: TimeMs,
    ) -> Result<Option<CancelReason>, Broken> {
        let deadline = self.market_state(order.market)?.deadline;
        let heartbeat = self.standings.of(order.user).heartbeat.until;
        let dues = [
            order.expires_at.map(|at| (at, CancelReason::Expired)),
            Some((deadline, CancelReason::MarketClosed)),
            heartbeat.map(|at| (at, CancelReason::HeartbeatExpired)),
        ];
        let due = dues.into_iter().flatten().filter(|(at, _)| *at <= now);
        // Of equals the first, which is the first on the schedule.
        Ok(due.min_by_key(|(at, _)| *at).map(|(_, reason)| reason))
    }

    /// A sign of life: the switch runs out so many seconds from now, or never.
    pub(super) fn heartbeat(
        &mut self,
        user: UserNo,
        timeout_seconds: u32,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.known_user(user)?;
        let before = self.standings.of(user).heartbeat;
        if before.over(at.time) && !before.expired {
            self.expire_heartbeat(user, at, effects)?;
        }
        if let Some(until) = before.until {
            self.schedule.remove(until, Due::Heartbeat(user));
        }
        let until = (timeout_seconds > 0).then(|| at.time.after_seconds(timeout_seconds));
        self.standings.of_mut(user)?.heartbeat = Heartbeat { until, expired: false };
        if let Some(until) = until {
            self.schedule.add(until, Due::Heartbeat(user));
        }
        effects.push(Effect::HeartbeatSet { user, until });
        Ok(())
    }

    /// A switch has run out: its owner's orders are cancelled.
    pub(super) fn expire_heartbeat(
        &mut self,
        user: UserNo,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        self.standings.of_mut(user)?.heartbeat.expired = true;
        effects.push(Effect::HeartbeatExpired { user });
        for slot in self.orders.of_user_oldest_first(user, None)? {
            self.cancel_unless_already_due(slot, CancelReason::HeartbeatExpired, at, effects)?;
        }
        Ok(())
    }

    pub(super) fn set_venue_mode(&mut self, mode: TradingMode, effects: &mut Vec<Effect>) {
        self.standings.venue = mode;
        effects.push(Effect::VenueModeSet { mode });
    }

    pub(super) fn set_user_mode(
        &mut self,
        user: UserNo,
        mode: TradingMode,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.known_user(user)?;
        self.standings.of_mut(user)?.mode = mode;
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
        self.standings.of_mut(user)?.exposure_limit = limit;
        effects.push(Effect::ExposureLimitSet { user, limit });
        Ok(())
    }
}
