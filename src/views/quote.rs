//! The displayed probability of a market (semantics 3), and the price of an event's full set of
//! markets.

use super::ReadModel;
use super::catalogue::{EventRow, MarketRow};
use exchange::catalogue::Outcome;
use exchange::command::Direction;
use exchange::market::MarketStatus;
use exchange::units::{LOTS_PER_CONTRACT, Lots, Money, Overflow, Ratio, SettlementPrice, Tick};

/// The widest spread, in ticks, whose midpoint is displayed: 0.10.
const SPREAD_TICKS_MAX: u8 = 10;

/// The displayed value of a yes contract. All prices are of yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quote {
    /// One price.
    At(SettlementPrice),
    /// The midpoint of a bid and an ask.
    Between(Tick, Tick),
}

impl Quote {
    /// The quote of a market.
    ///
    /// Once paid out, it is what a yes contract was paid: 1 or 0 when SETTLED, the stated price
    /// when VOIDED. Before, it is the midpoint of `bid` and `ask` if both exist and are close, else
    /// the `last` trade, else one half.
    pub fn of(
        market: &MarketRow,
        bid: Option<Tick>,
        ask: Option<Tick>,
        last: Option<Tick>,
    ) -> Quote {
        if let Some(paid) = market.settled_at {
            return Quote::At(paid);
        }
        match (bid, ask) {
            (Some(bid), Some(ask)) if ask.get().saturating_sub(bid.get()) <= SPREAD_TICKS_MAX => {
                Quote::Between(bid, ask)
            }
            _ => Quote::At(last.map_or(SettlementPrice::HALF, SettlementPrice::from)),
        }
    }

    /// The displayed probability of yes; that of no is the complement.
    pub fn probability_of_yes(self) -> Ratio {
        match self {
            Quote::At(price) => Ratio::of_price(price),
            Quote::Between(bid, ask) => Ratio::midpoint(bid, ask),
        }
    }

    /// The value of contracts of an outcome at this quote; half a money unit is rounded down.
    ///
    /// # Errors
    /// The amount leaves the range of its type.
    pub fn value(self, outcome: Outcome, quantity: Lots) -> Result<Money, Overflow> {
        let own = |yes: SettlementPrice| match outcome {
            Outcome::Yes => yes.times(quantity),
            Outcome::No => yes.complement().times(quantity),
        };
        match self {
            Quote::At(price) => own(price),
            Quote::Between(bid, ask) => {
                let both = own(bid.into())?.plus(own(ask.into())?)?;
                both.share(Lots::new(1), Lots::new(2))
            }
        }
    }
}

/// The price of one yes contract of each market of a mutually exclusive event. The set pays 1.00 if
/// one of them wins, so a bid above or an ask below that is an arbitrage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldQuote {
    /// Proceeds of selling a set at the best bids; `None` unless every market has a bid.
    pub bid: Option<Money>,
    /// Cost of buying a set at the best asks; `None` unless every market has an ask.
    pub ask: Option<Money>,
}

impl ReadModel {
    /// The price of an event's set; `None` if its markets are not mutually exclusive. A market that
    /// has paid out counts at its payout; one that is not ACTIVE has neither bid nor ask.
    /// O(markets).
    pub fn field(&self, event: &EventRow) -> Option<FieldQuote> {
        let sum = |side: Direction| {
            let one = Lots::new(LOTS_PER_CONTRACT);
            let prices = event.markets.iter().map(|market| {
                let row = self.catalogue.market(*market)?;
                let best = || self.depth.best(*market, side).map(SettlementPrice::from);
                let trades = row.status == MarketStatus::Active;
                row.settled_at.or_else(|| best().filter(|_| trades))?.times(one).ok()
            });
            let total = prices.reduce(|sum, price| sum?.plus(price?).ok());
            total.flatten()
        };
        let field = || FieldQuote { bid: sum(Direction::Up), ask: sum(Direction::Down) };
        event.draft.mutually_exclusive.then(field)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/quote.rs"]
mod tests;
