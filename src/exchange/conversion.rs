//! Conversion: no contracts of several markets of a mutually exclusive event, exchanged for cash
//! and yes contracts that pay exactly the same.
//!
//! At most one market of the event resolves yes, so one no contract in each of k markets pays at
//! least k - 1, and 1.00 more unless one of these k markets wins. A user gets just that: k - 1 in
//! cash and one yes contract of each other market.

use super::command::Conversion;
use super::effect::Effect;
use super::ids::MarketNo;
use super::market::MarketStatus;
use super::reject::Reject;
use super::{Exchange, Stamp, Stop};

/// Fewest markets of an event in which contracts can be converted: with one market alone, its no
/// contract would be exchanged for nothing.
const CONVERTIBLE_MARKETS_MIN: usize = 2;

impl Exchange {
    /// Exchanges a user's free no contracts of some of an event's markets for cash and yes
    /// contracts of the others.
    pub(super) fn convert(
        &mut self,
        asked: &Conversion,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        let Conversion { user, event, markets: given, quantity } = asked;
        let (user, event, quantity) = (*user, *event, *quantity);
        let received = self.admit_conversion(asked, at)?;
        let cash = self.ledger.convert(user, given.as_slice(), &received, quantity)?;
        let state = self.catalogue.event_mut(event).ok_or(super::Broken::Dangling)?;
        state.sets = state.sets.plus(quantity)?;
        effects.push(Effect::Converted { user, event, markets: given.clone(), quantity, cash });
        let mut touched = [given.as_slice(), &received].concat();
        touched.sort_unstable();
        for market in touched {
            self.emit_position(user, market, effects)?;
        }
        Ok(self.emit_account(user, effects)?)
    }

    /// Every check of a conversion, in order of precedence. Returns the markets whose yes contracts
    /// the user receives.
    fn admit_conversion(&self, asked: &Conversion, at: Stamp) -> Result<Vec<MarketNo>, Stop> {
        let given = asked.markets.as_slice();
        self.known_user(asked.user)?;
        self.admit_trading(asked.user)?;
        let event = self.event(asked.event).ok_or(Reject::EventNotFound)?;
        if !event.markets.iter().any(|market| self.public_market(*market).is_ok()) {
            return Err(Stop::Refused(Reject::EventNotFound));
        }
        for market in given {
            if self.public_market(*market)?.event != Some(asked.event) {
                return Err(Stop::Refused(Reject::MarketNotFound));
            }
        }
        if !event.mutually_exclusive {
            return Err(Stop::Refused(Reject::EventNotExclusive));
        }
        for market in &event.markets {
            let undecided = matches!(
                self.market_state(*market)?.status_at(at.time),
                MarketStatus::Active | MarketStatus::Suspended | MarketStatus::Closed
            );
            if !undecided || event.markets.len() < CONVERTIBLE_MARKETS_MIN {
                return Err(Stop::Refused(Reject::EventNotConvertible));
            }
        }
        for market in given {
            let held = self.ledger.purse(asked.user, *market)?.position.no;
            if held.free()? < asked.quantity {
                return Err(Stop::Refused(Reject::InsufficientContracts));
            }
        }
        let others = event.markets.iter().filter(|market| !given.contains(market));
        Ok(others.copied().collect())
    }
}
