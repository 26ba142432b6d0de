//! Packing of activity rows, and activity in the read model's image.

use super::{Activity, ActivityRow};
use crate::history::chain::RowIndex;
use crate::history::pack::{
    RowBuffer, pack, pack_money, pack_time, unpack_money, unpack_time, unpack_u32,
};
use crate::history::stream::{Row, Streams};
use crate::history::{History, Kind};
use crate::image::Sizes;
use exchange::ids::UserNo;
use exchange::image::coding::{BadImage, ImageSink, ImageSource, Imaged};
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

impl Activity {
    /// Writes every market's newest rows.
    pub(crate) fn write(&self, sink: &mut impl ImageSink) {
        let Activity { markets } = self;
        markets.write(sink);
    }

    pub(crate) fn read(
        history: History,
        sizes: Sizes,
        source: &mut impl ImageSource,
    ) -> Result<Activity, BadImage> {
        let check = |rows: &[ActivityRow]| {
            rows.iter().try_for_each(|row| match row {
                ActivityRow::Trade { user, .. } => sizes.has_user(*user),
                ActivityRow::Moved { .. } => Ok(()),
            })
        };
        let markets = Streams::read(history, sizes.markets, source, check)?;
        Ok(Activity { markets })
    }
}
