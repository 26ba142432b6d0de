//! Tries: how often somebody was wrong lately, in bounded memory, so that whoever guesses waits.

use std::collections::BTreeMap;
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

/// Tries by whose they are.
#[derive(Debug)]
pub struct Tries<K>(Mutex<BTreeMap<K, Count>>);

impl<K> Default for Tries<K> {
    fn default() -> Tries<K> {
        Tries(Mutex::default())
    }
}

impl<K: Ord + Copy> Tries<K> {
    /// Counts a try; returns how many there were lately, with this one.
    pub fn count(&self, whose: K) -> u32 {
        count(&mut self.0.lock(), whose)
    }

    /// Counts a try of each, unless one of them has had as many as it may.
    ///
    /// # Errors
    /// Which one has, and seconds until it may try again.
    pub fn admit(&self, all: &[K], most: impl Fn(K) -> u32) -> Result<(), (K, NonZeroU32)> {
        let mut counted = self.0.lock();
        for whose in all {
            let found = counted.get(whose).filter(|found| found.count >= most(*whose));
            let left = found.map(|found| TRIES_WITHIN.saturating_sub(found.since.elapsed()));
            let seconds = left.and_then(|left| u32::try_from(left.as_secs()).ok());
            if let Some(seconds) = seconds.and_then(NonZeroU32::new) {
                return Err((*whose, seconds));
            }
        }
        for whose in all {
            count(&mut counted, *whose);
        }
        Ok(())
    }

    /// Takes back the count of a try that was no wrong one.
    pub fn forgive(&self, whose: K) {
        if let Some(found) = self.0.lock().get_mut(&whose) {
            found.count = found.count.saturating_sub(1);
        }
    }
}

fn count<K: Ord + Copy>(counted: &mut BTreeMap<K, Count>, whose: K) -> u32 {
    // Whoever fills the table must not make others wait for a search in it: any row goes.
    if counted.len() >= COUNTED_MAX && !counted.contains_key(&whose) {
        let after = counted.range(whose..).next().or_else(|| counted.iter().next());
        if let Some(other) = after.map(|(other, _)| *other) {
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
