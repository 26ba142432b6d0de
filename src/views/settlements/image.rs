//! Packing of settlements.

use super::SettlementRow;
use crate::history::Kind;
use crate::history::chain::RowIndex;
use crate::history::pack::Coder;
use crate::history::saved::Refers;
use crate::history::stream::Row;
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::BadImage;
use exchange::units::{Sequence, TimeMs};

impl Row for SettlementRow {
    type Base = (Sequence, TimeMs);

    const KIND: Kind = Kind::Settlements;

    fn base(&self) -> Self::Base {
        (self.sequence, self.time)
    }

    fn code(
        row: Option<&Self>,
        _: RowIndex,
        before: &Self::Base,
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage> {
        Ok(SettlementRow {
            sequence: coder.sequence(before.0, row.map(|row| row.sequence))?,
            time: coder.time(before.1, row.map(|row| row.time))?,
            market: coder.market(row.map(|row| row.market))?,
            outcome: coder.imaged(row.map(|row| row.outcome))?,
            quantity: coder.lots(row.map(|row| row.quantity))?,
            payout: coder.money(row.map(|row| row.payout))?,
            realised: coder.sum(row.map(|row| row.realised))?,
        })
    }
}

impl Refers for SettlementRow {
    type Owner = UserNo;

    fn refers(&self) -> (Option<UserNo>, Option<MarketNo>) {
        (None, Some(self.market))
    }
}
