//! The bell: how a station sleeps until something is put into one of its queues.
//!
//! A channel's own waiting first looks again and again and lets others run in between, at every
//! block. That takes processor time from those who have work, and the system lets whoever yields
//! wait for all others.

use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

use crossbeam_channel::{SendError, Sender, TrySendError};

/// One station's bell. Only one thread may wait for it.
#[derive(Debug, Default)]
pub struct Bell {
    asleep: AtomicBool,
    sleeper: OnceLock<Thread>,
}

impl Bell {
    /// Has the station look into its queues, if it sleeps.
    pub fn ring(&self) {
        // What was put into a queue comes before this look, as the sleeper's last look into its
        // queues comes after it said that it sleeps: one of the two sees the other.
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed)
            && self.asleep.swap(false, Ordering::AcqRel)
            && let Some(sleeper) = self.sleeper.get()
        {
            sleeper.unpark();
        }
    }

    /// What `look` finds, now, or when the bell rings, or after `most`; it may find nothing.
    pub fn wait<T>(&self, most: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        if let Some(found) = look() {
            return Some(found);
        }
        self.sleeper.get_or_init(thread::current);
        self.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let found = look();
        if found.is_none() {
            thread::park_timeout(most);
        }
        self.asleep.store(false, Ordering::Relaxed);
        found.or_else(look)
    }
}

/// The end of a queue at which things are put in, and the bell of whoever takes them out.
#[derive(Debug, Clone)]
pub struct Ringing<T> {
    queue: Sender<T>,
    bell: Arc<Bell>,
}

impl<T> Ringing<T> {
    /// This queue and this bell.
    pub const fn new(queue: Sender<T>, bell: Arc<Bell>) -> Ringing<T> {
        Ringing { queue, bell }
    }

    /// Puts something in, if there is room.
    ///
    /// # Errors
    /// There is none, or nobody takes anything out any more.
    pub fn try_send(&self, thing: T) -> Result<(), TrySendError<T>> {
        self.queue.try_send(thing)?;
        self.bell.ring();
        Ok(())
    }

    /// Puts something in, once there is room.
    ///
    /// # Errors
    /// Nobody takes anything out any more.
    pub fn send(&self, thing: T) -> Result<(), SendError<T>> {
        self.queue.send(thing)?;
        self.bell.ring();
        Ok(())
    }

    /// How much waits.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::bounded;

    use super::*;

    /// Far longer than anything here takes, and longer still.
    const LONG: Duration = Duration::from_secs(20);
    const NEVER: Duration = Duration::from_mins(10);

    #[test]
    fn nothing_that_is_put_in_is_slept_through() {
        const THINGS: usize = 20_000;
        let bell = Arc::new(Bell::default());
        let (queue, things) = bounded(4);
        let queue = Ringing::new(queue, Arc::clone(&bell));
        let (answers, answered) = bounded(0);
        let taker = thread::spawn(move || {
            for expected in 0..THINGS {
                let taken = std::iter::repeat_with(|| bell.wait(NEVER, || things.try_recv().ok()));
                assert_eq!(taken.flatten().next(), Some(expected));
                if expected % 3 == 0 {
                    answers.send(expected).unwrap();
                }
            }
        });
        for thing in 0..THINGS {
            queue.send(thing).unwrap();
            if thing % 3 == 0 {
                // The taker is about to sleep, or sleeps, when the next comes.
                assert_eq!(answered.recv_timeout(LONG), Ok(thing), "it was slept through");
            }
        }
        taker.join().unwrap();
    }

    #[test]
    fn what_nobody_rings_for_is_found_after_a_while() {
        let bell = Bell::default();
        let mut looks = 0;
        let found = bell.wait(Duration::from_millis(1), || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(found, Some(3));
    }
}
