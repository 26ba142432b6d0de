//! The sequencer's part in renewing heartbeats: it journals what [`Heartbeats`] promised.
//!
//! [`Heartbeats`]: super::Heartbeats

use super::{HaltReason, Journal, OpenBlock, Sequencer, Waiting};
use exchange::command::Command;
use exchange::ids::UserNo;
use exchange::units::TimeMs;

impl<J: Journal> Sequencer<J> {
    /// Adds a heartbeat of a user with this time-out. One with a key may be a repetition, which
    /// changes nothing: what was promised before must hold after it.
    pub(super) fn add_heartbeat(
        &self,
        open: &mut OpenBlock,
        waiting: Waiting,
        (user, timeout_seconds, keyed): (UserNo, u32, bool),
    ) -> Option<Waiting> {
        let before = if keyed { self.heartbeats.take(user) } else { None };
        let renewal = before.and_then(|beat| beat.renewal(open.time));
        let full = renewal.is_some_and(|renewal| open.stamp(renewal.into(), None).is_some());
        let left = if full { Some(waiting) } else { open.add(waiting, &self.meter.sequencer) };
        match (&left, before) {
            (Some(_), Some(before)) => self.heartbeats.put_back(before),
            (None, _) if !keyed => self.heartbeats.stamped(user, timeout_seconds, open.time),
            _ => {}
        }
        left
    }

    /// The next block's stamp, before which every heartbeat is journaled that would run out by it.
    pub(super) fn stamp_after_renewals(&mut self) -> Result<TimeMs, HaltReason> {
        loop {
            let time = self.clock.stamp();
            let Some((at, renewals)) = self.heartbeats.due(time) else { return Ok(time) };
            self.journal_renewals(at, renewals)?;
        }
    }

    fn journal_renewals(&mut self, at: TimeMs, renewals: Vec<Command>) -> Result<(), HaltReason> {
        let head = self.journal.head();
        let mut open = OpenBlock::after(head, at.max(head.time), renewals.len());
        for renewal in renewals {
            // Few enough for one block.
            drop(open.stamp(renewal.into(), None));
        }
        self.make_durable(open)
    }

    /// Journals what was promised and is not journaled yet, since nobody remembers it after a stop.
    pub(super) fn keep_promises(&mut self) -> Result<(), HaltReason> {
        while let Some((at, renewals)) = self.heartbeats.close(self.clock.stamp()) {
            self.journal_renewals(at, renewals)?;
        }
        self.clock.wrote();
        Ok(())
    }
}
