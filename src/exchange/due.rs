//! The schedule: deadlines, the ends of dispute windows, heartbeat timeouts and order expiries
//! (semantics 3). A clock record executes them; until then commands treat what is due as done.
//!
//! *Moments* change what others see and are few; *bulk* is orders to cancel and positions to pay,
//! any number of them. Where ends are sliced, moments come first and bulk waits.

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
    /// A market's end goes on (`ending.rs`).
    Ending(MarketNo),
    /// Orders are left of a user whose heartbeat has run out.
    Abandoned(UserNo),
}

impl Due {
    const fn is_bulk(self) -> bool {
        match self {
            Due::Expiry(_) | Due::Ending(_) | Due::Abandoned(_) => true,
            Due::Deadline(_) | Due::WindowEnd(_) | Due::Heartbeat(_) => false,
        }
    }
}

/// All scheduled entries, by time.
#[derive(Debug, Clone, Default)]
pub struct Schedule {
    moments: BTreeSet<(TimeMs, Due)>,
    bulk: BTreeSet<(TimeMs, Due)>,
}

impl Schedule {
    /// The earliest moment at which something is due.
    pub fn next(&self) -> Option<TimeMs> {
        self.first().map(|(time, _)| time)
    }

    fn first(&self) -> Option<(TimeMs, Due)> {
        let firsts = [self.moments.first(), self.bulk.first()];
        firsts.into_iter().flatten().min().copied()
    }

    /// Adds an entry.
    pub fn add(&mut self, time: TimeMs, due: Due) {
        self.entries(due).insert((time, due));
    }

    /// Removes an entry.
    pub fn remove(&mut self, time: TimeMs, due: Due) {
        self.entries(due).remove(&(time, due));
    }

    const fn entries(&mut self, due: Due) -> &mut BTreeSet<(TimeMs, Due)> {
        if due.is_bulk() { &mut self.bulk } else { &mut self.moments }
    }

    /// Removes and returns the earliest entry that is due by `now`, or the earliest moment if one
    /// is due and those come first.
    fn take(&mut self, now: TimeMs, moments_first: bool) -> Option<Due> {
        let moment = self.moments.first().filter(|(time, _)| moments_first && *time <= now);
        let (time, due) = moment.copied().or_else(|| self.first())?;
        if time > now {
            return None;
        }
        self.remove(time, due);
        Some(due)
    }
}

impl Exchange {
    /// The earliest moment at which [`Command::AdvanceClock`](super::command::Command) would do
    /// something.
    pub fn next_due(&self) -> Option<TimeMs> {
        self.schedule.next()
    }

    /// Whether nothing on the schedule is due by `now`.
    pub(super) fn nothing_is_due(&self, now: TimeMs) -> bool {
        self.next_due().is_none_or(|due| due > now)
    }

    /// Executes what is due by the record's time; where ends are sliced, a slice of it. What is
    /// left stays due.
    pub(super) fn advance_clock(
        &mut self,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let mut work = self.work();
        let moments_first = self.ends_in_slices();
        while !work.is_done() {
            let Some(due) = self.schedule.take(at.time, moments_first) else { break };
            match due {
                Due::Expiry(order) => {
                    let slot = self.orders.find(order).ok_or(Broken::Dangling)?;
                    self.cancel_slot(slot, CancelReason::Expired, at, effects)?;
                    work.spend(1);
                }
                Due::Deadline(market) => {
                    work.spend(1);
                    self.apply_trigger(market, Trigger::Close, &mut work, at, effects)?;
                }
                Due::WindowEnd(market) => self.settle(market, &mut work, at, effects)?,
                Due::Heartbeat(user) => {
                    work.spend(1);
                    self.expire_heartbeat(user, &mut work, at, effects)?;
                }
                Due::Ending(market) => self.end_further(market, &mut work, at, effects)?,
                Due::Abandoned(user) => {
                    self.cancel_abandoned(user, &mut work, at, effects)?;
                }
            }
        }
        Ok(())
    }
}
