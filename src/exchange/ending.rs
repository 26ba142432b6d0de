//! Ends in slices: a market may have a million orders to cancel and positions to pay, and everybody
//! waits for a record. So a record does at most [`SLICE`](super::rules::SLICE) of that, and clock
//! commands do the rest (rules of version 2).
//!
//! The record that ends trading changes the status, so nothing trades from then on. An order that
//! is left counts as cancelled then, but what backs it is set aside until its turn comes. A status
//! that says that money was paid, SETTLED or VOIDED, comes last. Between the first and the last
//! payment the market is *paying*: what it owes is no longer 1.00 for each no contract, but the
//! price of each contract left.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use super::book::Book;
use super::catalogue::Outcome;
use super::effect::{CancelReason, Effect};
use super::ids::{Group, MarketNo, OrderNo, UserNo};
use super::invariant::Broken;
use super::market::{Market, MarketStatus, Trigger};
use super::restrictions::Guarded;
use super::rules::{Rules, SLICE};
use super::units::{SettlementPrice, TimeMs};
use super::{Exchange, Stamp};

/// How much a record may do where ends are sliced.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice(NonZeroU32);

impl Default for Slice {
    fn default() -> Slice {
        Slice(NonZeroU32::new(SLICE).unwrap_or(NonZeroU32::MIN))
    }
}

/// How many orders and positions the current record may still end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    left: u32,
}

impl Work {
    /// No bound: for what concerns one user, and for venues without slices.
    pub(super) const fn unbounded() -> Work {
        Work { left: u32::MAX }
    }

    pub(super) const fn is_done(self) -> bool {
        self.left == 0
    }

    /// Whether this many are few enough.
    pub(super) fn allows(self, count: usize) -> bool {
        count <= self.most()
    }

    /// The most that it allows.
    pub(super) fn most(self) -> usize {
        usize::try_from(self.left).unwrap_or(usize::MAX)
    }

    pub(super) fn spend(&mut self, count: usize) {
        self.left = self.left.saturating_sub(u32::try_from(count).unwrap_or(u32::MAX));
    }
}

/// An end that one record could not finish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// When trading ended.
    pub since: TimeMs,
    /// Whether trading ended because the market was voided.
    pub by_void: bool,
    /// The yes-price at which the market will be VOIDED.
    pub void_at: Option<SettlementPrice>,
    /// Once the market is paying: users with lower numbers are paid.
    pub paid_below: Option<UserNo>,
}

impl Ending {
    /// Why the orders that are left are cancelled.
    pub const fn reason(self) -> CancelReason {
        if self.by_void { CancelReason::MarketVoided } else { CancelReason::MarketClosed }
    }
}

impl Market {
    /// The price that it pays for a yes contract, if it has begun to pay and is not final yet.
    pub fn paying(&self) -> Option<SettlementPrice> {
        let Ending { void_at, paid_below, .. } = self.ending?;
        let winner = self.winner.map(Outcome::price_of_yes);
        paid_below.and_then(|_| void_at.or(winner))
    }

    /// Whether only the end of a void is missing.
    pub fn is_being_voided(&self) -> bool {
        self.ending.is_some_and(|ending| ending.void_at.is_some())
    }
}

impl Exchange {
    /// The same exchange with other slices: tests want to see several without many orders.
    #[must_use]
    pub fn in_slices_of(self, orders: NonZeroU32) -> Exchange {
        Exchange { slice: Slice(orders), ..self }
    }

    pub(super) fn ends_in_slices(&self) -> bool {
        self.rules.as_ref().is_some_and(Rules::ends_in_slices)
    }

    /// What a record may do.
    pub(super) fn work(&self) -> Work {
        let Slice(left) = self.slice;
        if self.ends_in_slices() { Work { left: left.get() } } else { Work::unbounded() }
    }

    /// Cancels the resting orders of a market that has just stopped to keep any, or the first of
    /// them.
    pub(super) fn begin_ending(
        &mut self,
        market: MarketNo,
        by_void: bool,
        work: &mut Work,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let begun = Ending { since: at.time, by_void, void_at: None, paid_below: None };
        let state = self.market_mut(market)?;
        let ending = *state.ending.get_or_insert(begun);
        if self.clear_book(market, ending.reason(), work, at, effects)? {
            self.market_mut(market)?.ending = None;
        } else {
            self.schedule.add(ending.since, Due::Ending(market));
        }
        Ok(())
    }

    /// Pays out a market whose outcome is announced and beyond dispute: at once if that is little,
    /// else in slices.
    pub(super) fn settle(
        &mut self,
        market: MarketNo,
        work: &mut Work,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let state = self.market_state(market)?;
        if state.ending.is_some() {
            // Orders are left: when they are gone, the end goes on to this.
            return Ok(());
        }
        let price = state.winner.ok_or(Broken::Dangling)?.price_of_yes();
        if !work.allows(self.ledger.holders_in(market)) {
            return self.begin_paying(market, None, work, at, effects);
        }
        let from = state.status;
        self.unschedule(market)?;
        self.set_status(market, from, MarketStatus::Settled, Some(price), effects)?;
        work.spend(1);
        self.pay_out(market, price, work, effects)
    }

    /// Ends a market at a stated price: at once if there is little to do, else in slices.
    pub(super) fn void(
        &mut self,
        market: MarketNo,
        price: SettlementPrice,
        work: &mut Work,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let state = self.market_state(market)?;
        let from = state.status;
        let all = state.book.orders_count().saturating_add(self.ledger.holders_in(market));
        if state.ending.is_some() || !work.allows(all) {
            return self.begin_paying(market, Some(price), work, at, effects);
        }
        self.unschedule(market)?;
        self.set_status(market, from, MarketStatus::Voided, Some(price), effects)?;
        self.clear_book(market, CancelReason::MarketVoided, work, at, effects)?;
        self.pay_out(market, price, work, effects)
    }

    /// Begins an end in slices that pays out: after a void if it has a price, else as announced.
    fn begin_paying(
        &mut self,
        market: MarketNo,
        void_at: Option<SettlementPrice>,
        work: &mut Work,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let from = self.market_state(market)?.status;
        if void_at.is_some() {
            self.unschedule(market)?;
        }
        if from.keeps_orders() {
            self.set_status(market, from, MarketStatus::Closed, None, effects)?;
        }
        let by_void = from.keeps_orders();
        let begun = Ending { since: at.time, by_void, void_at, paid_below: None };
        let ending = self.market_mut(market)?.ending.get_or_insert(begun);
        ending.void_at = void_at;
        let since = ending.since;
        self.schedule.remove(since, Due::Ending(market));
        self.end_further(market, work, at, effects)
    }

    /// Goes on with a market's end as far as the record may, and schedules what is left.
    pub(super) fn end_further(
        &mut self,
        market: MarketNo,
        work: &mut Work,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let Some(ending) = self.market_state(market)?.ending else { return Ok(()) };
        let gone = self.clear_book(market, ending.reason(), work, at, effects)?;
        if gone && self.pay_further(market, work, at, effects)? {
            self.market_mut(market)?.ending = None;
        } else {
            self.schedule.add(ending.since, Due::Ending(market));
        }
        Ok(())
    }

    /// Pays out what the record may, if it is time to, and makes the market final when all is paid.
    /// Returns whether the end is finished.
    fn pay_further(
        &mut self,
        market: MarketNo,
        work: &mut Work,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<bool, Broken> {
        let state = self.market_state(market)?;
        let from = state.status;
        let void_at = state.ending.and_then(|ending| ending.void_at);
        let over = state.status_at(at.time) == MarketStatus::Settled;
        let announced = state.winner.filter(|_| over).map(Outcome::price_of_yes);
        let Some(price) = void_at.or(announced) else { return Ok(true) };
        let to = if void_at.is_some() { MarketStatus::Voided } else { MarketStatus::Settled };
        let next = state.ending.and_then(|ending| ending.paid_below).unwrap_or(UserNo(0));
        let voided = void_at.is_some();
        let begins = effects.len();
        effects.push(Effect::MarketPays { market, price, voided });
        let left = self.pay(market, price, Some(next), work, effects)?;
        if effects.len() == begins.saturating_add(1) {
            effects.pop();
        }
        if let Some(next) = left {
            if let Some(ending) = &mut self.market_mut(market)?.ending {
                ending.paid_below = Some(next);
            }
            return Ok(false);
        }
        self.unschedule(market)?;
        self.market_mut(market)?.ending = None;
        self.set_status(market, from, to, Some(price), effects)?;
        self.settle_sets(market, effects)?;
        Ok(true)
    }

    /// Pays out a market that is final by now.
    fn pay_out(
        &mut self,
        market: MarketNo,
        price: SettlementPrice,
        work: &mut Work,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        self.pay(market, price, None, work, effects)?;
        self.settle_sets(market, effects)
    }

    /// Pays holders by ascending user number: all of them, or from a user on what the record may.
    /// Returns the user to go on from, if any is left.
    fn pay(
        &mut self,
        market: MarketNo,
        price: SettlementPrice,
        from: Option<UserNo>,
        work: &mut Work,
        effects: &mut Vec<Effect>,
    ) -> Result<Option<UserNo>, Broken> {
        let holders = self.ledger.holders_in(market);
        let (paid, left) = match from {
            Some(from) if !work.allows(holders) => {
                self.ledger.settle_some(market, price, from, work)?
            }
            _ => {
                work.spend(holders);
                (self.ledger.settle(market, price)?, None)
            }
        };
        for paid in paid {
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
        Ok(left)
    }

    /// Cancels the resting orders of a market, oldest first, for `reason`, unless an earlier reason
    /// is due. If they are more than the record may, cancels the first bids, or asks if there is no
    /// bid. Returns whether none is left.
    fn clear_book(
        &mut self,
        market: MarketNo,
        reason: CancelReason,
        work: &mut Work,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<bool, Broken> {
        let slots = self.market_state(market)?.book.slots(&self.orders, work.most());
        work.spend(slots.len());
        self.cancel_all(slots, reason, at, effects)?;
        let state = self.market_mut(market)?;
        let gone = state.book.is_empty();
        if gone {
            state.book = Book::default();
        }
        Ok(gone)
    }

    /// Takes orders off the schedule whose switch has run out, if none of them is left.
    pub(super) fn nothing_abandoned(&mut self, whose: Guarded) {
        let heartbeat = self.restrictions.heartbeat(whose);
        let Some(until) = heartbeat.until.filter(|_| heartbeat.expired) else { return };
        if !self.orders.has_guarded(whose) {
            self.schedule.remove(until, Due::Abandoned(whose.0, whose.1.map(Box::new)));
        }
    }

    /// Cancels orders whose switch has run out, oldest first, as many as the record may; schedules
    /// the rest.
    pub(super) fn cancel_abandoned(
        &mut self,
        whose: Guarded,
        work: &mut Work,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let (user, group) = whose;
        let mut slots = match group {
            None => self.orders.of_user(user),
            Some(group) => self.orders.of_group(user, group).collect(),
        };
        self.orders.sort_oldest_first(&mut slots);
        let left = slots.len() > work.most();
        slots.truncate(work.most());
        work.spend(slots.len());
        self.cancel_all(slots, CancelReason::HeartbeatExpired, at, effects)?;
        if let Some(until) = self.restrictions.heartbeat(whose).until.filter(|_| left) {
            self.schedule.add(until, Due::Abandoned(user, group.map(Box::new)));
        }
        Ok(())
    }
}

// The schedule: deadlines, the ends of dispute windows, heartbeat timeouts and order expiries
// (semantics 3). A clock record executes them; until then commands treat what is due as done.
//
// *Moments* change what others see and are few; *bulk* is orders to cancel and positions to pay,
// any number of them. Where ends are sliced, moments come first and bulk waits.

/// Something on the schedule. Of two entries due at one time, the kind listed first, then the lower
/// number, is executed first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// An order expires.
    Expiry(OrderNo),
    /// A market closes.
    Deadline(MarketNo),
    /// A market pays out.
    WindowEnd(MarketNo),
    /// A user's heartbeat, or that of a group, runs out.
    Heartbeat(UserNo, Option<Box<Group>>),
    /// A market's end goes on (`ending.rs`).
    Ending(MarketNo),
    /// Orders are left of a user or a group whose heartbeat has run out.
    Abandoned(UserNo, Option<Box<Group>>),
}

// There may be one for each order.
const _: () = assert!(size_of::<Due>() == 16);

impl Due {
    const fn is_bulk(&self) -> bool {
        match self {
            Due::Expiry(_) | Due::Ending(_) | Due::Abandoned(..) => true,
            Due::Deadline(_) | Due::WindowEnd(_) | Due::Heartbeat(..) => false,
        }
    }
}

/// All scheduled entries, by time.
#[derive(Debug, Clone, Default)]
pub struct Schedule {
    moments: BTreeSet<(TimeMs, Due)>,
    bulk: BTreeSet<(TimeMs, Due)>,
}

impl Schedule {
    /// The earliest moment at which something is due.
    pub fn next(&self) -> Option<TimeMs> {
        self.first().map(|(time, _)| *time)
    }

    fn first(&self) -> Option<&(TimeMs, Due)> {
        let firsts = [self.moments.first(), self.bulk.first()];
        firsts.into_iter().flatten().min()
    }

    /// Adds an entry.
    pub fn add(&mut self, time: TimeMs, due: Due) {
        self.entries(&due).insert((time, due));
    }

    /// Removes an entry.
    pub fn remove(&mut self, time: TimeMs, due: Due) {
        self.entries(&due).remove(&(time, due));
    }

    const fn entries(&mut self, due: &Due) -> &mut BTreeSet<(TimeMs, Due)> {
        if due.is_bulk() { &mut self.bulk } else { &mut self.moments }
    }

    /// Removes and returns the earliest entry that is due by `now`, or the earliest moment if one
    /// is due and those come first.
    fn take(&mut self, now: TimeMs, moments_first: bool) -> Option<Due> {
        let moment = self.moments.first().filter(|(time, _)| moments_first && *time <= now);
        let (time, due) = moment.or_else(|| self.first())?.clone();
        if time > now {
            return None;
        }
        self.remove(time, due.clone());
        Some(due)
    }
}

impl Exchange {
    /// The earliest moment at which [`Command::AdvanceClock`](super::command::Command) would do
    /// something.
    pub fn next_due(&self) -> Option<TimeMs> {
        self.schedule.next()
    }

    /// Whether nothing on the schedule is due by `now`.
    pub(super) fn nothing_is_due(&self, now: TimeMs) -> bool {
        self.next_due().is_none_or(|due| due > now)
    }

    /// Executes what is due by the record's time; where ends are sliced, a slice of it. What is
    /// left stays due.
    pub(super) fn advance_clock(
        &mut self,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Broken> {
        let mut work = self.work();
        let moments_first = self.ends_in_slices();
        while !work.is_done() {
            let Some(due) = self.schedule.take(at.time, moments_first) else { break };
            match due {
                Due::Expiry(order) => {
                    let slot = self.orders.find(order).ok_or(Broken::Dangling)?;
                    self.cancel_slot(slot, CancelReason::Expired, at, effects)?;
                    work.spend(1);
                }
                Due::Deadline(market) => {
                    work.spend(1);
                    self.apply_trigger(market, Trigger::Close, &mut work, at, effects)?;
                }
                Due::WindowEnd(market) => self.settle(market, &mut work, at, effects)?,
                Due::Heartbeat(user, group) => {
                    work.spend(1);
                    let whose = (user, group.as_deref().copied());
                    self.expire_heartbeat(whose, &mut work, at, effects)?;
                }
                Due::Ending(market) => self.end_further(market, &mut work, at, effects)?,
                Due::Abandoned(user, group) => {
                    let whose = (user, group.as_deref().copied());
                    self.cancel_abandoned(whose, &mut work, at, effects)?;
                }
            }
        }
        Ok(())
    }
}
