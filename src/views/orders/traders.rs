//! Each user's newest orders and fills in one market, from which their chains start. Once a market
//! has ended this no longer changes, and is written to pages.

use super::compact_user_map::CompactUserMap;
use crate::history::chain::{RowChain, length};
use crate::history::pack::{pack_from, unpack_from};
use crate::history::{History, HistoryError, Kind, PageKey};
use crate::image::{Sizes, hold};
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, read_count, write_count,
};

/// A user's orders and fills in one market.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct InMarket {
    pub(super) orders: RowChain,
    pub(super) fills: RowChain,
}

imaged!(InMarket { orders, fills });

/// All users with orders or fills in one market.
#[derive(Debug)]
pub(super) enum Traders {
    /// The market has not ended. Many markets are quiet, and take no allocation.
    Live(Option<Box<CompactUserMap>>),
    /// On pages sorted by user number: the first user of each page.
    Stored(Box<[UserNo]>),
}

impl Default for Traders {
    fn default() -> Traders {
        Traders::Live(None)
    }
}

/// A user's orders and fills in a market, to be looked up later.
#[derive(Debug, Clone)]
pub(super) enum Begins {
    /// Known already.
    Known(InMarket),
    /// On this page, if the user has any.
    Stored(History, PageKey, UserNo),
}

impl Traders {
    /// Changes a user's entry; `None` if the market has ended.
    pub(super) fn change<T>(
        &mut self,
        user: UserNo,
        change: impl FnOnce(&mut InMarket) -> T,
    ) -> Option<T> {
        match self {
            Traders::Live(traders) => Some(traders.get_or_insert_default().change(user, change)),
            Traders::Stored(_) => None,
        }
    }

    /// A user's entry.
    pub(super) fn begins(&self, history: &History, market: MarketNo, user: UserNo) -> Begins {
        let nothing = Begins::Known(InMarket::default());
        match self {
            Traders::Live(traders) => {
                let there = traders.as_ref().map(|traders| traders.get(user));
                there.map_or(nothing, Begins::Known)
            }
            Traders::Stored(firsts) => {
                let page = firsts.partition_point(|first| *first <= user).checked_sub(1);
                let there = |page| Begins::Stored(history.clone(), key(market, page), user);
                page.map_or(nothing, there)
            }
        }
    }

    /// Writes all entries to pages.
    pub(super) fn store(&mut self, history: &History, market: MarketNo) {
        let Traders::Live(traders) = self else { return };
        let sorted = sorted(traders.take().as_deref());
        let pages = sorted.chunks(length(history.rows_per_page()));
        for (page, traders) in pages.clone().enumerate() {
            history.put(key(market, page), packed(traders));
        }
        *self = Traders::Stored(pages.filter_map(|page| Some(page.first()?.0)).collect());
    }

    pub(super) fn write(&self, sink: &mut impl ImageSink) {
        match self {
            Traders::Live(traders) => {
                true.write(sink);
                let sorted = sorted(traders.as_deref());
                write_count(sorted.len(), sink);
                for (user, there) in sorted {
                    user.write(sink);
                    there.write(sink);
                }
            }
            Traders::Stored(firsts) => {
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
            let mut traders = Traders::default();
            for _ in 0..read_count(source)? {
                let (user, there) = (next(source)?, InMarket::read(source)?);
                hold(there != InMarket::default(), "a user of a market who has nothing there")?;
                traders.change(user, |to| *to = there);
            }
            return Ok(traders);
        }
        let mut firsts = Vec::new();
        for _ in 0..read_count(source)? {
            firsts.push(next(source)?);
        }
        Ok(Traders::Stored(firsts.into()))
    }
}

impl Begins {
    /// Looks it up.
    pub(super) fn find(self) -> Result<InMarket, HistoryError> {
        let (history, key, user) = match self {
            Begins::Known(there) => return Ok(there),
            Begins::Stored(history, key, user) => (history, key, user),
        };
        let found = unpacked(&history.get(key)?, user);
        found.map_err(|cause| HistoryError::Damaged { key, cause })
    }
}

/// All entries by user number.
fn sorted(traders: Option<&CompactUserMap>) -> Vec<(UserNo, InMarket)> {
    let mut sorted: Vec<_> = traders.into_iter().flat_map(CompactUserMap::all).collect();
    sorted.sort_unstable_by_key(|(user, _)| *user);
    sorted
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

/// A user's entry on the page that would hold it; empty if the user is not there.
fn unpacked(mut bytes: &[u8], user: UserNo) -> Result<InMarket, BadImage> {
    let mut before = 0;
    while !bytes.is_empty() {
        before = unpack_from(before, &mut bytes)?;
        let (orders, fills) = (RowChain::unpack(&mut bytes)?, RowChain::unpack(&mut bytes)?);
        if before == u64::from(user.0) {
            return Ok(InMarket { orders, fills });
        }
    }
    Ok(InMarket::default())
}
