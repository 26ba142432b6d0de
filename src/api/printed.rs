//! Markets in print: what a list shows of each, kept until it shows something else. Lists of
//! markets are what is read most, are long, and change little between two looks.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::wire::catalogue::MarketJson;
use crate::exchange::catalogue::MarketDraft;
use crate::exchange::ids::MarketNo;
use crate::exchange::lifecycle::MarketStatus;
use crate::exchange::units::Ratio;
use crate::projection::ReadModel;
use crate::projection::catalogue::MarketRow;

/// Markets kept in print: some pages of each list that anybody reads. A market has its place by
/// its number, and gives way to another of the same place.
const PLACES: usize = 1024;

/// What a market is shown with in a list. All that is printed follows from it: categories are
/// named once and for all.
#[derive(Debug)]
pub struct Shown {
    market: MarketNo,
    draft: Arc<MarketDraft>,
    status: MarketStatus,
    probability_of_yes: Ratio,
}

impl Shown {
    fn of(view: &ReadModel, row: &MarketRow) -> Shown {
        let probability_of_yes = view.probability_of_yes(row.no);
        let draft = Arc::clone(&row.draft);
        Shown { market: row.no, draft, status: row.status, probability_of_yes }
    }
}

impl PartialEq for Shown {
    fn eq(&self, other: &Shown) -> bool {
        // A draft is never changed in place, and lives for as long as this holds it.
        self.market == other.market
            && Arc::ptr_eq(&self.draft, &other.draft)
            && self.status == other.status
            && self.probability_of_yes == other.probability_of_yes
    }
}

/// The markets in print.
#[derive(Debug)]
pub struct PrintedMarkets {
    places: Box<[Place]>,
}

type Place = Mutex<Option<(Shown, Arc<RawValue>)>>;

impl Default for PrintedMarkets {
    fn default() -> PrintedMarkets {
        PrintedMarkets { places: (0..PLACES).map(|_| Mutex::default()).collect() }
    }
}

/// A market on its way into a list.
#[derive(Debug)]
pub enum Listed {
    /// In print.
    Printed(Arc<RawValue>),
    /// Still to be printed, and what it is then shown with.
    New(Box<(MarketJson, Shown)>),
}

impl PrintedMarkets {
    /// A market as a list shows it now, in print if it shows what it showed last.
    pub fn look(&self, view: &ReadModel, row: &MarketRow) -> Listed {
        let shown = Shown::of(view, row);
        let kept = self.place(row.no).and_then(|place| {
            let kept = place.lock();
            kept.as_ref().filter(|(of, _)| *of == shown).map(|(_, text)| Arc::clone(text))
        });
        let new = || Listed::New(Box::new((MarketJson::of(view, row), shown)));
        kept.map_or_else(new, Listed::Printed)
    }

    /// Prints what is not in print yet, and keeps it.
    pub fn print(&self, market: Listed) -> Listed {
        let Listed::New(new) = market else { return market };
        let Ok(text) = serde_json::value::to_raw_value(&new.0) else {
            // The list will say so.
            return Listed::New(new);
        };
        let (text, shown): (Arc<RawValue>, Shown) = (Arc::from(text), new.1);
        if let Some(place) = self.place(shown.market) {
            *place.lock() = Some((shown, Arc::clone(&text)));
        }
        Listed::Printed(text)
    }

    fn place(&self, market: MarketNo) -> Option<&Place> {
        self.places.get(market.index().checked_rem(self.places.len())?)
    }
}

impl Serialize for Listed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Listed::Printed(text) => text.as_ref().serialize(serializer),
            Listed::New(new) => new.0.serialize(serializer),
        }
    }
}
