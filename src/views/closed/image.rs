//! Closed positions in the read model's image: those in open markets, then the newest of ended
//! ones.

use super::{Closed, ClosedRow};
use crate::history::chain::RowIndex;
use crate::history::pack::Coder;
use crate::history::stream::{Row, Streams};
use crate::history::{History, Kind};
use crate::image::{Sizes, hold};
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, read_count, write_count,
};
use exchange::units::TimeMs;

imaged!(ClosedRow { market, outcome, realised, updated_at });

impl Row for ClosedRow {
    type Base = TimeMs;

    const KIND: Kind = Kind::Closed;

    fn base(&self) -> TimeMs {
        self.updated_at
    }

    fn code(
        row: Option<&Self>,
        _: RowIndex,
        before: &TimeMs,
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage> {
        Ok(ClosedRow {
            updated_at: coder.time(*before, row.map(|row| row.updated_at))?,
            market: coder.market(row.map(|row| row.market))?,
            outcome: coder.imaged(row.map(|row| row.outcome))?,
            realised: coder.sum(row.map(|row| row.realised))?,
        })
    }
}

impl Closed {
    /// Writes the rows in memory, by user and market, and every user's newest other rows.
    pub(crate) fn write(&self, sink: &mut impl ImageSink) {
        // By market follows from the rows.
        let Closed { live, by_market: _, ending, ended } = self;
        write_count(live.len(), sink);
        for ((user, _), row) in live {
            user.write(sink);
            row.write(sink);
        }
        write_count(ending.len(), sink);
        for (market, time) in ending {
            market.write(sink);
            time.write(sink);
        }
        ended.write(sink);
    }

    pub(crate) fn read(
        history: History,
        sizes: Sizes,
        source: &mut impl ImageSource,
    ) -> Result<Closed, BadImage> {
        let mut closed = Closed::on(history.clone());
        for _ in 0..read_count(source)? {
            let (user, row) = (UserNo::read(source)?, ClosedRow::read(source)?);
            sizes.has_user(user)?;
            sizes.has_market(row.market)?;
            let key = (user, row.market);
            let before = closed.live.last_key_value().map(|(before, _)| *before);
            hold(before.is_none_or(|before| before < key), "closed positions out of order")?;
            closed.live.insert(key, row);
            closed.by_market.insert((row.market, user));
        }
        for _ in 0..read_count(source)? {
            let (market, time) = (MarketNo::read(source)?, TimeMs::read(source)?);
            hold(closed.ending.iter().all(|(other, _)| *other != market), "two ends of a market")?;
            sizes.has_market(market)?;
            closed.ending.push_back((market, time));
        }
        let check = |rows: &[ClosedRow]| {
            rows.iter().try_for_each(|row| sizes.has_market(row.market))?;
            let rising = rows.is_sorted_by(|a, b| a.updated_at <= b.updated_at);
            hold(rising, "closed positions of ended markets out of order")
        };
        closed.ended = Streams::read(history, sizes.users, source, check)?;
        Ok(closed)
    }
}
