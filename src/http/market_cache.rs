//! Caches of serialised markets and of whole pages of them, valid until they would show something
//! else. Market lists are read most, are long, and change little between two reads.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};

use super::wire::Paging;
use super::wire::catalogue::MarketJson;
use super::wire::print::printed;
use exchange::catalogue::MarketDraft;
use exchange::ids::MarketNo;
use exchange::lifecycle::MarketStatus;
use views::ReadModel;
use views::catalogue::MarketRow;
use views::quote::Quote;

/// Slots for markets: several pages of every list that is read. A market's slot follows from its
/// number; it evicts another market there.
const MARKETS: usize = 1024;
/// Slots for whole pages of at most one piece of a list (16 KiB): the first pages of each list. A
/// page's slot follows from its page number.
const PAGES: usize = 16;
/// Initial buffer capacity for one market.
const MARKET_BYTES_USUAL: usize = 1024;

/// Everything that a list shows of a market and that can change; categories never do.
#[derive(Debug, Clone)]
pub struct MarketVersion {
    market: MarketNo,
    draft: Arc<MarketDraft>,
    status: MarketStatus,
    /// Determines the displayed probability.
    quote: Quote,
}

impl MarketVersion {
    fn of(view: &ReadModel, row: &MarketRow) -> MarketVersion {
        let (draft, quote) = (Arc::clone(&row.draft), view.quote(row));
        MarketVersion { market: row.no, draft, status: row.status, quote }
    }
}

impl MarketVersion {
    /// Whether a list would show the same for this market now.
    fn matches(&self, view: &ReadModel, row: &MarketRow) -> bool {
        // A draft is never modified in place, and it stays alive while this holds it, so comparing
        // pointers is safe.
        self.market == row.no
            && Arc::ptr_eq(&self.draft, &row.draft)
            && self.status == row.status
            && self.quote == view.quote(row)
    }
}

/// The cache of single markets.
#[derive(Debug)]
pub struct MarketJsonCache {
    slots: Box<[CacheSlot]>,
}

type CacheSlot = Mutex<Option<(MarketVersion, Arc<[u8]>)>>;

impl Default for MarketJsonCache {
    fn default() -> MarketJsonCache {
        MarketJsonCache { slots: (0..MARKETS).map(|_| Mutex::default()).collect() }
    }
}

/// A market to be written into a list.
#[derive(Debug)]
pub enum CachedMarket {
    /// Serialised already.
    Printed(Arc<[u8]>),
    /// Still to be serialised.
    New(Box<New>),
}

/// A market that was not cached.
#[derive(Debug)]
pub struct New {
    market: MarketJson,
    shown: MarketVersion,
    /// The cache that gets it once it is serialised.
    printed: Arc<MarketJsonCache>,
}

impl MarketJsonCache {
    /// A market as a list shows it now; from the cache if it shows the same as last time.
    pub fn look(this: &Arc<MarketJsonCache>, view: &ReadModel, row: &MarketRow) -> CachedMarket {
        let kept = this.slot(row.no).and_then(|slot| {
            let kept = slot.lock();
            kept.as_ref().filter(|(of, _)| of.matches(view, row)).map(|(_, text)| Arc::clone(text))
        });
        kept.map_or_else(
            || {
                let (shown, printed) = (MarketVersion::of(view, row), Arc::clone(this));
                let market = MarketJson::of(view, row);
                CachedMarket::New(Box::new(New { market, shown, printed }))
            },
            CachedMarket::Printed,
        )
    }

    fn keep(&self, shown: &MarketVersion, text: Arc<[u8]>) {
        if let Some(slot) = self.slot(shown.market) {
            *slot.lock() = Some((shown.clone(), text));
        }
    }

    fn slot(&self, market: MarketNo) -> Option<&CacheSlot> {
        self.slots.get(market.index().checked_rem(self.slots.len())?)
    }
}

/// A page of markets, cached or not.
#[derive(Debug)]
pub enum Found {
    /// Serialised already.
    Printed(Bytes),
    /// The page's content for [`MarketPageCache::keep`], and its markets.
    New(PageShown, Vec<CachedMarket>),
}

/// Everything that a page of a list shows.
#[derive(Debug)]
pub struct PageShown {
    markets: Vec<MarketVersion>,
    /// Which page it is.
    pub paging: Paging,
}

/// The cache of whole pages, on top of that of single markets.
#[derive(Debug, Default)]
pub struct MarketPageCache {
    slots: [Mutex<Option<(PageShown, Bytes)>>; PAGES],
    markets: Arc<MarketJsonCache>,
}

impl MarketPageCache {
    /// A page with these markets; from the cache if it shows the same as last time.
    pub fn look(&self, view: &ReadModel, rows: &[&MarketRow], paging: Paging) -> Found {
        let kept = self.slot(paging).and_then(|slot| {
            let kept = slot.lock();
            let same = |shown: &&(PageShown, Bytes)| {
                let PageShown { markets, paging: of } = &shown.0;
                let mut pairs = markets.iter().zip(rows);
                *of == paging
                    && markets.len() == rows.len()
                    && pairs.all(|(shown, row)| shown.matches(view, row))
            };
            kept.as_ref().filter(same).map(|(_, text)| text.clone())
        });
        kept.map_or_else(
            || {
                let markets = rows.iter().map(|row| MarketVersion::of(view, row)).collect();
                let listed = rows.iter().map(|row| MarketJsonCache::look(&self.markets, view, row));
                Found::New(PageShown { markets, paging }, listed.collect())
            },
            Found::Printed,
        )
    }

    /// Caches a serialised page.
    pub fn keep(&self, shown: PageShown, text: Bytes) {
        if let Some(slot) = self.slot(shown.paging) {
            *slot.lock() = Some((shown, text));
        }
    }

    fn slot(&self, paging: Paging) -> Option<&Mutex<Option<(PageShown, Bytes)>>> {
        let page = paging.offset.checked_div(paging.limit)?;
        self.slots.get(usize::try_from(page).ok()?.checked_rem(PAGES)?)
    }
}

impl Serialize for CachedMarket {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            CachedMarket::Printed(text) => serializer.serialize_bytes(text),
            CachedMarket::New(new) => {
                let text = printed(&new.market, MARKET_BYTES_USUAL).map_err(S::Error::custom)?;
                let text: Arc<[u8]> = Arc::from(text);
                new.printed.keep(&new.shown, Arc::clone(&text));
                serializer.serialize_bytes(&text)
            }
        }
    }
}
