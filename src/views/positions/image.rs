//! Positions in the read model's image: open ones by user, the newest ended ones, and the results
//! of ended markets.

use super::ended::Ended;
use super::{End, PositionRow, Positions};
use crate::history::History;
use crate::history::stream::Streams;
use crate::image::{Sizes, hold};
use exchange::catalogue::Outcome;
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, read_count, room, write_count,
};
use exchange::units::Lots;

/// The winner; nothing for a voided market.
impl Imaged for End {
    fn write(&self, sink: &mut impl ImageSink) {
        match self {
            End::Settled(winner) => Some(*winner),
            End::Voided => None,
        }
        .write(sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        Ok(Option::<Outcome>::read(source)?.map_or(End::Voided, End::Settled))
    }
}

impl Positions {
    /// Writes every user's rows, and the results of ended markets by market number.
    pub(crate) fn write(&self, sink: &mut impl ImageSink) {
        // The index and the open interest follow from the rows; `settled` is empty between records.
        let Positions { users, index: _, ended, settled: _, ends, interest: _, changes } = self;
        changes.write(sink);
        for rows in users {
            write_count(rows.len(), sink);
            for row in rows {
                write_row(row, sink);
            }
        }
        ended.write(sink);
        let mut sorted: Vec<(&MarketNo, &End)> = ends.iter().collect();
        sorted.sort_unstable_by_key(|(market, _)| **market);
        write_count(sorted.len(), sink);
        for (market, end) in sorted {
            market.write(sink);
            end.write(sink);
        }
    }

    pub(crate) fn read(
        history: History,
        sizes: Sizes,
        source: &mut impl ImageSource,
    ) -> Result<Positions, BadImage> {
        let mut positions =
            Positions { changes: Imaged::read(source)?, ..Positions::on(history.clone()) };
        positions.interest.resize(sizes.markets, Lots::ZERO);
        for user in sizes.users() {
            let count = read_count(source)?;
            let mut rows = Vec::with_capacity(room::<PositionRow>(count, source));
            for index in 0..count {
                let row = read_row(user, source)?;
                sizes.has_market(row.market)?;
                row.copy_from.map_or(Ok(()), |user| sizes.has_user(user))?;
                hold(row.change <= positions.changes, "a position changed after the last change")?;
                let key = (user, row.market, row.outcome);
                let other = positions.set_index(key, Some(index));
                hold(other.is_none(), "two positions of one user in one outcome")?;
                let counted = positions.note_interest(key, Lots::ZERO, row.quantity);
                counted.map_err(|_| BadImage::Contradiction("too many contracts held"))?;
                rows.push(row);
            }
            positions.users.push(rows);
        }
        let (changes, mut user) = (positions.changes, sizes.users());
        positions.ended = Streams::read(history, sizes.users, source, |rows: &[Ended]| {
            let user = user.next();
            for Ended(row) in rows {
                hold(Some(row.user) == user, "a position among those of another")?;
                sizes.has_market(row.market)?;
                row.copy_from.map_or(Ok(()), |user| sizes.has_user(user))?;
                hold(row.change <= changes, "a position ended after the last change")?;
            }
            let rising = rows.is_sorted_by(|a, b| a.0.change < b.0.change);
            hold(rising, "ended positions out of order")
        })?;
        let mut before: Option<MarketNo> = None;
        for _ in 0..read_count(source)? {
            let market = MarketNo::read(source)?;
            sizes.has_market(market)?;
            hold(before.is_none_or(|before| before < market), "ends of markets out of order")?;
            before = Some(market);
            positions.ends.insert(market, End::read(source)?);
        }
        Ok(positions)
    }
}

fn write_row(row: &PositionRow, sink: &mut impl ImageSink) {
    let PositionRow {
        user: _,
        market,
        outcome,
        quantity,
        cost,
        realised,
        resolution: _,
        copy_from,
        updated_at,
        change,
    } = row;
    market.write(sink);
    outcome.write(sink);
    quantity.write(sink);
    cost.write(sink);
    realised.write(sink);
    copy_from.write(sink);
    updated_at.write(sink);
    change.write(sink);
}

fn read_row(user: UserNo, source: &mut impl ImageSource) -> Result<PositionRow, BadImage> {
    Ok(PositionRow {
        user,
        market: Imaged::read(source)?,
        outcome: Imaged::read(source)?,
        quantity: Imaged::read(source)?,
        cost: Imaged::read(source)?,
        realised: Imaged::read(source)?,
        resolution: None,
        copy_from: Imaged::read(source)?,
        updated_at: Imaged::read(source)?,
        change: Imaged::read(source)?,
    })
}
