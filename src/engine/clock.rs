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

/// The venue's clock: stamps records and answers what time it is. It never goes back.
#[derive(Debug)]
pub struct Clock(Mutex<State>);

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
        Clock::of(Times::starting_at(last, now(), monotonic()))
    }

    /// The same at a start that judges the system's clock: by what is known of this boot, or, at
    /// the first start on a boot, by the last record.
    ///
    /// # Errors
    /// [`ClockAhead`] if somebody must confirm that the system's clock is right.
    pub fn judged(last: TimeMs, known: Option<SinceBoot>) -> Result<Clock, ClockAhead> {
        Times::judged(last, known, now(), monotonic()).map(Clock::of)
    }

    fn of(times: Times) -> Clock {
        Clock(Mutex::new(State { times, writing: None, outside: false }))
    }

    /// The current time, and that of the machine's boot clock.
    pub fn since_boot(&self) -> SinceBoot {
        let mut state = self.0.lock();
        let time = state.now();
        SinceBoot { time, at: state.times.at }
    }

    /// The current time.
    pub fn now(&self) -> TimeMs {
        self.0.lock().now()
    }

    /// The time for the next block, which counts as being written until [`wrote`](Clock::wrote).
    pub fn stamp(&self) -> TimeMs {
        let mut state = self.0.lock();
        let time = state.now();
        state.writing = Some(time);
        time
    }

    /// The stamped block is durable, or never will be. Not to be called while neither is certain:
    /// moments from its stamp on must not count as settled then.
    pub fn wrote(&self) {
        self.0.lock().writing = None;
    }

    /// Whether a record stamped at or before `moment` may still appear in the journal.
    pub fn settled(&self, moment: TimeMs) -> Settled {
        let mut state = self.0.lock();
        if moment >= state.now() {
            return Settled::No;
        }
        let written = state.writing.is_none_or(|writing| moment < writing);
        if written { Settled::Yes } else { Settled::Soon }
    }
}

impl State {
    fn now(&mut self) -> TimeMs {
        let (system, possible) = system_time();
        if !possible && !self.outside {
            tracing::error!(
                "the system's clock is set to a time before 1970 or after 9999: records are \
                 stamped as if it were the nearest in between; correct it"
            );
        }
        self.outside = !possible;
        let (time, fault) = self.times.read(system, monotonic());
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: i64 = 1_700_000_000_000;

    fn at(ms: i64) -> TimeMs {
        TimeMs::new(START + ms).unwrap()
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Record times for pairs of readings: the system clock and the monotonic clock.
    fn times(readings: &[(i64, u64)]) -> Vec<(i64, Option<ClockFault>)> {
        let mut stamps = Times::starting_at(at(0), at(0), ms(0));
        let times = readings.iter().map(|(system, passed)| stamps.read(at(*system), ms(*passed)));
        times.map(|(time, fault)| (time.get() - START, fault)).collect()
    }

    #[test]
    fn a_clock_that_is_corrected_a_little_is_followed() {
        let readings = [(5, 5), (59_000, 10), (119_000, 20), (200_000, 81_020)];
        let expected = [(5, None), (59_000, None), (119_000, None), (200_000, None)];
        assert_eq!(times(&readings), expected);
    }

    #[test]
    fn a_jump_ahead_and_back_leaves_no_trace() {
        let year: i64 = 365 * 24 * 3_600_000;
        let ahead = ClockFault::Ahead(ms(year.unsigned_abs() - 10));
        let readings = [(5, 5), (year, 10), (year + 400, 410), (412, 412), (500, 500)];
        let expected = [(5, None), (10, Some(ahead)), (410, None), (412, None), (500, None)];
        assert_eq!(times(&readings), expected);
    }

    #[test]
    fn a_clock_that_stays_ahead_is_believed_in_the_end() {
        let hour: i64 = 3_600_000;
        let mut readings = vec![(0, 0), (hour, 10)];
        readings.extend([
            (hour + 30_000, 30_010),
            (hour + 60_000, 60_010),
            (hour + 60_005, 60_015),
        ]);
        let ahead = ms(hour.unsigned_abs() - 10);
        let believed = ahead;
        let expected = [
            (0, None),
            (10, Some(ClockFault::Ahead(ahead))),
            (30_010, None),
            (hour + 60_000, Some(ClockFault::Believed(believed))),
            (hour + 60_005, None),
        ];
        assert_eq!(times(&readings), expected);
    }

    #[test]
    fn behind_the_journal_time_goes_on_at_half_speed_until_the_clock_has_caught_up() {
        let readings = [(10_000, 10_000), (4_000, 10_010), (5_000, 11_010), (15_990, 22_000)];
        let behind = ClockFault::Behind(ms(6_000));
        let (half, caught_up) = (10_000 + 1_010 / 2, 10_000 + 12_000 / 2);
        let mut expected = vec![(10_000, None), (10_005, Some(behind)), (half, None)];
        expected.push((caught_up - 10, None));
        // By now the clock reads more than the last record's time.
        let times = times(&readings);
        assert_eq!(times[..3], expected[..3]);
        assert_eq!(times[3], (15_990, None));
    }

    #[test]
    fn time_goes_on_evenly_from_one_fault_to_the_next() {
        let hour: i64 = 3_600_000;
        // Ahead for 50 s, then two seconds behind the last time.
        let mut readings = vec![(0, 0), (hour, 10), (hour + 50_000, 50_010)];
        readings.extend([(48_010, 50_010), (49_010, 51_010), (50_010, 52_010), (53_010, 53_010)]);
        // Then ahead again.
        readings.extend([(hour, 54_010), (hour + 1_000, 55_010)]);
        let expected = [0, 10, 50_010, 50_010, 50_510, 51_010, 53_010, 54_010, 55_010];
        assert_eq!(times(&readings).iter().map(|(time, _)| *time).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_start_before_the_last_record_says_so() {
        let mut stamps = Times::starting_at(at(90_000), at(0), ms(0));
        let (time, fault) = stamps.read(at(10), ms(10));
        assert_eq!((time, fault), (at(90_005), Some(ClockFault::Behind(ms(89_990)))));
        // A clock far ahead of the last record at a start is no fault: the server was down.
        let mut stamps = Times::starting_at(at(0), at(90_000_000), ms(0));
        assert_eq!(stamps.read(at(90_000_001), ms(1)), (at(90_000_001), None));
    }

    #[test]
    fn a_leap_is_not_believed_because_of_a_restart_on_the_same_boot() {
        let (month, day): (i64, i64) = (30 * 24 * 3_600_000, 24 * 3_600_000);
        let known = |time, passed| Some(SinceBoot { time: at(time), at: ms(passed) });
        // Ten seconds after the stamp; the system's clock says that it was a month.
        let mut stamps = Times::judged(at(500), known(0, 0), at(month), ms(10_000)).unwrap();
        let readings = [(month, 10_000), (month + 9_000, 19_000), (20_000, 20_000)];
        let times = readings.map(|(system, passed)| stamps.read(at(system), ms(passed)).0);
        assert_eq!(times, [at(10_000), at(19_000), at(20_000)]);
        // It has stayed there for a minute.
        let mut stamps = Times::judged(at(500), known(0, 0), at(month), ms(10_000)).unwrap();
        assert_eq!(stamps.read(at(month), ms(10_000)).0, at(10_000));
        assert_eq!(stamps.read(at(month + 60_000), ms(70_000)).0, at(month + 60_000));
        // It was down for a month, as both clocks say.
        let down = month.unsigned_abs();
        let mut stamps = Times::judged(at(500), known(0, 0), at(month), ms(down)).unwrap();
        assert_eq!(stamps.read(at(month + 5), ms(down + 5)), (at(month + 5), None));
        // The stamp of a venue that went on for a while never takes time back.
        let mut stamps = Times::judged(at(90_000), known(0, 0), at(month), ms(10)).unwrap();
        assert_eq!(stamps.read(at(month), ms(20)).0, at(90_010));

        // Nothing is known of this boot, or nothing that can be.
        for known in [None, known(0, 7_000)] {
            let judged = |last: i64, system: i64| Times::judged(at(last), known, at(system), ms(6));
            for system in [-5_000, 0, day] {
                let mut stamps = judged(0, system).unwrap();
                assert_eq!(stamps.read(at(system), ms(6)).0, at(system.max(0)));
            }
            let ahead = ClockAhead { last: at(0), system: at(day + 1) };
            assert_eq!(judged(0, day + 1).unwrap_err(), ahead);
        }
        // No record.
        assert!(Times::judged(TimeMs::default(), None, at(0), ms(6)).is_ok());
    }

    proptest! {
        #[test]
        fn times_never_go_back_nor_further_ahead_than_is_believed(
            steps in prop::collection::vec((0..5_000_u64, -200_000..200_000_i64), 1..60),
        ) {
            let mut stamps = Times::starting_at(at(0), at(0), ms(0));
            let (mut passed, mut last) = (0, at(0));
            let jump = i64::try_from(JUMP_AHEAD.as_millis()).unwrap();
            for (step, error) in steps {
                passed += step;
                let system = at(i64::try_from(passed).unwrap() + error);
                let (time, fault) = stamps.read(system, ms(passed));
                let step = i64::try_from(step).unwrap();
                // Half speed leaves half a millisecond behind, which the next reading adds.
                let (least, most) = (last.get() + step / 2, last.get() + step + 1 + jump);
                let believed = matches!(fault, Some(ClockFault::Believed(_)));
                prop_assert!(time.get() >= least.min(system.get()) && time >= last);
                prop_assert!(time.get() <= most || believed);
                last = time;
            }
        }
    }

    #[test]
    fn a_moment_is_settled_once_it_is_over_and_what_is_stamped_by_then_is_written() {
        let clock = Clock::after(at(0));
        let first = clock.now();
        assert_eq!(clock.settled(TimeMs::new(first.get() + 60_000).unwrap()), Settled::No);
        while clock.now() <= first {}
        assert_eq!(clock.settled(first), Settled::Yes);
        let stamped = clock.stamp();
        assert!(stamped > first);
        while clock.now() <= stamped {}
        assert_eq!([first, stamped].map(|time| clock.settled(time)), [Settled::Yes, Settled::Soon]);
        clock.wrote();
        assert_eq!(clock.settled(stamped), Settled::Yes);
        assert!(monotonic() <= monotonic());
    }
}
