//! Each account's statement: every change of its money with its cause.
//!
//! Effects carry an account's balance after a change, so a line is the difference to the one
//! before; its cause is what else the record did for the same user. No trading rule is repeated
//! here: money that moves between available and reserved was reserved or released, and money that
//! enters or leaves the account did so by the record's trade, payout or transfer.
use crate::history::onward::Made;

use super::accounts::Balance;
pub use super::causes::{Cause, Subject};
use super::fault::{Fault, Faults};
use super::history::chain::{RowIndex, length};
use super::history::stream::{Newest, Row, Streams};
use super::history::{Coder, History, Kind, Refers};
use super::saved::saved;
use exchange::effect::{Applied, Effect};
use exchange::ids::{MarketNo, OrderNo, UserNo};
use exchange::image::coding::BadImage;
use exchange::market::MarketStatus;
use exchange::units::{Money, Sequence, TimeMs};

/// One change of an account's money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// Number of the change in its account, from 1.
    pub number: u64,
    /// The record that made it.
    pub sequence: Sequence,
    /// When.
    pub time: TimeMs,
    /// Why.
    pub cause: Cause,
    /// Change of the available money.
    pub available: Money,
    /// Change of the money reserved for resting orders.
    pub reserved: Money,
    /// The balance after it.
    pub after: Balance,
}

/// Every account's changes.
#[derive(Debug, Default)]
pub struct Statements {
    users: Streams<Change>,
    /// Those of the latest record, by account, readable from memory until the next record.
    just_added: Vec<(UserNo, Change)>,
}

saved!(Statements { users } made { just_added });

/// Why an account changed. `None` means that no such change is expected.
#[derive(Debug, Clone, Copy, Default)]
struct Why {
    /// Cause of a move between available and reserved.
    inside: Option<Cause>,
    /// Cause of money entering or leaving the account.
    outside: Option<Cause>,
    /// Fees included in the money that left, and their cause.
    fee: (Money, Option<Cause>),
}

/// No fees.
const NO_FEE: (Money, Option<Cause>) = (Money::ZERO, None);

/// The order that the current record places or amends. Its owner's lines are added at the end of
/// the record, for all its effects together.
#[derive(Debug, Clone, Copy)]
struct Incoming {
    user: UserNo,
    order: Subject,
    amended: bool,
    traded: bool,
    /// The fees of its trades.
    fees: Money,
    /// The latest balance, if the record gave one.
    balance: Option<Balance>,
}

impl Statements {
    /// No changes yet; pages go to `history`.
    pub(super) const fn on(history: History) -> Statements {
        Statements { users: Streams::on(history), just_added: Vec::new() }
    }

    /// How many changes an account has had. O(1).
    pub fn count(&self, user: UserNo) -> usize {
        length(self.users.count(user.0))
    }

    /// The record of an account's last change. O(1).
    pub fn last(&self, user: UserNo) -> Sequence {
        self.users.base(user.0).map_or(Sequence::ZERO, |base| base.sequence)
    }

    /// An account's changes, newest first.
    pub fn of(&self, user: UserNo) -> Newest<Change> {
        self.users.pages(user.0).newest_first()
    }

    /// The changes that the latest record made, in their order, each with its account.
    pub fn just_added(&self) -> &[(UserNo, Change)] {
        &self.just_added
    }

    /// The balance after the account's last change.
    fn before(&self, user: UserNo) -> Result<Balance, Fault> {
        let base = self.users.base(user.0).ok_or(Fault::UnknownUser(user))?;
        Ok(base.after)
    }

    /// Adds the lines that lead to the balance `now`: the move between available and reserved, then
    /// money in or out, then fees, each with its cause.
    fn add_changes(
        &mut self,
        at: &Applied<'_>,
        (user, now): (UserNo, Balance),
        why: Why,
    ) -> Result<(), Fault> {
        let Why { inside, outside, fee: (fee, fee_cause) } = why;
        if fee != Money::ZERO {
            let besides = Balance { available: now.available.plus(fee)?, ..now };
            self.add_changes(at, (user, besides), Why { fee: NO_FEE, ..why })?;
            return self.add_changes(at, (user, now), Why { outside: fee_cause, ..Why::default() });
        }
        let before = self.before(user)?;
        if before == now {
            return Ok(());
        }
        let mut before_line = before;
        let Statements { users, just_added } = self;
        let mut add = |cause: Option<Cause>, after: Balance| {
            let cause = cause.ok_or(Fault::UnexplainedMoney(user))?;
            let number = users.count(user.0).saturating_add(1);
            let change = Change {
                number,
                sequence: at.sequence,
                time: at.time,
                cause,
                available: after.available.minus(before_line.available)?,
                reserved: after.reserved.minus(before_line.reserved)?,
                after,
            };
            before_line = after;
            just_added.push((user, change));
            users.push(user.0, &change, Fault::UnknownUser(user)).map(drop)
        };
        // One cause for both: a single line for both parts of the account.
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

    /// Adds the lines of the owner of the record's own order.
    fn conclude(&mut self, at: &Applied<'_>, incoming: Incoming) -> Result<(), Fault> {
        let Incoming { user, order, amended, traded, fees, balance } = incoming;
        let Some(now) = balance else { return Ok(()) };
        let before = self.before(user)?.reserved;
        let inside = match (amended, now.reserved < before) {
            (true, _) => Cause::Amended(order),
            (false, false) => Cause::Reserved(order),
            // Only resting orders of the same owner, cancelled by the record, can have released it.
            (false, true) => Cause::Released(order),
        };
        let outside = if traded { Cause::Traded(order) } else { Cause::Merged(order) };
        let fee = (fees, Some(Cause::Fee(order)));
        self.add_changes(at, (user, now), Why { inside: Some(inside), outside: Some(outside), fee })
    }
}

impl Statements {
    /// Folds one record's effects; `placed` has, for each effect that amends, matches or cancels an
    /// order, when that order was placed.
    pub(super) fn fold(
        &mut self,
        applied: &Applied<'_>,
        placed: &[Option<TimeMs>],
        faults: &mut Faults,
    ) {
        self.just_added.clear();
        let mut folding = Folding::default();
        let mut placed = placed.iter().copied();
        for effect in applied.effects {
            let placed = match effect {
                Effect::OrderAmended { .. }
                | Effect::TradeMade(_)
                | Effect::OrderCancelled { .. } => placed.next().flatten(),
                _ => None,
            };
            faults.check(self.fold_effect(applied, effect, placed, &mut folding));
        }
        if let Some(incoming) = folding.incoming {
            faults.check(self.conclude(applied, incoming));
        }
    }

    fn fold_effect(
        &mut self,
        at: &Applied<'_>,
        effect: &Effect,
        placed: Option<TimeMs>,
        folding: &mut Folding,
    ) -> Result<(), Fault> {
        let subject = |order: OrderNo, market| {
            let placed = placed.ok_or(Fault::UnknownOrder(order));
            placed.map(|placed| Subject { order, placed, market })
        };
        let Folding { incoming, why, voided } = folding;
        match effect {
            Effect::UserCreated { user, .. } => return self.users.add_owner(user.index()),
            Effect::Deposited { .. } => *why = both(Cause::Deposited),
            Effect::Withdrawn { .. } => *why = both(Cause::Withdrawn),
            Effect::TransferAsked { .. } => *why = both(Cause::WithdrawalHeld),
            Effect::TransferEnded { .. } => *why = both(Cause::WithdrawalFreed),
            Effect::DisputeFiled { market, .. } => *why = both(Cause::BondHeld(*market)),
            Effect::DisputeEnded { market, right: true, .. } => {
                *why = both(Cause::BondFreed(*market));
            }
            Effect::DisputeEnded { market, .. } => *why = both(Cause::BondLost(*market)),
            Effect::FeesTaken { .. } => *why = both(Cause::FeesTaken),
            Effect::OrderAccepted { order, terms } => {
                let order = Subject { order: *order, placed: at.time, market: terms.market };
                *incoming = Some(Incoming::new(terms.user, order, false));
            }
            Effect::OrderAmended { order, user, market, .. } => {
                *incoming = Some(Incoming::new(*user, subject(*order, *market)?, true));
            }
            Effect::TradeMade(trade) => {
                if let Some(incoming) = incoming {
                    incoming.traded = true;
                    incoming.fees = incoming.fees.plus(trade.taker.fee)?;
                }
                let maker = subject(trade.maker.order, trade.market)?;
                *why = Why {
                    fee: (trade.maker.fee, Some(Cause::Fee(maker))),
                    ..both(Cause::Traded(maker))
                };
            }
            Effect::OrderCancelled { order, market, .. } => {
                let order = subject(*order, *market)?;
                let (inside, outside) = (Cause::Released(order), Cause::Merged(order));
                *why = Why { inside: Some(inside), outside: Some(outside), fee: NO_FEE };
            }
            Effect::Converted { event, .. } => *why = both(Cause::Converted(*event)),
            Effect::MarketMoved { to, .. } => *voided = *to == MarketStatus::Voided,
            Effect::MarketPays { voided: by_void, .. } => *voided = *by_void,
            Effect::PositionSettled { market, .. } => {
                *why = both(if *voided { Cause::Voided(*market) } else { Cause::Settled(*market) });
            }
            Effect::AccountChanged { user, available, reserved } => {
                let now = Balance { available: *available, reserved: *reserved };
                let why = std::mem::take(why);
                match incoming {
                    Some(incoming) if incoming.user == *user => incoming.balance = Some(now),
                    _ => self.add_changes(at, (*user, now), why)?,
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// State while a record is folded.
#[derive(Debug, Default)]
struct Folding {
    incoming: Option<Incoming>,
    /// Cause of the next `AccountChanged`.
    why: Why,
    voided: bool,
}

impl Incoming {
    const fn new(user: UserNo, order: Subject, amended: bool) -> Incoming {
        Incoming { user, order, amended, traded: false, fees: Money::ZERO, balance: None }
    }
}

const fn both(cause: Cause) -> Why {
    Why { inside: Some(cause), outside: Some(cause), fee: NO_FEE }
}

// Packing of account changes.

/// The base that the next change is packed against.
#[derive(Debug, Clone, Copy, Default)]
pub struct Before {
    sequence: Sequence,
    time: TimeMs,
    after: Balance,
}

impl Row for Change {
    type Base = Before;

    const KIND: Kind = Kind::Changes;

    fn base(&self) -> Before {
        Before { sequence: self.sequence, time: self.time, after: self.after }
    }

    fn code(
        row: Option<&Self>,
        index: RowIndex,
        before: &Before,
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage> {
        // The number follows from the row index, the balance before from the amounts.
        let sequence = coder.sequence(before.sequence, row.map(|row| row.sequence))?;
        let time = coder.time(before.time, row.map(|row| row.time))?;
        let cause = Cause::packed(row.map(|row| row.cause), (sequence, time), coder)?;
        let available = coder.money(row.map(|row| row.available))?;
        let reserved = coder.money(row.map(|row| row.reserved))?;
        let Balance { available: had, reserved: had_reserved } = before.after;
        let now = row.map(|row| row.after);
        let after = Balance {
            available: expected(had, available, now.map(|now| now.available), coder)?,
            reserved: expected(had_reserved, reserved, now.map(|now| now.reserved), coder)?,
        };
        let number = index.saturating_add(1);
        Ok(Change { number, sequence, time, cause, available, reserved, after })
    }
}

/// An amount after a change as the difference to the expected one: zero, unless the row is the
/// first on its page.
fn expected(
    before: Money,
    change: Money,
    after: Option<Money>,
    coder: &mut impl Coder,
) -> Result<Money, BadImage> {
    let expected = before.get().wrapping_add(change.get());
    let further = after.map(|after| Money::new(after.get().wrapping_sub(expected)));
    Ok(Money::new(expected.wrapping_add(coder.money(further)?.get())))
}

impl Made for Change {
    fn made(&self) -> (Sequence, TimeMs) {
        (self.sequence, self.time)
    }
}

impl Refers for Change {
    type Owner = UserNo;

    fn refers(&self) -> (Option<UserNo>, Option<MarketNo>) {
        let market = self.cause.subject().map(|subject| subject.market);
        (None, market.or(self.cause.ending_market()))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/statements.rs"]
mod tests;
