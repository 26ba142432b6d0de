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

#[cfg(test)]
mod tests {
    use super::super::catalogue::Catalogue;
    use super::super::fixture::*;
    use super::*;
    use crate::exchange::catalogue::Outcome;
    use crate::exchange::effect::Effect;

    fn shown(ended: Option<Effect>, bid: u8, ask: u8, last: u8) -> String {
        let mut catalogue: Catalogue = opened();
        let effects: Vec<Effect> = ended.into_iter().collect();
        assert_eq!(fold(&mut catalogue, 2, &effects), 0);
        let row = catalogue.market(RAIN).unwrap();
        let price = Tick::new;
        probability_of_yes(row, price(bid), price(ask), price(last)).to_string()
    }

    #[test]
    fn a_close_spread_shows_its_middle() {
        assert_eq!(shown(None, 40, 50, 90), "0.45");
        assert_eq!(shown(None, 40, 41, 90), "0.405");
    }

    #[test]
    fn a_wide_or_one_sided_book_shows_the_last_trade() {
        assert_eq!(shown(None, 40, 51, 90), "0.9");
        assert_eq!(shown(None, 40, 0, 90), "0.9");
        assert_eq!(shown(None, 0, 45, 90), "0.9");
    }

    #[test]
    fn a_market_that_says_nothing_shows_one_half() {
        assert_eq!(shown(None, 0, 0, 0), "0.5");
        assert_eq!(shown(None, 1, 99, 0), "0.5");
    }

    #[test]
    fn the_end_overrules_the_book() {
        assert_eq!(shown(Some(settled(RAIN, Outcome::Yes)), 40, 42, 41), "1");
        assert_eq!(shown(Some(settled(RAIN, Outcome::No)), 40, 42, 41), "0");
        assert_eq!(shown(Some(voided(RAIN, 37)), 40, 42, 41), "0.37");
    }
}
