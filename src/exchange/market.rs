//! The state of a market, and the transitions of its life cycle (semantics 3). What is due but not
//! journaled yet already counts.

use super::book::Book;
use super::catalogue::{MarketDraft, MarketRevision, Outcome};
use super::due::Due;
use super::effect::{CancelReason, Effect};
use super::fees::Fees;
use super::ids::{EventNo, MarketNo};
use super::invariant::Broken;
use super::lifecycle::{MarketStatus, Trigger};
use super::reject::Reject;
use super::units::{SettlementPrice, TimeMs};
use super::{Exchange, Stamp, Stop};

/// One market.
#[derive(Debug, Clone)]
pub struct Market {
    /// Status.
    pub status: MarketStatus,
    /// When trading ends.
    pub deadline: TimeMs,
    /// Seconds in which an announced outcome may be disputed.
    pub dispute_window_seconds: u32,
    /// What trading costs; fixed once it is published.
    pub fees: Fees,
    /// The end of the running dispute window; only set while RESOLVED.
    pub window_end: Option<TimeMs>,
    /// The announced outcome; kept when it is disputed or the market voided.
    pub winner: Option<Outcome>,
    /// What a yes contract paid; only set once SETTLED or VOIDED.
    pub settled_at: Option<SettlementPrice>,
    /// The event that groups it.
    pub event: Option<EventNo>,
    /// The resting orders.
    pub book: Book,
}

impl Market {
    /// A market just created.
    pub fn of_draft(draft: &MarketDraft) -> Market {
        Market {
            status: MarketStatus::Draft,
            deadline: draft.deadline,
            dispute_window_seconds: draft.dispute_window_seconds,
            fees: draft.fees,
            window_end: None,
            winner: None,
            settled_at: None,
            event: draft.event,
            book: Book::default(),
        }
    }

    /// Whether its deadline has passed but its close is not journaled yet.
    fn overdue(&self, now: TimeMs) -> bool {
        self.status.keeps_orders() && now >= self.deadline
    }

    /// The status that commands must see at `now`: what is due counts as done, even if no record
    /// did it yet (semantics 3).
    pub fn status_at(&self, now: TimeMs) -> MarketStatus {
        let window_over = self.window_end.is_some_and(|end| now >= end);
        match self.status {
            MarketStatus::Active | MarketStatus::Suspended if self.overdue(now) => {
                MarketStatus::Closed
            }
            MarketStatus::Resolved if window_over => MarketStatus::Settled,
            status => status,
        }
    }
}

impl Exchange {
    /// Publishes, suspends, closes or disputes a market.
    pub(super) fn move_market(
        &mut self,
        market: MarketNo,
        trigger: Trigger,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.admit(market, trigger, at)?;
        self.close_if_overdue(market, at, effects)?;
        Ok(self.apply_trigger(market, trigger, at, effects)?)
    }

    /// Reopens a market: with the deadline it has, or with a new one.
    pub(super) fn reopen_market(
        &mut self,
        market: MarketNo,
        deadline: Option<TimeMs>,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        let state = self.market(market).ok_or(Reject::MarketNotFound)?;
        let trigger = match deadline {
            Some(new) if new > state.deadline && new > at.time => Trigger::ReopenLater,
            _ => Trigger::Reopen,
        };
        if state.status_at(at.time) == MarketStatus::Suspended
            && deadline.is_some_and(|new| new <= at.time)
        {
            return Err(Stop::Refused(Reject::DeadlineNotInFuture));
        }
        self.admit(market, trigger, at)?;
        self.close_if_overdue(market, at, effects)?;
        if let Some(deadline) = deadline {
            self.set_deadline(market, deadline)?;
        }
        Ok(self.apply_trigger(market, trigger, at, effects)?)
    }

    /// Announces the outcome; trading ends first.
    pub(super) fn resolve_market(
        &mut self,
        market: MarketNo,
        winner: Outcome,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.admit(market, Trigger::Resolve, at)?;
        self.admit_price(market, winner.price_of_yes())?;
        self.close_if_overdue(market, at, effects)?;
        if self.market_state(market)?.status.keeps_orders() {
            self.apply_trigger(market, Trigger::Close, at, effects)?;
        }
        let state = self.market_mut(market)?;
        state.winner = Some(winner);
        let window_seconds = state.dispute_window_seconds;
        self.apply_trigger(market, Trigger::Resolve, at, effects)?;
        if window_seconds == 0 {
            return Ok(self.apply_trigger(market, Trigger::Settle, at, effects)?);
        }
        let end = at.time.after_seconds(window_seconds);
        self.market_mut(market)?.window_end = Some(end);
        self.schedule.add(end, Due::WindowEnd(market));
        Ok(())
    }

    /// Ends a market at a stated price.
    pub(super) fn void_market(
        &mut self,
        market: MarketNo,
        price: SettlementPrice,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.admit(market, Trigger::Void, at)?;
        self.admit_price(market, price)?;
        self.close_if_overdue(market, at, effects)?;
        self.unschedule(market)?;
        let from = self.market_state(market)?.status;
        self.set_status(market, from, MarketStatus::Voided, Some(price), effects)?;
        self.clear_book(market, CancelReason::MarketVoided, at, effects)?;
        Ok(self.pay_out(market, price, effects)?)
    }

    /// Changes a market's texts, flags or deadline.
    pub(super) fn revise_market(
        &mut self,
        market: MarketNo,
        revision: &MarketRevision,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        let categories = revision.categories.as_deref().unwrap_or_default();
        if !self.catalogue.has_categories(categories) {
            return Err(Stop::Refused(Reject::CategoryNotFound));
        }
        let state = self.market(market).ok_or(Reject::MarketNotFound)?;
        let before = state.fees;
        let fees = Fees {
            maker: revision.maker_fee.unwrap_or(before.maker),
            taker: revision.taker_fee.unwrap_or(before.taker),
        };
        let names_fees = revision.maker_fee.is_some() || revision.taker_fee.is_some();
        if names_fees && state.status != MarketStatus::Draft {
            return Err(Stop::Refused(Reject::InvalidTransition));
        }
        if let Some(deadline) = revision.deadline {
            if deadline <= at.time {
                return Err(Stop::Refused(Reject::DeadlineNotInFuture));
            }
            match state.status_at(at.time) {
                MarketStatus::Draft | MarketStatus::Active | MarketStatus::Suspended => {}
                _ => return Err(Stop::Refused(Reject::InvalidTransition)),
            }
            self.set_deadline(market, deadline)?;
        }
        self.market_mut(market)?.fees = fees;
        effects.push(Effect::MarketRevised { market, revision: Box::new(revision.clone()) });
        Ok(())
    }

    /// Whether the trigger is allowed at the record's time.
    fn admit(&self, market: MarketNo, trigger: Trigger, at: Stamp) -> Result<(), Reject> {
        let state = self.market(market).ok_or(Reject::MarketNotFound)?;
        match state.status_at(at.time).after(trigger) {
            Some(_) => Ok(()),
            None => Err(Reject::InvalidTransition),
        }
    }

    fn close_if_overdue(
        &mut self,
        market: MarketNo,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        if self.market_state(market)?.overdue(at.time) {
            self.apply_trigger(market, Trigger::Close, at, effects)?;
        }
        Ok(())
    }

    /// Makes one transition with its consequences: cancels orders, pays out. The caller has
    /// admitted it.
    pub(super) fn apply_trigger(
        &mut self,
        market: MarketNo,
        trigger: Trigger,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let from = self.market_state(market)?.status;
        let to = from.after(trigger).ok_or(Broken::Dangling)?;
        self.unschedule(market)?;
        let settled_at = match (to, self.market_state(market)?.winner) {
            (MarketStatus::Settled, Some(winner)) => Some(winner.price_of_yes()),
            (MarketStatus::Settled, None) => return Err(Broken::Dangling),
            _ => None,
        };
        self.set_status(market, from, to, settled_at, effects)?;
        if !to.keeps_orders() {
            self.clear_book(market, CancelReason::MarketClosed, at, effects)?;
        }
        match settled_at {
            Some(price) => self.pay_out(market, price, effects),
            None => Ok(()),
        }
    }

    /// Removes what the current status has on the schedule.
    fn unschedule(&mut self, market: MarketNo) -> Result<(), Broken> {
        let state = self.market_mut(market)?;
        let (keeps_orders, deadline) = (state.status.keeps_orders(), state.deadline);
        let window_end = state.window_end.take();
        if keeps_orders {
            self.schedule.remove(deadline, Due::Deadline(market));
        }
        if let Some(end) = window_end {
            self.schedule.remove(end, Due::WindowEnd(market));
        }
        Ok(())
    }

    fn set_status(
        &mut self,
        market: MarketNo,
        from: MarketStatus,
        to: MarketStatus,
        settled_at: Option<SettlementPrice>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let state = self.market_mut(market)?;
        state.status = to;
        state.settled_at = settled_at;
        let (deadline, winner) = (state.deadline, state.winner);
        if to.keeps_orders() {
            self.schedule.add(deadline, Due::Deadline(market));
        }
        effects.push(Effect::MarketMoved { market, from, to, deadline, winner, settled_at });
        Ok(())
    }

    fn set_deadline(&mut self, market: MarketNo, deadline: TimeMs) -> Result<(), Broken> {
        let state = self.market_mut(market)?;
        let before = std::mem::replace(&mut state.deadline, deadline);
        if state.status.keeps_orders() {
            self.schedule.remove(before, Due::Deadline(market));
            self.schedule.add(deadline, Due::Deadline(market));
        }
        Ok(())
    }

    /// Cancels every resting order of a market, oldest first: for `reason`, unless an earlier
    /// reason is due.
    fn clear_book(
        &mut self,
        market: MarketNo,
        reason: CancelReason,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let mut slots = self.market_state(market)?.book.slots(&self.orders);
        self.orders.sort_oldest_first(&mut slots);
        for slot in slots {
            self.cancel_unless_already_due(slot, reason, at, effects)?;
        }
        self.market_mut(market)?.book = Book::default();
        Ok(())
    }

    fn pay_out(
        &mut self,
        market: MarketNo,
        price: SettlementPrice,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        for paid in self.ledger.settle(market, price)? {
            effects.push(Effect::PositionSettled {
                user: paid.user,
                market,
                yes: paid.yes,
                no: paid.no,
                payout: paid.payout,
                realised: paid.realised,
            });
            self.emit_account(paid.user, effects)?;
        }
        self.settle_sets(market, effects)
    }

    /// A market that must exist.
    pub(super) fn market_state(&self, market: MarketNo) -> Result<&Market, Broken> {
        self.market(market).ok_or(Broken::Dangling)
    }

    /// A market that must exist, to be changed.
    pub(super) fn market_mut(&mut self, market: MarketNo) -> Result<&mut Market, Broken> {
        self.markets.get_mut(market.index()).ok_or(Broken::Dangling)
    }
}
