//! A cache of serialised markets, each valid until a list would show something else of it. Market
//! lists are read most, are long, and change little between two reads.

use std::sync::Arc;

use serde::ser::Error as _;
use serde::{Serialize, Serializer};

use super::response_cache::VersionedCache;
use super::wire::catalogue::MarketJson;
use super::wire::printed;
use exchange::catalogue::MarketDraft;
use exchange::ids::MarketNo;
use exchange::market::MarketStatus;
use views::ReadModel;
use views::catalogue::MarketRow;
use views::depth::Quote;

/// Slots: several pages of every list that is read.
pub(super) const MARKETS: usize = 1024;
/// Initial buffer capacity for one market.
const MARKET_BYTES_USUAL: usize = 1024;

/// Serialised markets, by number and by all that a list shows of them.
pub type MarketCache = VersionedCache<MarketNo, Arc<[u8]>, MarketVersion>;

/// Everything that a list shows of a market and that can change; categories never do.
#[derive(Debug, Clone)]
pub struct MarketVersion {
    draft: Arc<MarketDraft>,
    status: MarketStatus,
    /// Determines the displayed probability.
    quote: Quote,
}

impl PartialEq for MarketVersion {
    /// A draft is never modified in place, and it stays alive while this holds it, so comparing
    /// pointers is safe.
    fn eq(&self, other: &MarketVersion) -> bool {
        Arc::ptr_eq(&self.draft, &other.draft)
            && self.status == other.status
            && self.quote == other.quote
    }
}

/// A market of a list.
#[derive(Debug)]
pub enum ListedMarket {
    /// Serialised already.
    Printed(Arc<[u8]>),
    /// To be serialised, and to be kept for the next reader.
    New(Box<(MarketNo, MarketVersion, MarketJson, Arc<MarketCache>)>),
}

impl ListedMarket {
    /// The market as a list shows it now; from the cache if it shows the same as last time.
    pub fn look(cache: &Arc<MarketCache>, view: &ReadModel, row: &MarketRow) -> ListedMarket {
        let (draft, quote) = (Arc::clone(&row.draft), view.quote(row));
        let version = MarketVersion { draft, status: row.status, quote };
        let kept = cache.find(row.no, &version).map(ListedMarket::Printed);
        kept.unwrap_or_else(|| {
            let new = (row.no, version, MarketJson::now(view, row), Arc::clone(cache));
            ListedMarket::New(Box::new(new))
        })
    }
}

impl Serialize for ListedMarket {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ListedMarket::Printed(text) => serializer.serialize_bytes(text),
            ListedMarket::New(new) => {
                let (market, version, json, cache) = &**new;
                let text = printed(json, MARKET_BYTES_USUAL).map_err(S::Error::custom)?;
                let text: Arc<[u8]> = Arc::from(text);
                cache.keep(*market, version.clone(), Arc::clone(&text));
                serializer.serialize_bytes(&text)
            }
        }
    }
}
