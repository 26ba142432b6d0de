//! Markets in print: what a list shows of each, kept until it shows something else. Lists of
//! markets are what is read most, are long, and change little between two looks.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::ser::Error as _;
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
#[derive(Debug, Clone)]
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
    /// Still to be printed.
    New(Box<New>),
}

/// A market that is not in print.
#[derive(Debug)]
pub struct New {
    market: MarketJson,
    shown: Shown,
    /// Where it is kept once it is printed.
    printed: Arc<PrintedMarkets>,
}

impl PrintedMarkets {
    /// A market as a list shows it now, in print if it shows what it showed last.
    pub fn look(this: &Arc<PrintedMarkets>, view: &ReadModel, row: &MarketRow) -> Listed {
        let shown = Shown::of(view, row);
        let kept = this.place(row.no).and_then(|place| {
            let kept = place.lock();
            kept.as_ref().filter(|(of, _)| *of == shown).map(|(_, text)| Arc::clone(text))
        });
        kept.map_or_else(
            || {
                let (market, printed) = (MarketJson::of(view, row), Arc::clone(this));
                Listed::New(Box::new(New { market, shown, printed }))
            },
            Listed::Printed,
        )
    }

    fn keep(&self, shown: &Shown, text: Arc<RawValue>) {
        if let Some(place) = self.place(shown.market) {
            *place.lock() = Some((shown.clone(), text));
        }
    }

    fn place(&self, market: MarketNo) -> Option<&Place> {
        self.places.get(market.index().checked_rem(self.places.len())?)
    }
}

impl Serialize for Listed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Listed::Printed(text) => text.as_ref().serialize(serializer),
            Listed::New(new) => {
                let text =
                    serde_json::value::to_raw_value(&new.market).map_err(S::Error::custom)?;
                let text: Arc<RawValue> = Arc::from(text);
                new.printed.keep(&new.shown, Arc::clone(&text));
                text.as_ref().serialize(serializer)
            }
        }
    }
}
