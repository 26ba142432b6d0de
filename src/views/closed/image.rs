//! Packing of closed positions.

use super::ClosedRow;
use crate::history::Kind;
use crate::history::chain::RowIndex;
use crate::history::pack::Coder;
use crate::history::saved::Refers;
use crate::history::stream::Row;
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::BadImage;
use exchange::units::TimeMs;

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

impl Refers for ClosedRow {
    type Owner = UserNo;

    fn refers(&self) -> (Option<UserNo>, Option<MarketNo>) {
        (None, Some(self.market))
    }
}
