//! Renewals of heartbeats that are not journaled yet. A trader who beats every second would write a
//! record a second; while more than half of the journaled time is left, a beat is only remembered
//! here, and the sequencer journals it before the journaled time runs out. After a crash what was
//! journaled counts, so that orders may be cancelled up to half a time-out before the promised
//! moment.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

use exchange::command::Command;
use exchange::ids::UserNo;
use exchange::units::TimeMs;

/// How long before the journaled time runs out a renewal is journaled: more than a slow disk takes,
/// and less than half of the shortest time-out.
const AHEAD_MS: i64 = 1_000;
/// Renewals journaled in one block.
const RENEWALS_PER_BLOCK: usize = 256;

/// One user's heartbeat since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    user: UserNo,
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
        let (user, timeout_seconds) = (self.user, self.seconds_from(at));
        self.outstanding().then_some(Command::Heartbeat { user, timeout_seconds })
    }
}

/// The heartbeats that were set or renewed since the start: one per user, gone once run out.
#[derive(Debug, Default)]
struct Table {
    beats: BTreeMap<UserNo, Beat>,
    wakes: BTreeSet<(TimeMs, UserNo)>,
    closed: bool,
}

impl Table {
    fn take(&mut self, user: UserNo) -> Option<Beat> {
        let beat = self.beats.remove(&user)?;
        self.wakes.remove(&(beat.wakes(), user));
        Some(beat)
    }

    fn put(&mut self, beat: Beat) {
        if let Some(before) = self.beats.insert(beat.user, beat) {
            self.wakes.remove(&(before.wakes(), before.user));
        }
        self.wakes.insert((beat.wakes(), beat.user));
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
        user: UserNo,
        timeout_seconds: u32,
        shown: TimeMs,
        now: impl FnOnce() -> TimeMs,
    ) -> Option<TimeMs> {
        let mut table = self.0.lock();
        // Under the lock: a block that is stamped later finds this promise.
        let now = now();
        let beat = *table.beats.get(&user)?;
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

    /// When the user's heartbeat runs out by the answers.
    pub fn promised(&self, user: UserNo) -> Option<TimeMs> {
        self.0.lock().beats.get(&user).map(|beat| beat.promised)
    }

    /// The user's heartbeat was stamped into a block.
    pub(super) fn stamped(&self, user: UserNo, timeout_seconds: u32, at: TimeMs) {
        let mut table = self.0.lock();
        if timeout_seconds == 0 {
            table.take(user);
            return;
        }
        let journaled = at.after_seconds(timeout_seconds);
        table.put(Beat { user, timeout_seconds, journaled, promised: journaled });
    }

    /// Takes out a user's heartbeat, of which nothing is known from here on.
    pub(super) fn take(&self, user: UserNo) -> Option<Beat> {
        self.0.lock().take(user)
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
        while let Some((_, user)) = table.wakes.first().copied().filter(|(at, _)| *at <= now)
            && due.len() < RENEWALS_PER_BLOCK
        {
            due.extend(table.take(user).filter(Beat::outstanding));
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
mod tests {
    use super::*;

    const ANN: UserNo = UserNo(1);
    const BOB: UserNo = UserNo(2);

    fn beats(ann: u32) -> Heartbeats {
        let beats = Heartbeats::default();
        beats.stamped(ANN, ann, moment(0));
        beats
    }

    fn renew(beats: &Heartbeats, seconds: u32, shown: i64, now: i64) -> Option<i64> {
        beats.renew(ANN, seconds, moment(shown), || moment(now)).map(TimeMs::get)
    }

    /// The stamp and the time-outs of what is due.
    fn due(beats: &Heartbeats, now: i64) -> Option<(i64, Vec<u32>)> {
        let seconds = |command| match command {
            Command::Heartbeat { timeout_seconds, .. } => timeout_seconds,
            other => panic!("{other:?}"),
        };
        let (at, renewals) = beats.due(moment(now))?;
        Some((at.get(), renewals.into_iter().map(seconds).collect()))
    }

    #[test]
    fn a_renewal_waits_only_while_more_than_half_of_the_same_time_out_is_left() {
        let beats = beats(10);
        assert_eq!(renew(&beats, 10, 10_000, 4_000), Some(14_000));
        assert_eq!(renew(&beats, 10, 10_000, 4_999), Some(14_999));
        assert_eq!(renew(&beats, 10, 10_000, 5_000), None);
        assert_eq!(renew(&beats, 11, 10_000, 1_000), None, "another time-out");
        assert_eq!(renew(&beats, 10, 9_000, 1_000), None, "what was journaled is not shown yet");
        assert_eq!(beats.renew(BOB, 10, moment(10_000), || moment(1)), None, "never journaled");
        assert_eq!(beats.promised(ANN), Some(moment(14_999)));
        // Switched off, nothing is promised.
        beats.stamped(ANN, 0, moment(5_000));
        assert_eq!((beats.promised(ANN), renew(&beats, 10, 10_000, 5_000)), (None, None));
    }

    #[test]
    fn a_promise_is_journaled_before_the_journaled_time_runs_out_and_for_its_whole_time() {
        let beats = beats(10);
        assert_eq!(renew(&beats, 10, 10_000, 4_000), Some(14_000));
        assert!(!beats.wake(moment(8_999)) && beats.wake(moment(9_000)));
        assert_eq!(due(&beats, 9_100), Some((9_100, vec![5])));
        // It is journaled until 14,100 now, and the promise stays what it was.
        assert_eq!((due(&beats, 14_000), beats.promised(ANN)), (None, Some(moment(14_000))));
        assert_eq!(renew(&beats, 10, 14_100, 9_099), Some(19_099));
        assert_eq!(due(&beats, 13_100), Some((13_100, vec![6])));
        // Run out: forgotten.
        assert_eq!((due(&beats, 19_100), beats.promised(ANN)), (None, None));
    }

    #[test]
    fn a_promise_outlives_a_standstill() {
        let beats = beats(10);
        assert_eq!(renew(&beats, 10, 10_000, 4_500), Some(14_500));
        // Stopped from 5 s to 12 s: the record must not come after the time has run out.
        assert_eq!(due(&beats, 12_000), Some((9_999, vec![5])));
        assert_eq!((due(&beats, 12_000), beats.promised(ANN)), (None, Some(moment(14_500))));
        assert_eq!((due(&beats, 15_000), beats.promised(ANN)), (None, None));
    }

    #[test]
    fn a_stop_journals_every_promise_and_takes_no_more() {
        let beats = beats(10);
        beats.stamped(BOB, 10, moment(0));
        assert_eq!(renew(&beats, 10, 10_000, 2_000), Some(12_000));
        let (at, renewals) = beats.close(moment(3_000)).unwrap();
        let kept = Command::Heartbeat { user: ANN, timeout_seconds: 9 };
        assert_eq!((at, renewals), (moment(3_000), vec![kept]));
        assert_eq!((beats.close(moment(3_000)), renew(&beats, 10, 12_000, 3_000)), (None, None));
    }
}
