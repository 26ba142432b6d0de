//! What is due when: deadlines, the ends of dispute windows and heartbeats, expiries (semantics 3).

use std::collections::BTreeSet;

use super::effect::{CancelReason, Effect};
use super::ids::{MarketNo, OrderNo, UserNo};
use super::invariant::Broken;
use super::lifecycle::Trigger;
use super::units::TimeMs;
use super::{Exchange, Stamp};

/// Something that happens when its time has come. Of two things due at one time, the one listed
/// first, then the one with the lower number, comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// An order no longer stands.
    Expiry(OrderNo),
    /// A market closes.
    Deadline(MarketNo),
    /// A market pays out.
    WindowEnd(MarketNo),
    /// A user's switch runs out.
    Heartbeat(UserNo),
}

/// Everything that is due at some time, in order.
#[derive(Debug, Clone, Default)]
pub struct Schedule {
    entries: BTreeSet<(TimeMs, Due)>,
}

impl Schedule {
    /// The earliest moment at which something is due.
    pub fn next(&self) -> Option<TimeMs> {
        self.entries.first().map(|(time, _)| *time)
    }

    /// Puts something on the schedule.
    pub fn add(&mut self, time: TimeMs, due: Due) {
        self.entries.insert((time, due));
    }

    /// Takes something off the schedule.
    pub fn remove(&mut self, time: TimeMs, due: Due) {
        self.entries.remove(&(time, due));
    }

    /// Takes the earliest thing that is due by `now` off the schedule.
    fn take(&mut self, now: TimeMs) -> Option<Due> {
        let first = self.entries.first().copied()?;
        if first.0 > now {
            return None;
        }
        self.entries.remove(&first);
        Some(first.1)
    }
}

impl Exchange {
    /// The earliest moment at which [`Command::AdvanceClock`](super::command::Command) would do
    /// something.
    pub fn next_due(&self) -> Option<TimeMs> {
        self.schedule.next()
    }

    /// Lets everything happen that is due by now.
    pub(super) fn advance_clock(
        &mut self,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        while let Some(due) = self.schedule.take(at.time) {
            match due {
                Due::Expiry(order) => {
                    let slot = self.orders.find(order).ok_or(Broken::Dangling)?;
                    let expired = self.orders.get(slot)?;
                    self.take_off(slot, &expired, CancelReason::Expired, effects)?;
                }
                Due::Deadline(market) => self.apply_trigger(market, Trigger::Close, at, effects)?,
                Due::WindowEnd(market) => {
                    self.apply_trigger(market, Trigger::Settle, at, effects)?;
                }
                Due::Heartbeat(user) => self.expire_heartbeat(user, at, effects)?,
            }
        }
        Ok(())
    }
}
