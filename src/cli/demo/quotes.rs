//! Resting quotes for markets whose prices must be consistent with each other, such as mutually
//! exclusive ones; recorded flow would price each independently.

use engine::Engine;
use exchange::catalogue::Outcome;
use exchange::command::{Command, PlaceOrder, Side, Wording};
use exchange::ids::{MarketNo, UserNo};
use exchange::units::{Lots, Tick};
use views::ReadModel;

use super::SeedError;
use super::pipeline::submit_sure;
use super::texts::Quotes;

/// The user who places the quotes; no other demo user has this name.
pub const QUOTER: &str = "Quintas";

/// Prices quoted on each side, one tick apart.
const LEVELS: u8 = 3;
/// Contracts at the best price; each level behind it adds as many.
const AT_BEST: u64 = 100;

/// Places the quotes that are missing.
///
/// # Errors
/// A quote was refused, or the engine stopped.
pub async fn place(
    engine: &Engine,
    user: UserNo,
    markets: &[(MarketNo, &Quotes)],
) -> Result<(), SeedError> {
    let orders = {
        let model = engine.read();
        let wanted = markets.iter().flat_map(|(market, quotes)| ladder(user, *market, quotes));
        wanted.filter(|order| !placed(&model, order)).map(Command::PlaceOrder).collect()
    };
    submit_sure(engine, orders).await?;
    Ok(())
}

fn ladder(user: UserNo, market: MarketNo, quotes: &Quotes) -> Vec<PlaceOrder> {
    let mut orders = Vec::new();
    let (mut bid, mut ask, mut contracts) = (Some(quotes.bid), Some(quotes.ask), AT_BEST);
    for _ in 0..LEVELS {
        for (side, price) in [(Side::Buy, bid), (Side::Sell, ask)] {
            let Some(price) = price else { continue };
            let wording = Wording { outcome: Outcome::Yes, side };
            let quantity = Lots::contracts(contracts);
            orders.push(PlaceOrder::plain(user, market, wording, price, quantity));
        }
        bid = bid.and_then(|bid| Tick::new(bid.get().saturating_sub(1)));
        ask = ask.and_then(|ask| Tick::new(ask.get().saturating_add(1)));
        contracts = contracts.saturating_add(AT_BEST);
    }
    orders
}

fn placed(model: &ReadModel, order: &PlaceOrder) -> bool {
    // Open orders are in memory; a row of history that cannot be read counts as missing, so its
    // quote is placed again.
    let mut known = model.orders.of(order.user).flatten();
    known.any(|row| {
        (row.market, row.wording, row.price) == (order.market, order.wording, order.price)
    })
}
