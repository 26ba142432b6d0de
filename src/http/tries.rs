//! Tries: how often somebody was wrong lately, in bounded memory, so that whoever guesses waits.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long a try counts.
const TRIES_WITHIN: Duration = Duration::from_mins(15);
/// Those whose tries are counted; beyond them each new one takes another's place.
pub(super) const COUNTED_MAX: usize = 1 << 16;

/// How many there were, and when the first of them was.
#[derive(Debug, Clone, Copy)]
struct Count {
    count: u32,
    since: Instant,
}

/// Rows of a full table of which one goes.
const LOOKED_AT: usize = 8;

/// Tries by whose they are.
#[derive(Debug)]
pub struct Tries<K> {
    counted: Mutex<BTreeMap<Place<K>, Count>>,
    secret: RandomState,
}

/// Where a row stands: by a secret, so that nobody chooses whom a full table forgets.
type Place<K> = (u64, K);

impl<K> Default for Tries<K> {
    fn default() -> Tries<K> {
        Tries { counted: Mutex::default(), secret: RandomState::new() }
    }
}

impl<K: Ord + Copy + Hash> Tries<K> {
    fn place(&self, whose: K) -> Place<K> {
        (self.secret.hash_one(whose), whose)
    }

    /// Counts a try; returns how many there were lately, with this one.
    pub fn count(&self, whose: K) -> u32 {
        count(&mut self.counted.lock(), self.place(whose))
    }

    /// Counts a try of each, unless one of them has had as many as it may.
    ///
    /// # Errors
    /// Which one has, and seconds until it may try again.
    pub fn admit(&self, all: &[K], most: impl Fn(K) -> u32) -> Result<(), (K, NonZeroU32)> {
        let mut counted = self.counted.lock();
        for whose in all {
            let found = counted.get(&self.place(*whose));
            let found = found.filter(|found| found.count >= most(*whose));
            let left = found.map(|found| TRIES_WITHIN.saturating_sub(found.since.elapsed()));
            let seconds = left.and_then(|left| u32::try_from(left.as_secs()).ok());
            if let Some(seconds) = seconds.and_then(NonZeroU32::new) {
                return Err((*whose, seconds));
            }
        }
        for whose in all {
            count(&mut counted, self.place(*whose));
        }
        Ok(())
    }

    /// Takes back the count of a try that was no wrong one.
    pub fn forgive(&self, whose: K) {
        let (mut counted, place) = (self.counted.lock(), self.place(whose));
        let left = counted.get_mut(&place).map(|found| {
            found.count = found.count.saturating_sub(1);
            found.count
        });
        if left == Some(0) {
            counted.remove(&place);
        }
    }
}

fn count<K: Ord + Copy>(counted: &mut BTreeMap<Place<K>, Count>, whose: Place<K>) -> u32 {
    // Whoever fills the table must not make others wait for a search in it: of a few rows one goes,
    // one that no longer counts before another, and who was wrong often last.
    if counted.len() >= COUNTED_MAX && !counted.contains_key(&whose) {
        let some = counted.range(whose..).chain(counted.iter()).take(LOOKED_AT);
        let least = some.min_by_key(|(_, found)| {
            (found.since.elapsed() < TRIES_WITHIN, found.count, found.since)
        });
        if let Some(other) = least.map(|(other, _)| *other) {
            counted.remove(&other);
        }
    }
    let fresh = || Count { count: 0, since: Instant::now() };
    let found = counted.entry(whose).or_insert_with(fresh);
    if found.since.elapsed() >= TRIES_WITHIN {
        *found = fresh();
    }
    found.count = found.count.saturating_add(1);
    found.count
}

/// What one person has of addresses: in IPv6 a network of 64 bits.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)))
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/tries.rs"]
mod tests;
