//! Events whose markets exclude each other: their yes contracts together pay at most 1.00, so a set
//! of one no contract of each of n markets is worth at least n - 1.
//!
//! A conversion gives the venue such sets, and pays n - 1 for each at once, in cash and contracts.
//! Of the money that backed a set 1.00 is left, and pays what the yes contracts of the set's
//! markets win. When the last of the event's markets is final, the rest goes to the operator.

use super::Exchange;
use super::catalogue::Outcome;
use super::effect::Effect;
use super::ids::{EventNo, MarketNo};
use super::invariant::Broken;
use super::market::{Market, MarketStatus};
use super::reject::Reject;
use super::rules::EXCLUSIVE_MARKETS_MAX;
use super::units::{Lots, Money, SettlementPrice};

/// What the exchange keeps of an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Whether at most one of its markets resolves yes.
    pub mutually_exclusive: bool,
    /// Its markets, in the order of their creation.
    pub markets: Vec<MarketNo>,
    /// Sets that were converted: the venue holds that many no contracts of each market.
    pub sets: Lots,
}

impl Event {
    /// Whether one more market may join: not after a conversion, because the value of a set depends
    /// on the number of markets.
    pub fn admit_market(&self) -> Result<(), Reject> {
        let full = self.markets.len() >= EXCLUSIVE_MARKETS_MAX;
        if self.mutually_exclusive && (full || !self.sets.is_zero()) {
            return Err(Reject::EventComplete);
        }
        Ok(())
    }
}

impl Market {
    /// What a yes contract pays, as announced or paid; `None` before that.
    pub fn announced(&self) -> Option<SettlementPrice> {
        if let Some(price) = self.ending.and_then(|ending| ending.void_at) {
            return Some(price);
        }
        match self.status {
            MarketStatus::Draft
            | MarketStatus::Active
            | MarketStatus::Suspended
            | MarketStatus::Closed => None,
            MarketStatus::Resolved | MarketStatus::Disputed => {
                self.winner.map(Outcome::price_of_yes)
            }
            MarketStatus::Settled | MarketStatus::Voided => self.settled_at,
        }
    }

    /// Whether it has paid out.
    pub const fn is_final(&self) -> bool {
        matches!(self.status, MarketStatus::Settled | MarketStatus::Voided)
    }
}

impl Exchange {
    /// An event.
    pub fn event(&self, event: EventNo) -> Option<&Event> {
        self.catalogue.event(event)
    }

    /// Whether a market may end at this yes-price: in a mutually exclusive event, the sum with the
    /// announced prices of the other markets must be at most 1.00.
    pub(super) fn admit_price(
        &self,
        market: MarketNo,
        price: SettlementPrice,
    ) -> Result<(), Reject> {
        let event = self.market(market).and_then(|state| self.event(state.event?));
        let Some(event) = event.filter(|event| event.mutually_exclusive) else { return Ok(()) };
        let others = event.markets.iter().filter(|other| **other != market);
        let announced = others.filter_map(|other| self.market(*other)?.announced());
        if ticks(announced) > whole().saturating_sub(u32::from(price.get())) {
            return Err(Reject::EventAlreadyWon);
        }
        Ok(())
    }

    /// No contracts of a market that the venue holds from conversions; zero once it is final.
    pub(super) fn sets_in(&self, market: MarketNo) -> Result<Lots, Broken> {
        let state = self.market_state(market)?;
        let Some(event) = state.event.filter(|_| !state.is_final()) else { return Ok(Lots::ZERO) };
        Ok(self.event(event).ok_or(Broken::Dangling)?.sets)
    }

    /// The money kept for an event's converted sets: 1.00 for each, less what its final markets
    /// paid and those that are paying will have paid; nothing once all are final.
    pub(super) fn kept_for_sets(&self, event: &Event) -> Result<Money, Broken> {
        let (mut paid, mut last) = (0_u32, true);
        for market in &event.markets {
            let state = self.market_state(*market)?;
            paid = paid.saturating_add(ticks(state.settled_at.or(state.paying())));
            last = last && state.is_final();
        }
        let left = whole().checked_sub(paid).and_then(|left| u8::try_from(left).ok());
        match left.and_then(SettlementPrice::new) {
            // Without sets nothing is owed, whatever the prices.
            _ if last || event.sets.is_zero() => Ok(Money::ZERO),
            Some(left) => Ok(left.times(event.sets)?),
            None => Err(Broken::EventOverpaid),
        }
    }

    /// After a market has paid out: if it was the last of its event, gives the operator what is
    /// left of the sets.
    pub(super) fn settle_sets(
        &mut self,
        market: MarketNo,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let Some(event) = self.market_state(market)?.event else { return Ok(()) };
        let state = self.event(event).ok_or(Broken::Dangling)?;
        let sets = state.sets;
        let mut prices = Vec::with_capacity(state.markets.len());
        for market in &state.markets {
            let state = self.market_state(*market)?;
            if !state.is_final() {
                return Ok(());
            }
            prices.push(state.settled_at.ok_or(Broken::Dangling)?);
        }
        if sets.is_zero() {
            return Ok(());
        }
        let left = whole().checked_sub(ticks(prices)).ok_or(Broken::EventOverpaid)?;
        let left = u8::try_from(left).ok().and_then(SettlementPrice::new);
        let surplus = left.ok_or(Broken::EventOverpaid)?.times(sets)?;
        self.ledger.earn(surplus)?;
        effects.push(Effect::SetsSettled { event, sets, surplus });
        Ok(())
    }

    /// Checks that the announced yes-prices of each mutually exclusive event sum to at most 1.00,
    /// and that no other event has converted sets.
    pub(super) fn check_events(&self) -> Result<(), Broken> {
        self.catalogue.events().iter().try_for_each(|event| self.check_event(event))
    }

    /// As [`Exchange::check_events`], for one event.
    pub(super) fn check_event(&self, event: &Event) -> Result<(), Broken> {
        let mut announced = 0_u32;
        if event.mutually_exclusive {
            for market in &event.markets {
                announced =
                    announced.saturating_add(ticks(self.market_state(*market)?.announced()));
            }
        } else if !event.sets.is_zero() {
            return Err(Broken::EventOverpaid);
        }
        if announced > whole() { Err(Broken::EventOverpaid) } else { Ok(()) }
    }
}

/// The sum of prices, in ticks. Saturates far above 1.00.
fn ticks(prices: impl IntoIterator<Item = SettlementPrice>) -> u32 {
    prices.into_iter().fold(0, |sum: u32, price| sum.saturating_add(u32::from(price.get())))
}

/// 1.00 in ticks.
const fn whole() -> u32 {
    SettlementPrice::ONE.get() as u32
}
