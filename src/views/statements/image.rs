//! Packing of account changes.

use super::{Cause, Change, Subject};
use crate::accounts::Balance;
use crate::history::Kind;
use crate::history::chain::RowIndex;
use crate::history::pack::{
    RowBuffer, pack, pack_money, pack_sequence, pack_time, unpack_money, unpack_sequence,
    unpack_time, unpack_u32,
};
use crate::history::stream::Row;
use crate::image::Refers;
use exchange::ids::{EventNo, MarketNo, OrderNo, UserNo};
use exchange::image::coding::{BadImage, Imaged};
use exchange::units::{Money, Sequence, TimeMs};

/// The base that the next change is packed against.
#[derive(Debug, Clone, Copy, Default)]
pub struct Before {
    sequence: Sequence,
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

    fn pack(self, at: (Sequence, TimeMs), sink: &mut RowBuffer) {
        self.code().write(sink);
        if let Some(Subject { order, placed, market }) = self.subject() {
            pack_sequence(at.0, order.0, sink);
            pack_time(at.1, placed, sink);
            pack(u64::from(market.0), sink);
        }
        if let Some(market) = self.paying_market() {
            pack(u64::from(market.0), sink);
        }
        if let Some(event) = self.event() {
            pack(u64::from(event.0), sink);
        }
    }

    fn unpack(at: (Sequence, TimeMs), source: &mut &[u8]) -> Result<Self, BadImage> {
        let code = u8::read(source)?;
        let about = |source: &mut &[u8]| {
            Ok::<_, BadImage>(Subject {
                order: OrderNo(unpack_sequence(at.0, source)?),
                placed: unpack_time(at.1, source)?,
                market: MarketNo(unpack_u32(source)?),
            })
        };
        Ok(match code {
            1 => Cause::Deposited,
            2 => Cause::Withdrawn,
            3 => Cause::Reserved(about(source)?),
            4 => Cause::Released(about(source)?),
            5 => Cause::Amended(about(source)?),
            6 => Cause::Traded(about(source)?),
            7 => Cause::Merged(about(source)?),
            8 => Cause::Settled(MarketNo(unpack_u32(source)?)),
            9 => Cause::Voided(MarketNo(unpack_u32(source)?)),
            10 => Cause::Fee(about(source)?),
            11 => Cause::Converted(EventNo(unpack_u32(source)?)),
            12 => Cause::FeesTaken,
            _ => return Err(BadImage::Value("Cause")),
        })
    }
}

impl Row for Change {
    type Base = Before;

    const KIND: Kind = Kind::Changes;

    fn base(&self) -> Before {
        Before { sequence: self.sequence, time: self.time, after: self.after }
    }

    fn pack(&self, _: RowIndex, before: &Before, sink: &mut RowBuffer) {
        // The number follows from the row index, the balance before from the amounts.
        let Change { number: _, sequence, time, cause, available, reserved, after } = self;
        pack_sequence(before.sequence, *sequence, sink);
        pack_time(before.time, *time, sink);
        cause.pack((*sequence, *time), sink);
        pack_money(*available, sink);
        pack_money(*reserved, sink);
        pack_difference(before.after.available, *available, after.available, sink);
        pack_difference(before.after.reserved, *reserved, after.reserved, sink);
    }

    fn unpack(index: RowIndex, before: &Before, source: &mut &[u8]) -> Result<Self, BadImage> {
        let sequence = unpack_sequence(before.sequence, source)?;
        let time = unpack_time(before.time, source)?;
        let cause = Cause::unpack((sequence, time), source)?;
        let (available, reserved) = (unpack_money(source)?, unpack_money(source)?);
        let after = Balance {
            available: unpack_difference(before.after.available, available, source)?,
            reserved: unpack_difference(before.after.reserved, reserved, source)?,
        };
        let number = index.saturating_add(1);
        Ok(Change { number, sequence, time, cause, available, reserved, after })
    }
}

/// Packs an amount after a change as the difference to the expected one: zero, unless the row is
/// the first on its page.
fn pack_difference(before: Money, change: Money, after: Money, sink: &mut RowBuffer) {
    let expected = before.get().wrapping_add(change.get());
    pack_money(Money::new(after.get().wrapping_sub(expected)), sink);
}

fn unpack_difference(before: Money, change: Money, source: &mut &[u8]) -> Result<Money, BadImage> {
    let expected = before.get().wrapping_add(change.get());
    Ok(Money::new(expected.wrapping_add(unpack_money(source)?.get())))
}

impl Refers for Change {
    type Owner = UserNo;

    fn refers(&self) -> (Option<UserNo>, Option<MarketNo>) {
        let market = self.cause.subject().map(|subject| subject.market);
        (None, market.or(self.cause.paying_market()))
    }
}
