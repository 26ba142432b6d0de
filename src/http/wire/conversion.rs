//! The JSON of a conversion.

use serde::Serialize;

use super::Text;
use exchange::ids::{EventId, MarketId, MarketNo};
use exchange::units::{Lots, Money};
use views::ReadModel;
use views::responses::Converted;

/// The contracts given up and what was received for them.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversionJson {
    event_id: Option<Text<EventId>>,
    market_ids: Vec<Text<MarketId>>,
    received_market_ids: Vec<Text<MarketId>>,
    quantity: Text<Lots>,
    cash: Text<Money>,
    sequence: u64,
}

impl ConversionJson {
    /// The conversion as its owner sees it. The markets of an event with a conversion never change,
    /// so a repetition shows the same.
    pub fn of(view: &ReadModel, came: &Converted) -> ConversionJson {
        let event = view.catalogue.event(came.event);
        let given = came.markets.as_slice();
        let all = event.map_or(&[][..], |event| &event.markets);
        let others = all.iter().filter(|market| !given.contains(market));
        let id = |market: &MarketNo| view.catalogue.market(*market).map(|row| Text(row.id));
        ConversionJson {
            event_id: event.map(|event| Text(event.id)),
            market_ids: given.iter().filter_map(id).collect(),
            received_market_ids: others.filter_map(id).collect(),
            quantity: Text(came.quantity),
            cash: Text(came.cash),
            sequence: came.sequence.get(),
        }
    }
}
