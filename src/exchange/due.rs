//! The schedule: deadlines, the ends of dispute windows, heartbeat timeouts and order expiries
//! (semantics 3). A clock record executes them; until then commands treat what is due as done.

use std::collections::BTreeSet;

use super::effect::{CancelReason, Effect};
use super::ids::{MarketNo, OrderNo, UserNo};
use super::invariant::Broken;
use super::lifecycle::Trigger;
use super::units::TimeMs;
use super::{Exchange, Stamp};

/// Something on the schedule. Of two entries due at one time, the kind listed first, then the lower
/// number, is executed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// An order expires.
    Expiry(OrderNo),
    /// A market closes.
    Deadline(MarketNo),
    /// A market pays out.
    WindowEnd(MarketNo),
    /// A user's heartbeat runs out.
    Heartbeat(UserNo),
}

/// All scheduled entries, by time.
#[derive(Debug, Clone, Default)]
pub struct Schedule {
    entries: BTreeSet<(TimeMs, Due)>,
}

impl Schedule {
    /// The earliest moment at which something is due.
    pub fn next(&self) -> Option<TimeMs> {
        self.entries.first().map(|(time, _)| *time)
    }

    /// Everything that is due by `now`, the earliest first.
    pub fn due_by(&self, now: TimeMs) -> impl Iterator<Item = Due> + '_ {
        self.entries.iter().take_while(move |(time, _)| *time <= now).map(|(_, due)| *due)
    }

    /// Adds an entry.
    pub fn add(&mut self, time: TimeMs, due: Due) {
        self.entries.insert((time, due));
    }

    /// Removes an entry.
    pub fn remove(&mut self, time: TimeMs, due: Due) {
        self.entries.remove(&(time, due));
    }

    /// Removes and returns the earliest entry that is due by `now`.
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

    /// Executes everything that is due by the record's time.
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
                    self.cancel_resting(slot, &expired, CancelReason::Expired, effects)?;
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
