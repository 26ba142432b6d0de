//! The traders' first bets, so that none of their lists is empty.

use crate::engine::Engine;
use crate::exchange::catalogue::Outcome;
use crate::exchange::command::{Command, Direction, PlaceOrder, Side, TimeInForce, Wording};
use crate::exchange::ids::{MarketNo, UserNo};
use crate::exchange::units::{Lots, Tick};
use crate::projection::ReadModel;

use super::SeedError;
use super::pipeline::submit_sure;

/// Contracts that each trader takes from the book.
const TAKEN: Lots = Lots::contracts(10);
/// Contracts that each trader leaves on the book.
const OFFERED: Lots = Lots::contracts(25);
/// How many prices below the best bid they stand.
const BEHIND_TICKS: u8 = 2;

/// Places two bets for each trader who has none yet: the first trader in the first market, the
/// second copying the first there, the others in a market each.
///
/// # Errors
/// A bet was refused, or the engine stopped.
pub async fn place(
    engine: &Engine,
    traders: &[UserNo],
    markets: &[MarketNo],
) -> Result<(), SeedError> {
    let leader = traders.first().copied();
    for (index, user) in traders.iter().enumerate() {
        let copy_from = leader.filter(|_| index == 1);
        let Some(market) = markets.get(index.saturating_sub(1)) else { break };
        // One trader after the other: each reads the book as the one before left it.
        let orders = orders(&engine.read(), *user, *market, copy_from);
        submit_sure(engine, orders.into_iter().map(Command::PlaceOrder).collect()).await?;
    }
    Ok(())
}

fn orders(
    model: &ReadModel,
    user: UserNo,
    market: MarketNo,
    copy_from: Option<UserNo>,
) -> Vec<PlaceOrder> {
    let new_here = model.orders.count(user) == 0;
    let best = |direction| model.depth.best(market, direction);
    let (Some(bid), Some(ask), true) = (best(Direction::Up), best(Direction::Down), new_here)
    else {
        return Vec::new();
    };
    let buy = |price, quantity, time_in_force| PlaceOrder {
        time_in_force,
        copy_from,
        ..PlaceOrder::plain(
            user,
            market,
            Wording { outcome: Outcome::Yes, side: Side::Buy },
            price,
            quantity,
        )
    };
    let behind = Tick::new(bid.get().saturating_sub(BEHIND_TICKS)).unwrap_or(Tick::MIN);
    vec![
        buy(ask, TAKEN, TimeInForce::ImmediateOrCancel),
        buy(behind, OFFERED, TimeInForce::GoodTillCancelled { expires_at: None }),
    ]
}
