//! The twin's markets: creation, life cycle, pay-out and the clock (semantics 3).

use openoutcry::exchange::catalogue::{MarketDraft, MarketRevision, Outcome};
use openoutcry::exchange::command::Command;
use openoutcry::exchange::effect::{CancelReason, Effect};
use openoutcry::exchange::ids::{EventNo, MarketNo, UserNo};
use openoutcry::exchange::lifecycle::{MarketStatus, Trigger};
use openoutcry::exchange::reject::Reject;
use openoutcry::exchange::units::{SettlementPrice, TimeMs};

use super::Naive;
use super::book::Book;
use super::ledger::{Rates, lots, money};
use super::trading::expiry;
use openoutcry::exchange::units::MoneySum;

/// A market.
#[derive(Debug, Clone)]
pub struct Market {
    pub status: MarketStatus,
    pub deadline: TimeMs,
    pub window_seconds: u32,
    pub event: Option<EventNo>,
    pub rates: Rates,
    pub winner: Option<Outcome>,
    pub settled_at: Option<SettlementPrice>,
    /// End of the dispute window; only while RESOLVED.
    pub settles_at: Option<TimeMs>,
    pub book: Book,
}

impl Market {
    /// The status with everything due counted as done, journaled or not (semantics 3: no effect may
    /// contradict what is due before the clock command records it).
    pub fn status_at(&self, now: TimeMs) -> MarketStatus {
        if self.status.keeps_orders() && now >= self.deadline {
            MarketStatus::Closed
        } else if self.settles_at.is_some_and(|at| now >= at) {
            MarketStatus::Settled
        } else {
            self.status
        }
    }
}

/// What the clock may trigger, in the order within one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    Expiry(u64),
    Deadline(u32),
    Window(u32),
    Heartbeat(u32),
}

impl Naive {
    fn market_mut(&mut self, market: MarketNo) -> &mut Market {
        &mut self.markets[market.index()]
    }

    pub(super) fn known_market(&self, market: MarketNo) -> Result<&Market, Reject> {
        self.markets.get(market.index()).ok_or(Reject::MarketNotFound)
    }

    pub(super) fn public_market(&self, market: MarketNo) -> Result<(), Reject> {
        match self.known_market(market)?.status {
            MarketStatus::Draft => Err(Reject::MarketNotFound),
            _ => Ok(()),
        }
    }

    pub(super) fn run_market(&mut self, command: &Command) -> Result<(), Reject> {
        match command {
            Command::CreateMarket(draft) => self.create_market(draft),
            Command::ReviseMarket { market, revision } => self.revise_market(*market, revision),
            Command::PublishMarket { market } => self.step(*market, Trigger::Publish),
            Command::SuspendMarket { market } => self.step(*market, Trigger::Suspend),
            Command::ReopenMarket { market, deadline } => self.reopen(*market, *deadline),
            Command::CloseMarket { market } => {
                self.leads(*market, Trigger::Close)?;
                self.close(*market);
                Ok(())
            }
            Command::ResolveMarket { market, winner } => self.resolve(*market, *winner),
            Command::DisputeMarket { market } => self.step(*market, Trigger::Dispute),
            Command::VoidMarket { market, price } => self.void(*market, *price),
            Command::AdvanceClock => {
                self.advance();
                Ok(())
            }
            _ => unreachable!("only market commands come here"),
        }
    }

    fn leads(&self, market: MarketNo, trigger: Trigger) -> Result<MarketStatus, Reject> {
        let status = self.known_market(market)?.status_at(self.now);
        status.after(trigger).ok_or(Reject::InvalidTransition)
    }

    /// A transition without further consequences.
    fn step(&mut self, market: MarketNo, trigger: Trigger) -> Result<(), Reject> {
        let to = self.leads(market, trigger)?;
        self.market_mut(market).settles_at = None;
        self.move_to(market, to);
        Ok(())
    }

    fn move_to(&mut self, number: MarketNo, to: MarketStatus) {
        let market = self.market_mut(number);
        let from = std::mem::replace(&mut market.status, to);
        let Market { deadline, winner, settled_at, .. } = *market;
        self.emit(Effect::MarketMoved { market: number, from, to, deadline, winner, settled_at });
    }

    fn create_market(&mut self, draft: &MarketDraft) -> Result<(), Reject> {
        self.known_categories(&draft.categories)?;
        self.known_event(draft.event)?;
        self.in_future(draft.deadline)?;
        self.may_join(draft.event)?;
        let market = MarketNo(u32::try_from(self.markets.len()).expect("few markets"));
        self.markets.push(Market {
            status: MarketStatus::Draft,
            deadline: draft.deadline,
            window_seconds: draft.dispute_window_seconds,
            event: draft.event,
            rates: Rates {
                maker: i128::from(draft.fees.maker.get()),
                taker: i128::from(draft.fees.taker.get()),
            },
            winner: None,
            settled_at: None,
            settles_at: None,
            book: Book::default(),
        });
        self.emit(Effect::MarketCreated { market, draft: Box::new(draft.clone()) });
        Ok(())
    }

    fn in_future(&self, deadline: TimeMs) -> Result<(), Reject> {
        if deadline > self.now { Ok(()) } else { Err(Reject::DeadlineNotInFuture) }
    }

    fn revise_market(&mut self, market: MarketNo, revision: &MarketRevision) -> Result<(), Reject> {
        if let Some(categories) = &revision.categories {
            self.known_categories(categories)?;
        }
        let status = self.known_market(market)?.status_at(self.now);
        let (maker, taker) = (revision.maker_fee, revision.taker_fee);
        if (maker.is_some() || taker.is_some()) && status != MarketStatus::Draft {
            return Err(Reject::InvalidTransition);
        }
        if let Some(deadline) = revision.deadline {
            self.in_future(deadline)?;
            if !(status == MarketStatus::Draft || status.keeps_orders()) {
                return Err(Reject::InvalidTransition);
            }
            self.market_mut(market).deadline = deadline;
        }
        let rates = &mut self.market_mut(market).rates;
        rates.maker = maker.map_or(rates.maker, |rate| i128::from(rate.get()));
        rates.taker = taker.map_or(rates.taker, |rate| i128::from(rate.get()));
        self.emit(Effect::MarketRevised { market, revision: Box::new(revision.clone()) });
        Ok(())
    }

    fn reopen(&mut self, market: MarketNo, deadline: Option<TimeMs>) -> Result<(), Reject> {
        let found = self.known_market(market)?.clone();
        let later = deadline.is_some_and(|new| new > found.deadline && new > self.now);
        let trigger = if later { Trigger::ReopenLater } else { Trigger::Reopen };
        let to = self.leads(market, trigger)?;
        if let Some(deadline) = deadline {
            self.in_future(deadline)?;
        }
        self.close_if_overdue(market);
        if let Some(deadline) = deadline {
            self.market_mut(market).deadline = deadline;
        }
        self.move_to(market, to);
        Ok(())
    }

    fn cancel_book(&mut self, market: MarketNo, reason: CancelReason) {
        let book = &self.markets[market.index()].book;
        let mut resting: Vec<u64> =
            book.ups.iter().chain(&book.downs).map(|place| place.order).collect();
        resting.sort_unstable();
        for number in resting {
            self.cancel_in_time(number, reason);
        }
    }

    fn close(&mut self, market: MarketNo) {
        self.move_to(market, MarketStatus::Closed);
        self.cancel_book(market, CancelReason::MarketClosed);
    }

    /// Closes a market whose deadline has passed, so that the transition starts from CLOSED.
    fn close_if_overdue(&mut self, market: MarketNo) {
        let found = &self.markets[market.index()];
        if found.status.keeps_orders() && self.now >= found.deadline {
            self.close(market);
        }
    }

    fn resolve(&mut self, market: MarketNo, winner: Outcome) -> Result<(), Reject> {
        let to = self.leads(market, Trigger::Resolve)?;
        self.leaves_room(market, if winner == Outcome::Yes { 100 } else { 0 })?;
        if self.markets[market.index()].status.keeps_orders() {
            self.close(market);
        }
        let now = self.now;
        let found = self.market_mut(market);
        found.winner = Some(winner);
        let window = found.window_seconds;
        found.settles_at = Some(now.after_seconds(window));
        self.move_to(market, to);
        if window == 0 {
            self.settle(market);
        }
        Ok(())
    }

    fn settle(&mut self, market: MarketNo) {
        let found = self.market_mut(market);
        found.settles_at = None;
        let price = match found.winner {
            Some(Outcome::Yes) => SettlementPrice::ONE,
            Some(Outcome::No) => SettlementPrice::ZERO,
            None => unreachable!("a resolved market has a winner"),
        };
        found.settled_at = Some(price);
        self.move_to(market, MarketStatus::Settled);
        self.pay_out(market, price);
    }

    fn void(&mut self, market: MarketNo, price: SettlementPrice) -> Result<(), Reject> {
        let to = self.leads(market, Trigger::Void)?;
        self.leaves_room(market, price.get())?;
        self.close_if_overdue(market);
        let found = self.market_mut(market);
        found.settles_at = None;
        found.settled_at = Some(price);
        self.move_to(market, to);
        self.cancel_book(market, CancelReason::MarketVoided);
        self.pay_out(market, price);
        Ok(())
    }

    fn pay_out(&mut self, market: MarketNo, price: SettlementPrice) {
        for user in 0..self.users_count {
            if let Some(paid) = self.ledger.settle(user, market.0, i128::from(price.get())) {
                self.emit(Effect::PositionSettled {
                    user: UserNo(user),
                    market,
                    yes: lots(paid.yes),
                    no: lots(paid.no),
                    payout: money(paid.payout),
                    realised: MoneySum::new(paid.realised),
                });
            }
        }
        self.last_of_event(market);
    }

    /// Everything that the clock will trigger as things are now, soonest first.
    pub fn dues(&self) -> Vec<(TimeMs, Due)> {
        let mut dues = Vec::new();
        for (number, market) in (0..).zip(&self.markets) {
            if market.status.keeps_orders() {
                dues.push((market.deadline, Due::Deadline(number)));
            }
            if let Some(at) = market.settles_at {
                dues.push((at, Due::Window(number)));
            }
            for place in market.book.ups.iter().chain(&market.book.downs) {
                if let Some(at) = expiry(&self.order(place.order).terms) {
                    dues.push((at, Due::Expiry(place.order)));
                }
            }
        }
        for user in 0..self.users_count {
            let standing = self.standing(UserNo(user));
            if let Some(at) = standing.silent_from.filter(|_| !standing.ran_out) {
                dues.push((at, Due::Heartbeat(user)));
            }
        }
        dues.sort_unstable();
        dues
    }

    fn advance(&mut self) {
        while let Some((at, due)) = self.dues().first().copied() {
            if at > self.now {
                break;
            }
            match due {
                Due::Expiry(order) => self.cancel_rest(order, CancelReason::Expired),
                Due::Deadline(market) => self.close(MarketNo(market)),
                Due::Window(market) => self.settle(MarketNo(market)),
                Due::Heartbeat(user) => self.fall_silent(UserNo(user)),
            }
        }
    }
}
