//! Markets in print: what a list shows of each, and whole pages of them, kept until they show
//! something else. Lists of markets are what is read most, are long, and change little between two
//! looks.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};

use super::wire::Paging;
use super::wire::catalogue::MarketJson;
use super::wire::print::printed;
use crate::exchange::catalogue::MarketDraft;
use crate::exchange::ids::MarketNo;
use crate::exchange::lifecycle::MarketStatus;
use crate::projection::ReadModel;
use crate::projection::catalogue::MarketRow;
use crate::projection::quote::Quote;

/// Markets kept in print: some pages of each list that anybody reads. A market has its place by
/// its number, and gives way to another of the same place.
const PLACES: usize = 1024;
/// Whole pages kept in print, of at most one piece of a list (16 KiB) each: the first ones that
/// anybody reads. A page has its place by where it begins.
const PAGES: usize = 16;
/// Bytes that a market takes: room for them is taken at once.
const MARKET_BYTES_USUAL: usize = 1024;

/// What a market is shown with in a list. All that is printed follows from it: categories are
/// named once and for all.
#[derive(Debug, Clone)]
pub struct MarketVersion {
    market: MarketNo,
    draft: Arc<MarketDraft>,
    status: MarketStatus,
    /// Leads to the displayed probability.
    quote: Quote,
}

impl MarketVersion {
    fn of(view: &ReadModel, row: &MarketRow) -> MarketVersion {
        let (draft, quote) = (Arc::clone(&row.draft), view.quote(row));
        MarketVersion { market: row.no, draft, status: row.status, quote }
    }
}

impl MarketVersion {
    /// Whether a list shows the same of this market now.
    fn is(&self, view: &ReadModel, row: &MarketRow) -> bool {
        // A draft is never changed in place, and lives for as long as this holds it.
        self.market == row.no
            && Arc::ptr_eq(&self.draft, &row.draft)
            && self.status == row.status
            && self.quote == view.quote(row)
    }
}

/// The markets in print.
#[derive(Debug)]
pub struct MarketJsonCache {
    places: Box<[CacheSlot]>,
}

type CacheSlot = Mutex<Option<(MarketVersion, Arc<[u8]>)>>;

impl Default for MarketJsonCache {
    fn default() -> MarketJsonCache {
        MarketJsonCache { places: (0..PLACES).map(|_| Mutex::default()).collect() }
    }
}

/// A market on its way into a list.
#[derive(Debug)]
pub enum CachedMarket {
    /// In print.
    Printed(Arc<[u8]>),
    /// Still to be printed.
    New(Box<New>),
}

/// A market that is not in print.
#[derive(Debug)]
pub struct New {
    market: MarketJson,
    shown: MarketVersion,
    /// Where it is kept once it is printed.
    printed: Arc<MarketJsonCache>,
}

impl MarketJsonCache {
    /// A market as a list shows it now, in print if it shows what it showed last.
    pub fn look(this: &Arc<MarketJsonCache>, view: &ReadModel, row: &MarketRow) -> CachedMarket {
        let kept = this.place(row.no).and_then(|place| {
            let kept = place.lock();
            kept.as_ref().filter(|(of, _)| of.is(view, row)).map(|(_, text)| Arc::clone(text))
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
        if let Some(place) = self.place(shown.market) {
            *place.lock() = Some((shown.clone(), text));
        }
    }

    fn place(&self, market: MarketNo) -> Option<&CacheSlot> {
        self.places.get(market.index().checked_rem(self.places.len())?)
    }
}

/// A page of markets, which may be in print.
#[derive(Debug)]
pub enum Found {
    /// It is.
    Printed(Bytes),
    /// Its markets, and what they show.
    New(PageShown, Vec<CachedMarket>),
}

/// All that a page of a list shows.
#[derive(Debug)]
pub struct PageShown {
    markets: Vec<MarketVersion>,
    /// Its place.
    pub paging: Paging,
}

/// Whole pages in print.
#[derive(Debug, Default)]
pub struct MarketPageCache {
    places: [Mutex<Option<(PageShown, Bytes)>>; PAGES],
    markets: Arc<MarketJsonCache>,
}

impl MarketPageCache {
    /// A page with these markets as it shows them now, in print if it showed the same last.
    pub fn look(&self, view: &ReadModel, rows: &[&MarketRow], paging: Paging) -> Found {
        let kept = self.place(paging).and_then(|place| {
            let kept = place.lock();
            let same = |shown: &&(PageShown, Bytes)| {
                let PageShown { markets, paging: of } = &shown.0;
                let mut pairs = markets.iter().zip(rows);
                *of == paging
                    && markets.len() == rows.len()
                    && pairs.all(|(shown, row)| shown.is(view, row))
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

    /// Keeps a page that was printed.
    pub fn keep(&self, shown: PageShown, text: Bytes) {
        if let Some(place) = self.place(shown.paging) {
            *place.lock() = Some((shown, text));
        }
    }

    fn place(&self, paging: Paging) -> Option<&Mutex<Option<(PageShown, Bytes)>>> {
        let page = paging.offset.checked_div(paging.limit)?;
        self.places.get(usize::try_from(page).ok()?.checked_rem(PAGES)?)
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
