//! The pace of work behind a running venue: it rests as long as it works, so that the threads that
//! answer find a core, and it ends soon after it is told to.

use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, TryRecvError};

/// Work between two rests: long beside what a rest costs, short beside what a caller waits.
const STRETCH: Duration = Duration::from_millis(2);
/// Bytes of a stream between two looks at the clock.
const STRIDE_BYTES: usize = 256 << 10;

/// The work is not wanted any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the engine is ending")]
pub struct Ended;

/// Whoever holds the other end of the channel says when to end, by dropping it.
#[derive(Debug)]
pub struct Throttle {
    ending: Option<Receiver<Infallible>>,
    hurries: bool,
    since: Instant,
    bytes: usize,
}

impl Throttle {
    /// For work that others wait for: no rest, no end.
    pub fn full() -> Throttle {
        Throttle { ending: None, hurries: false, since: Instant::now(), bytes: 0 }
    }

    /// For work that nobody waits for, until the channel's other end is dropped.
    pub fn background(ending: Receiver<Infallible>) -> Throttle {
        Throttle { ending: Some(ending), hurries: false, since: Instant::now(), bytes: 0 }
    }

    /// Whether to go on.
    ///
    /// # Errors
    /// [`Ended`].
    pub fn ended(&self) -> Result<(), Ended> {
        match self.ending.as_ref().map(Receiver::try_recv) {
            Some(Err(TryRecvError::Disconnected)) => Err(Ended),
            _ => Ok(()),
        }
    }

    /// Waits that long, or until the end.
    ///
    /// # Errors
    /// [`Ended`].
    pub fn wait(&mut self, time: Duration) -> Result<(), Ended> {
        let waited = self.ending.as_ref().map(|ending| ending.recv_timeout(time));
        self.since = Instant::now();
        match waited {
            Some(Err(RecvTimeoutError::Disconnected)) => Err(Ended),
            _ => Ok(()),
        }
    }

    /// Whether to go on without rests, until told otherwise.
    pub fn set_unthrottled(&mut self, hurries: bool) {
        self.hurries = hurries;
    }

    /// To be called between small pieces of work: rests if it is time to, and not in a hurry.
    ///
    /// # Errors
    /// [`Ended`].
    pub fn pause_if_due(&mut self) -> Result<(), Ended> {
        if self.hurries {
            return self.ended();
        }
        let worked = self.since.elapsed();
        if self.ending.is_some() && worked >= STRETCH { self.wait(worked) } else { Ok(()) }
    }

    fn passed(&mut self, count: usize) -> io::Result<()> {
        self.bytes = self.bytes.saturating_add(count);
        if self.bytes >= STRIDE_BYTES {
            self.bytes = 0;
            self.pause_if_due().map_err(io::Error::other)?;
        }
        Ok(())
    }
}

/// A stream read or written at a pace.
#[derive(Debug)]
pub struct Paced<'a, T> {
    /// The stream.
    pub stream: T,
    /// The pace.
    pub pace: &'a mut Throttle,
}

impl<T: Read> Read for Paced<'_, T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(bytes)?;
        self.pace.passed(count)?;
        Ok(count)
    }
}

impl<T: Write> Write for Paced<'_, T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.stream.write(bytes)?;
        self.pace.passed(count)?;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::bounded;

    use super::*;

    #[test]
    fn work_goes_on_until_the_other_end_is_dropped() {
        let (sends, ending) = bounded(0);
        let mut pace = Throttle::background(ending);
        assert_eq!(pace.ended(), Ok(()));
        assert_eq!(pace.wait(Duration::ZERO), Ok(()));
        let mut copied = Vec::new();
        let bytes = vec![7; 2 * STRIDE_BYTES];
        Paced { stream: &bytes[..], pace: &mut pace }.read_to_end(&mut copied).unwrap();
        assert_eq!(copied, bytes);

        drop(sends);
        assert_eq!(pace.ended(), Err(Ended));
        assert_eq!(pace.wait(Duration::from_hours(1)), Err(Ended));
        pace.since = Instant::now().checked_sub(STRETCH).unwrap();
        let mut out = Paced { stream: io::sink(), pace: &mut pace };
        assert!(out.write_all(&bytes).is_err());
    }

    #[test]
    fn who_is_in_a_hurry_does_not_rest_and_still_ends() {
        let (sends, ending) = bounded(0);
        let mut pace = Throttle::background(ending);
        let began = Instant::now().checked_sub(STRETCH).unwrap();
        // A rest begins a stretch anew.
        let mut rests = |hurries: bool| {
            pace.set_unthrottled(hurries);
            pace.since = began;
            let breathed = pace.pause_if_due();
            (breathed, pace.since != began)
        };
        assert_eq!(rests(true), (Ok(()), false));
        assert_eq!(rests(false), (Ok(()), true));
        drop(sends);
        assert_eq!(rests(true), (Err(Ended), false));
    }

    #[test]
    fn work_at_full_pace_never_ends() {
        let mut pace = Throttle::full();
        pace.since = Instant::now().checked_sub(STRETCH).unwrap();
        assert_eq!((pace.ended(), pace.pause_if_due()), (Ok(()), Ok(())));
    }
}
