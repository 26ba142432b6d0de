//! Places: how many connections there may be at once, and which of them yield when all are taken.
//! A connection that has never sent a request with a good key may be anybody's: it gives its place
//! to the next that comes, the oldest first. One that has keeps its place.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::oneshot::{Receiver, Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// All places.
pub struct ConnectionSlots {
    free: Arc<Semaphore>,
    count: usize,
    /// Those of whom no good key may have come yet, the oldest first. At most two a place.
    unheard: VecDeque<Weak<ConnectionSlot>>,
}

/// A place that was taken.
pub struct Granted {
    /// The place, which is free again once this is gone.
    pub place: Arc<ConnectionSlot>,
    /// Comes when another takes it; fails once a good key came.
    pub given: Receiver<()>,
}

/// A connection's place.
pub struct ConnectionSlot {
    heard: AtomicBool,
    state: Mutex<State>,
}

enum State {
    Unheard(OwnedSemaphorePermit, Sender<()>),
    Heard { _permit: OwnedSemaphorePermit },
    Given,
}

impl ConnectionSlots {
    /// So many places, all free.
    pub fn new(count: usize) -> ConnectionSlots {
        ConnectionSlots { free: Arc::new(Semaphore::new(count)), count, unheard: VecDeque::new() }
    }

    /// A place for a new connection: a free one, or that of the oldest which never had a good key.
    pub fn take(&mut self) -> Option<Granted> {
        let free = Arc::clone(&self.free).try_acquire_owned().ok();
        let permit = free.or_else(|| self.given())?;
        let (tells, given) = channel();
        let state = Mutex::new(State::Unheard(permit, tells));
        let place = Arc::new(ConnectionSlot { heard: AtomicBool::new(false), state });
        if self.unheard.len() >= self.count.saturating_mul(2) {
            self.unheard
                .retain(|place| place.upgrade().is_some_and(|place| !place.is_authenticated()));
        }
        self.unheard.push_back(Arc::downgrade(&place));
        Some(Granted { place, given })
    }

    fn given(&mut self) -> Option<OwnedSemaphorePermit> {
        while let Some(oldest) = self.unheard.pop_front() {
            if let Some(permit) = oldest.upgrade().and_then(|place| place.evict()) {
                return Some(permit);
            }
        }
        None
    }
}

impl ConnectionSlot {
    /// Whether the place is given away: the connection is about to be closed.
    pub fn is_evicted(&self) -> bool {
        !self.is_authenticated() && matches!(*self.state.lock(), State::Given)
    }

    /// Notes that a good key came: the connection keeps its place. False if that is given already.
    pub fn authenticate(&self) -> bool {
        if self.is_authenticated() {
            return true;
        }
        let mut state = self.state.lock();
        *state = match std::mem::replace(&mut *state, State::Given) {
            State::Given => return false,
            State::Unheard(permit, _) => State::Heard { _permit: permit },
            heard @ State::Heard { .. } => heard,
        };
        self.heard.store(true, Ordering::Relaxed);
        true
    }

    /// Whether a good key has come.
    pub fn is_authenticated(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }

    /// Gives the place away, unless a good key came.
    fn evict(&self) -> Option<OwnedSemaphorePermit> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, State::Given) {
            State::Unheard(permit, tells) => {
                // It may be ending by itself.
                tells.send(()).unwrap_or_default();
                Some(permit)
            }
            kept => {
                *state = kept;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_that_was_never_heard_yields() {
        let mut places = ConnectionSlots::new(3);
        let mut first = places.take().unwrap();
        let mut second = places.take().unwrap();
        let mut third = places.take().unwrap();
        assert!(first.place.authenticate() && first.place.authenticate());
        let fourth = places.take().unwrap();
        assert!(first.given.try_recv().is_err() && third.given.try_recv().is_err());
        assert_eq!(second.given.try_recv(), Ok(()));
        assert!(!second.place.authenticate(), "it has no place any more");
        assert!(third.place.authenticate() && fourth.place.authenticate());
        assert!(places.take().is_none(), "all were heard");
        drop(second);
        assert!(places.take().is_none(), "its place was given");
        drop(first);
        assert!(places.take().is_some());
    }

    #[test]
    fn what_is_remembered_of_connections_is_bounded() {
        let mut places = ConnectionSlots::new(4);
        let silent = [places.take().unwrap(), places.take().unwrap()];
        for number in 0..1000 {
            let taken = places.take().unwrap();
            assert!(number % 2 == 0 || taken.place.authenticate());
            assert!(places.unheard.len() <= 8);
        }
        let kept = [places.take().unwrap(), places.take().unwrap()];
        assert!(kept.iter().all(|taken| taken.place.authenticate()));
        let mut last = Vec::new();
        for mut silent in silent {
            last.push(places.take().unwrap());
            assert_eq!(silent.given.try_recv(), Ok(()));
        }
    }
}
