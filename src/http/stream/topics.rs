//! Which topics anybody listens to. Nothing is built for the others.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{RwLock, RwLockReadGuard};
use rustc_hash::{FxHashMap, FxHashSet};

use super::channel::{MarketChannel, Topic};
use exchange::ids::{MarketNo, UserNo};

/// A set of topics.
#[derive(Debug, Default, Clone)]
pub struct Topics {
    /// Channels of all markets, by their bits.
    every_market: u8,
    markets: FxHashMap<MarketNo, u8>,
    accounts: FxHashSet<UserNo>,
    catalogue: bool,
    journal: bool,
}

impl Topics {
    /// Adds a topic, or takes it out.
    pub fn set(&mut self, topic: Topic, there: bool) {
        let set = |bits: &mut u8, channel: MarketChannel| {
            *bits = if there { *bits | channel.bit() } else { *bits & !channel.bit() };
        };
        match topic {
            Topic::Market(channel, market) => {
                let bits = self.markets.entry(market).or_default();
                set(bits, channel);
                if *bits == 0 {
                    self.markets.remove(&market);
                }
            }
            Topic::EveryMarket(channel) => set(&mut self.every_market, channel),
            Topic::Account(user) if there => drop(self.accounts.insert(user)),
            Topic::Account(user) => drop(self.accounts.remove(&user)),
            Topic::Catalogue => self.catalogue = there,
            Topic::Journal => self.journal = there,
        }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        let Topics { every_market, markets, accounts, catalogue, journal } = self;
        *every_market == 0 && markets.is_empty() && accounts.is_empty() && !(*catalogue || *journal)
    }

    /// The channels of a market, by their bits.
    pub fn of_market(&self, market: MarketNo) -> u8 {
        self.every_market | self.markets.get(&market).copied().unwrap_or_default()
    }

    /// Whether anything of any market is in it.
    pub fn has_markets(&self) -> bool {
        self.every_market != 0 || !self.markets.is_empty() || self.catalogue
    }

    /// Whether anybody's account is in it.
    pub fn has_accounts(&self) -> bool {
        !self.accounts.is_empty()
    }

    /// Whether this account is in it.
    pub fn has_account(&self, user: UserNo) -> bool {
        self.accounts.contains(&user)
    }

    /// Whether the catalogue is in it.
    pub const fn has_catalogue(&self) -> bool {
        self.catalogue
    }

    /// Whether the journal is in it.
    pub const fn has_journal(&self) -> bool {
        self.journal
    }
}

/// The topics that are listened to, shared with the matcher's thread.
#[derive(Debug, Default)]
pub struct Watched {
    any: AtomicBool,
    topics: RwLock<Topics>,
}

impl Watched {
    /// Whether there is any. What is set under the read model's lock is seen under it.
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Adds a topic, or takes it out.
    pub fn set(&self, topic: Topic, there: bool) {
        let mut topics = self.topics.write();
        topics.set(topic, there);
        self.any.store(!topics.is_empty(), Ordering::Relaxed);
    }

    /// Those that are listened to now.
    pub fn read(&self) -> RwLockReadGuard<'_, Topics> {
        self.topics.read()
    }
}
