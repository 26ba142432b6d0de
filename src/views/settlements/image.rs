//! Packing of settlements, and settlements in the read model's image.

use super::{SettlementRow, Settlements};
use crate::history::chain::RowIndex;
use crate::history::pack::Coder;
use crate::history::stream::{Row, Streams};
use crate::history::{History, Kind};
use crate::image::Sizes;
use exchange::image::coding::{BadImage, ImageSink, ImageSource};
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

impl Settlements {
    /// Writes every user's newest rows.
    pub(crate) fn write(&self, sink: &mut impl ImageSink) {
        let Settlements { users } = self;
        users.write(sink);
    }

    pub(crate) fn read(
        history: History,
        sizes: Sizes,
        source: &mut impl ImageSource,
    ) -> Result<Settlements, BadImage> {
        let check =
            |rows: &[SettlementRow]| rows.iter().try_for_each(|row| sizes.has_market(row.market));
        Ok(Settlements { users: Streams::read(history, sizes.users, source, check)? })
    }
}
