//! The probability that is displayed for a market (semantics 3).

use super::catalogue::MarketRow;
use crate::exchange::units::{Ratio, SettlementPrice, Tick};

/// The widest spread, in ticks, whose midpoint still says something: 0.10.
const SPREAD_TICKS_MAX: u8 = 10;

/// The displayed probability of yes; of no it is the complement.
///
/// Once paid out, what a yes contract was paid: 1 or 0 when SETTLED, the stated price when VOIDED.
/// Before, the middle of `bid` and `ask` where both exist close to each other, else the `last`
/// trade, else one half. All prices are yes-ticks.
pub fn probability_of_yes(
    market: &MarketRow,
    bid: Option<Tick>,
    ask: Option<Tick>,
    last: Option<Tick>,
) -> Ratio {
    if let Some(paid) = market.settled_at {
        return Ratio::of_price(paid);
    }
    match (bid, ask) {
        (Some(bid), Some(ask)) if ask.get().saturating_sub(bid.get()) <= SPREAD_TICKS_MAX => {
            Ratio::midpoint(bid, ask)
        }
        _ => Ratio::of_price(last.map_or(SettlementPrice::HALF, SettlementPrice::from)),
    }
}
