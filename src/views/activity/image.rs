//! Packing of activity rows, and activity in the read model's image.

use super::{Activity, ActivityRow};
use crate::history::chain::RowIndex;
use crate::history::pack::Coder;
use crate::history::stream::{Row, Streams};
use crate::history::{History, Kind};
use crate::image::Sizes;
use exchange::ids::UserNo;
use exchange::image::coding::{BadImage, ImageSink, ImageSource};
use exchange::units::TimeMs;

impl Row for ActivityRow {
    type Base = TimeMs;

    const KIND: Kind = Kind::Activity;

    fn base(&self) -> TimeMs {
        self.time()
    }

    fn code(
        row: Option<&Self>,
        _: RowIndex,
        before: &TimeMs,
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage> {
        let trade = row.and_then(|row| match *row {
            ActivityRow::Trade { outcome, stake, price, user, .. } => {
                Some((outcome, stake, price, user))
            }
            ActivityRow::Moved { .. } => None,
        });
        let moved = row.and_then(|row| match *row {
            ActivityRow::Moved { from, to, .. } => Some((from, to)),
            ActivityRow::Trade { .. } => None,
        });
        let kind = row.map(|_| if trade.is_some() { 1 } else { 2 });
        let time = row.map(ActivityRow::time);
        match coder.imaged::<u8>(kind)? {
            1 => Ok(ActivityRow::Trade {
                outcome: coder.imaged(trade.map(|trade| trade.0))?,
                stake: coder.money(trade.map(|trade| trade.1))?,
                price: coder.imaged(trade.map(|trade| trade.2))?,
                user: UserNo(coder.short(trade.map(|trade| trade.3.0))?),
                time: coder.time(*before, time)?,
            }),
            2 => Ok(ActivityRow::Moved {
                from: coder.imaged(moved.map(|moved| moved.0))?,
                to: coder.imaged(moved.map(|moved| moved.1))?,
                time: coder.time(*before, time)?,
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
