//! Connection slots: bound the number of open connections, so that no few users can take them all.
//!
//! A connection whose last key was good is *held* by that key's user; all others are *strangers*.
//! Traders together hold all slots but a reserve. The reserve is for operators and for strangers,
//! such as health checks and clients that have not sent their first request yet. If all slots are
//! taken, a new connection gets that of the first stranger, or the least recently used one of the
//! user who holds most.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::oneshot::{Receiver, Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::auth::{Caller, Via};
use super::presence::Presence;
use engine::Engine;
use exchange::ids::UserNo;
use exchange::units::Sequence;

/// Evicted connections that may still be open. Each holds a descriptor beyond the slots' until its
/// worker closes it.
const CLOSING_MAX: usize = 32;
/// Of all slots, a user's share is one in so many: what is beyond it gives way to strangers too.
const SHARE_PART: usize = 64;
/// Of all slots, traders leave one in so many to operators and strangers.
const RESERVE_PART: usize = 16;

/// Places of strangers at the operators' entrance begin here.
const OPERATORS_PLACE: i64 = 1 << 62;

/// [`Seat::holder`] of a stranger.
const NOBODY: u64 = u64::MAX;
/// [`Seat::holder`] of an evicted connection.
const EVICTED: u64 = u64::MAX - 1;

/// What the slots ask about keys.
pub trait Keys {
    /// The last record that added or revoked any key.
    fn changed(&self) -> Sequence;

    /// Whether the key is in force.
    fn is_in_force(&self, via: Via) -> bool;
}

impl Keys for Engine {
    fn changed(&self) -> Sequence {
        self.watermark_and_keys().1
    }

    fn is_in_force(&self, via: Via) -> bool {
        let view = self.read();
        match via {
            Via::Key(key) => view.accounts.key(key).is_some_and(|row| row.revoked_at.is_none()),
            Via::Session(session) => view.sign_ins.session(session, self.now()).is_some(),
        }
    }
}

/// All slots of the server. Clones share them.
#[derive(Clone)]
pub struct ConnectionSlots(Arc<Slots>);

struct Slots {
    /// Slots that all traders together hold at most.
    traders_max: usize,
    /// Slots that operators and strangers have at least.
    reserve: usize,
    /// Slots of one user that give way to other users only.
    share: usize,
    closing: Arc<Semaphore>,
    began: Instant,
    taken: Mutex<Taken>,
}

/// Whose connections count together: a user's, those of operators' keys apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Account {
    user: UserNo,
    is_operator: bool,
}

/// The connections that have a slot.
struct Taken {
    free: usize,
    /// Strangers by the order in which they give way. Those that lost their standing come first.
    strangers: BTreeMap<i64, Arc<Seat>>,
    last_place: i64,
    held: BTreeMap<Account, Vec<Arc<Seat>>>,
    /// Connections held by traders.
    traders: usize,
    /// The last change of keys after which connections of revoked keys were looked for.
    keys_as_of: Sequence,
}

/// What is known of one connection.
struct Seat {
    /// The user and the key that hold it, in one number, or [`NOBODY`] or [`EVICTED`].
    holder: AtomicU64,
    /// When it was last used with a good key: nanoseconds since the slots began.
    used: AtomicU64,
    /// Changed under the lock of [`Taken`] only.
    standing: Mutex<Standing>,
}

enum Standing {
    /// With its place among the strangers.
    Stranger(i64, Sender<OwnedSemaphorePermit>),
    Held(Account, Via, Sender<OwnedSemaphorePermit>),
    Evicted,
}

/// A slot that was granted.
pub struct Granted {
    /// The slot; it is free again when the last clone is dropped.
    pub slot: Arc<ConnectionSlot>,
    /// Resolves when the slot is evicted, to a permit to be dropped once the connection is closed.
    pub evicted: Receiver<OwnedSemaphorePermit>,
}

/// The slot of one connection.
pub struct ConnectionSlot {
    slots: Arc<Slots>,
    seat: Arc<Seat>,
    arrival: OnceLock<Arrival>,
    /// Whether its client is there.
    pub presence: Presence,
}

/// Where a connection comes from.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Who is connected; a proxy, perhaps. Nobody has an address on a socket of the file system.
    pub peer: Option<IpAddr>,
    /// Whether it came in by the operators' own entrance.
    pub operators: bool,
}

impl ConnectionSlots {
    /// `count` slots, all free.
    pub fn new(count: usize) -> ConnectionSlots {
        let reserve = count / RESERVE_PART;
        ConnectionSlots(Arc::new(Slots {
            traders_max: count.saturating_sub(reserve),
            reserve,
            share: count.div_ceil(SHARE_PART),
            closing: Arc::new(Semaphore::new(CLOSING_MAX)),
            began: Instant::now(),
            taken: Mutex::new(Taken {
                free: count,
                strangers: BTreeMap::new(),
                last_place: 0,
                held: BTreeMap::new(),
                traders: 0,
                keys_as_of: Sequence::ZERO,
            }),
        }))
    }

    /// A slot for a new connection: a free one, or that of one that gives way. `None` if none does,
    /// or if too many evicted ones are still open. Without `keys`, none was ever good. Those that
    /// come in by the `operators`' own entrance give way after all other strangers: no crowd
    /// elsewhere takes their slots before they show a key.
    pub fn take(&self, keys: Option<&impl Keys>, operators: bool) -> Option<Granted> {
        let slots = &*self.0;
        let mut taken = slots.taken.lock();
        if taken.free == 0 {
            taken.disown_revoked(keys);
            let gives_way = taken.who_gives_way(slots)?;
            taken.evict(&gives_way, slots)?;
        }
        taken.free = taken.free.saturating_sub(1);
        let (evict, evicted) = channel();
        let standing = Mutex::new(Standing::Evicted);
        let (holder, used) = (AtomicU64::new(NOBODY), AtomicU64::new(0));
        let seat = Arc::new(Seat { holder, used, standing });
        taken.last_place = taken.last_place.saturating_add(1);
        let behind_all = if operators { OPERATORS_PLACE } else { 0 };
        let place = taken.last_place.saturating_add(behind_all);
        taken.seat_stranger(&seat, place, evict);
        Some(Granted {
            slot: Arc::new(ConnectionSlot {
                slots: Arc::clone(&self.0),
                seat,
                arrival: OnceLock::new(),
                presence: Presence::default(),
            }),
            evicted,
        })
    }
}

impl ConnectionSlot {
    /// Where its client is, if that is known.
    pub fn address(&self) -> Option<IpAddr> {
        self.arrival.get().and_then(|arrival| arrival.peer)
    }

    /// Whether it came in by the operators' own entrance.
    pub fn is_operators(&self) -> bool {
        self.arrival.get().is_some_and(|arrival| arrival.operators)
    }

    /// Notes where it comes from; the first note counts.
    pub fn arrives(&self, arrival: Arrival) {
        self.arrival.get_or_init(|| arrival);
    }

    /// Whether the slot was evicted: the connection is about to be closed.
    pub fn is_evicted(&self) -> bool {
        self.seat.holder.load(Ordering::Relaxed) == EVICTED
    }

    /// Notes a request with a good key: its user holds the connection. If traders hold as many as
    /// they may, one gives way to it; it stays a stranger if none does. False if it was evicted.
    pub fn hold(&self, caller: &Caller, now: Instant, keys: &impl Keys) -> bool {
        let since = now.saturating_duration_since(self.slots.began);
        self.seat
            .used
            .store(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        let holder = holder_of(caller);
        if self.seat.holder.load(Ordering::Relaxed) == holder {
            return true;
        }
        let account = Account { user: caller.user, is_operator: caller.is_operator() };
        let (slots, seat) = (&*self.slots, &self.seat);
        let mut taken = slots.taken.lock();
        let Some((_, evict)) = taken.unseat(seat) else { return false };
        if !account.is_operator && taken.traders >= slots.traders_max {
            taken.disown_revoked(Some(keys));
        }
        if taken.has_room_for(account, slots) {
            *seat.standing.lock() = Standing::Held(account, caller.via, evict);
            taken.held.entry(account).or_default().push(Arc::clone(seat));
            taken.traders = taken.traders.saturating_add(usize::from(!account.is_operator));
            seat.holder.store(holder, Ordering::Relaxed);
        } else {
            taken.last_place = taken.last_place.saturating_add(1);
            let place = taken.last_place;
            taken.seat_stranger(seat, place, evict);
        }
        true
    }

    /// Notes a request whose key is not good: the connection is a stranger's, and the next to give
    /// way.
    pub fn disown(&self) {
        if self.seat.holder.load(Ordering::Relaxed) < EVICTED {
            self.slots.taken.lock().disown(&self.seat);
        }
    }
}

/// A user and a key in one number.
fn holder_of(caller: &Caller) -> u64 {
    let key = match caller.via {
        Via::Key(key) => key.0,
        // Sessions of one user that begin alike may pass for one here: they count together anyway.
        Via::Session(session) => {
            let [a, b, c, d, ..] = session.0;
            u32::from_be_bytes([a, b, c, d])
        }
    };
    u64::from(caller.user.0) << 32 | u64::from(key)
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken.lock();
        if taken.unseat(&self.seat).is_some() {
            taken.free = taken.free.saturating_add(1);
        }
    }
}

impl Taken {
    fn seat_stranger(&mut self, seat: &Arc<Seat>, place: i64, evict: Sender<OwnedSemaphorePermit>) {
        seat.holder.store(NOBODY, Ordering::Relaxed);
        *seat.standing.lock() = Standing::Stranger(place, evict);
        self.strangers.insert(place, Arc::clone(seat));
    }

    /// Removes a connection from where it is; `None` if it was evicted. Returns its user, and what
    /// evicts it.
    fn unseat(
        &mut self,
        seat: &Arc<Seat>,
    ) -> Option<(Option<Account>, Sender<OwnedSemaphorePermit>)> {
        match std::mem::replace(&mut *seat.standing.lock(), Standing::Evicted) {
            Standing::Evicted => None,
            Standing::Stranger(place, evict) => {
                self.strangers.remove(&place);
                Some((None, evict))
            }
            Standing::Held(account, _, evict) => {
                if let Some(own) = self.held.get_mut(&account) {
                    own.retain(|one| !Arc::ptr_eq(one, seat));
                    if own.is_empty() {
                        self.held.remove(&account);
                    }
                }
                self.traders = self.traders.saturating_sub(usize::from(!account.is_operator));
                Some((Some(account), evict))
            }
        }
    }

    /// Makes a held connection the stranger that gives way first.
    fn disown(&mut self, seat: &Arc<Seat>) {
        if let Some((_, evict)) = self.unseat(seat) {
            let first = self.strangers.first_key_value().map_or(0, |(place, _)| *place);
            self.seat_stranger(seat, first.saturating_sub(1), evict);
        }
    }

    /// Disowns the connections of revoked keys, if any key has changed since that was last done.
    fn disown_revoked(&mut self, keys: Option<&impl Keys>) {
        let Some((keys, changed)) = keys.map(|keys| (keys, keys.changed())) else { return };
        if changed <= self.keys_as_of {
            return;
        }
        self.keys_as_of = changed;
        let is_revoked = |seat: &&Arc<Seat>| match &*seat.standing.lock() {
            Standing::Held(_, key, _) => !keys.is_in_force(*key),
            Standing::Stranger(..) | Standing::Evicted => false,
        };
        let revoked: Vec<_> = self.held.values().flatten().filter(is_revoked).cloned().collect();
        for seat in revoked {
            self.disown(&seat);
        }
    }

    /// The user with most connections, of those with more than `most`.
    fn heaviest(&self, most: usize, operators_too: bool) -> Option<&[Arc<Seat>]> {
        let counted = self
            .held
            .iter()
            .filter(|(of, own)| own.len() > most && (operators_too || !of.is_operator));
        counted.max_by_key(|(_, own)| own.len()).map(|(_, own)| own.as_slice())
    }

    /// The connection that gives way to a new one, when none is free. Nobody's only one does.
    fn who_gives_way(&self, slots: &Slots) -> Option<Arc<Seat>> {
        let stranger = || self.strangers.first_key_value().map(|(_, seat)| seat);
        let beyond_reserve = self.strangers.len() > slots.reserve;
        let gives_way = beyond_reserve.then(stranger).flatten();
        let gives_way = gives_way.or_else(|| self.heaviest(slots.share, true).and_then(least_used));
        let gives_way = gives_way.or_else(stranger);
        gives_way.or_else(|| self.heaviest(1, false).and_then(least_used)).cloned()
    }

    /// Whether this user may hold one more connection; if traders hold as many as they may, one of
    /// the user's who then holds most gives way.
    fn has_room_for(&mut self, account: Account, slots: &Slots) -> bool {
        if account.is_operator || self.traders < slots.traders_max {
            return true;
        }
        let own = self.held.get(&account).map(Vec::as_slice);
        let others = self.heaviest(own.map_or(1, <[_]>::len).saturating_add(1), false);
        let gives_way = others.or(own).and_then(least_used).cloned();
        gives_way.is_some_and(|seat| self.evict(&seat, slots).is_some())
    }

    /// Evicts a connection, whose slot is free then. `None` if too many such are still open.
    fn evict(&mut self, seat: &Arc<Seat>, slots: &Slots) -> Option<()> {
        let closing = Arc::clone(&slots.closing).try_acquire_owned().ok()?;
        let (_, evict) = self.unseat(seat)?;
        seat.holder.store(EVICTED, Ordering::Relaxed);
        self.free = self.free.saturating_add(1);
        // The receiver is gone if the connection is ending on its own.
        drop(evict.send(closing));
        Some(())
    }
}

/// The connection that was used least recently.
fn least_used(own: &[Arc<Seat>]) -> Option<&Arc<Seat>> {
    own.iter().min_by_key(|seat| seat.used.load(Ordering::Relaxed))
}

#[cfg(test)]
#[path = "../../tests/unit/http/connection_slots.rs"]
mod tests;
