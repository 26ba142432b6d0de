//! Each user's newest orders and fills in one market, from which their chains start. Once a market
//! has ended this no longer changes, and moves to pages by and by.

use std::collections::BTreeMap;

use crate::history::chain::{RowChain, RowIndex};
use crate::history::{Coder, History, HistoryError, Kind, Packing, PageKey, Unpacking};
use crate::saved::{Sizes, hold};
use exchange::idempotency::Fingerprint;
use exchange::ids::{MarketNo, Token, UserNo};
use exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, read_bytes, read_count, write_bytes,
    write_count,
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

// The index from client order ids to orders: fingerprints of a user's names in sorted runs,
// partitioned by their leading bits. When [`FAN`] runs of one level exist, they are merged into
// one of the next level, so that a name is written a few times and a lookup reads few pages.
//
// Merged runs are not deleted, since a replay may merge them again. So a name is written once per
// level, four times in all.

/// How many of a user's newest names are kept in memory before they are written as a run.
const RUN: u32 = 128;
/// Bits of the fingerprint that each level adds to the partition: eight runs become one with eight
/// times as many parts.
const FAN_BITS: u32 = 3;
/// How many runs are merged into one.
const FAN: u64 = 1 << FAN_BITS;
/// Levels of runs. Runs of the last level are not merged: that would block the writer for too long.
const LEVELS: u32 = 4;

/// The fingerprint of a name, and the index of its order among the user's orders.
type Entry = (u64, RowIndex);

/// Bytes of an [`Entry`].
const ENTRY_BYTES: usize = size_of::<u64>() + INDEX_BYTES;
/// Bytes of an index: enough for [`ROWS_MAX`](crate::history::stream::ROWS_MAX).
const INDEX_BYTES: usize = 6;

/// The first 64 bits of the fingerprint of a user's name.
pub(super) fn fingerprint(user: UserNo, name: &Token) -> u64 {
    let Fingerprint(bytes) = Fingerprint::of_order_name(user, name);
    bytes.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// The names of a user's orders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// Number of runs written at level 0.
    runs: u64,
    /// The newest names, oldest first.
    recent: Vec<Entry>,
}

/// A run of one level.
#[derive(Debug, Clone, Copy)]
struct Run {
    level: u32,
    number: u64,
}

impl Run {
    fn key(self, user: UserNo, part: u32) -> PageKey {
        let Run { level, number } = self;
        let page = u64::from(level) << 56 | number << 16 | u64::from(part);
        PageKey { kind: Kind::Names, owner: user.0, page }
    }

    /// The part of the run that holds this fingerprint.
    fn part(self, fingerprint: u64) -> u32 {
        let bits = FAN_BITS * self.level;
        if bits == 0 { 0 } else { u32::try_from(fingerprint >> (u64::BITS - bits)).unwrap_or(0) }
    }
}

impl Names {
    /// Adds a name.
    pub(super) fn add(&mut self, history: &History, user: UserNo, name: &Token, index: RowIndex) {
        self.recent.push((fingerprint(user, name), index));
        if self.recent.len() < RUN as usize {
            return;
        }
        self.recent.sort_unstable();
        let number = self.runs;
        history.put(Run { level: 0, number }.key(user, 0), packed(&self.recent));
        self.recent.clear();
        self.runs = self.runs.saturating_add(1);
        let mut written = self.runs;
        for level in 1..LEVELS {
            if !written.is_multiple_of(FAN) {
                return;
            }
            written /= FAN;
            merge(history, user, Run { level, number: written - 1 });
        }
    }

    /// The runs that have not been merged, those with the newest names first.
    fn newest_first(&self) -> impl Iterator<Item = Run> + use<> {
        let runs = self.runs;
        (0..LEVELS).flat_map(move |level| {
            let of_level = runs >> (FAN_BITS * level);
            let merged = if level + 1 < LEVELS { of_level / FAN * FAN } else { 0 };
            (merged..of_level).rev().map(move |number| Run { level, number })
        })
    }

    /// Calls `look` with the indexes of orders that may have this name, newest first, and returns
    /// the first result. `look` must return `None` for an order with another name, since
    /// fingerprints may collide.
    pub(super) fn find<T>(
        &self,
        history: &History,
        user: UserNo,
        name: &Token,
        mut look: impl FnMut(RowIndex) -> Result<Option<T>, HistoryError>,
    ) -> Result<Option<T>, HistoryError> {
        let fingerprint = fingerprint(user, name);
        let candidates = self.recent.iter().rev().filter(|(other, _)| *other == fingerprint);
        for (_, index) in candidates {
            if let Some(found) = look(*index)? {
                return Ok(Some(found));
            }
        }
        for run in self.newest_first() {
            let entries = read(history, run.key(user, run.part(fingerprint)))?;
            let same = entries.partition_point(|(other, _)| *other < fingerprint);
            let same = entries.get(same..).unwrap_or_default();
            let same = same.iter().take_while(|(other, _)| *other == fingerprint);
            for (_, index) in same.collect::<Vec<_>>().into_iter().rev() {
                if let Some(found) = look(*index)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    /// An image never has a full run in memory.
    fn check(&self) -> Result<(), BadImage> {
        if self.recent.len() < RUN as usize { Ok(()) } else { Err(BadImage::Value("names")) }
    }
}

impl Imaged for Names {
    fn write(&self, sink: &mut impl ImageSink) {
        let Names { runs, recent } = self;
        runs.write(sink);
        write_bytes(&packed(recent), sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let names = Names { runs: u64::read(source)?, recent: entries(&read_bytes(source)?)? };
        names.check()?;
        Ok(names)
    }
}

/// Merges eight runs of the level below into this run, part by part.
fn merge(history: &History, user: UserNo, run: Run) {
    if !history.keeps() {
        return;
    }
    let below = run.level - 1;
    for part in 0..1_u32 << (FAN_BITS * below) {
        let mut entries = Vec::new();
        for number in run.number * FAN..(run.number + 1) * FAN {
            match read(history, Run { level: below, number }.key(user, part)) {
                Ok(read) => entries.extend(read),
                Err(error) => history.failed(&error),
            }
        }
        entries.sort_unstable();
        let mut rest = entries.as_slice();
        for part in part << FAN_BITS..(part + 1) << FAN_BITS {
            let (own, later) = rest.split_at(rest.partition_point(|e| run.part(e.0) == part));
            history.put(run.key(user, part), packed(own));
            rest = later;
        }
    }
}

fn packed(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(entries.len().saturating_mul(ENTRY_BYTES));
    for (fingerprint, index) in entries {
        fingerprint.write(&mut bytes);
        let [low @ .., _, _] = index.to_le_bytes();
        bytes.extend_from_slice(&low);
    }
    bytes
}

fn entries(mut bytes: &[u8]) -> Result<Vec<Entry>, BadImage> {
    let mut entries = Vec::with_capacity(bytes.len() / ENTRY_BYTES);
    while !bytes.is_empty() {
        let fingerprint = u64::read(&mut bytes)?;
        let (low, rest) = bytes.split_first_chunk::<INDEX_BYTES>().ok_or(BadImage::Truncated)?;
        let mut index = [0; size_of::<RowIndex>()];
        for (to, byte) in index.iter_mut().zip(low) {
            *to = *byte;
        }
        entries.push((fingerprint, RowIndex::from_le_bytes(index)));
        bytes = rest;
    }
    Ok(entries)
}

fn read(history: &History, key: PageKey) -> Result<Vec<Entry>, HistoryError> {
    entries(&history.get(key)?).map_err(|cause| HistoryError::Damaged { key, cause })
}

#[cfg(test)]
#[path = "../../../tests/unit/views/orders/names.rs"]
mod tests;
