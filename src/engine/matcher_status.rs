//! What the matcher reports to the sequencer: how far it is, the results hash, and when something
//! is due next.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

use exchange::Exchange;
use exchange::ids::UserNo;
use exchange::results::Results;
use exchange::units::{Sequence, TimeMs};

/// What is due and too much for one record is done in slices, and between two of them others come:
/// there is nothing to do for as long as the last slice took.
#[derive(Debug, Clone, Copy, Default)]
pub enum Rest {
    /// Nothing rests.
    #[default]
    Over,
    /// The slice is being folded.
    NotBegun,
    /// Until this time of the [monotonic clock](super::clock::Clock::monotonic).
    Until(Duration),
}

/// How long the sequencer waits before it asks again for what the matcher is busy with.
const ASK_AGAIN: Duration = Duration::from_millis(1);

/// The matcher's latest report, written after it has applied a block and read by the sequencer.
#[derive(Debug, Default)]
pub struct MatcherStatus {
    report: Mutex<Report>,
    /// Of users who were refused a name, when their oldest one is forgotten.
    names_free: Mutex<BTreeMap<UserNo, TimeMs>>,
}

/// How far the matcher is.
#[derive(Debug, Clone, Copy)]
struct Report {
    /// Of all blocks that were applied.
    results: Results,
    next_due: Option<TimeMs>,
    /// Names remembered.
    names: u64,
    /// Until when what a clock command left undone rests.
    rest: Rest,
}

impl Default for Report {
    fn default() -> Report {
        Report { results: Results::NONE, next_due: None, names: 0, rest: Rest::Over }
    }
}

impl MatcherStatus {
    /// The status after a record, with the results up to it.
    pub fn of(exchange: &Exchange, results: Results) -> MatcherStatus {
        let status = MatcherStatus::default();
        status.post_applied(results, exchange.next_due(), exchange.names(), None);
        status
    }

    /// Posts the results up to a block's end, what is due next and, if that may have changed,
    /// whether it rests. Called before anyone is answered, so that the sequencer already uses it
    /// for a caller's next command.
    pub fn post_applied(
        &self,
        results: Results,
        next_due: Option<TimeMs>,
        names: u64,
        rest: Option<Rest>,
    ) {
        let mut report = self.report.lock();
        let rest = rest.unwrap_or(report.rest);
        *report = Report { results, next_due, names, rest };
    }

    /// Posts until when what a clock command left undone rests.
    pub fn post_rest(&self, until: Duration) {
        self.report.lock().rest = Rest::Until(until);
    }

    /// How many names are remembered.
    pub fn names(&self) -> u64 {
        self.report.lock().names
    }

    /// Posts when a user who was refused a name has room again. Called before the user is answered.
    pub fn post_name_free(&self, user: UserNo, at: TimeMs) {
        self.names_free.lock().insert(user, at);
    }

    /// When a user who was refused a name has room again.
    pub fn name_free_at(&self, user: UserNo) -> Option<TimeMs> {
        self.names_free.lock().get(&user).copied()
    }

    /// The results of all blocks that the matcher has applied.
    pub fn results(&self) -> Results {
        self.report.lock().results
    }

    /// Whether a clock command is wanted at `now`, when the last one was `last_clock`: something is
    /// due that need not rest, and that clock command has been applied, so it cannot be what will
    /// do the due work. `at` reads the monotonic clock.
    pub fn wants_clock(
        &self,
        now: TimeMs,
        last_clock: Sequence,
        at: impl FnOnce() -> Duration,
    ) -> bool {
        let report = *self.report.lock();
        report.results.through >= last_clock
            && report.next_due.is_some_and(|due| due <= now)
            && report.rest.left(at).is_none()
    }

    /// How long to wait for other work before asking again whether a clock command is wanted; at
    /// most `usual`.
    pub fn ask_again_in(&self, last_clock: Sequence, at: Duration, usual: Duration) -> Duration {
        let report = *self.report.lock();
        if report.results.through < last_clock {
            return ASK_AGAIN;
        }
        report.rest.left(|| at).map_or(usual, |rest| rest.min(usual))
    }
}

impl Rest {
    fn left(self, at: impl FnOnce() -> Duration) -> Option<Duration> {
        match self {
            Rest::Over => None,
            Rest::NotBegun => Some(ASK_AGAIN),
            Rest::Until(end) => end.checked_sub(at()).filter(|left| !left.is_zero()),
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/engine/matcher_status.rs"]
mod tests;
