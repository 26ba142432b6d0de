//! Packing of account changes.

use super::{Cause, Change, Subject};
use crate::accounts::Balance;
use crate::history::Kind;
use crate::history::chain::RowIndex;
use crate::history::onward::Made;
use crate::history::pack::Coder;
use crate::history::saved::Refers;
use crate::history::stream::Row;
use exchange::ids::{EventNo, MarketNo, OrderNo, UserNo};
use exchange::image::coding::BadImage;
use exchange::units::{Money, Sequence, TimeMs};

/// The base that the next change is packed against.
#[derive(Debug, Clone, Copy, Default)]
pub struct Before {
    pub(super) sequence: Sequence,
    time: TimeMs,
    pub(super) after: Balance,
}

impl Cause {
    const fn code(self) -> u8 {
        match self {
            Cause::Deposited => 1,
            Cause::Withdrawn => 2,
            Cause::Reserved(_) => 3,
            Cause::Released(_) => 4,
            Cause::Amended(_) => 5,
            Cause::Traded(_) => 6,
            Cause::Merged(_) => 7,
            Cause::Settled(_) => 8,
            Cause::Voided(_) => 9,
            Cause::Fee(_) => 10,
            Cause::Converted(_) => 11,
            Cause::FeesTaken => 12,
        }
    }

    fn packed(
        cause: Option<Self>,
        at: (Sequence, TimeMs),
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage> {
        let subject = cause.and_then(Cause::subject);
        let about = |coder: &mut _| subject_of(subject, at, coder);
        let paying = cause.and_then(Cause::paying_market);
        Ok(match coder.imaged(cause.map(Cause::code))? {
            1_u8 => Cause::Deposited,
            2 => Cause::Withdrawn,
            3 => Cause::Reserved(about(coder)?),
            4 => Cause::Released(about(coder)?),
            5 => Cause::Amended(about(coder)?),
            6 => Cause::Traded(about(coder)?),
            7 => Cause::Merged(about(coder)?),
            8 => Cause::Settled(coder.market(paying)?),
            9 => Cause::Voided(coder.market(paying)?),
            10 => Cause::Fee(about(coder)?),
            11 => {
                let event = cause.and_then(Cause::event);
                Cause::Converted(EventNo(coder.short(event.map(|event| event.0))?))
            }
            12 => Cause::FeesTaken,
            _ => return Err(BadImage::Value("Cause")),
        })
    }
}

fn subject_of(
    subject: Option<Subject>,
    at: (Sequence, TimeMs),
    coder: &mut impl Coder,
) -> Result<Subject, BadImage> {
    Ok(Subject {
        order: OrderNo(coder.sequence(at.0, subject.map(|subject| subject.order.0))?),
        placed: coder.time(at.1, subject.map(|subject| subject.placed))?,
        market: coder.market(subject.map(|subject| subject.market))?,
    })
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
        (None, market.or(self.cause.paying_market()))
    }
}
