//! The state of a market, and the transitions of its life cycle (semantics 3). What is due but not
//! journaled yet already counts.

use super::book::Book;
use super::catalogue::{MarketDraft, MarketRevision, Outcome};
use super::command::Command;
use super::effect::Effect;
use super::ending::{Due, Ending, Work};
use super::fees::Fees;
use super::ids::{EventNo, MarketNo};
use super::invariant::Broken;
use super::reject::Reject;
use super::table::choice;
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
    /// An end that is not finished; only set while CLOSED, RESOLVED or DISPUTED.
    pub ending: Option<Ending>,
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
            ending: None,
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
            _ if self.is_being_voided() => MarketStatus::Voided,
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
        let mut work = self.work();
        self.close_if_overdue(market, &mut work, at, effects)?;
        Ok(self.apply_trigger(market, trigger, &mut work, at, effects)?)
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
        if state.ending.is_some() || self.overdue_with_many_orders(market, at)? {
            return Err(Stop::Refused(Reject::InvalidTransition));
        }
        let mut work = self.work();
        self.close_if_overdue(market, &mut work, at, effects)?;
        if let Some(deadline) = deadline {
            self.set_deadline(market, deadline)?;
        }
        Ok(self.apply_trigger(market, trigger, &mut work, at, effects)?)
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
        let mut work = self.work();
        self.close_if_overdue(market, &mut work, at, effects)?;
        if self.market_state(market)?.status.keeps_orders() {
            self.apply_trigger(market, Trigger::Close, &mut work, at, effects)?;
        }
        self.answer_dispute(market, Some(winner), effects)?;
        let state = self.market_mut(market)?;
        state.winner = Some(winner);
        let window_seconds = state.dispute_window_seconds;
        self.apply_trigger(market, Trigger::Resolve, &mut work, at, effects)?;
        let end = at.time.after_seconds(window_seconds);
        self.market_mut(market)?.window_end = Some(end);
        if window_seconds == 0 {
            return Ok(self.settle(market, &mut work, at, effects)?);
        }
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
        let mut work = self.work();
        self.close_if_overdue(market, &mut work, at, effects)?;
        self.answer_dispute(market, None, effects)?;
        Ok(self.void(market, price, &mut work, at, effects)?)
    }

    /// Whether an operator's command would be refused that ends a market, takes fees, or makes a
    /// part of the catalogue.
    pub(super) fn admit_act(&self, command: &Command, at: Stamp) -> Result<(), Reject> {
        match command {
            Command::SuspendMarket { market } => self.admit(*market, Trigger::Suspend, at),
            Command::ResolveMarket { market, winner } => {
                self.admit(*market, Trigger::Resolve, at)?;
                self.admit_price(*market, winner.price_of_yes())
            }
            Command::VoidMarket { market, price } => {
                self.admit(*market, Trigger::Void, at)?;
                self.admit_price(*market, *price)
            }
            Command::Withdraw { user, amount } => self.admit_withdrawal(*user, *amount),
            Command::TakeFees { user, amount } => self.admit_taking(*user, *amount),
            Command::CreateCategory(draft) => self.admit_category(draft),
            Command::CreateEvent(draft) => self.admit_event(draft),
            Command::CreateMarket(draft) => self.admit_market(draft, at),
            _ => Ok(()),
        }
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
        self.catalogue.market_slugs.admit(revision.slug.as_ref(), Some(market))?;
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
        self.catalogue.market_slugs.give(revision.slug.as_ref(), market);
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

    /// Whether its deadline has passed, its close is not journaled, and the close would leave
    /// orders.
    fn overdue_with_many_orders(&self, market: MarketNo, at: Stamp) -> Result<bool, Broken> {
        let state = self.market_state(market)?;
        Ok(state.overdue(at.time) && !self.work().allows(state.book.orders_count()))
    }

    fn close_if_overdue(
        &mut self,
        market: MarketNo,
        work: &mut Work,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        if self.market_state(market)?.overdue(at.time) {
            self.apply_trigger(market, Trigger::Close, work, at, effects)?;
        }
        Ok(())
    }

    /// Makes one transition other than the last one of a market, and cancels its orders if it may
    /// keep none. The caller has admitted it.
    pub(super) fn apply_trigger(
        &mut self,
        market: MarketNo,
        trigger: Trigger,
        work: &mut Work,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let from = self.market_state(market)?.status;
        let to = from.after(trigger).ok_or(Broken::Dangling)?;
        self.unschedule(market)?;
        self.set_status(market, from, to, None, effects)?;
        if from.keeps_orders() && !to.keeps_orders() {
            self.begin_ending(market, false, work, at, effects)?;
        }
        Ok(())
    }

    /// Removes what the current status has on the schedule.
    pub(super) fn unschedule(&mut self, market: MarketNo) -> Result<(), Broken> {
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

    pub(super) fn set_status(
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
        if matches!(to, MarketStatus::Settled | MarketStatus::Voided) {
            self.disputes.forget(market);
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

    /// A market that must exist.
    pub(super) fn market_state(&self, market: MarketNo) -> Result<&Market, Broken> {
        self.market(market).ok_or(Broken::Dangling)
    }

    /// A market that must exist, to be changed.
    pub(super) fn market_mut(&mut self, market: MarketNo) -> Result<&mut Market, Broken> {
        self.markets.get_mut(market.index()).ok_or(Broken::Dangling)
    }
}

// A market's life cycle: its statuses, and which trigger leads from which status to which. One
// table (semantics 3); a test covers every cell.

choice! {
    /// A market's status.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum MarketStatus by name {
        /// Not yet public.
        Draft = 1 "DRAFT",
        /// Takes orders.
        Active = 2 "ACTIVE",
        /// Takes no orders for now; resting ones stay.
        Suspended = 3 "SUSPENDED",
        /// Trading is over, or interrupted until a later deadline.
        Closed = 4 "CLOSED",
        /// The outcome is announced and may be disputed.
        Resolved = 5 "RESOLVED",
        /// The announced outcome is in doubt.
        Disputed = 6 "DISPUTED",
        /// Paid out. Final.
        Settled = 7 "SETTLED",
        /// Ended at a stated price. Final.
        Voided = 8 "VOIDED",
    }
}

/// What moves a market from one status to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// The operator publishes it.
    Publish,
    /// The operator suspends it.
    Suspend,
    /// The operator reopens it without a later deadline.
    Reopen,
    /// The operator reopens it with a deadline later than the one it had.
    ReopenLater,
    /// The deadline passes, or the operator closes it.
    Close,
    /// The operator announces the outcome.
    Resolve,
    /// The operator disputes the announced outcome.
    Dispute,
    /// The dispute window is over.
    Settle,
    /// The operator voids it.
    Void,
}

impl MarketStatus {
    /// Whether the market is public: from its publication on, for ever.
    pub const fn public(self) -> bool {
        !matches!(self, MarketStatus::Draft)
    }

    /// Whether orders may rest on its book.
    pub const fn keeps_orders(self) -> bool {
        matches!(self, MarketStatus::Active | MarketStatus::Suspended)
    }

    /// The status after a trigger; `None` if the trigger is not allowed.
    pub const fn after(self, trigger: Trigger) -> Option<MarketStatus> {
        use MarketStatus as S;
        use Trigger as T;
        match (self, trigger) {
            (S::Draft, T::Publish)
            | (S::Suspended, T::Reopen | T::ReopenLater)
            | (S::Closed, T::ReopenLater) => Some(S::Active),
            (S::Active, T::Suspend) => Some(S::Suspended),
            (S::Active | S::Suspended, T::Close) => Some(S::Closed),
            (S::Active | S::Suspended | S::Closed | S::Disputed, T::Resolve) => Some(S::Resolved),
            (S::Resolved, T::Dispute) => Some(S::Disputed),
            (S::Resolved, T::Settle) => Some(S::Settled),
            (
                S::Draft | S::Active | S::Suspended | S::Closed | S::Resolved | S::Disputed,
                T::Void,
            ) => Some(S::Voided),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/exchange/lifecycle.rs"]
mod tests;
