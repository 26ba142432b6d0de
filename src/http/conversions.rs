//! Conversion: exchanges the caller's no contracts of several markets of an event for their joint
//! worth.

use super::call::{Call, event_no, public_market};
use super::events::{Drafts, markets_of};
use super::members::{Several, bodies};
use super::problem::Problem;
use super::reply::Reply;
use super::wire::conversion::ConversionJson;
use exchange::command::{Command, Conversion};
use exchange::ids::{MarketId, MarketSet};
use exchange::reject::Reject;
use exchange::rules::EXCLUSIVE_MARKETS_MAX;
use exchange::units::Lots;
use views::ReadModel;
use views::responses::StoredResponse;

bodies! {
    /// What is converted.
    struct ConversionForm {
        required {
            "marketIds" => markets: Several<MarketId, 1, EXCLUSIVE_MARKETS_MAX>,
            "quantity" => quantity: Lots,
        }
    }
}

/// `POST /trading/events/{eventId}/convert`
pub async fn convert(call: Call) -> Result<Reply, Problem> {
    let (id, ConversionForm { markets: Several(ids), quantity }) =
        call.read(|form| form.path("eventId").zip(form.body()))?;
    let user = call.caller.user;
    let (_, (event, markets)) = call.look(|view| {
        let event = event_no(view, id)?;
        // An event without public markets is answered like one that does not exist.
        let row = view.catalogue.event(event);
        row.filter(|row| !markets_of(view, row, Drafts::Hidden).is_empty())
            .ok_or_else(|| Problem::of(Reject::EventNotFound))?;
        let public = |id: &MarketId| public_market(view, *id).map(|row| row.no);
        let markets = ids.iter().map(public).collect::<Result<_, _>>()?;
        let markets = MarketSet::new(markets).ok_or_else(|| Problem::of(Reject::MarketNotFound))?;
        Ok((event, markets))
    })?;
    let command = Command::Convert(Conversion { user, event, markets, quantity });
    let again = |view: &ReadModel, kept: &StoredResponse| match kept {
        StoredResponse::Converted(came) => ConversionJson::seen(view, came),
        _ => None,
    };
    let written = call.submit_and_show(command, again).await?;
    written.reply(&written.shown)
}
