//! The only clock. The sequencer stamps records with its time; replay uses those stamps and never
//! reads a clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use exchange::units::TimeMs;

/// A jump ahead by more than this is not followed at once: what it would end, such as a dispute
/// window, could not be undone. A synchronized clock is corrected by far less.
const JUMP_AHEAD: Duration = Duration::from_mins(1);
/// How long the system clock must stay ahead before it is followed.
const FOLLOWED_AFTER: Duration = Duration::from_mins(1);
/// A system clock behind by this much is logged.
const LOGGED_BEHIND_FROM: Duration = Duration::from_secs(1);

/// How far ahead of the last record the clock may be at the first start on a boot of the machine:
/// an outage may take so long, and a clock that was never set differs by more.
const BELIEVED_AHEAD_MS: i64 = 24 * 3_600_000;

/// The system clock's time. One set before 1970 reads as 1970, one after 9999 as 9999.
pub fn now() -> TimeMs {
    system_time().0
}

/// Whether the system's clock is set before 1970, with which the journal's store cannot be opened.
pub fn is_before_1970() -> bool {
    SystemTime::now() < UNIX_EPOCH
}

/// The system clock's time, and whether a venue can have it.
fn system_time() -> (TimeMs, bool) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = at_ms(*since.as_ref().unwrap_or(&Duration::ZERO));
    (time, since.is_ok() && time < TimeMs::MAX)
}

/// The time that it was at a time of the machine's boot clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SinceBoot {
    /// The time.
    pub time: TimeMs,
    /// The boot clock's.
    pub at: Duration,
}

/// The system's clock is further ahead of the last record than is believed without being told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockAhead {
    /// The last record's time.
    pub last: TimeMs,
    /// The system clock's.
    pub system: TimeMs,
}

/// A monotonic clock, which the system clock's settings do not affect; it runs on while the machine
/// sleeps.
#[cfg(target_os = "linux")]
fn monotonic() -> Duration {
    let since = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::try_from(since).unwrap_or_default()
}

/// A monotonic clock, which the system clock's settings do not affect.
#[cfg(not(target_os = "linux"))]
fn monotonic() -> Duration {
    use std::sync::LazyLock;
    use std::time::Instant;

    static START_INSTANT: LazyLock<Instant> = LazyLock::new(Instant::now);
    START_INSTANT.elapsed()
}

/// What a venue's clock reads.
pub trait Timepiece: std::fmt::Debug + Send + Sync {
    /// The calendar's time, and whether a venue can have it.
    fn calendar(&self) -> (TimeMs, bool);

    /// A time that goes on evenly, from some moment on.
    fn monotonic(&self) -> Duration;
}

/// The system's clocks.
#[derive(Debug)]
struct SystemClocks;

impl Timepiece for SystemClocks {
    fn calendar(&self) -> (TimeMs, bool) {
        system_time()
    }

    fn monotonic(&self) -> Duration {
        monotonic()
    }
}

/// The venue's clock: stamps records and answers what time it is. It never goes back.
#[derive(Debug)]
pub struct Clock {
    state: Mutex<State>,
    reads: Box<dyn Timepiece>,
}

#[derive(Debug)]
struct State {
    times: Times,
    /// The time of the block being written.
    writing: Option<TimeMs>,
    /// Whether the system's clock is set to a time that no venue can have.
    outside: bool,
}

/// Whether a record stamped at or before a moment may still appear in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The moment has passed, and all its records are in the journal.
    Yes,
    /// It has passed, and a block that may be stamped by then is being written, or may have been.
    Soon,
    /// It has not passed.
    No,
}

impl Clock {
    /// A clock that continues after the last record of a journal.
    pub fn after(last: TimeMs) -> Clock {
        Clock::reading(Box::new(SystemClocks), last)
    }

    /// The same by another timepiece than the system's clocks.
    pub fn reading(reads: Box<dyn Timepiece>, last: TimeMs) -> Clock {
        let times = Times::starting_at(last, reads.calendar().0, reads.monotonic());
        Clock::of(times, reads)
    }

    /// The same at a start that judges the system's clock: by what is known of this boot, or, at
    /// the first start on a boot, by the last record.
    ///
    /// # Errors
    /// [`ClockAhead`] if somebody must confirm that the system's clock is right.
    pub fn judged(last: TimeMs, known: Option<SinceBoot>) -> Result<Clock, ClockAhead> {
        let reads = SystemClocks;
        let times = Times::judged(last, known, reads.calendar().0, reads.monotonic())?;
        Ok(Clock::of(times, Box::new(reads)))
    }

    fn of(times: Times, reads: Box<dyn Timepiece>) -> Clock {
        Clock { state: Mutex::new(State { times, writing: None, outside: false }), reads }
    }

    /// A time that goes on evenly, whatever the calendar does: to measure how long something took.
    pub fn monotonic(&self) -> Duration {
        self.reads.monotonic()
    }

    /// The current time, and that of the machine's boot clock.
    pub fn since_boot(&self) -> SinceBoot {
        let mut state = self.state.lock();
        let time = state.now(&*self.reads);
        SinceBoot { time, at: state.times.at }
    }

    /// The current time.
    pub fn now(&self) -> TimeMs {
        self.state.lock().now(&*self.reads)
    }

    /// The time for the next block, which counts as being written until [`wrote`](Clock::wrote).
    pub fn stamp(&self) -> TimeMs {
        let mut state = self.state.lock();
        let time = state.now(&*self.reads);
        state.writing = Some(time);
        time
    }

    /// The stamped block is durable, or never will be. Not to be called while neither is certain:
    /// moments from its stamp on must not count as settled then.
    pub fn wrote(&self) {
        self.state.lock().writing = None;
    }

    /// Whether a record stamped at or before `moment` may still appear in the journal.
    pub fn settled(&self, moment: TimeMs) -> Settled {
        let mut state = self.state.lock();
        if moment >= state.now(&*self.reads) {
            return Settled::No;
        }
        let written = state.writing.is_none_or(|writing| moment < writing);
        if written { Settled::Yes } else { Settled::Soon }
    }
}

impl State {
    fn now(&mut self, reads: &dyn Timepiece) -> TimeMs {
        let (system, possible) = reads.calendar();
        if !possible && !self.outside {
            tracing::error!(
                "the system's clock is set to a time before 1970 or after 9999: records are \
                 stamped as if it were the nearest in between; correct it"
            );
        }
        self.outside = !possible;
        let (time, fault) = self.times.read(system, reads.monotonic());
        if let Some(fault) = fault {
            fault.log();
        }
        time
    }
}

/// Turns the system clock's readings into times that never go back. While the system clock is
/// behind, time runs at half speed until the system clock has caught up; a jump ahead is not
/// followed at once. Durations since 1970 keep what half speed makes of less than a millisecond.
#[derive(Debug)]
struct Times {
    /// The time that was read last, and the monotonic time of that reading.
    last: Duration,
    at: Duration,
    /// Since when the system clock has been too far ahead.
    ahead_since: Option<Duration>,
    logged_behind: bool,
}

/// A fault of the system clock, for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClockFault {
    /// It jumped ahead by this much, and is not followed for now.
    Ahead(Duration),
    /// It stayed ahead by this much, and is followed now.
    Believed(Duration),
    /// It is behind the last record by this much.
    Behind(Duration),
}

impl ClockFault {
    fn log(self) {
        match self {
            ClockFault::Ahead(by) => tracing::error!(
                ?by,
                "the system's clock has jumped ahead: records are stamped as if it had not, until \
                 it has stayed there for a minute"
            ),
            ClockFault::Believed(by) => {
                tracing::warn!(?by, "the system's clock has stayed ahead and is followed");
            }
            ClockFault::Behind(by) => tracing::warn!(
                ?by,
                "the system's clock is behind the last record: until it has caught up, time goes \
                 on at half its speed"
            ),
        }
    }
}

impl Times {
    fn starting_at(last: TimeMs, system: TimeMs, at: Duration) -> Times {
        let last = since_1970(last.max(system));
        Times { last, at, ahead_since: None, logged_behind: false }
    }

    /// A system clock that is ahead of what this boot's clock says is doubted, as if it had jumped
    /// while the venue ran. Where that is not known it is believed, unless that would end too much.
    fn judged(
        last: TimeMs,
        known: Option<SinceBoot>,
        system: TimeMs,
        at: Duration,
    ) -> Result<Times, ClockAhead> {
        // Stamped later than now on the same boot: some other clock's.
        let known = known.filter(|known| known.at <= at);
        let expected = known.map(|known| {
            let passed = at.saturating_sub(known.at);
            since_1970(known.time).saturating_add(passed)
        });
        match expected {
            Some(expected) if since_1970(system) > expected.saturating_add(JUMP_AHEAD) => {
                Ok(Times::starting_at(last, at_ms(expected), at))
            }
            None if last != TimeMs::default()
                && system.get().saturating_sub(last.get()) > BELIEVED_AHEAD_MS =>
            {
                Err(ClockAhead { last, system })
            }
            Some(_) | None => Ok(Times::starting_at(last, system, at)),
        }
    }

    /// The time for this reading of the system clock and of the monotonic clock, and the system
    /// clock's fault, reported once.
    fn read(&mut self, system: TimeMs, at: Duration) -> (TimeMs, Option<ClockFault>) {
        let system = since_1970(system);
        let passed = at.saturating_sub(self.at);
        let expected = self.last.saturating_add(passed);
        let ahead = system.saturating_sub(expected);
        let behind = self.last.saturating_sub(system);
        let mut fault = None;
        let time = if ahead > JUMP_AHEAD {
            let since = *self.ahead_since.get_or_insert_with(|| {
                fault = Some(ClockFault::Ahead(ahead));
                at
            });
            if at.saturating_sub(since) >= FOLLOWED_AFTER {
                self.ahead_since = None;
                fault = Some(ClockFault::Believed(ahead));
                system
            } else {
                expected
            }
        } else if behind > Duration::ZERO {
            self.ahead_since = None;
            if behind >= LOGGED_BEHIND_FROM && !self.logged_behind {
                self.logged_behind = true;
                fault = Some(ClockFault::Behind(behind));
            }
            self.last.saturating_add(passed / 2)
        } else {
            (self.ahead_since, self.logged_behind) = (None, false);
            system
        };
        (self.last, self.at) = (time, self.at.max(at));
        (at_ms(time), fault)
    }
}

fn since_1970(time: TimeMs) -> Duration {
    Duration::from_millis(time.get().unsigned_abs())
}

/// The last whole millisecond, at most [`TimeMs::MAX`].
fn at_ms(since: Duration) -> TimeMs {
    let ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    TimeMs::new(ms).unwrap_or(TimeMs::MAX)
}

#[cfg(test)]
#[path = "../../tests/unit/engine/clock.rs"]
mod tests;
