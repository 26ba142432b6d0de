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
mod tests {
    use super::*;
    use exchange::units::TimeMs;

    const ANN: Holder = Holder { user: UserNo(1), key: KeyNo(1), role: Role::Trader };
    const BOB: Holder = Holder { user: UserNo(2), key: KeyNo(2), role: Role::Trader };

    /// Two hashes with the same slot.
    const HASHES: [KeyHash; 2] = [KeyHash([7; 32]), {
        let mut hash = [7; 32];
        hash[31] = 8;
        KeyHash(hash)
    }];

    #[test]
    fn a_holder_is_looked_up_again_once_any_key_has_changed() {
        let directory = Directory::default();
        let (then, now) = (Sequence::new(3), Sequence::new(4));
        let [hash, other] = HASHES;
        assert_eq!(directory.holder(hash, then, || Err("unknown")), Err("unknown"));
        assert_eq!(directory.holder(hash, then, || Ok::<_, ()>(ANN)), Ok(ANN));
        assert_eq!(directory.holder(hash, then, || Err("looked up")), Ok(ANN));
        assert_eq!(directory.holder(hash, now, || Err("revoked")), Err("revoked"));
        assert_eq!(directory.holder(other, then, || Ok::<_, ()>(BOB)), Ok(BOB));
        assert_eq!(directory.holder(hash, then, || Err("looked up")), Err("looked up"));
    }

    #[test]
    fn a_market_is_looked_up_until_it_is_known() {
        let directory = Directory::default();
        let [one, other] =
            [1, 2].map(|no| MarketId::derive(TimeMs::default(), Sequence::new(no), 0));
        assert_eq!(directory.market(one, || Err("unknown")), Err("unknown"));
        assert_eq!(directory.market(one, || Ok::<_, ()>(MarketNo(7))), Ok(MarketNo(7)));
        assert_eq!(directory.market(one, || Err("looked up")), Ok(MarketNo(7)));
        assert_eq!(directory.market(other, || Err("looked up")), Err("looked up"));
    }
}
