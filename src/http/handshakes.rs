//! Handshakes of TLS, which cost the server more than they cost clients: those of one address are
//! computed at a pace.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::tries::{COUNTED_MAX, network};

/// Handshakes of one address without a wait, and how often there is one more.
const AT_ONCE: u32 = 64;
const EVERY: Duration = Duration::from_millis(5);

/// When each address is free again, of those that had any lately.
#[derive(Debug, Default)]
pub struct Handshakes(Mutex<BTreeMap<IpAddr, Instant>>);

impl Handshakes {
    /// Counts a handshake of an address at `now`; returns how long it is to wait. One that would
    /// wait for longer than `most` is not counted, and there is no wait for it.
    pub fn wait(&self, address: IpAddr, now: Instant, most: Duration) -> Option<Duration> {
        let (mut all, address) = (self.0.lock(), network(address));
        if all.len() >= COUNTED_MAX && !all.contains_key(&address) {
            // Whoever fills the table must not make others wait for a search in it: any row goes.
            all.pop_first();
        }
        let free = all.entry(address).or_insert(now);
        let behind = free.saturating_duration_since(now);
        let wait = behind.saturating_sub(EVERY.saturating_mul(AT_ONCE.saturating_sub(1)));
        if wait > most {
            return None;
        }
        *free = now.checked_add(behind)?.checked_add(EVERY)?;
        Some(wait)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/handshakes.rs"]
mod tests;
