//! Packing of activity rows.

use super::ActivityRow;
use crate::history::Kind;
use crate::history::chain::RowIndex;
use crate::history::pack::{
    RowBuffer, pack, pack_money, pack_time, unpack_money, unpack_time, unpack_u32,
};
use crate::history::stream::Row;
use crate::image::Refers;
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::{BadImage, Imaged};
use exchange::units::TimeMs;

impl Row for ActivityRow {
    type Base = TimeMs;

    const KIND: Kind = Kind::Activity;

    fn base(&self) -> TimeMs {
        self.time()
    }

    fn pack(&self, _: RowIndex, before: &TimeMs, sink: &mut RowBuffer) {
        match self {
            ActivityRow::Trade { outcome, stake, price, user, time } => {
                1_u8.write(sink);
                outcome.write(sink);
                pack_money(*stake, sink);
                price.write(sink);
                pack(u64::from(user.0), sink);
                pack_time(*before, *time, sink);
            }
            ActivityRow::Moved { from, to, time } => {
                2_u8.write(sink);
                from.write(sink);
                to.write(sink);
                pack_time(*before, *time, sink);
            }
        }
    }

    fn unpack(_: RowIndex, before: &TimeMs, source: &mut &[u8]) -> Result<Self, BadImage> {
        match u8::read(source)? {
            1 => Ok(ActivityRow::Trade {
                outcome: Imaged::read(source)?,
                stake: unpack_money(source)?,
                price: Imaged::read(source)?,
                user: UserNo(unpack_u32(source)?),
                time: unpack_time(*before, source)?,
            }),
            2 => Ok(ActivityRow::Moved {
                from: Imaged::read(source)?,
                to: Imaged::read(source)?,
                time: unpack_time(*before, source)?,
            }),
            _ => Err(BadImage::Value("ActivityRow")),
        }
    }
}

impl Refers for ActivityRow {
    type Owner = MarketNo;

    fn refers(&self) -> (Option<UserNo>, Option<MarketNo>) {
        match self {
            ActivityRow::Trade { user, .. } => (Some(*user), None),
            ActivityRow::Moved { .. } => (None, None),
        }
    }
}
