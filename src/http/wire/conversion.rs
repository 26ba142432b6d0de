//! The JSON of a conversion.

use super::{RecordNo, Text};
use exchange::ids::{EventId, MarketId, MarketNo};
use exchange::units::{Lots, Money};
use views::ReadModel;
use views::catalogue::EventRow;
use views::responses::Converted;

answers! {
    /// What was given, and what was got for it.
    ConversionJson = "Conversion" (came: &Converted, event: &EventRow, ids: Ids) {
        event_id: Text<EventId> = Text(event.id);
        /// The markets of which no contracts were given.
        market_ids: Vec<Text<MarketId>> = ids.0;
        /// The event's other markets: yes contracts of them were got, and merged with free no
        /// contracts, 1.00 a pair.
        received_market_ids: Vec<Text<MarketId>> = ids.1;
        /// Contracts given of each, and got of each other.
        quantity: Text<Lots> = Text(came.quantity);
        /// 1.00 for each contract of all markets given but one; what merged pairs brought comes on
        /// top, in the same line of the ledger.
        cash: Text<Money> = Text(came.cash);
        sequence: RecordNo = RecordNo(came.sequence);
    }
}

/// The ids of the markets given, and of the others.
type Ids = (Vec<Text<MarketId>>, Vec<Text<MarketId>>);

impl ConversionJson {
    /// The conversion as its owner sees it. The markets of an event with a conversion never change,
    /// so a repetition shows the same.
    pub fn seen(view: &ReadModel, came: &Converted) -> Option<ConversionJson> {
        let event = view.catalogue.event(came.event)?;
        let given = came.markets.as_slice();
        let others = event.markets.iter().filter(|market| !given.contains(market));
        let id = |market: &MarketNo| view.catalogue.market(*market).map(|row| Text(row.id));
        let ids = (given.iter().filter_map(id).collect(), others.filter_map(id).collect());
        Some(ConversionJson::of(came, event, ids))
    }
}
