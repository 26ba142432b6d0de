//! Dry runs of what operators cannot undo: whether it would be refused, and what it would do to how
//! many people and how much money. Nothing is journaled.

use super::asking::try_out;
use super::call::Call;
use super::impact;
use super::problem::Problem;
use super::reply::Reply;
use super::wire::impact::{ActPreviewJson, Preview};
use exchange::command::Command;
use exchange::effect::{Applied, Effect};
use exchange::ids::MarketNo;
use exchange::invariant::Broken;
use exchange::market::MarketStatus;
use exchange::trial::Step;
use views::ReadModel;

/// The answer to `?dryRun=true` of a command that moves a market.
///
/// # Errors
/// The command would be refused.
pub async fn of_market(call: &Call, market: MarketNo, command: Command) -> Result<Reply, Problem> {
    admitted(call, command.clone()).await?;
    let now = call.engine.now();
    let ends = matches!(command, Command::ResolveMarket { .. } | Command::VoidMarket { .. });
    let (_, (from, window, only_proposed)) = call.look(|view| {
        let row = view.catalogue.market(market).ok_or_else(Problem::lacking_row)?;
        let only_proposed = ends && view.proposals.above().is_some();
        Ok((row.status, row.draft.dispute_window_seconds, only_proposed))
    })?;
    let (to, price) = match command {
        Command::ResolveMarket { winner, .. } if window > 0 => {
            (MarketStatus::Resolved, Some(winner.price_of_yes()))
        }
        Command::ResolveMarket { winner, .. } => {
            (MarketStatus::Settled, Some(winner.price_of_yes()))
        }
        Command::VoidMarket { price, .. } => (MarketStatus::Voided, Some(price)),
        _ => (MarketStatus::Suspended, None),
    };
    let pays_at = price.map(|_| match to {
        MarketStatus::Resolved => now.after_seconds(window),
        _ => now,
    });
    let (sequence, counted) = impact::in_market(call, market, price).await?;
    Reply::ok(sequence, &ActPreviewJson::of(Preview { only_proposed, from, to, pays_at, counted }))
}

/// Whether the command would be done now.
///
/// # Errors
/// It would be refused.
pub async fn admitted(call: &Call, command: Command) -> Result<(), Problem> {
    let told = |view: &ReadModel, came: Result<&[Applied<'_>], Broken>| {
        let came = came.map_err(|_| Problem::internal("a trial came to what cannot be"))?;
        match came.first().map(|applied| applied.effects) {
            Some([Effect::Refused(reject)]) => Err(Problem::refused(*reject, view.watermark())),
            _ => Ok(()),
        }
    };
    try_out(&call.engine, vec![(Step::Act(Box::new(command)), None)], told).await?
}
