//! Connection slots: bound the number of open connections. When all are taken, a new connection
//! evicts the oldest one that has never sent a request with a valid key, since anybody can open
//! such a connection. An authenticated connection keeps its slot, up to a quarter of all slots for
//! one user; the others of a user can be evicted like those of nobody.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::oneshot::{Receiver, Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::exchange::ids::UserNo;

/// Evicted connections that may still be open. Each holds a descriptor beyond the slots' until its
/// worker closes it.
const CLOSING_MAX: usize = 32;
/// Of all slots, one user's connections keep at most this part: one in so many.
const USER_PART: usize = 4;

/// All slots of the server.
pub struct ConnectionSlots {
    free: Arc<Semaphore>,
    count: usize,
    /// Connections that may still be unauthenticated, oldest first; at most two per slot.
    unauthenticated: VecDeque<Weak<ConnectionSlot>>,
    closing: Arc<Semaphore>,
    users: Arc<Users>,
}

/// How many slots each user's connections keep.
struct Users {
    counts: Mutex<FxHashMap<UserNo, usize>>,
    most: usize,
}

/// A slot that one of a user's connections keeps.
struct Kept {
    users: Arc<Users>,
    user: UserNo,
}

impl Kept {
    /// `None` if this user's connections keep as many as they may.
    fn new(users: &Arc<Users>, user: UserNo) -> Option<Kept> {
        let mut counts = users.counts.lock();
        let count = counts.entry(user).or_default();
        if *count >= users.most {
            return None;
        }
        *count += 1;
        Some(Kept { users: Arc::clone(users), user })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let mut counts = self.users.counts.lock();
        if let Some(count) = counts.get_mut(&self.user) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(&self.user);
            }
        }
    }
}

/// A slot that was granted.
pub struct Granted {
    /// The slot; it is free again when the last clone is dropped.
    pub slot: Arc<ConnectionSlot>,
    /// Resolves when the slot is evicted, to a permit to be dropped once the connection is closed;
    /// fails once the connection keeps its slot.
    pub evicted: Receiver<OwnedSemaphorePermit>,
}

/// The slot of one connection.
pub struct ConnectionSlot {
    authenticated: AtomicBool,
    state: Mutex<State>,
    users: Arc<Users>,
}

enum State {
    Unauthenticated(OwnedSemaphorePermit, Sender<OwnedSemaphorePermit>),
    Authenticated { _permit: OwnedSemaphorePermit, _kept: Kept },
    Evicted,
}

impl ConnectionSlots {
    /// `count` slots, all free.
    pub fn new(count: usize) -> ConnectionSlots {
        ConnectionSlots {
            free: Arc::new(Semaphore::new(count)),
            count,
            unauthenticated: VecDeque::new(),
            closing: Arc::new(Semaphore::new(CLOSING_MAX)),
            users: Arc::new(Users { counts: Mutex::default(), most: count.div_ceil(USER_PART) }),
        }
    }

    /// A slot for a new connection: a free one, or that of the oldest unauthenticated connection.
    /// `None` if all connections keep theirs, or if too many evicted ones are still open.
    pub fn take(&mut self) -> Option<Granted> {
        let free = Arc::clone(&self.free).try_acquire_owned().ok();
        let permit = free.or_else(|| self.evict_oldest())?;
        let (evict, evicted) = channel();
        let state = Mutex::new(State::Unauthenticated(permit, evict));
        let (authenticated, users) = (AtomicBool::new(false), Arc::clone(&self.users));
        let slot = Arc::new(ConnectionSlot { authenticated, state, users });
        if self.unauthenticated.len() >= self.count.saturating_mul(2) {
            self.unauthenticated
                .retain(|slot| slot.upgrade().is_some_and(|slot| !slot.is_authenticated()));
        }
        self.unauthenticated.push_back(Arc::downgrade(&slot));
        Some(Granted { slot, evicted })
    }

    fn evict_oldest(&mut self) -> Option<OwnedSemaphorePermit> {
        let mut closing = Arc::clone(&self.closing).try_acquire_owned().ok();
        while let Some(oldest) = closing.as_ref().and_then(|_| self.unauthenticated.pop_front()) {
            if let Some(permit) = oldest.upgrade().and_then(|slot| slot.evict(&mut closing)) {
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

    /// Marks the connection as this user's, so that it keeps its slot, unless the user's others
    /// keep as many as they may. False if it was evicted already.
    pub fn authenticate(&self, user: UserNo) -> bool {
        if self.is_authenticated() {
            return true;
        }
        let mut state = self.state.lock();
        *state = match std::mem::replace(&mut *state, State::Evicted) {
            State::Evicted => return false,
            State::Unauthenticated(permit, evict) => match Kept::new(&self.users, user) {
                Some(kept) => State::Authenticated { _permit: permit, _kept: kept },
                None => State::Unauthenticated(permit, evict),
            },
            authenticated @ State::Authenticated { .. } => authenticated,
        };
        let kept = matches!(*state, State::Authenticated { .. });
        self.authenticated.store(kept, Ordering::Relaxed);
        true
    }

    /// Whether a valid key was received, and the slot is kept.
    pub fn is_authenticated(&self) -> bool {
        self.authenticated.load(Ordering::Relaxed)
    }

    /// Evicts the connection, which takes `closing`, unless it is authenticated.
    fn evict(&self, closing: &mut Option<OwnedSemaphorePermit>) -> Option<OwnedSemaphorePermit> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, State::Evicted) {
            State::Unauthenticated(permit, evict) => {
                // The receiver is gone if the connection is ending on its own.
                drop(closing.take().map(|closing| evict.send(closing)));
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

    /// Authenticates a slot as a user of its own.
    fn authenticate(slot: &ConnectionSlot, user: u32) -> bool {
        slot.authenticate(UserNo(user)) && slot.is_authenticated()
    }

    #[test]
    fn the_oldest_unauthenticated_connection_is_evicted() {
        let mut slots = ConnectionSlots::new(3);
        let mut first = slots.take().unwrap();
        let mut second = slots.take().unwrap();
        let mut third = slots.take().unwrap();
        assert!(authenticate(&first.slot, 1) && authenticate(&first.slot, 1));
        let fourth = slots.take().unwrap();
        assert!(first.evicted.try_recv().is_err() && third.evicted.try_recv().is_err());
        assert!(second.evicted.try_recv().is_ok());
        assert!(!second.slot.authenticate(UserNo(2)), "it has no slot any more");
        assert!(authenticate(&third.slot, 3) && authenticate(&fourth.slot, 4));
        assert!(slots.take().is_none(), "all were authenticated");
        drop(second);
        assert!(slots.take().is_none(), "its slot was evicted");
        drop(first);
        assert!(slots.take().is_some());
    }

    #[test]
    fn a_user_keeps_a_quarter_of_the_slots_at_most() {
        let mut slots = ConnectionSlots::new(8);
        let mut own: Vec<_> = (0..8).map(|_| slots.take().unwrap()).collect();
        let kept = own.iter().filter(|taken| authenticate(&taken.slot, 1)).count();
        assert_eq!(kept, 2);
        assert!(own.iter().all(|taken| taken.slot.authenticate(UserNo(1))), "all are served");
        // Another user's connection takes the place of the oldest that is not kept.
        let other = slots.take().unwrap();
        assert!(own[2].evicted.try_recv().is_ok() && authenticate(&other.slot, 2));
        // One that ends leaves its part to the next.
        assert!(!authenticate(&own[7].slot, 1));
        drop(own.remove(0));
        assert!(authenticate(&own[6].slot, 1) && !authenticate(&own[5].slot, 1));
    }

    #[test]
    fn few_evicted_connections_are_open_at_once() {
        let mut slots = ConnectionSlots::new(CLOSING_MAX * 2);
        let mut silent: Vec<_> = (0..CLOSING_MAX * 2).map(|_| slots.take().unwrap()).collect();
        let newer: Vec<_> = (0..CLOSING_MAX).map(|_| slots.take().unwrap()).collect();
        assert!(slots.take().is_none());
        assert!(silent[CLOSING_MAX].evicted.try_recv().is_err(), "nor is one evicted for nothing");
        drop(silent.remove(0));
        assert!(slots.take().is_some());
        drop(newer);
    }

    #[test]
    fn the_list_of_unauthenticated_connections_is_bounded() {
        let mut slots = ConnectionSlots::new(4);
        let silent = [slots.take().unwrap(), slots.take().unwrap()];
        for number in 0..1000 {
            let taken = slots.take().unwrap();
            assert!(number % 2 == 0 || authenticate(&taken.slot, number));
            assert!(slots.unauthenticated.len() <= 8);
        }
        let kept = [slots.take().unwrap(), slots.take().unwrap()];
        assert!(kept.iter().zip(0..).all(|(taken, user)| authenticate(&taken.slot, user)));
        let mut last = Vec::new();
        for mut silent in silent {
            last.push(slots.take().unwrap());
            assert!(silent.evicted.try_recv().is_ok());
        }
    }
}
