//! The twin's mutually exclusive events: which resolutions remain possible, and conversion.
//!
//! The venue takes part as a holder with a purse for each event: it keeps the no contracts given to
//! it, mints the pairs whose yes contracts it gives away, and pays the cash. So its purse is in
//! debt until the markets are final, and never after.

use exchange::command::Conversion;
use exchange::effect::Effect;
use exchange::ids::{EventNo, MarketNo};
use exchange::reject::Reject;

use super::ledger::{PAIR, lots, money};
use super::{Naive, number};
use exchange::market::MarketStatus;

/// An event.
#[derive(Debug, Clone, Default)]
pub struct Event {
    pub exclusive: bool,
    /// Converted sets: no contracts of each of the event's markets that the venue holds until they
    /// pay out.
    pub sets: i128,
}

impl Naive {
    /// All markets of the event.
    pub fn markets_of(&self, event: EventNo) -> Vec<MarketNo> {
        let numbered = (0..).map(MarketNo).zip(&self.markets);
        numbered.filter(|(_, market)| market.event == Some(event)).map(|(no, _)| no).collect()
    }

    /// Ticks of yes that are announced or paid out; `None` while neither.
    fn yes_ticks_known(&self, market: MarketNo) -> Option<i128> {
        let found = &self.markets[market.index()];
        if let Some(price) = found.unfinished.and_then(|unfinished| unfinished.void) {
            return Some(i128::from(price.get()));
        }
        match found.status {
            MarketStatus::Settled | MarketStatus::Voided => {
                found.settled_at.map(|price| i128::from(price.get()))
            }
            MarketStatus::Resolved | MarketStatus::Disputed => {
                found.winner.map(|winner| i128::from(winner.price_of_yes().get()))
            }
            _ => None,
        }
    }

    fn is_final(&self, market: MarketNo) -> bool {
        let status = self.markets[market.index()].status;
        matches!(status, MarketStatus::Settled | MarketStatus::Voided)
    }

    /// Whether it has paid the venue, which it pays before all others.
    fn has_paid_venue(&self, market: MarketNo) -> bool {
        let unfinished = self.markets[market.index()].unfinished;
        self.is_final(market) || unfinished.is_some_and(|unfinished| unfinished.pays.is_some())
    }

    pub(super) fn leaves_room(&self, market: MarketNo, ticks: u8) -> Result<(), Reject> {
        let Some(event) = self.markets[market.index()].event else { return Ok(()) };
        if !self.events[event.index()].exclusive {
            return Ok(());
        }
        let mut sum = i128::from(ticks);
        for other in self.markets_of(event) {
            if other != market {
                sum += self.yes_ticks_known(other).unwrap_or(0);
            }
        }
        if sum > PAIR { Err(Reject::EventAlreadyWon) } else { Ok(()) }
    }

    pub(super) fn may_join(&self, event: Option<EventNo>) -> Result<(), Reject> {
        let Some(event) = event else { return Ok(()) };
        let found = &self.events[event.index()];
        let full = self.markets_of(event).len() >= 256;
        if found.exclusive && (found.sets > 0 || full) {
            return Err(Reject::EventComplete);
        }
        Ok(())
    }

    /// The venue's purse for an event, its no contracts not counted: minus n - 1 pairs per set,
    /// plus the pay-outs of the final markets. 0 once all are final.
    pub fn venue_purse(&self, event: EventNo) -> i128 {
        let markets = self.markets_of(event);
        let sets = self.events[event.index()].sets;
        if sets == 0 || markets.iter().all(|market| self.is_final(*market)) {
            return 0;
        }
        self.purse_before_the_end(event)
    }

    /// No contracts of a market that the venue holds.
    pub fn venue_sets(&self, market: MarketNo) -> i128 {
        let event = self.markets[market.index()].event;
        let sets = event.map_or(0, |event| self.events[event.index()].sets);
        if self.has_paid_venue(market) { 0 } else { sets }
    }

    /// The least that the venue's no contracts of an event will pay out: at most one market can
    /// win, so all markets without a result together pay out at most what the others left of 1.00
    /// in yes.
    pub fn venue_sets_worth(&self, event: EventNo) -> i128 {
        let markets = self.markets_of(event);
        let taken: i128 = markets.iter().filter_map(|market| self.yes_ticks_known(*market)).sum();
        let open = markets.iter().filter(|market| self.yes_ticks_known(**market).is_none()).count();
        let mut least = i128::try_from(open).expect("few markets") * PAIR;
        if open > 0 {
            least -= PAIR - taken;
        }
        for market in markets.iter().filter(|market| !self.has_paid_venue(**market)) {
            least += self.yes_ticks_known(*market).map_or(0, |yes| PAIR - yes);
        }
        least * self.events[event.index()].sets
    }

    fn purse_before_the_end(&self, event: EventNo) -> i128 {
        let markets = self.markets_of(event);
        let paid_out = i128::try_from(markets.len()).expect("few markets") - 1;
        let mut purse = -self.events[event.index()].sets * paid_out * PAIR;
        for market in markets.into_iter().filter(|market| self.has_paid_venue(*market)) {
            let yes = self.yes_ticks_known(market).expect("a final price");
            purse += self.events[event.index()].sets * (PAIR - yes);
        }
        purse
    }

    pub(super) fn last_of_event(&mut self, market: MarketNo) {
        let Some(event) = self.markets[market.index()].event else { return };
        let sets = self.events[event.index()].sets;
        if sets == 0 || !self.markets_of(event).into_iter().all(|one| self.is_final(one)) {
            return;
        }
        let surplus = self.purse_before_the_end(event);
        assert!(surplus >= 0, "the venue paid for what it did not get");
        self.ledger.fees += surplus;
        self.emit(Effect::SetsSettled { event, sets: lots(sets), surplus: money(surplus) });
    }

    pub(super) fn convert(&mut self, asked: &Conversion) -> Result<(), Reject> {
        let Conversion { user, event, markets: given, quantity } = asked;
        let (user, event, quantity) = (*user, *event, number(*quantity));
        self.known_user(user)?;
        self.may_trade(user)?;
        self.known_event(Some(event))?;
        let all = self.markets_of(event);
        if all.iter().all(|market| self.public_market(*market).is_err()) {
            return Err(Reject::EventNotFound);
        }
        for market in given.as_slice() {
            self.public_market(*market)?;
            if !all.contains(market) {
                return Err(Reject::MarketNotFound);
            }
        }
        if !self.events[event.index()].exclusive {
            return Err(Reject::EventNotExclusive);
        }
        let open = |market: &MarketNo| {
            let status = self.markets[market.index()].status_at(self.now);
            status.keeps_orders() || status == MarketStatus::Closed
        };
        if all.len() < 2 || !all.iter().all(open) {
            return Err(Reject::EventNotConvertible);
        }
        let short = |market: &MarketNo| self.ledger.position(user.0, market.0).no.free < quantity;
        if given.as_slice().iter().any(short) {
            return Err(Reject::InsufficientContracts);
        }
        let (given, received): (Vec<MarketNo>, Vec<MarketNo>) =
            all.iter().partition(|market| given.as_slice().contains(market));
        let given: Vec<u32> = given.into_iter().map(|market| market.0).collect();
        let received: Vec<u32> = received.into_iter().map(|market| market.0).collect();
        let cash = self.ledger.convert(user.0, &given, &received, quantity);
        self.events[event.index()].sets += quantity;
        self.emit(Effect::Converted {
            user,
            event,
            markets: asked.markets.clone(),
            quantity: asked.quantity,
            cash: money(cash),
        });
        Ok(())
    }
}
