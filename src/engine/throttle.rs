//! Throttles background work: it rests as long as it works, so that the engine's threads find a
//! core, and it ends soon after it is asked to. Used by the snapshotter.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use super::background::Ending;

/// Work between two rests unless another is asked for: long compared to the cost of a rest, short
/// compared to a caller's wait.
const WORK_SLICE: Duration = Duration::from_millis(2);
/// Bytes of a stream between two checks of the clock.
const CHECK_EVERY_BYTES: usize = 256 << 10;

/// The work is to be abandoned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the engine is ending")]
pub struct Ended;

/// How fast to work, and whether to go on.
#[derive(Debug)]
pub struct Throttle {
    ending: Option<Ending>,
    unthrottled: bool,
    /// Work between two rests.
    slice: Duration,
    since: Instant,
    bytes: usize,
}

impl Throttle {
    /// For work that others wait for: it never rests nor ends early.
    pub fn full() -> Throttle {
        Throttle::until(None)
    }

    /// For background work, until it is to end.
    pub fn background(ending: Ending) -> Throttle {
        Throttle::until(Some(ending))
    }

    fn until(ending: Option<Ending>) -> Throttle {
        let since = Instant::now();
        Throttle { ending, unthrottled: false, slice: WORK_SLICE, since, bytes: 0 }
    }

    /// The same, but it rests after so much work: shortly where its work goes on for long.
    #[must_use]
    pub fn resting_after(self, slice: Duration) -> Throttle {
        Throttle { slice, ..self }
    }

    /// Checks whether to go on.
    ///
    /// # Errors
    /// [`Ended`].
    pub fn ended(&self) -> Result<(), Ended> {
        if self.ending.as_ref().is_some_and(Ending::has_come) { Err(Ended) } else { Ok(()) }
    }

    /// Waits that long, or until the end. A throttle of [`full`](Throttle::full) work does not
    /// wait.
    ///
    /// # Errors
    /// [`Ended`].
    pub fn wait(&mut self, time: Duration) -> Result<(), Ended> {
        let ended = self.ending.as_ref().is_some_and(|ending| ending.wait(time));
        self.since = Instant::now();
        if ended { Err(Ended) } else { Ok(()) }
    }

    /// Sets whether to work without rests.
    pub fn set_unthrottled(&mut self, unthrottled: bool) {
        self.unthrottled = unthrottled;
    }

    /// To be called between small pieces of work: rests if a rest is due.
    ///
    /// # Errors
    /// [`Ended`].
    pub fn pause_if_due(&mut self) -> Result<(), Ended> {
        if self.unthrottled {
            return self.ended();
        }
        let worked = self.since.elapsed();
        if self.ending.is_some() && worked >= self.slice { self.wait(worked) } else { Ok(()) }
    }

    fn count_bytes(&mut self, count: usize) -> io::Result<()> {
        self.bytes = self.bytes.saturating_add(count);
        if self.bytes >= CHECK_EVERY_BYTES {
            self.bytes = 0;
            self.pause_if_due().map_err(io::Error::other)?;
        }
        Ok(())
    }
}

/// A stream read or written under a throttle.
#[derive(Debug)]
pub struct Paced<'a, T> {
    /// The stream.
    pub stream: T,
    /// The throttle.
    pub pace: &'a mut Throttle,
}

impl<T: Read> Read for Paced<'_, T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(bytes)?;
        self.pace.count_bytes(count)?;
        Ok(count)
    }
}

impl<T: Write> Write for Paced<'_, T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.stream.write(bytes)?;
        self.pace.count_bytes(count)?;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
#[path = "../../tests/unit/engine/throttle.rs"]
mod tests;
