//! Answers kept in print until what they show has changed. The read model says which record changed
//! it last; an answer printed for another record is printed again, so nothing has to be told when
//! to expire, and no reader is shown less than the moment at which it looked.

use std::sync::Arc;

use parking_lot::Mutex;

use super::leaderboard::{Board, Ranked};
use super::market_cache::MarketPageCache;
use crate::exchange::catalogue::Outcome;
use crate::exchange::ids::{MarketNo, UserNo};
use crate::exchange::units::Sequence;
use crate::projection::performance::{Baseline, Day};

/// Answers of each kind that are kept, each of at most one piece of a list (16 KiB): together a few
/// megabytes at most. An answer has its place by what it shows, and gives way to another of the
/// same place.
const PLACES: usize = 256;

/// Days of which it is kept what everybody had come to by then, at some tens of bytes a user. Today
/// and the days 6 and 29 before it, with which leaderboards begin, have a place each: divided by
/// this, they leave different remainders.
pub(super) const DAYS: usize = 4;

/// Everything that is kept in print.
#[derive(Debug)]
pub struct ResponseCaches {
    /// Markets as lists show them.
    pub markets: MarketPageCache,
    /// Books, without the moment at which they were looked at.
    pub books: VersionedCache<DepthKey>,
    /// All the open orders of a user, who alone is shown them.
    pub orders: VersionedCache<UserNo>,
    /// Pages of leaderboards, not yet in print: who is on them, and how many there are in all.
    pub boards: VersionedCache<Board, Arc<Ranked>>,
    /// What everybody had come to when a day began.
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

/// What an answer shows.
pub trait CacheKey: Copy + PartialEq {
    /// A number that tells subjects apart, as far as it goes.
    fn number(self) -> usize;
}

/// So many levels of each side of a book, in the words of an outcome.
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
        // Neighbouring markets get neighbouring places, and other numbers of levels others.
        self.market.index().wrapping_mul(2).wrapping_add(outcome).wrapping_add(self.levels * 37)
    }
}

impl CacheKey for UserNo {
    fn number(self) -> usize {
        self.index()
    }
}

/// Answers of one kind, in print or nearly so.
#[derive(Debug)]
pub struct VersionedCache<S, T = Arc<[u8]>> {
    places: Box<[CacheSlot<S, T>]>,
}

type CacheSlot<S, T> = Mutex<Option<Answer<S, T>>>;

#[derive(Debug)]
struct Answer<S, T> {
    of: S,
    changed: Sequence,
    said: T,
}

impl<S, T> Default for VersionedCache<S, T> {
    fn default() -> VersionedCache<S, T> {
        VersionedCache::of(PLACES)
    }
}

impl<S, T> VersionedCache<S, T> {
    /// None yet, with so many places.
    pub fn of(places: usize) -> VersionedCache<S, T> {
        VersionedCache { places: (0..places).map(|_| Mutex::new(None)).collect() }
    }
}

impl<S: CacheKey, T: Clone> VersionedCache<S, T> {
    /// What was said of it since the record that changed it last, or what `look` finds, which is
    /// kept; it must look at that record's moment or later.
    pub fn find_or<E>(
        &self,
        of: S,
        changed: Sequence,
        look: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        if let Some(said) = self.find(of, changed) {
            return Ok(said);
        }
        let said = look()?;
        self.keep(of, changed, said.clone());
        Ok(said)
    }

    /// What was said of it since the record that changed it last.
    pub fn find(&self, of: S, changed: Sequence) -> Option<T> {
        let kept = self.place(of)?.lock();
        let kept = kept.as_ref().filter(|kept| kept.of == of && kept.changed == changed);
        kept.map(|kept| kept.said.clone())
    }

    /// Keeps what was said of it as that record left it.
    pub fn keep(&self, of: S, changed: Sequence, said: T) {
        if let Some(place) = self.place(of) {
            *place.lock() = Some(Answer { of, changed, said });
        }
    }

    fn place(&self, of: S) -> Option<&CacheSlot<S, T>> {
        self.places.get(of.number().checked_rem(self.places.len())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_given_to_its_own_and_until_it_changes() {
        let kept: VersionedCache<UserNo> = VersionedCache::default();
        let (ann, bob) = (UserNo(3), UserNo(4));
        // Another of the same place.
        let eve = UserNo(3 + u32::try_from(PLACES).unwrap());
        let (then, now) = (Sequence::new(7), Sequence::new(9));
        assert_eq!(kept.find(ann, then), None);
        kept.keep(ann, then, Arc::from(*b"ann's"));
        assert_eq!(kept.find(ann, then).as_deref(), Some(&b"ann's"[..]));
        assert_eq!(
            (kept.find(ann, now), kept.find(bob, then), kept.find(eve, then)),
            Default::default()
        );
        kept.keep(eve, then, Arc::from(*b"eve's"));
        assert_eq!((kept.find(ann, then), kept.find(eve, then).is_some()), (None, true));
    }

    #[test]
    fn books_are_told_apart_by_all_that_they_show() {
        let kept: VersionedCache<DepthKey> = VersionedCache::default();
        let changed = Sequence::new(1);
        let book = DepthKey { market: MarketNo(5), outcome: Outcome::Yes, levels: 10 };
        kept.keep(book, changed, Arc::from(*b"it"));
        let others = [
            DepthKey { market: MarketNo(5 + 128), ..book },
            DepthKey { outcome: Outcome::No, ..book },
            DepthKey { levels: 20, ..book },
        ];
        assert!(kept.find(book, changed).is_some());
        assert!(others.iter().all(|other| kept.find(*other, changed).is_none()));
    }
}
