//! What each user has in one market: where the user's orders and fills in it begin. When a market
//! has ended, nothing of that changes any more, and it is put away.

use rustc_hash::FxHashMap;

use crate::exchange::ids::{MarketNo, UserNo};
use crate::exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, read_count, write_count,
};
use crate::projection::history::chain::Chain;
use crate::projection::history::pack::{pack_from, unpack_from};
use crate::projection::history::{History, HistoryError, Kind, PageKey};
use crate::projection::image::{Sizes, hold};

/// What a user has in one market.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct InMarket {
    pub(super) orders: Chain,
    pub(super) fills: Chain,
}

imaged!(InMarket { orders, fills });

/// All that have something in one market.
#[derive(Debug)]
pub(super) enum Traders {
    /// It may become more.
    Live(FxHashMap<UserNo, InMarket>),
    /// On pages, by number of the user: the first user of each.
    Put(Box<[UserNo]>),
}

impl Default for Traders {
    fn default() -> Traders {
        Traders::Live(FxHashMap::default())
    }
}

/// What a user has in a market, to be looked for whenever.
#[derive(Debug, Clone)]
pub(super) enum Begins {
    /// It is this.
    Here(InMarket),
    /// On that page, if anything.
    There(History, PageKey, UserNo),
}

impl Traders {
    /// What a user has in it, to be changed; `None` if nothing of it changes any more.
    pub(super) fn of(&mut self, user: UserNo) -> Option<&mut InMarket> {
        match self {
            Traders::Live(traders) => Some(traders.entry(user).or_default()),
            Traders::Put(_) => None,
        }
    }

    /// What a user has in it.
    pub(super) fn begins(&self, history: &History, market: MarketNo, user: UserNo) -> Begins {
        let nothing = Begins::Here(InMarket::default());
        match self {
            Traders::Live(traders) => {
                traders.get(&user).map_or(nothing, |there| Begins::Here(*there))
            }
            Traders::Put(firsts) => {
                let page = firsts.partition_point(|first| *first <= user).checked_sub(1);
                let there = |page| Begins::There(history.clone(), key(market, page), user);
                page.map_or(nothing, there)
            }
        }
    }

    /// Puts all of it away.
    pub(super) fn put(&mut self, history: &History, market: MarketNo) {
        let Traders::Live(traders) = self else { return };
        let mut sorted: Vec<(UserNo, InMarket)> = traders.drain().collect();
        sorted.sort_unstable_by_key(|(user, _)| *user);
        let pages = sorted.chunks(history.rows_per_page() as usize);
        for (page, traders) in pages.clone().enumerate() {
            history.put(key(market, page), packed(traders));
        }
        *self = Traders::Put(pages.filter_map(|page| Some(page.first()?.0)).collect());
    }

    pub(super) fn write(&self, sink: &mut impl ImageSink) {
        match self {
            Traders::Live(traders) => {
                true.write(sink);
                let mut sorted: Vec<(&UserNo, &InMarket)> = traders.iter().collect();
                sorted.sort_unstable_by_key(|(user, _)| **user);
                write_count(sorted.len(), sink);
                for (user, there) in sorted {
                    user.write(sink);
                    there.write(sink);
                }
            }
            Traders::Put(firsts) => {
                false.write(sink);
                write_count(firsts.len(), sink);
                firsts.iter().for_each(|first| first.write(sink));
            }
        }
    }

    pub(super) fn read(sizes: Sizes, source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let mut before = None;
        let mut next = |source: &mut _| {
            let user = UserNo::read(source)?;
            sizes.has_user(user)?;
            hold(before < Some(user), "users of a market out of order")?;
            before = Some(user);
            Ok::<_, BadImage>(user)
        };
        if bool::read(source)? {
            let mut traders = FxHashMap::default();
            for _ in 0..read_count(source)? {
                traders.insert(next(source)?, InMarket::read(source)?);
            }
            return Ok(Traders::Live(traders));
        }
        let mut firsts = Vec::new();
        for _ in 0..read_count(source)? {
            firsts.push(next(source)?);
        }
        Ok(Traders::Put(firsts.into()))
    }
}

impl Begins {
    /// What it is.
    pub(super) fn find(self) -> Result<InMarket, HistoryError> {
        let (history, key, user) = match self {
            Begins::Here(there) => return Ok(there),
            Begins::There(history, key, user) => (history, key, user),
        };
        let found = unpacked(&history.get(key)?, user);
        found.map_err(|cause| HistoryError::Damaged { key, cause })
    }
}

fn key(market: MarketNo, page: usize) -> PageKey {
    PageKey { kind: Kind::Traders, owner: market.0, page: page as u64 }
}

fn packed(traders: &[(UserNo, InMarket)]) -> Vec<u8> {
    let (mut bytes, mut before) = (Vec::new(), 0);
    for (user, InMarket { orders, fills }) in traders {
        pack_from(before, u64::from(user.0), &mut bytes);
        orders.pack(&mut bytes);
        fills.pack(&mut bytes);
        before = u64::from(user.0);
    }
    bytes
}

/// What a user has, by a page that there would be something on.
fn unpacked(mut bytes: &[u8], user: UserNo) -> Result<InMarket, BadImage> {
    let mut before = 0;
    while !bytes.is_empty() {
        before = unpack_from(before, &mut bytes)?;
        let (orders, fills) = (Chain::unpack(&mut bytes)?, Chain::unpack(&mut bytes)?);
        if before == u64::from(user.0) {
            return Ok(InMarket { orders, fills });
        }
    }
    Ok(InMarket::default())
}
