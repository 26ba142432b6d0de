//! The twin's markets: creation, life cycle, pay-out and the clock (semantics 3).

use exchange::catalogue::{MarketDraft, MarketRevision, Outcome};
use exchange::command::Command;
use exchange::effect::{CancelReason, Effect};
use exchange::ids::{EventNo, MarketNo, UserNo};
use exchange::market::{MarketStatus, Trigger};
use exchange::reject::Reject;
use exchange::units::{MoneySum, SettlementPrice, TimeMs};

use super::Addressed;
use super::Naive;
use super::book::Book;
use super::ledger::{Rates, lots, money};
use super::standing::Whose;
use super::trading::expiry;

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
    /// Its end has more to do than one record may.
    pub unfinished: Option<Unfinished>,
    pub book: Book,
}

/// What is known of an end that is not finished.
#[derive(Debug, Clone, Copy)]
pub struct Unfinished {
    /// When trading ended, and why the orders that are left are cancelled.
    pub ended: (TimeMs, CancelReason),
    /// The price of a void.
    pub void: Option<SettlementPrice>,
    /// Once it pays: what a yes contract gets, and whose turn it is.
    pub pays: Option<(SettlementPrice, u32)>,
}

impl Market {
    /// The status with everything due counted as done, journaled or not (semantics 3: no effect may
    /// contradict what is due before the clock command records it).
    pub fn status_at(&self, now: TimeMs) -> MarketStatus {
        if self.status.keeps_orders() && now >= self.deadline {
            MarketStatus::Closed
        } else if self.unfinished.is_some_and(|unfinished| unfinished.void.is_some()) {
            MarketStatus::Voided
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
    Heartbeat(Whose),
    Unfinished(u32),
    Silent(Whose),
}

impl Due {
    /// Whether it waits for everything that is not, where ends are sliced.
    const fn waits(self) -> bool {
        matches!(self, Due::Expiry(_) | Due::Unfinished(_) | Due::Silent(_))
    }
}

impl Naive {
    pub(super) fn market_mut(&mut self, market: MarketNo) -> &mut Market {
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
                let mut left = self.allowance();
                self.close(*market, &mut left);
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

    pub(super) fn leads(&self, market: MarketNo, trigger: Trigger) -> Result<MarketStatus, Reject> {
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

    pub(super) fn move_to(&mut self, number: MarketNo, to: MarketStatus) {
        if matches!(to, MarketStatus::Settled | MarketStatus::Voided) {
            self.disputes.retain(|dispute| dispute.market != number);
        }
        let market = self.market_mut(number);
        let from = std::mem::replace(&mut market.status, to);
        let Market { deadline, winner, settled_at, .. } = *market;
        self.emit(Effect::MarketMoved { market: number, from, to, deadline, winner, settled_at });
    }

    fn create_market(&mut self, draft: &MarketDraft) -> Result<(), Reject> {
        self.known_categories(&draft.categories)?;
        self.may_be_called(Addressed::Market, draft.slug.as_ref(), None)?;
        self.known_event(draft.event)?;
        self.in_future(draft.deadline)?;
        self.may_join(draft.event)?;
        let market = MarketNo(u32::try_from(self.markets.len()).expect("few markets"));
        self.call(Addressed::Market, draft.slug.as_ref(), market.0);
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
            unfinished: None,
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
        self.may_be_called(Addressed::Market, revision.slug.as_ref(), Some(market.0))?;
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
        self.call(Addressed::Market, revision.slug.as_ref(), market.0);
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
        let overdue = found.status.keeps_orders() && self.now >= found.deadline;
        let mut left = self.allowance();
        if found.unfinished.is_some() || (overdue && found.book.len() > left) {
            return Err(Reject::InvalidTransition);
        }
        self.close_if_overdue(market, &mut left);
        if let Some(deadline) = deadline {
            self.market_mut(market).deadline = deadline;
        }
        self.move_to(market, to);
        Ok(())
    }

    /// How many orders and positions a record may end.
    fn allowance(&self) -> usize {
        self.slice.unwrap_or(usize::MAX)
    }

    /// Cancels what the record may: all orders, oldest first, or those with the best prices, bids
    /// before asks. Whether none is left.
    fn cancel_book(&mut self, market: MarketNo, reason: CancelReason, left: &mut usize) -> bool {
        let book = &self.markets[market.index()].book;
        let mut resting: Vec<u64> =
            book.ups.iter().chain(&book.downs).map(|place| place.order).take(*left).collect();
        resting.sort_unstable();
        *left -= resting.len();
        for number in resting {
            self.cancel_in_time(number, reason);
        }
        self.markets[market.index()].book.len() == 0
    }

    fn close(&mut self, market: MarketNo, left: &mut usize) {
        self.move_to(market, MarketStatus::Closed);
        if !self.cancel_book(market, CancelReason::MarketClosed, left) {
            let ended = (self.now, CancelReason::MarketClosed);
            let unfinished = Unfinished { ended, void: None, pays: None };
            self.market_mut(market).unfinished = Some(unfinished);
        }
    }

    /// Closes a market whose deadline has passed, so that the transition starts from CLOSED.
    fn close_if_overdue(&mut self, market: MarketNo, left: &mut usize) {
        let found = &self.markets[market.index()];
        if found.status.keeps_orders() && self.now >= found.deadline {
            self.close(market, left);
        }
    }

    fn resolve(&mut self, market: MarketNo, winner: Outcome) -> Result<(), Reject> {
        let to = self.leads(market, Trigger::Resolve)?;
        self.leaves_room(market, if winner == Outcome::Yes { 100 } else { 0 })?;
        let mut left = self.allowance();
        if self.markets[market.index()].status.keeps_orders() {
            self.close(market, &mut left);
        }
        self.judge(market, Some(winner));
        let now = self.now;
        let found = self.market_mut(market);
        found.winner = Some(winner);
        let window = found.window_seconds;
        found.settles_at = Some(now.after_seconds(window));
        self.move_to(market, to);
        if window == 0 {
            self.settle(market, &mut left);
        }
        Ok(())
    }

    fn settle(&mut self, market: MarketNo, left: &mut usize) {
        let holders = self.ledger.holders(market.0);
        let ended = (self.now, CancelReason::MarketClosed);
        let found = self.market_mut(market);
        if found.unfinished.is_some() {
            return;
        }
        let price = match found.winner {
            Some(Outcome::Yes) => SettlementPrice::ONE,
            Some(Outcome::No) => SettlementPrice::ZERO,
            None => unreachable!("a resolved market has a winner"),
        };
        if holders > *left {
            found.unfinished = Some(Unfinished { ended, void: None, pays: None });
            return self.finish(market, left);
        }
        found.settles_at = None;
        found.settled_at = Some(price);
        self.move_to(market, MarketStatus::Settled);
        *left = left.saturating_sub(1);
        self.pay_out(market, price, left);
        self.last_of_event(market);
    }

    fn void(&mut self, market: MarketNo, price: SettlementPrice) -> Result<(), Reject> {
        let to = self.leads(market, Trigger::Void)?;
        self.leaves_room(market, price.get())?;
        let mut left = self.allowance();
        self.close_if_overdue(market, &mut left);
        self.judge(market, None);
        let holders = self.ledger.holders(market.0);
        let now = self.now;
        let found = self.market_mut(market);
        found.settles_at = None;
        if found.unfinished.is_some() || found.book.len() + holders > left {
            let trades = found.status.keeps_orders();
            let ended = (now, CancelReason::MarketVoided);
            let begun = Unfinished { ended, void: None, pays: None };
            found.unfinished.get_or_insert(begun).void = Some(price);
            if trades {
                self.move_to(market, MarketStatus::Closed);
            }
            self.finish(market, &mut left);
            return Ok(());
        }
        found.settled_at = Some(price);
        self.move_to(market, to);
        self.cancel_book(market, CancelReason::MarketVoided, &mut left);
        self.pay_out(market, price, &mut left);
        self.last_of_event(market);
        Ok(())
    }

    /// Goes on with an unfinished end.
    fn finish(&mut self, market: MarketNo, left: &mut usize) {
        let found = self.markets[market.index()].clone();
        let Some(unfinished) = found.unfinished else { return };
        if !self.cancel_book(market, unfinished.ended.1, left) {
            return;
        }
        let settles = found.status_at(self.now) == MarketStatus::Settled;
        let announced = found.winner.filter(|_| settles).map(Outcome::price_of_yes);
        let Some(price) = unfinished.void.or(announced) else {
            self.market_mut(market).unfinished = None;
            return;
        };
        let before = self.effects.len();
        let voided = unfinished.void.is_some();
        self.emit(Effect::MarketPays { market, price, voided });
        let next = self.pay_some(market, price, unfinished.pays.map_or(0, |(_, next)| next), left);
        if self.effects.len() == before + 1 {
            self.effects.pop();
        }
        let found = self.market_mut(market);
        if let Some(next) = next {
            let pays = Some((price, next));
            found.unfinished = Some(Unfinished { pays, ..unfinished });
            return;
        }
        found.unfinished = None;
        found.settles_at = None;
        found.settled_at = Some(price);
        self.move_to(market, if voided { MarketStatus::Voided } else { MarketStatus::Settled });
        self.last_of_event(market);
    }

    /// Pays who is next, as far as the record may; returns who is next then.
    fn pay_some(
        &mut self,
        market: MarketNo,
        price: SettlementPrice,
        first: u32,
        left: &mut usize,
    ) -> Option<u32> {
        if self.ledger.holders(market.0) <= *left {
            self.pay_out(market, price, left);
            return None;
        }
        let mut passed = 0;
        for user in first.. {
            if *left == 0 {
                return Some(user);
            }
            if self.ledger.holds(user, market.0) {
                *left -= 1;
                self.pay(user, market, price);
            } else {
                passed += 1;
                *left -= usize::from(passed % 16 == 0);
            }
        }
        None
    }

    fn pay_out(&mut self, market: MarketNo, price: SettlementPrice, left: &mut usize) {
        *left = left.saturating_sub(self.ledger.holders(market.0));
        for user in 0..self.users_count {
            self.pay(user, market, price);
        }
    }

    fn pay(&mut self, user: u32, market: MarketNo, price: SettlementPrice) {
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

    /// Everything that the clock will trigger as things are now, soonest first.
    pub fn dues(&self) -> Vec<(TimeMs, Due)> {
        let mut dues = Vec::new();
        for (number, market) in (0..).zip(&self.markets) {
            if market.status.keeps_orders() {
                dues.push((market.deadline, Due::Deadline(number)));
            }
            if let Some(unfinished) = market.unfinished {
                dues.push((unfinished.ended.0, Due::Unfinished(number)));
            }
            // Once an end is unfinished and the window over, the end goes on to the pay-out.
            let goes_on = market.unfinished.is_some() && market.settles_at <= Some(self.now);
            if let Some(at) = market.settles_at.filter(|_| !goes_on) {
                dues.push((at, Due::Window(number)));
            }
            for place in market.book.ups.iter().chain(&market.book.downs) {
                if let Some(at) = expiry(&self.order(place.order).terms) {
                    dues.push((at, Due::Expiry(place.order)));
                }
            }
        }
        for (whose, beat) in &self.beats {
            if !beat.ran_out {
                dues.push((beat.silent_from, Due::Heartbeat(*whose)));
            } else if !self.guarded(*whose).is_empty() {
                dues.push((beat.silent_from, Due::Silent(*whose)));
            }
        }
        dues.sort_unstable();
        dues
    }

    /// What the clock does next, if it is time.
    fn next_due(&self) -> Option<Due> {
        let mut dues = self.dues();
        dues.retain(|(at, _)| *at <= self.now);
        let first = dues.iter().find(|(_, due)| self.slice.is_some() && !due.waits());
        first.or_else(|| dues.first()).map(|(_, due)| *due)
    }

    fn advance(&mut self) {
        let mut left = self.allowance();
        while left > 0
            && let Some(due) = self.next_due()
        {
            match due {
                Due::Expiry(order) => {
                    left -= 1;
                    self.cancel_in_time(order, CancelReason::Expired);
                }
                Due::Deadline(market) => {
                    left -= 1;
                    self.close(MarketNo(market), &mut left);
                }
                Due::Window(market) => self.settle(MarketNo(market), &mut left),
                Due::Heartbeat(whose) => {
                    left -= 1;
                    self.fall_silent(whose, &mut left);
                }
                Due::Unfinished(market) => self.finish(MarketNo(market), &mut left),
                Due::Silent(whose) => self.cancel_silent(whose, &mut left),
            }
        }
    }
}
