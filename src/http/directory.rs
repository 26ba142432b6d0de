//! A cache of lookups that every request needs and that rarely change: the holder of a key, and the
//! market of an id. With it, a request that only submits commands need not wait for the projector.

use super::response_cache::{CacheKey, VersionedCache};
use exchange::command::{KeyHash, Role};
use exchange::ids::{KeyNo, MarketId, MarketNo, UserNo};
use exchange::units::Sequence;

/// Slots for keys: with more keys in use, some are looked up for every request.
const KEYS: usize = 8_192;
/// Slots for markets.
const MARKETS: usize = 4_096;

/// Who holds a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The user for whom the key acts.
    pub user: UserNo,
    /// The key.
    pub key: KeyNo,
    /// What the key may do.
    pub role: Role,
}

/// The cached lookups: less than a megabyte.
#[derive(Debug)]
pub struct Directory {
    holders: VersionedCache<KeyHash, Holder>,
    markets: VersionedCache<MarketId, MarketNo>,
}

impl Default for Directory {
    fn default() -> Directory {
        Directory { holders: VersionedCache::of(KEYS), markets: VersionedCache::of(MARKETS) }
    }
}

impl Directory {
    /// The holder of a key. Entries older than `changed`, the last record that added or revoked any
    /// key, are ignored. `look` reads the holder on a miss.
    pub fn holder<E>(
        &self,
        hash: KeyHash,
        changed: Sequence,
        look: impl FnOnce() -> Result<Holder, E>,
    ) -> Result<Holder, E> {
        // Unknown keys are never cached: anybody can make up any number of them.
        self.holders.find_or(hash, changed, look)
    }

    /// The market of an id, which never changes. `look` reads it on a miss.
    pub fn market<E>(
        &self,
        id: MarketId,
        look: impl FnOnce() -> Result<MarketNo, E>,
    ) -> Result<MarketNo, E> {
        self.markets.find_or(id, Sequence::ZERO, look)
    }
}

impl CacheKey for KeyHash {
    fn number(self) -> usize {
        let KeyHash([one, other, ..]) = self;
        usize::from(u16::from_be_bytes([one, other]))
    }
}

impl CacheKey for MarketId {
    fn number(self) -> usize {
        usize::try_from(self.sequence().get()).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/directory.rs"]
mod tests;
