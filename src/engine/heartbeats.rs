//! Renewals of heartbeats that are not journaled yet. A trader who beats every second would write a
//! record a second; while more than half of the journaled time is left, a beat is only remembered
//! here, and the sequencer journals it before the journaled time runs out. After a crash what was
//! journaled counts, so that orders may be cancelled up to half a time-out before the promised
//! moment.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

use exchange::command::Command;
use exchange::restrictions::Guarded;
use exchange::rules::GROUP_HEARTBEATS_MAX;
use exchange::units::TimeMs;

/// How long before the journaled time runs out a renewal is journaled: more than a slow disk takes,
/// and less than half of the shortest time-out.
const AHEAD_MS: i64 = 1_000;
/// Renewals journaled in one block.
const RENEWALS_PER_BLOCK: usize = 256;

/// A heartbeat since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    whose: Guarded,
    /// The time-out that the user asked for.
    timeout_seconds: u32,
    /// When it runs out by the journal.
    journaled: TimeMs,
    /// When it runs out by the answers.
    promised: TimeMs,
}

impl Beat {
    fn outstanding(&self) -> bool {
        self.promised > self.journaled
    }

    /// When the sequencer must look at it.
    fn wakes(&self) -> TimeMs {
        let early = if self.outstanding() { AHEAD_MS } else { 0 };
        moment(self.journaled.get().saturating_sub(early))
    }

    /// Whole seconds from `at` until at least the promised moment.
    fn seconds_from(&self, at: TimeMs) -> u32 {
        let ms = self.promised.get().saturating_sub(at.get()).max(1);
        u32::try_from(ms.unsigned_abs().div_ceil(1_000)).unwrap_or(u32::MAX)
    }

    /// The command that keeps the promise when it is stamped `at`.
    pub fn renewal(&self, at: TimeMs) -> Option<Command> {
        let ((user, group), timeout_seconds) = (self.whose, self.seconds_from(at));
        let group = group.map(Box::new);
        self.outstanding().then_some(Command::Heartbeat { user, timeout_seconds, group })
    }
}

/// The heartbeats that were set or renewed since the start: one per user and group, gone once run
/// out.
#[derive(Debug, Default)]
struct Table {
    beats: BTreeMap<Guarded, Beat>,
    wakes: BTreeSet<(TimeMs, Guarded)>,
    closed: bool,
}

impl Table {
    fn take(&mut self, whose: Guarded) -> Option<Beat> {
        let beat = self.beats.remove(&whose)?;
        self.wakes.remove(&(beat.wakes(), whose));
        Some(beat)
    }

    fn put(&mut self, beat: Beat) {
        if let Some(before) = self.beats.insert(beat.whose, beat) {
            self.wakes.remove(&(before.wakes(), before.whose));
        }
        self.wakes.insert((beat.wakes(), beat.whose));
    }
}

/// The table, shared by the callers that renew and the sequencer, which alone journals.
#[derive(Debug, Default)]
pub struct Heartbeats(Mutex<Table>);

impl Heartbeats {
    /// Renews a heartbeat without a record, if its time-out stays as it is and more than half of
    /// the journaled time, which the caller's reads `shown`, is left. Returns when it runs out.
    pub fn renew(
        &self,
        whose: Guarded,
        timeout_seconds: u32,
        shown: TimeMs,
        now: impl FnOnce() -> TimeMs,
    ) -> Option<TimeMs> {
        let mut table = self.0.lock();
        // Under the lock: a block that is stamped later finds this promise.
        let now = now();
        let beat = *table.beats.get(&whose)?;
        let left = beat.journaled.get().saturating_sub(now.get());
        let half = i64::from(timeout_seconds).saturating_mul(500);
        let same = beat.timeout_seconds == timeout_seconds && beat.journaled == shown;
        if table.closed || !same || left <= half {
            return None;
        }
        let promised = now.after_seconds(timeout_seconds).max(beat.promised);
        table.put(Beat { promised, ..beat });
        Some(promised)
    }

    /// When a heartbeat runs out by the answers.
    pub fn promised(&self, whose: Guarded) -> Option<TimeMs> {
        self.0.lock().beats.get(&whose).map(|beat| beat.promised)
    }

    /// A heartbeat was stamped into a block.
    pub(super) fn stamped(&self, whose: Guarded, timeout_seconds: u32, at: TimeMs) {
        let mut table = self.0.lock();
        if timeout_seconds == 0 {
            table.take(whose);
            return;
        }
        let (user, group) = whose;
        // Whether it was accepted is not known yet: a refused one must not take room. One that is
        // not here is journaled each time.
        let of_user = table.beats.range((user, None)..).take_while(|(other, _)| other.0 == user);
        let is_new = group.is_some() && !table.beats.contains_key(&whose);
        if is_new && of_user.count() > GROUP_HEARTBEATS_MAX {
            return;
        }
        let journaled = at.after_seconds(timeout_seconds);
        table.put(Beat { whose, timeout_seconds, journaled, promised: journaled });
    }

    /// Takes out a heartbeat, of which nothing is known from here on.
    pub(super) fn take(&self, whose: Guarded) -> Option<Beat> {
        self.0.lock().take(whose)
    }

    /// Puts back what was taken out.
    pub(super) fn put_back(&self, beat: Beat) {
        self.0.lock().put(beat);
    }

    /// Whether something is to be journaled or forgotten by `now`.
    pub(super) fn wake(&self, now: TimeMs) -> bool {
        self.0.lock().wakes.first().is_some_and(|(at, _)| *at <= now)
    }

    /// What must be journaled before any record is stamped `now`, with the stamp for it: before the
    /// first of these runs out by the journal, even if the disk or this process stood still for
    /// longer than that. They then count as journaled. Forgets heartbeats that have run out.
    pub(super) fn due(&self, now: TimeMs) -> Option<(TimeMs, Vec<Command>)> {
        let mut table = self.0.lock();
        let mut due = Vec::new();
        while let Some((_, whose)) = table.wakes.first().copied().filter(|(at, _)| *at <= now)
            && due.len() < RENEWALS_PER_BLOCK
        {
            due.extend(table.take(whose).filter(Beat::outstanding));
        }
        Some(table.journal(now, due)).filter(|(_, renewals)| !renewals.is_empty())
    }

    /// The same of all that is left; no more is promised.
    pub(super) fn close(&self, now: TimeMs) -> Option<(TimeMs, Vec<Command>)> {
        let mut table = self.0.lock();
        table.closed = true;
        let due = table.beats.values().copied().filter(Beat::outstanding);
        let due = due.take(RENEWALS_PER_BLOCK).collect();
        Some(table.journal(now, due)).filter(|(_, renewals)| !renewals.is_empty())
    }
}

impl Table {
    fn journal(&mut self, now: TimeMs, due: Vec<Beat>) -> (TimeMs, Vec<Command>) {
        let first = due.iter().map(|beat| beat.journaled.get().saturating_sub(1)).min();
        let at = first.map_or(now, |first| now.min(moment(first)));
        let renewals = due.iter().filter_map(|beat| beat.renewal(at)).collect();
        for beat in due {
            self.put(Beat { journaled: at.after_seconds(beat.seconds_from(at)), ..beat });
        }
        (at, renewals)
    }
}

/// The nearest moment that there is.
fn moment(ms: i64) -> TimeMs {
    TimeMs::new(ms.max(0)).unwrap_or(TimeMs::MAX)
}

#[cfg(test)]
#[path = "../../tests/unit/engine/heartbeats.rs"]
mod tests;
