//! The demo traders' first orders, so that none of their lists is empty.

use engine::Engine;
use exchange::catalogue::Outcome;
use exchange::command::{Command, Direction, PlaceOrder, Side, TimeInForce, Wording};
use exchange::ids::{MarketNo, UserNo};
use exchange::units::{Lots, Tick};
use views::ReadModel;

use super::SeedError;
use super::pipeline::submit_sure;

/// Contracts that each trader buys at the best ask.
const TAKEN: Lots = Lots::contracts(10);
/// Contracts of each trader's resting bid.
const OFFERED: Lots = Lots::contracts(25);
/// Ticks below the best bid at which that bid rests.
const BEHIND_TICKS: u8 = 2;

/// Places two orders for each trader who has none yet: the first trader in the first market, the
/// second copying the first there, each of the others in a market of its own.
///
/// # Errors
/// An order was refused, or the engine stopped.
pub async fn place(
    engine: &Engine,
    traders: &[UserNo],
    markets: &[MarketNo],
) -> Result<(), SeedError> {
    let leader = traders.first().copied();
    for (index, user) in traders.iter().enumerate() {
        let copy_from = leader.filter(|_| index == 1);
        let Some(market) = markets.get(index.saturating_sub(1)) else { break };
        // One trader after the other: each reads the book that the previous one left.
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
    let has_no_orders = model.orders.count(user) == 0;
    let best = |direction| model.depth.best(market, direction);
    let (Some(bid), Some(ask), true) = (best(Direction::Up), best(Direction::Down), has_no_orders)
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
