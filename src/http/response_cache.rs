//! Caches of serialised answers, valid until their content changes. The read model knows which
//! record changed the content last; an entry for another record is a miss. So nothing needs to be
//! invalidated, and no reader gets an answer older than the state it looked at.

use std::sync::Arc;

use parking_lot::Mutex;

use super::board::{Board, Ranked};
use super::market_cache::MarketPageCache;
use super::page::Page;
use exchange::catalogue::Outcome;
use exchange::ids::{MarketNo, UserNo};
use exchange::units::Sequence;
use views::performance::{Baseline, Day};

/// Slots per cache. An answer has at most one piece of a list (16 KiB), so a cache takes a few
/// megabytes at most. A key has one slot and evicts the entry of another key there.
const SLOTS: usize = 256;

/// Slots for scores at the start of a day, some tens of bytes per user each. Leaderboards start
/// today and 6 and 29 days before; modulo this number these days have different remainders, so each
/// has its own slot.
pub(super) const DAYS: usize = 4;

/// All caches.
#[derive(Debug)]
pub struct ResponseCaches {
    /// Pages of market lists.
    pub markets: MarketPageCache,
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
            markets: MarketPageCache::default(),
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

impl CacheKey for UserNo {
    fn number(self) -> usize {
        self.index()
    }
}

/// A fixed-size cache whose entries are valid for one version of their content.
#[derive(Debug)]
pub struct VersionedCache<S, T = Arc<[u8]>> {
    slots: Box<[CacheSlot<S, T>]>,
}

type CacheSlot<S, T> = Mutex<Option<Entry<S, T>>>;

#[derive(Debug)]
struct Entry<S, T> {
    key: S,
    changed: Sequence,
    value: T,
}

impl<S, T> Default for VersionedCache<S, T> {
    fn default() -> VersionedCache<S, T> {
        VersionedCache::of(SLOTS)
    }
}

impl<S, T> VersionedCache<S, T> {
    /// An empty cache with `slots` slots.
    pub fn of(slots: usize) -> VersionedCache<S, T> {
        VersionedCache { slots: (0..slots).map(|_| Mutex::new(None)).collect() }
    }
}

impl<S: CacheKey, T: Clone> VersionedCache<S, T> {
    /// The cached value for the version `changed`, else the result of `look`, which is then cached.
    /// `look` must read the state at that record or later.
    pub fn find_or<E>(
        &self,
        key: S,
        changed: Sequence,
        look: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        if let Some(value) = self.find(key, changed) {
            return Ok(value);
        }
        let value = look()?;
        self.keep(key, changed, value.clone());
        Ok(value)
    }

    /// The cached value for the version `changed`, if there is one.
    pub fn find(&self, key: S, changed: Sequence) -> Option<T> {
        let kept = self.slot(key)?.lock();
        let kept = kept.as_ref().filter(|kept| kept.key == key && kept.changed == changed);
        kept.map(|kept| kept.value.clone())
    }

    /// Caches a value for the version `changed`: the last record that changed the content.
    pub fn keep(&self, key: S, changed: Sequence, value: T) {
        if let Some(slot) = self.slot(key) {
            *slot.lock() = Some(Entry { key, changed, value });
        }
    }

    fn slot(&self, key: S) -> Option<&CacheSlot<S, T>> {
        self.slots.get(key.number().checked_rem(self.slots.len())?)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/response_cache.rs"]
mod tests;
