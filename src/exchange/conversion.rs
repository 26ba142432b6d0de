//! Conversion: no contracts of several markets of a mutually exclusive event, exchanged for what
//! they are worth together.
//!
//! One of the markets at most resolves yes, so k no contracts of k markets pay k - 1 at least, and
//! 1.00 more unless one of these markets wins: just what k - 1 in cash and a yes contract of each
//! of the other markets pay.

use super::command::Conversion;
use super::effect::Effect;
use super::ids::MarketNo;
use super::lifecycle::MarketStatus;
use super::reject::Reject;
use super::{Exchange, Stamp, Stop};

/// Markets that an event must have so that something is got for a no contract of one of them.
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
        let sets = self.catalogue.event_mut(event).ok_or(super::Broken::Dangling)?;
        sets.sets = sets.sets.plus(quantity)?;
        effects.push(Effect::Converted { user, event, markets: given.clone(), quantity, cash });
        let mut touched = [given.as_slice(), &received].concat();
        touched.sort_unstable();
        for market in touched {
            self.emit_position(user, market, effects)?;
        }
        Ok(self.emit_account(user, effects)?)
    }

    /// Every check of a conversion, in order of precedence; says of which markets it gives yes
    /// contracts.
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
