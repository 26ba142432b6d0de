//! Each user's newest orders and fills in one market, from which their chains start. Once a market
//! has ended this no longer changes, and moves to pages by and by.

use std::collections::BTreeMap;

use crate::history::chain::{RowChain, RowIndex};
use crate::history::pack::{Coder, Packing, Unpacking};
use crate::history::{History, HistoryError, Kind, PageKey};
use crate::saved::{Sizes, hold};
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

/// The same as it is kept: there may be as many as orders, and most users place a few orders in a
/// market and trade nothing there.
#[derive(Debug)]
enum Kept {
    /// The newest order, the oldest and their count.
    Few([u32; 3]),
    Many(Box<InMarket>),
}

impl Kept {
    fn of(there: InMarket) -> Kept {
        let narrow = |number: RowIndex| u32::try_from(number).ok();
        let few = there.orders.short().filter(|_| there.fills == RowChain::default());
        let few = few.and_then(|(newest, oldest, count)| {
            Some([narrow(newest)?, narrow(oldest)?, narrow(count)?])
        });
        few.map_or_else(|| Kept::Many(Box::new(there)), Kept::Few)
    }

    fn in_market(&self) -> InMarket {
        match self {
            Kept::Few([newest, oldest, count]) => InMarket {
                orders: RowChain::of_short((*newest).into(), (*oldest).into(), (*count).into()),
                fills: RowChain::default(),
            },
            Kept::Many(there) => **there,
        }
    }
}

/// All users with orders or fills in one market.
#[derive(Debug, Default)]
pub(super) struct Traders {
    /// All of them, or those with the highest numbers once the market has ended.
    live: BTreeMap<UserNo, Kept>,
    /// The others, on pages sorted by user number: the first user of each page.
    stored: Vec<UserNo>,
    ended: bool,
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
        if self.ended {
            return None;
        }
        let kept = self.live.entry(user).or_insert(Kept::Few([0; 3]));
        if let Kept::Many(there) = kept {
            return Some(change(there));
        }
        let mut there = kept.in_market();
        let result = change(&mut there);
        *kept = Kept::of(there);
        Some(result)
    }

    /// A user's entry.
    pub(super) fn begins(&self, history: &History, market: MarketNo, user: UserNo) -> Begins {
        if let Some(there) = self.live.get(&user) {
            return Begins::Known(there.in_market());
        }
        let page = self.stored.partition_point(|first| *first <= user).checked_sub(1);
        page.map_or(Begins::Known(InMarket::default()), |page| {
            Begins::Stored(history.clone(), key(market, page), user)
        })
    }

    /// The market has ended.
    pub(super) const fn end(&mut self) {
        self.ended = true;
    }

    /// Whether the market has ended.
    pub(super) const fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether the market has ended and not all its users are on pages.
    pub(super) fn moving(&self) -> bool {
        self.ended && !self.live.is_empty()
    }

    /// Writes the next page of users. Returns whether it was the last one.
    pub(super) fn store_page(&mut self, history: &History, market: MarketNo) -> bool {
        let (mut bytes, mut before) = (Vec::new(), 0);
        for _ in 0..history.rows_per_page() {
            let Some((user, there)) = self.live.pop_first() else { break };
            if bytes.is_empty() {
                self.stored.push(user);
            }
            // Packing into memory does not fail.
            let packed = coded(Some((user, there.in_market())), before, &mut Packing(&mut bytes));
            before = packed.map_or(before, |(user, _)| u64::from(user.0));
        }
        if let Some(page) = self.stored.len().checked_sub(1).filter(|_| !bytes.is_empty()) {
            history.put(key(market, page), bytes);
        }
        self.live.is_empty()
    }

    pub(super) fn write(&self, sink: &mut impl ImageSink) {
        let Traders { live, stored, ended } = self;
        ended.write(sink);
        write_count(stored.len(), sink);
        for first in stored {
            first.write(sink);
        }
        write_count(live.len(), sink);
        for (user, there) in live {
            user.write(sink);
            there.in_market().write(sink);
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
        let mut traders = Traders { ended: bool::read(source)?, ..Traders::default() };
        for _ in 0..read_count(source)? {
            traders.stored.push(next(source)?);
        }
        hold(traders.ended || traders.stored.is_empty(), "stored users of a live market")?;
        for _ in 0..read_count(source)? {
            let (user, there) = (next(source)?, InMarket::read(source)?);
            hold(there != InMarket::default(), "a user of a market who has nothing there")?;
            traders.live.insert(user, Kept::of(there));
        }
        Ok(traders)
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

fn key(market: MarketNo, page: usize) -> PageKey {
    PageKey { kind: Kind::Traders, owner: market.0, page: page as u64 }
}

/// Packs or reads a user's entry after the user before.
fn coded(
    entry: Option<(UserNo, InMarket)>,
    before: u64,
    coder: &mut impl Coder,
) -> Result<(UserNo, InMarket), BadImage> {
    let user = coder.from(before, entry.map(|(user, _)| u64::from(user.0)))?;
    let user = UserNo(u32::try_from(user).map_err(|_| BadImage::Value("UserNo"))?);
    let orders = RowChain::code(entry.map(|(_, there)| there.orders), coder)?;
    let fills = RowChain::code(entry.map(|(_, there)| there.fills), coder)?;
    Ok((user, InMarket { orders, fills }))
}

/// A user's entry on the page that would hold it; empty if the user is not there.
fn unpacked(mut bytes: &[u8], sought: UserNo) -> Result<InMarket, BadImage> {
    let mut before = 0;
    while !bytes.is_empty() {
        let (user, there) = coded(None, before, &mut Unpacking(&mut bytes))?;
        if user == sought {
            return Ok(there);
        }
        before = u64::from(user.0);
    }
    Ok(InMarket::default())
}
