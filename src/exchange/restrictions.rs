//! Restrictions on trading: the venue's mode, and each user's mode, exposure limit and heartbeats
//! (dead man's switches).

use std::collections::BTreeMap;

use super::command::TradingMode;
use super::effect::{CancelReason, Effect};
use super::ending::{Due, Work};
use super::ids::{Group, UserNo};
use super::invariant::Broken;
use super::market::Market;
use super::orders::Order;
use super::reject::Reject;
use super::rules::GROUP_HEARTBEATS_MAX;
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
    /// The dead man's switches of groups that are armed or ran out.
    pub groups: BTreeMap<(UserNo, Group), Heartbeat>,
}

/// Whose orders a dead man's switch cancels: all of a user's, or those of one group.
pub type Guarded = (UserNo, Option<Group>);

impl Restrictions {
    /// A user's restrictions.
    pub fn of(&self, user: UserNo) -> UserRestrictions {
        self.users.get(user.index()).copied().unwrap_or_default()
    }

    /// The stricter of the venue's mode and the user's.
    pub fn mode_of(&self, user: UserNo) -> TradingMode {
        self.venue.max(self.of(user).mode)
    }

    /// A dead man's switch.
    pub fn heartbeat(&self, (user, group): Guarded) -> Heartbeat {
        match group {
            None => self.of(user).heartbeat,
            Some(group) => self.groups.get(&(user, group)).copied().unwrap_or_default(),
        }
    }

    /// Whether a switch that guards a user's orders of this group, or of none, has run out at
    /// `now`.
    pub fn silent(&self, user: UserNo, group: Option<Group>, now: TimeMs) -> bool {
        let own = self.of(user).heartbeat.over(now);
        own || group.is_some_and(|group| self.heartbeat((user, Some(group))).over(now))
    }

    /// The switches of a user's groups.
    pub fn groups_of(&self, user: UserNo) -> impl Iterator<Item = (Group, Heartbeat)> {
        let from = self.groups.range((user, Group::LEAST)..);
        from.take_while(move |((of, _), _)| *of == user).map(|((_, group), beat)| (*group, *beat))
    }

    /// All switches: of all users, then of all groups.
    pub fn heartbeats(&self) -> impl Iterator<Item = (Guarded, Heartbeat)> {
        let users = (0..).map(UserNo).zip(&self.users);
        let own = users.map(|(user, restrictions)| ((user, None), restrictions.heartbeat));
        let groups = self.groups.iter();
        own.chain(groups.map(|((user, group), beat)| ((*user, Some(*group)), *beat)))
    }

    /// Whether the switch of one more group, or of one that has one, can be armed.
    fn has_room(&self, (user, group): Guarded) -> bool {
        let known = group.is_none_or(|group| self.groups.contains_key(&(user, group)));
        known || self.groups_of(user).count() < GROUP_HEARTBEATS_MAX
    }

    fn set_heartbeat(&mut self, (user, group): Guarded, to: Heartbeat) -> Result<(), Broken> {
        match group {
            None => self.of_mut(user)?.heartbeat = to,
            Some(group) if to.until.is_none() => drop(self.groups.remove(&(user, group))),
            Some(group) => drop(self.groups.insert((user, group), to)),
        }
        Ok(())
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

    /// Whether no heartbeat has run out that guards the user's orders of this group, or of none.
    pub(super) fn admit_heartbeat(
        &self,
        user: UserNo,
        group: Option<Group>,
        at: Stamp,
    ) -> Result<(), Reject> {
        let over = self.restrictions.silent(user, group, at.time);
        if over { Err(Reject::HeartbeatExpired) } else { Ok(()) }
    }

    /// Why a resting order would already be cancelled at `now`, had a clock record come in time:
    /// the earliest of its expiry, its market's deadline, the end of a heartbeat that guards it and
    /// that of trading in its market; of those at the same time the first in this order. `None` if
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
        let beat = |group| self.restrictions.heartbeat((order.user, group)).until;
        let of_group = order.group.and_then(|group| beat(Some(group)));
        let dues = [
            order.expires_at.map(|at| (at, CancelReason::Expired)),
            Some((deadline, CancelReason::MarketClosed)),
            beat(None).map(|at| (at, CancelReason::HeartbeatExpired)),
            of_group.map(|at| (at, CancelReason::HeartbeatExpired)),
            ending.map(|ending| (ending.since, ending.reason())),
        ];
        let due = dues.into_iter().flatten().filter(|(at, _)| *at <= now);
        // `min_by_key` returns the first of equals: `dues` is in this order.
        Ok(due.min_by_key(|(at, _)| *at).map(|(_, reason)| reason))
    }

    /// Arms a switch to run out after `timeout_seconds`, or disarms it if zero.
    pub(super) fn heartbeat(
        &mut self,
        whose: Guarded,
        timeout_seconds: u32,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        let (user, group) = whose;
        self.known_user(user)?;
        if timeout_seconds > 0 && !self.restrictions.has_room(whose) {
            return Err(Stop::Refused(Reject::TooManyHeartbeats));
        }
        let before = self.restrictions.heartbeat(whose);
        if before.over(at.time) && !before.expired {
            self.expire_heartbeat(whose, &mut Work::unbounded(), at, effects)?;
        } else if before.expired {
            self.cancel_abandoned(whose, &mut Work::unbounded(), at, effects)?;
        }
        if let Some(until) = before.until {
            self.schedule.remove(until, Due::Heartbeat(user, group.map(Box::new)));
            self.schedule.remove(until, Due::Abandoned(user, group.map(Box::new)));
        }
        let until = (timeout_seconds > 0).then(|| at.time.after_seconds(timeout_seconds));
        self.restrictions.set_heartbeat(whose, Heartbeat { until, expired: false })?;
        if let Some(until) = until {
            self.schedule.add(until, Due::Heartbeat(user, group.map(Box::new)));
        }
        effects.push(match group.map(Box::new) {
            None => Effect::HeartbeatSet { user, until },
            Some(group) => Effect::GroupHeartbeatSet { user, group, until },
        });
        Ok(())
    }

    /// Cancels the orders that a switch guards, because it has run out.
    pub(super) fn expire_heartbeat(
        &mut self,
        whose: Guarded,
        work: &mut Work,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let (user, group) = whose;
        let beat = self.restrictions.heartbeat(whose);
        self.restrictions.set_heartbeat(whose, Heartbeat { expired: true, ..beat })?;
        effects.push(match group.map(Box::new) {
            None => Effect::HeartbeatExpired { user },
            Some(group) => Effect::GroupHeartbeatExpired { user, group },
        });
        self.cancel_abandoned(whose, work, at, effects)
    }

    /// How many resting orders of a group a user has, and what is set aside for them; `None` if
    /// they are more than `most`, since no more are looked at.
    pub fn reserved_by_group(
        &self,
        user: UserNo,
        group: Group,
        most: usize,
    ) -> Option<(usize, Money)> {
        let mut slots = self.orders.of_group(user, group);
        slots.try_fold((0, Money::ZERO), |(count, sum), slot| {
            let order = self.orders.get(slot).ok().filter(|_| count < most)?;
            let sum = sum.plus(order.terms().cash(order.backing).ok()?).ok()?;
            Some((count.saturating_add(1), sum))
        })
    }

    #[allow(clippy::unnecessary_wraps, reason = "as all that executes a command")]
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
