//! Settlements in the read model's image: user by user, oldest first.

use super::{SettlementRow, Settlements};
use crate::exchange::image::coding::{BadImage, ImageSink, ImageSource, Imaged, imaged};
use crate::projection::image::Sizes;

imaged!(SettlementRow { market, outcome, quantity, payout, realised, time, sequence });

impl Settlements {
    /// Writes every user's rows.
    pub(in crate::projection) fn write(&self, sink: &mut impl ImageSink) {
        let Settlements { users } = self;
        for rows in users {
            rows.write(sink);
        }
    }

    /// Reads them.
    pub(in crate::projection) fn read(
        sizes: Sizes,
        source: &mut impl ImageSource,
    ) -> Result<Settlements, BadImage> {
        let mut settlements = Settlements::default();
        for _ in 0..sizes.users {
            let rows: Vec<SettlementRow> = Imaged::read(source)?;
            for row in &rows {
                sizes.has_market(row.market)?;
            }
            settlements.users.push(rows);
        }
        Ok(settlements)
    }
}
