//! The only clock. What it says is journaled by the sequencer; nothing after that asks it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use crate::exchange::units::TimeMs;

/// A jump ahead by more than this is doubted: what it would end, such as a dispute window, could
/// never be had back. Clocks that are kept right are corrected by far less.
const DOUBTED_AHEAD: Duration = Duration::from_mins(1);
/// How long the system's clock must stay ahead before it is believed.
const BELIEVED_AFTER: Duration = Duration::from_mins(1);
/// How far behind the system's clock must be for that to be told.
const TOLD_BEHIND: Duration = Duration::from_secs(1);

/// Now. A clock set before 1970 reads as 1970, one after 9999 as 9999.
pub fn now() -> TimeMs {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    TimeMs::new(ms).unwrap_or(TimeMs::MAX)
}

/// Time that passes, whatever the system's clock is set to, and also while the machine sleeps.
#[cfg(target_os = "linux")]
fn passed() -> Duration {
    let since = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::try_from(since).unwrap_or_default()
}

/// Time that passes, whatever the system's clock is set to.
#[cfg(not(target_os = "linux"))]
fn passed() -> Duration {
    use std::sync::LazyLock;
    use std::time::Instant;

    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGAN.elapsed()
}

/// The venue's clock, by which records are stamped and whoever asks about now goes too. It never
/// goes back, for nobody.
#[derive(Debug)]
pub struct Clock(Mutex<State>);

#[derive(Debug)]
struct State {
    times: Times,
    /// The time of the block that is being written.
    writing: Option<TimeMs>,
}

/// Whether a record stamped at or before some moment may still come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The moment is over, and all its records are in the journal.
    Yes,
    /// It is over, and a block that may be of it is being written.
    Soon,
    /// It is not over.
    No,
}

impl Clock {
    /// A clock after the last record of a journal.
    pub fn after(last: TimeMs) -> Clock {
        let times = Times::beginning(last, now(), passed());
        Clock(Mutex::new(State { times, writing: None }))
    }

    /// Now.
    pub fn now(&self) -> TimeMs {
        self.0.lock().now()
    }

    /// The time of the block that is written next, until [`wrote`](Clock::wrote).
    pub fn stamp(&self) -> TimeMs {
        let mut state = self.0.lock();
        let time = state.now();
        state.writing = Some(time);
        time
    }

    /// The block is in the journal, or will never be.
    pub fn wrote(&self) {
        self.0.lock().writing = None;
    }

    /// Whether a record stamped at or before `moment` may still come.
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
        let (time, oddity) = self.times.of(now(), passed());
        if let Some(oddity) = oddity {
            oddity.tell();
        }
        time
    }
}

/// The times of records: those of the system's clock as long as it goes evenly. They never go back.
/// While it is behind them they go at half its speed, until it has caught up; a jump ahead is not
/// followed at once.
#[derive(Debug)]
struct Times {
    /// The last time at which the system's clock was followed, and when that was.
    followed: TimeMs,
    at: Duration,
    last: TimeMs,
    /// Since when the system's clock has been too far ahead.
    doubted: Option<Duration>,
    told_behind: bool,
}

/// What an operator should hear of the system's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Oddity {
    /// It jumped ahead by so much, and is not followed for now.
    Ahead(Duration),
    /// It stayed ahead by so much, and is followed.
    Believed(Duration),
    /// It is behind the last record by so much.
    Behind(Duration),
}

impl Oddity {
    fn tell(self) {
        match self {
            Oddity::Ahead(by) => tracing::error!(
                ?by,
                "the system's clock has jumped ahead: records are stamped as if it had not, until \
                 it has stayed there for a minute"
            ),
            Oddity::Believed(by) => {
                tracing::warn!(?by, "the system's clock has stayed ahead and is followed");
            }
            Oddity::Behind(by) => tracing::warn!(
                ?by,
                "the system's clock is behind the last record: until it has caught up, time goes \
                 on at half its speed"
            ),
        }
    }
}

impl Times {
    fn beginning(last: TimeMs, system: TimeMs, at: Duration) -> Times {
        let followed = last.max(system);
        Times { followed, at, last: followed, doubted: None, told_behind: false }
    }

    /// The time when the system's clock reads this and so much has passed, and what is odd about
    /// that clock, once.
    fn of(&mut self, system: TimeMs, at: Duration) -> (TimeMs, Option<Oddity>) {
        let passed = at.saturating_sub(self.at);
        let expected = later(self.followed, passed);
        let ahead = between(expected, system);
        let (time, oddity) = if ahead > DOUBTED_AHEAD {
            match self.doubted {
                Some(since) if at.saturating_sub(since) >= BELIEVED_AFTER => {
                    self.follow(system, at);
                    (system, Some(Oddity::Believed(ahead)))
                }
                Some(_) => (expected, None),
                None => {
                    self.doubted = Some(at);
                    (expected, Some(Oddity::Ahead(ahead)))
                }
            }
        } else if system < self.last {
            self.doubted = None;
            let behind = between(system, self.last);
            let tells = behind >= TOLD_BEHIND && !self.told_behind;
            self.told_behind |= tells;
            (later(self.followed, passed / 2), tells.then_some(Oddity::Behind(behind)))
        } else {
            self.follow(system, at);
            self.told_behind = false;
            (system, None)
        };
        self.last = self.last.max(time);
        (self.last, oddity)
    }

    const fn follow(&mut self, system: TimeMs, at: Duration) {
        (self.followed, self.at, self.doubted) = (system, at, None);
    }
}

/// The moment so much later.
fn later(time: TimeMs, by: Duration) -> TimeMs {
    let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
    TimeMs::new(time.get().saturating_add(by)).unwrap_or(TimeMs::MAX)
}

/// How much later the second moment is; nothing if it is not.
fn between(first: TimeMs, second: TimeMs) -> Duration {
    let ms = second.get().saturating_sub(first.get());
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
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

    /// The times of records when the system's clock reads so and so much time has passed.
    fn times(readings: &[(i64, u64)]) -> Vec<(i64, Option<Oddity>)> {
        let mut stamps = Times::beginning(at(0), at(0), ms(0));
        let times = readings.iter().map(|(system, passed)| stamps.of(at(*system), ms(*passed)));
        times.map(|(time, oddity)| (time.get() - START, oddity)).collect()
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
        let ahead = Oddity::Ahead(ms(year.unsigned_abs() - 10));
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
            (10, Some(Oddity::Ahead(ahead))),
            (30_010, None),
            (hour + 60_000, Some(Oddity::Believed(believed))),
            (hour + 60_005, None),
        ];
        assert_eq!(times(&readings), expected);
    }

    #[test]
    fn behind_the_journal_time_goes_on_at_half_speed_until_the_clock_has_caught_up() {
        let readings = [(10_000, 10_000), (4_000, 10_010), (5_000, 11_010), (15_990, 22_000)];
        let behind = Oddity::Behind(ms(6_000));
        let (half, caught_up) = (10_000 + 1_010 / 2, 10_000 + 12_000 / 2);
        let mut expected = vec![(10_000, None), (10_005, Some(behind)), (half, None)];
        expected.push((caught_up - 10, None));
        // By now the clock reads more than the last record's time.
        let times = times(&readings);
        assert_eq!(times[..3], expected[..3]);
        assert_eq!(times[3], (15_990, None));
    }

    #[test]
    fn a_start_before_the_last_record_says_so() {
        let mut stamps = Times::beginning(at(90_000), at(0), ms(0));
        let (time, oddity) = stamps.of(at(10), ms(10));
        assert_eq!((time, oddity), (at(90_005), Some(Oddity::Behind(ms(89_990)))));
        // And after a long time in which the server was down nothing is odd.
        let mut stamps = Times::beginning(at(0), at(90_000_000), ms(0));
        assert_eq!(stamps.of(at(90_000_001), ms(1)), (at(90_000_001), None));
    }

    proptest! {
        #[test]
        fn times_never_go_back_nor_further_ahead_than_is_believed(
            steps in prop::collection::vec((0..5_000_u64, -200_000..200_000_i64), 1..60),
        ) {
            let mut stamps = Times::beginning(at(0), at(0), ms(0));
            let (mut passed, mut last, mut followed) = (0, at(0), 0);
            let jump = i64::try_from(DOUBTED_AHEAD.as_millis()).unwrap();
            for (step, error) in steps {
                passed += step;
                let system = at(i64::try_from(passed).unwrap() + error);
                let (time, oddity) = stamps.of(system, ms(passed));
                // While time goes at half speed it falls behind what has passed.
                let most = last.get() + i64::try_from(passed - followed).unwrap() + jump;
                let believed = matches!(oddity, Some(Oddity::Believed(_)));
                prop_assert!(time >= last && (time.get() <= most || believed));
                if time == system {
                    followed = passed;
                }
                last = time;
            }
        }
    }

    #[test]
    fn a_moment_is_settled_once_it_is_over_and_what_is_stamped_by_then_is_written() {
        let clock = Clock::after(at(0));
        let first = clock.now();
        assert_eq!(clock.settled(later(first, ms(60_000))), Settled::No);
        while clock.now() <= first {}
        assert_eq!(clock.settled(first), Settled::Yes);
        let stamped = clock.stamp();
        assert!(stamped > first);
        while clock.now() <= stamped {}
        assert_eq!([first, stamped].map(|time| clock.settled(time)), [Settled::Yes, Settled::Soon]);
        clock.wrote();
        assert_eq!(clock.settled(stamped), Settled::Yes);
        assert!(passed() <= passed());
    }
}
