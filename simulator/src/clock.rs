//! The simulated time: a calendar that somebody may set, and a time that goes on evenly.

use std::sync::Arc;
use std::time::Duration;

use engine::clock::Timepiece;
use exchange::units::TimeMs;
use parking_lot::Mutex;

use crate::commands::START;

/// Both times.
#[derive(Debug)]
struct Times {
    calendar_ms: i64,
    evenly: Duration,
}

/// The machine's clocks, which the world moves.
#[derive(Debug, Clone)]
pub struct Clocks(Arc<Mutex<Times>>);

impl Clocks {
    /// At the beginning.
    pub fn new() -> Clocks {
        Clocks(Arc::new(Mutex::new(Times { calendar_ms: START.get(), evenly: Duration::ZERO })))
    }

    /// Time goes on.
    pub fn pass(&self, ms: u64) {
        let mut times = self.0.lock();
        times.calendar_ms = times.calendar_ms.saturating_add(i64::try_from(ms).unwrap_or(0));
        times.evenly = times.evenly.saturating_add(Duration::from_millis(ms));
    }

    /// Somebody sets the calendar.
    pub fn set(&self, by_ms: i64) {
        let mut times = self.0.lock();
        times.calendar_ms = times.calendar_ms.saturating_add(by_ms);
    }
}

impl Timepiece for Clocks {
    fn calendar(&self) -> (TimeMs, bool) {
        let time = TimeMs::new(self.0.lock().calendar_ms);
        (time.unwrap_or_default(), time.is_some())
    }

    fn monotonic(&self) -> Duration {
        self.0.lock().evenly
    }
}
