//! Caches of serialised answers, valid until their content changes. The read model knows which
//! record changed the content last; an entry for another record is a miss. So nothing needs to be
//! invalidated, and no reader gets an answer older than the state it looked at.

use std::sync::Arc;

use parking_lot::Mutex;

use super::auth::Holders;
use super::board::{Board, Ranked};
use super::market_cache::{MARKETS, MarketCache};
use super::page::Page;
use exchange::catalogue::Outcome;
use exchange::command::KeyHash;
use exchange::ids::{MarketId, MarketNo, UserNo};
use exchange::units::Sequence;
use views::performance::{Baseline, Day};

/// Slots per cache. An answer has at most one piece of a list (16 KiB), so a cache takes a few
/// megabytes at most. A key has one slot and evicts the entry of another key there.
const SLOTS: usize = 256;

/// Slots for scores at the start of a day, some tens of bytes per user each. Leaderboards start
/// today and 6 and 29 days before; modulo this number these days have different remainders, so each
/// has its own slot.
pub(super) const DAYS: usize = 4;

/// Slots for keys: with more keys in use, some are looked up for every request.
const KEYS: usize = 8_192;
/// Slots for the numbers of markets.
const MARKET_NOS: usize = 4_096;

/// All caches. With the first two, a request that only submits commands need not wait for the
/// projector.
#[derive(Debug)]
pub struct ResponseCaches {
    /// Who holds a key.
    pub holders: Holders,
    /// Which public market an id means; that never changes.
    pub market_nos: VersionedCache<MarketId, MarketNo>,
    /// Markets, as lists show them.
    pub markets: Arc<MarketCache>,
    /// Books, without their timestamp.
    pub books: VersionedCache<DepthKey>,
    /// All open orders of a user; only that user reads them.
    pub orders: VersionedCache<UserNo>,
    /// Pages of leaderboards, not serialised: the users on them and the total count.
    pub boards: VersionedCache<Board, Arc<Ranked>>,
    /// The scores of all users at the start of a day.
    pub baselines: VersionedCache<Day, Arc<Baseline>>,
}

impl Default for ResponseCaches {
    fn default() -> ResponseCaches {
        ResponseCaches {
            holders: VersionedCache::of(KEYS),
            market_nos: VersionedCache::of(MARKET_NOS),
            markets: Arc::new(VersionedCache::of(MARKETS)),
            books: VersionedCache::default(),
            orders: VersionedCache::default(),
            boards: VersionedCache::default(),
            baselines: VersionedCache::of(DAYS),
        }
    }
}

/// Key of a cached answer.
pub trait CacheKey: Copy + PartialEq {
    /// A number from which the slot is derived; different keys may share it.
    fn number(self) -> usize;
}

impl CacheKey for Board {
    fn number(self) -> usize {
        let Board { by, first, page: Page { limit, offset } } = self;
        let page = usize::try_from(offset.wrapping_add(limit)).unwrap_or_default();
        let board = first.number().wrapping_mul(2).wrapping_add(by as usize);
        page.wrapping_mul(31).wrapping_add(board)
    }
}

impl CacheKey for Day {
    fn number(self) -> usize {
        Day::number(self)
    }
}

/// A number of levels of each side of a book, in the prices of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DepthKey {
    /// Market.
    pub market: MarketNo,
    /// Outcome.
    pub outcome: Outcome,
    /// Levels.
    pub levels: usize,
}

impl CacheKey for DepthKey {
    fn number(self) -> usize {
        let outcome = usize::from(self.outcome == Outcome::Yes);
        // Neighbouring markets get neighbouring slots; other level counts get distant ones.
        self.market.index().wrapping_mul(2).wrapping_add(outcome).wrapping_add(self.levels * 37)
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

impl CacheKey for MarketNo {
    fn number(self) -> usize {
        self.index()
    }
}

impl CacheKey for UserNo {
    fn number(self) -> usize {
        self.index()
    }
}

/// A fixed-size cache whose entries are valid for one version of their content: the last record
/// that changed it, or all that it follows from.
#[derive(Debug)]
pub struct VersionedCache<K, T = Arc<[u8]>, V = Sequence> {
    slots: Box<[Slot<K, T, V>]>,
}

type Slot<K, T, V> = Mutex<Option<Entry<K, T, V>>>;

#[derive(Debug)]
struct Entry<K, T, V> {
    key: K,
    version: V,
    value: T,
}

impl<K, T, V> Default for VersionedCache<K, T, V> {
    fn default() -> VersionedCache<K, T, V> {
        VersionedCache::of(SLOTS)
    }
}

impl<K, T, V> VersionedCache<K, T, V> {
    /// An empty cache with `slots` slots.
    pub fn of(slots: usize) -> VersionedCache<K, T, V> {
        VersionedCache { slots: (0..slots).map(|_| Mutex::new(None)).collect() }
    }
}

impl<K: CacheKey, T: Clone, V: PartialEq> VersionedCache<K, T, V> {
    /// The cached value of this version, if there is one.
    pub fn find(&self, key: K, version: &V) -> Option<T> {
        let kept = self.slot(key)?.lock();
        let kept = kept.as_ref().filter(|kept| kept.key == key && kept.version == *version);
        kept.map(|kept| kept.value.clone())
    }

    /// The cached value of this version, else the result of `look`, which is then cached.
    ///
    /// # Errors
    /// That of `look`.
    pub fn find_or<E>(
        &self,
        key: K,
        version: V,
        look: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        if let Some(value) = self.find(key, &version) {
            return Ok(value);
        }
        let value = look()?;
        self.keep(key, version, value.clone());
        Ok(value)
    }

    /// Caches the value of a version.
    pub fn keep(&self, key: K, version: V, value: T) {
        if let Some(slot) = self.slot(key) {
            *slot.lock() = Some(Entry { key, version, value });
        }
    }

    fn slot(&self, key: K) -> Option<&Slot<K, T, V>> {
        self.slots.get(key.number().checked_rem(self.slots.len())?)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/response_cache.rs"]
mod tests;
