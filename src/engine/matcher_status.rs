//! What the matcher reports to the sequencer: how far it is, the results hash, and when something
//! is due next.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use exchange::Exchange;
use exchange::ids::UserNo;
use exchange::results::Results;
use exchange::units::{Sequence, TimeMs};

/// What is due and too much for one record is done in slices, and between two of them others come:
/// there is nothing to do for as long as the last slice took.
#[derive(Debug, Clone, Copy)]
enum Rest {
    Over,
    /// The slice is being folded.
    NotBegun,
    Until(Instant),
}

/// How long the sequencer waits before it asks again for what the matcher is busy with.
const ASK_AGAIN: Duration = Duration::from_millis(1);

/// The matcher's latest results and next due time. Written by the matcher after it has applied a
/// block and again after it has folded it; read by the sequencer.
#[derive(Debug)]
pub struct MatcherStatus {
    next_due_ms: AtomicI64,
    /// A record not later than that as of which `next_due_ms` holds: during catch-up the results,
    /// which it is taken from, lag behind.
    as_of: AtomicU64,
    folded: AtomicU64,
    /// Until when what a clock command left undone rests.
    rest: Mutex<Rest>,
    /// Behind a lock, so that hash and record belong together.
    results: Mutex<Results>,
    /// Names remembered.
    names: AtomicU64,
    /// Of users who were refused a name, when their oldest one is forgotten.
    names_free: Mutex<BTreeMap<UserNo, TimeMs>>,
}

impl Default for MatcherStatus {
    fn default() -> Self {
        MatcherStatus {
            next_due_ms: AtomicI64::new(i64::MAX),
            as_of: AtomicU64::new(0),
            folded: AtomicU64::new(0),
            rest: Mutex::new(Rest::Over),
            results: Mutex::new(Results::NONE),
            names: AtomicU64::new(0),
            names_free: Mutex::default(),
        }
    }
}

impl MatcherStatus {
    /// The status after a record, with the results up to it.
    pub fn of(exchange: &Exchange, results: Results) -> MatcherStatus {
        let status = MatcherStatus::default();
        status.post_came(exchange.next_due(), results);
        status.post_folded(results.through);
        status.post_names(exchange.names());
        status
    }

    /// Posts the results up to a block's end and what is due next. Called before anyone is
    /// answered, so that the sequencer already uses it for a caller's next command.
    pub fn post_came(&self, next_due: Option<TimeMs>, results: Results) {
        *self.results.lock() = results;
        self.next_due_ms.store(next_due.map_or(i64::MAX, TimeMs::get), Ordering::Release);
        // Stored last: a reader that sees this record sees what is due as of it.
        self.as_of.store(results.through.get(), Ordering::Release);
    }

    /// Posts, before [`post_came`](Self::post_came), whether a clock command left something due.
    pub fn post_left(&self, left: bool) {
        *self.rest.lock() = if left { Rest::NotBegun } else { Rest::Over };
    }

    /// Posts that a clock command left something due, and that it and its block took this long.
    pub fn post_slice(&self, took: Duration) {
        *self.rest.lock() = Instant::now().checked_add(took).map_or(Rest::Over, Rest::Until);
    }

    /// Posts how many names are remembered.
    pub fn post_names(&self, names: u64) {
        self.names.store(names, Ordering::Relaxed);
    }

    /// How many names are remembered.
    pub fn names(&self) -> u64 {
        self.names.load(Ordering::Relaxed)
    }

    /// Posts when a user who was refused a name has room again. Called before the user is answered.
    pub fn post_name_free(&self, user: UserNo, at: TimeMs) {
        self.names_free.lock().insert(user, at);
    }

    /// When a user who was refused a name has room again.
    pub fn name_free_at(&self, user: UserNo) -> Option<TimeMs> {
        self.names_free.lock().get(&user).copied()
    }

    /// Posts that everything up to this record is applied, folded and answered, and its results
    /// known.
    pub fn post_folded(&self, through: Sequence) {
        self.folded.store(through.get(), Ordering::Release);
    }

    /// The last record that is applied and folded and whose results are known.
    pub fn folded(&self) -> Sequence {
        Sequence::new(self.folded.load(Ordering::Acquire))
    }

    /// The latest results posted: of all blocks that the matcher has applied, except during
    /// catch-up, where they lag behind.
    pub fn results(&self) -> Results {
        *self.results.lock()
    }

    /// Whether a clock command is wanted at `now`, when the last one was `last_clock`: something is
    /// due that need not rest, and that clock command has been applied, so it cannot be what will
    /// do the due work.
    pub fn wants_clock(&self, now: TimeMs, last_clock: Sequence) -> bool {
        self.is_applied(last_clock)
            && self.next_due_ms.load(Ordering::Acquire) <= now.get()
            && self.rest_left().is_none()
    }

    /// How long to wait for other work before asking again whether a clock command is wanted; at
    /// most `usual`.
    pub fn ask_again_in(&self, last_clock: Sequence, usual: Duration) -> Duration {
        if !self.is_applied(last_clock) {
            return ASK_AGAIN;
        }
        self.rest_left().map_or(usual, |rest| rest.min(usual))
    }

    fn is_applied(&self, clock: Sequence) -> bool {
        Sequence::new(self.as_of.load(Ordering::Acquire)) >= clock
    }

    fn rest_left(&self) -> Option<Duration> {
        match *self.rest.lock() {
            Rest::Over => None,
            Rest::NotBegun => Some(ASK_AGAIN),
            Rest::Until(end) => {
                end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
            }
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/engine/matcher_status.rs"]
mod tests;
