//! Packing of activity rows.

use super::ActivityRow;
use crate::history::Kind;
use crate::history::chain::RowIndex;
use crate::history::onward::Made;
use crate::history::pack::Coder;
use crate::history::saved::Refers;
use crate::history::stream::Row;
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::BadImage;
use exchange::units::{Sequence, TimeMs};

impl Row for ActivityRow {
    type Base = (Sequence, TimeMs);

    const KIND: Kind = Kind::Activity;

    fn base(&self) -> Self::Base {
        self.made()
    }

    fn code(
        row: Option<&Self>,
        _: RowIndex,
        before: &Self::Base,
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
        let kind = coder.imaged::<u8>(kind)?;
        let sequence = coder.sequence(before.0, row.map(ActivityRow::sequence))?;
        let time = coder.time(before.1, row.map(ActivityRow::time))?;
        match kind {
            1 => Ok(ActivityRow::Trade {
                outcome: coder.imaged(trade.map(|trade| trade.0))?,
                stake: coder.money(trade.map(|trade| trade.1))?,
                price: coder.imaged(trade.map(|trade| trade.2))?,
                user: UserNo(coder.short(trade.map(|trade| trade.3.0))?),
                sequence,
                time,
            }),
            2 => Ok(ActivityRow::Moved {
                from: coder.imaged(moved.map(|moved| moved.0))?,
                to: coder.imaged(moved.map(|moved| moved.1))?,
                sequence,
                time,
            }),
            _ => Err(BadImage::Value("ActivityRow")),
        }
    }
}

impl Made for ActivityRow {
    fn made(&self) -> (Sequence, TimeMs) {
        (self.sequence(), self.time())
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
