//! Each account's statement: every change of its money, and what caused it.
//!
//! Effects say how an account stands after a change, so a line is the difference to the one
//! before, and what else the record did for the same user is its cause. No rule of trade is
//! repeated: money that moves between the two parts of an account was set aside or given back,
//! and money that comes or goes did so by the trade, pay-out or transfer that the record tells of.

mod image;

use super::Projection;
use super::accounts::Balance;
use super::fault::{Fault, Faults, is_next};
use crate::exchange::effect::{Applied, Effect};
use crate::exchange::ids::{MarketNo, OrderNo, UserNo};
use crate::exchange::lifecycle::MarketStatus;
use crate::exchange::units::{Money, Sequence, TimeMs};

/// Why an account changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Money came in.
    Deposited,
    /// Money went out.
    Withdrawn,
    /// Money was set aside for an order.
    Reserved(OrderNo),
    /// What was set aside for an order was given back.
    Released(OrderNo),
    /// An order was amended, and what is set aside for it with it.
    Amended(OrderNo),
    /// An order traded: what was paid for contracts, got for those handed over, and got for pairs
    /// that the trade completed.
    Traded(OrderNo),
    /// Contracts that an order no longer needs as its backing met their opposites: 1.00 a pair.
    Merged(OrderNo),
    /// What an order's trade cost besides.
    Fee(OrderNo),
    /// A settled market paid for the contracts held.
    Settled(MarketNo),
    /// A voided market did.
    Voided(MarketNo),
}

impl Cause {
    /// The interface's name.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Deposited => "DEPOSIT",
            Cause::Withdrawn => "WITHDRAWAL",
            Cause::Reserved(_) => "ORDER_RESERVED",
            Cause::Released(_) => "ORDER_RELEASED",
            Cause::Amended(_) => "ORDER_AMENDED",
            Cause::Traded(_) => "TRADE",
            Cause::Merged(_) => "MERGE",
            Cause::Fee(_) => "FEE",
            Cause::Settled(_) => "SETTLEMENT",
            Cause::Voided(_) => "VOID",
        }
    }

    /// The order that it was about.
    pub const fn order(self) -> Option<OrderNo> {
        match self {
            Cause::Reserved(order)
            | Cause::Released(order)
            | Cause::Amended(order)
            | Cause::Traded(order)
            | Cause::Merged(order)
            | Cause::Fee(order) => Some(order),
            Cause::Deposited | Cause::Withdrawn | Cause::Settled(_) | Cause::Voided(_) => None,
        }
    }

    /// The market that paid out.
    pub const fn paying_market(self) -> Option<MarketNo> {
        match self {
            Cause::Settled(market) | Cause::Voided(market) => Some(market),
            _ => None,
        }
    }
}

/// One change as it is kept: how the account stood after it. The amounts are told by the line
/// before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line {
    sequence: Sequence,
    time: TimeMs,
    cause: Cause,
    after: Balance,
}

/// One change of an account's money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// Which of the account's changes: from 1.
    pub number: u64,
    /// The record that made it.
    pub sequence: Sequence,
    /// When.
    pub time: TimeMs,
    /// Why.
    pub cause: Cause,
    /// How much more, or less, is free to use.
    pub available: Money,
    /// How much more, or less, backs resting orders.
    pub reserved: Money,
    /// How the account stood after it.
    pub after: Balance,
}

/// Every account's changes, 48 bytes each.
#[derive(Debug, Default)]
pub struct Statements {
    /// Oldest first.
    users: Vec<Vec<Line>>,
}

/// Why an account changed. `None` is for what must not have happened.
#[derive(Debug, Clone, Copy, Default)]
struct Why {
    /// What moved between its two parts.
    inside: Option<Cause>,
    /// What came or went.
    outside: Option<Cause>,
    /// How much of what went was fees, and for which order.
    fee: (Money, Option<Cause>),
}

/// No fees.
const NO_FEE: (Money, Option<Cause>) = (Money::ZERO, None);

/// The order that a record is about. Its owner hears once, at the end, what came of all of it.
#[derive(Debug, Clone, Copy)]
struct Incoming {
    user: UserNo,
    order: OrderNo,
    amended: bool,
    traded: bool,
    /// The fees of its trades.
    fees: Money,
    /// How the account stands, if that was told.
    stands: Option<Balance>,
}

impl Statements {
    /// How many changes an account has seen. O(1).
    pub fn count(&self, user: UserNo) -> usize {
        self.lines(user).len()
    }

    /// The change at this place, the oldest at 0. O(1).
    pub fn change(&self, user: UserNo, place: usize) -> Option<Change> {
        let lines = self.lines(user);
        let Line { sequence, time, cause, after } = *lines.get(place)?;
        let before = place.checked_sub(1).and_then(|place| lines.get(place));
        let before = before.map_or_else(Balance::default, |line| line.after);
        let available = after.available.minus(before.available).ok()?;
        let reserved = after.reserved.minus(before.reserved).ok()?;
        let number = u64::try_from(place).ok()?.saturating_add(1);
        Some(Change { number, sequence, time, cause, available, reserved, after })
    }

    fn lines(&self, user: UserNo) -> &[Line] {
        self.users.get(user.index()).map_or(&[], Vec::as_slice)
    }

    /// Takes down how an account stands now: what moved between its parts, what came or went, and
    /// last the fees, each for its reason.
    fn stands(
        &mut self,
        at: &Applied<'_>,
        (user, now): (UserNo, Balance),
        why: Why,
    ) -> Result<(), Fault> {
        let Why { inside, outside, fee: (fee, fee_cause) } = why;
        if fee != Money::ZERO {
            let besides = Balance { available: now.available.plus(fee)?, ..now };
            self.stands(at, (user, besides), Why { fee: NO_FEE, ..why })?;
            return self.stands(at, (user, now), Why { outside: fee_cause, ..Why::default() });
        }
        let lines = self.users.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
        let before = lines.last().map_or_else(Balance::default, |line| line.after);
        if before == now {
            return Ok(());
        }
        let mut add = |cause: Option<Cause>, after| {
            let cause = cause.ok_or(Fault::UnexplainedMoney(user))?;
            lines.push(Line { sequence: at.sequence, time: at.time, cause, after });
            Ok(())
        };
        // One reason for both: the two parts of the account changed by one and the same thing.
        if inside == outside {
            return add(outside, now);
        }
        let set_aside = now.reserved.minus(before.reserved)?;
        let moved =
            Balance { available: before.available.minus(set_aside)?, reserved: now.reserved };
        if moved != before {
            add(inside, moved)?;
        }
        if moved == now { Ok(()) } else { add(outside, now) }
    }

    /// The end of the record for the owner of the order that it is about.
    fn conclude(&mut self, at: &Applied<'_>, incoming: Incoming) -> Result<(), Fault> {
        let Incoming { user, order, amended, traded, fees, stands } = incoming;
        let Some(now) = stands else { return Ok(()) };
        let before = self.lines(user).last().map_or(Money::ZERO, |line| line.after.reserved);
        let inside = match (amended, now.reserved < before) {
            (true, _) => Cause::Amended(order),
            (false, false) => Cause::Reserved(order),
            // Only the owner's own resting orders, cancelled on the way, can have given it back.
            (false, true) => Cause::Released(order),
        };
        let outside = if traded { Cause::Traded(order) } else { Cause::Merged(order) };
        let fee = (fees, Some(Cause::Fee(order)));
        self.stands(at, (user, now), Why { inside: Some(inside), outside: Some(outside), fee })
    }
}

impl Projection for Statements {
    fn fold(&mut self, applied: &Applied<'_>, faults: &mut Faults) {
        let mut incoming: Option<Incoming> = None;
        // Why the next account that is told of changed.
        let mut why = Why::default();
        let mut voided = false;
        for effect in applied.effects {
            match effect {
                Effect::UserCreated { user, .. } => {
                    faults.check(is_next(user.index(), self.users.len()));
                    self.users.push(Vec::new());
                }
                Effect::Deposited { .. } => why = both(Cause::Deposited),
                Effect::Withdrawn { .. } => why = both(Cause::Withdrawn),
                Effect::OrderAccepted { order, terms } => {
                    incoming = Some(Incoming::new(terms.user, *order, false));
                }
                Effect::OrderAmended { order, user, .. } => {
                    incoming = Some(Incoming::new(*user, *order, true));
                }
                Effect::TradeMade(trade) => {
                    if let Some(incoming) = &mut incoming {
                        incoming.traded = true;
                        faults.check(incoming.pay(trade.taker.fee));
                    }
                    why = both(Cause::Traded(trade.maker.order));
                    why.fee = (trade.maker.fee, Some(Cause::Fee(trade.maker.order)));
                }
                Effect::OrderCancelled { order, .. } => {
                    let (inside, outside) = (Cause::Released(*order), Cause::Merged(*order));
                    why = Why { inside: Some(inside), outside: Some(outside), fee: NO_FEE };
                }
                Effect::MarketMoved { to, .. } => voided = *to == MarketStatus::Voided,
                Effect::PositionSettled { market, .. } => {
                    why =
                        both(if voided { Cause::Voided(*market) } else { Cause::Settled(*market) });
                }
                Effect::AccountChanged { user, available, reserved } => {
                    let now = Balance { available: *available, reserved: *reserved };
                    match &mut incoming {
                        Some(incoming) if incoming.user == *user => incoming.stands = Some(now),
                        _ => faults.check(self.stands(applied, (*user, now), why)),
                    }
                    why = Why::default();
                }
                _ => {}
            }
        }
        if let Some(incoming) = incoming {
            faults.check(self.conclude(applied, incoming));
        }
    }
}

impl Incoming {
    const fn new(user: UserNo, order: OrderNo, amended: bool) -> Incoming {
        Incoming { user, order, amended, traded: false, fees: Money::ZERO, stands: None }
    }

    fn pay(&mut self, fee: Money) -> Result<(), Fault> {
        self.fees = self.fees.plus(fee)?;
        Ok(())
    }
}

const fn both(cause: Cause) -> Why {
    Why { inside: Some(cause), outside: Some(cause), fee: NO_FEE }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::exchange::effect::CancelReason;

    const BID: Placed = Placed { record: 3, user: ANN, wording: BUY_YES, price: 60, quantity: 10 };
    const ASK: Placed = Placed { record: 4, user: BOB, wording: SELL_YES, price: 55, quantity: 6 };

    fn says(user: UserNo, available: i64, reserved: i64) -> Effect {
        let (available, reserved) = (Money::new(available), Money::new(reserved));
        Effect::AccountChanged { user, available, reserved }
    }

    fn deposited(user: UserNo, amount: i64) -> [Effect; 2] {
        let amount = Money::new(amount);
        [Effect::Deposited { user, amount }, says(user, amount.get(), 0)]
    }

    /// The names and amounts of an account's changes, oldest first.
    fn shown(statements: &Statements, user: UserNo) -> Vec<(&'static str, i64, i64)> {
        let changes = (0..).map_while(|place| statements.change(user, place));
        changes.map(|c| (c.cause.name(), c.available.get(), c.reserved.get())).collect()
    }

    #[test]
    fn a_trade_is_told_to_both_and_what_rests_apart_from_it() {
        let mut statements: Statements = opened();
        let both = [deposited(ANN, 1000), deposited(BOB, 1000)].concat();
        assert_eq!(fold(&mut statements, 2, &both), 0);
        assert_eq!(
            fold(&mut statements, 3, &[BID.accepted(), BID.rested(10), says(ANN, 400, 600)]),
            0
        );
        let seller = Placed { quantity: 14, ..ASK };
        let effects = [
            seller.accepted(),
            seller.took(4, BID, 0, 10),
            says(ANN, 400, 0),
            seller.rested(4),
            // Ten contracts at 0.40, and four more set aside at 0.45.
            says(BOB, 420, 180),
        ];
        assert_eq!(fold(&mut statements, 4, &effects), 0);
        let ann = [("DEPOSIT", 1000, 0), ("ORDER_RESERVED", -600, 600), ("TRADE", 0, -600)];
        assert_eq!(shown(&statements, ANN), ann);
        let bob = [("DEPOSIT", 1000, 0), ("ORDER_RESERVED", -180, 180), ("TRADE", -400, 0)];
        assert_eq!(shown(&statements, BOB), bob);
        let last = statements.change(BOB, 2).unwrap();
        assert_eq!((last.number, last.sequence, last.time), (3, Sequence::new(4), at(4)));
        assert_eq!(last.cause, Cause::Traded(order(4)));
        assert_eq!((last.after.available.get(), last.after.reserved.get()), (420, 180));
        assert_eq!(statements.change(BOB, 3), None);
    }

    #[test]
    fn a_cancel_gives_back_and_what_merges_by_it_comes_on_top() {
        let mut statements: Statements = opened();
        assert_eq!(fold(&mut statements, 2, &deposited(ANN, 1000)), 0);
        assert_eq!(
            fold(&mut statements, 3, &[BID.accepted(), BID.rested(10), says(ANN, 400, 600)]),
            0
        );
        let cancelled = BID.cancelled(10, true, CancelReason::User);
        let effects = [cancelled, holds(ANN, (0, 0), (0, 0), 0), says(ANN, 1300, 0)];
        assert_eq!(fold(&mut statements, 4, &effects), 0);
        let changes = shown(&statements, ANN);
        assert_eq!(changes.last_chunk(), Some(&[("ORDER_RELEASED", 600, -600), ("MERGE", 300, 0)]));
    }

    #[test]
    fn an_end_pays_by_its_name_after_what_it_cancels() {
        for (end, name) in [(voided(RAIN, 40), "VOID"), (settled(RAIN, YES), "SETTLEMENT")] {
            let mut statements: Statements = opened();
            assert_eq!(fold(&mut statements, 2, &deposited(ANN, 1000)), 0);
            let rests = [BID.accepted(), BID.rested(10), says(ANN, 400, 600)];
            assert_eq!(fold(&mut statements, 3, &rests), 0);
            let cancelled = BID.cancelled(10, true, CancelReason::MarketClosed);
            let effects =
                [end, cancelled, says(ANN, 1000, 0), paid(ANN, 5, 0, 0), says(ANN, 1200, 0)];
            assert_eq!(fold(&mut statements, 4, &effects), 0);
            let changes = shown(&statements, ANN);
            let expected = [("ORDER_RELEASED", 600, -600), (name, 200, 0)];
            assert_eq!(changes.last_chunk(), Some(&expected));
            assert_eq!(statements.change(ANN, 3).unwrap().cause.paying_market(), Some(RAIN));
        }
    }

    /// Ann's bid is taken at its limit, Bob's ask has two lots too many: both pay, each for its own.
    #[test]
    fn fees_are_told_last_and_apart() {
        let mut statements: Statements = opened();
        let both = [deposited(ANN, 1000), deposited(BOB, 1000)].concat();
        assert_eq!(fold(&mut statements, 2, &both), 0);
        let rests = [BID.accepted(), BID.rested(10), says(ANN, 380, 620)];
        assert_eq!(fold(&mut statements, 3, &rests), 0);
        let seller = Placed { quantity: 12, ..ASK };
        let mut trade = seller.took(2, BID, 0, 10);
        if let Effect::TradeMade(trade) = &mut trade {
            (trade.maker.fee, trade.taker.fee) = (Money::new(5), Money::new(17));
        }
        // Ann's reserve of 20 pays 5, and 15 come back. Bob pays 400 and 17, and sets 90 aside.
        let effects =
            [seller.accepted(), trade, says(ANN, 395, 0), seller.rested(2), says(BOB, 493, 90)];
        assert_eq!(fold(&mut statements, 4, &effects), 0);
        let ann = shown(&statements, ANN);
        assert_eq!(ann.last_chunk(), Some(&[("TRADE", 20, -620), ("FEE", -5, 0)]));
        let bob = shown(&statements, BOB);
        let expected = [("ORDER_RESERVED", -90, 90), ("TRADE", -400, 0), ("FEE", -17, 0)];
        assert_eq!(bob.last_chunk(), Some(&expected));
        assert_eq!(statements.change(BOB, 3).unwrap().cause, Cause::Fee(order(4)));
    }

    #[test]
    fn what_changes_nothing_is_no_line_and_what_nothing_explains_is_a_fault() {
        let mut statements: Statements = opened();
        let effects = [deposited(ANN, 5).to_vec(), vec![says(ANN, 5, 0)]].concat();
        assert_eq!(fold(&mut statements, 2, &effects), 0);
        assert_eq!(statements.count(ANN), 1);
        assert_eq!(fold(&mut statements, 3, &[says(ANN, 6, 0)]), 1);
        assert_eq!(fold(&mut statements, 4, &deposited(UserNo(9), 1)), 1);
        assert_eq!(size_of::<Line>(), 48);
    }

    const YES: crate::exchange::catalogue::Outcome = crate::exchange::catalogue::Outcome::Yes;
}
