//! Fills in the read model's image: user by user, oldest first.

use super::{FillRow, Fills, Liquidity};
use crate::exchange::ids::{TradeId, TradeIndex};
use crate::exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged_choice, read_count, room,
};
use crate::projection::image::{Sizes, hold};

imaged_choice!(Liquidity { Maker = 1, Taker = 2 });

impl Imaged for FillRow {
    #[inline]
    fn write(&self, sink: &mut impl ImageSink) {
        let FillRow { id, order, market, wording, price, quantity, liquidity, time, sequence } =
            self;
        // The rest of the id is the time and the sequence.
        id.index().write(sink);
        order.write(sink);
        market.write(sink);
        wording.write(sink);
        price.write(sink);
        quantity.write(sink);
        liquidity.write(sink);
        time.write(sink);
        sequence.write(sink);
    }

    #[inline]
    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let index = TradeIndex::read(source)?;
        let order = Imaged::read(source)?;
        let market = Imaged::read(source)?;
        let wording = Imaged::read(source)?;
        let price = Imaged::read(source)?;
        let quantity = Imaged::read(source)?;
        let liquidity = Imaged::read(source)?;
        let time = Imaged::read(source)?;
        let sequence = Imaged::read(source)?;
        let id = TradeId::of(time, sequence, index);
        hold(id.index() == index, "a trade with an index that ids cannot hold")?;
        Ok(FillRow { id, order, market, wording, price, quantity, liquidity, time, sequence })
    }
}

impl Fills {
    /// Writes every user's fills.
    pub(in crate::projection) fn write(&self, sink: &mut impl ImageSink) {
        // Markets and orders find their rows by what the rows say.
        let Fills { of, by_market: _, by_order: _ } = self;
        for rows in of {
            rows.write(sink);
        }
    }

    /// Reads them, of about as many orders as were filled.
    pub(in crate::projection) fn read(
        sizes: Sizes,
        orders_filled: usize,
        source: &mut impl ImageSource,
    ) -> Result<Fills, BadImage> {
        let mut fills = Fills::default();
        fills.by_order.reserve(orders_filled);
        for user in sizes.users() {
            fills.add_user();
            let count = read_count(source)?;
            if let Some(rows) = fills.of.last_mut() {
                rows.reserve(room::<FillRow>(count, source));
            }
            for _ in 0..count {
                let fill = FillRow::read(source)?;
                sizes.has_market(fill.market)?;
                let added = fills.add(user, fill);
                added.map_err(|_| BadImage::Contradiction("too many fills"))?;
            }
        }
        Ok(fills)
    }
}
