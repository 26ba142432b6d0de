//! Connection slots: bound the number of open connections. When all are taken, a new connection
//! evicts the oldest one that has never sent a request with a valid key, since anybody can open
//! such a connection. An authenticated connection keeps its slot.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::oneshot::{Receiver, Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// All slots of the server.
pub struct ConnectionSlots {
    free: Arc<Semaphore>,
    count: usize,
    /// Connections that may still be unauthenticated, oldest first; at most two per slot.
    unauthenticated: VecDeque<Weak<ConnectionSlot>>,
}

/// A slot that was granted.
pub struct Granted {
    /// The slot; it is free again when the last clone is dropped.
    pub slot: Arc<ConnectionSlot>,
    /// Resolves when the slot is evicted; fails once the connection is authenticated.
    pub evicted: Receiver<()>,
}

/// The slot of one connection.
pub struct ConnectionSlot {
    authenticated: AtomicBool,
    state: Mutex<State>,
}

enum State {
    Unauthenticated(OwnedSemaphorePermit, Sender<()>),
    Authenticated { _permit: OwnedSemaphorePermit },
    Evicted,
}

impl ConnectionSlots {
    /// `count` slots, all free.
    pub fn new(count: usize) -> ConnectionSlots {
        ConnectionSlots {
            free: Arc::new(Semaphore::new(count)),
            count,
            unauthenticated: VecDeque::new(),
        }
    }

    /// A slot for a new connection: a free one, or that of the oldest unauthenticated connection.
    /// `None` if all connections are authenticated.
    pub fn take(&mut self) -> Option<Granted> {
        let free = Arc::clone(&self.free).try_acquire_owned().ok();
        let permit = free.or_else(|| self.evict_oldest())?;
        let (evict, evicted) = channel();
        let state = Mutex::new(State::Unauthenticated(permit, evict));
        let slot = Arc::new(ConnectionSlot { authenticated: AtomicBool::new(false), state });
        if self.unauthenticated.len() >= self.count.saturating_mul(2) {
            self.unauthenticated
                .retain(|slot| slot.upgrade().is_some_and(|slot| !slot.is_authenticated()));
        }
        self.unauthenticated.push_back(Arc::downgrade(&slot));
        Some(Granted { slot, evicted })
    }

    fn evict_oldest(&mut self) -> Option<OwnedSemaphorePermit> {
        while let Some(oldest) = self.unauthenticated.pop_front() {
            if let Some(permit) = oldest.upgrade().and_then(|slot| slot.evict()) {
                return Some(permit);
            }
        }
        None
    }
}

impl ConnectionSlot {
    /// Whether the slot was evicted: the connection is about to be closed.
    pub fn is_evicted(&self) -> bool {
        !self.is_authenticated() && matches!(*self.state.lock(), State::Evicted)
    }

    /// Marks the connection as authenticated, so that it keeps its slot. False if it was evicted
    /// already.
    pub fn authenticate(&self) -> bool {
        if self.is_authenticated() {
            return true;
        }
        let mut state = self.state.lock();
        *state = match std::mem::replace(&mut *state, State::Evicted) {
            State::Evicted => return false,
            State::Unauthenticated(permit, _) => State::Authenticated { _permit: permit },
            authenticated @ State::Authenticated { .. } => authenticated,
        };
        self.authenticated.store(true, Ordering::Relaxed);
        true
    }

    /// Whether a valid key was received.
    pub fn is_authenticated(&self) -> bool {
        self.authenticated.load(Ordering::Relaxed)
    }

    /// Evicts the connection unless it is authenticated.
    fn evict(&self) -> Option<OwnedSemaphorePermit> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, State::Evicted) {
            State::Unauthenticated(permit, evict) => {
                // The receiver is gone if the connection is ending on its own.
                evict.send(()).unwrap_or_default();
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
    fn the_oldest_unauthenticated_connection_is_evicted() {
        let mut slots = ConnectionSlots::new(3);
        let mut first = slots.take().unwrap();
        let mut second = slots.take().unwrap();
        let mut third = slots.take().unwrap();
        assert!(first.slot.authenticate() && first.slot.authenticate());
        let fourth = slots.take().unwrap();
        assert!(first.evicted.try_recv().is_err() && third.evicted.try_recv().is_err());
        assert_eq!(second.evicted.try_recv(), Ok(()));
        assert!(!second.slot.authenticate(), "it has no slot any more");
        assert!(third.slot.authenticate() && fourth.slot.authenticate());
        assert!(slots.take().is_none(), "all were authenticated");
        drop(second);
        assert!(slots.take().is_none(), "its slot was evicted");
        drop(first);
        assert!(slots.take().is_some());
    }

    #[test]
    fn the_list_of_unauthenticated_connections_is_bounded() {
        let mut slots = ConnectionSlots::new(4);
        let silent = [slots.take().unwrap(), slots.take().unwrap()];
        for number in 0..1000 {
            let taken = slots.take().unwrap();
            assert!(number % 2 == 0 || taken.slot.authenticate());
            assert!(slots.unauthenticated.len() <= 8);
        }
        let kept = [slots.take().unwrap(), slots.take().unwrap()];
        assert!(kept.iter().all(|taken| taken.slot.authenticate()));
        let mut last = Vec::new();
        for mut silent in silent {
            last.push(slots.take().unwrap());
            assert_eq!(silent.evicted.try_recv(), Ok(()));
        }
    }
}
