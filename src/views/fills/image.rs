//! Packing of fills, and fills in the read model's image.

use super::{Fill, FillRow, Fills, Liquidity};
use crate::history::chain::{Links, RowIndex};
use crate::history::pack::{
    RowBuffer, pack, pack_money, pack_sequence, pack_time, unpack, unpack_money, unpack_sequence,
    unpack_time, unpack_u32,
};
use crate::history::stream::{Row, Streams};
use crate::history::{History, Kind};
use crate::image::Sizes;
use exchange::catalogue::Outcome;
use exchange::command::{Side, Wording};
use exchange::ids::{MarketNo, OrderNo, TradeIndex};
use exchange::image::coding::{BadImage, ImageSink, ImageSource, Imaged};
use exchange::units::{Lots, Sequence, TimeMs};

/// Bits of the byte that holds outcome, side and liquidity.
const NO: u8 = 1;
const SOLD: u8 = 1 << 1;
const TOOK: u8 = 1 << 2;

impl Row for Fill {
    type Base = (Sequence, TimeMs);

    const KIND: Kind = Kind::Fills;

    fn base(&self) -> Self::Base {
        (self.row.sequence, self.row.time)
    }

    fn pack(&self, row_index: RowIndex, before: &Self::Base, sink: &mut RowBuffer) {
        let Fill { row, of_order, in_market } = self;
        let FillRow { index, order, placed, market, wording, .. } = row;
        let FillRow { price, quantity, liquidity, fee, time, sequence, .. } = row;
        pack_sequence(before.0, *sequence, sink);
        pack_time(before.1, *time, sink);
        pack(u64::from(index.0), sink);
        pack_sequence(*sequence, order.0, sink);
        pack_time(*time, *placed, sink);
        pack(u64::from(market.0), sink);
        let mut bits = if wording.outcome == Outcome::No { NO } else { 0 };
        bits |= if wording.side == Side::Sell { SOLD } else { 0 };
        bits |= if *liquidity == Liquidity::Taker { TOOK } else { 0 };
        bits.write(sink);
        price.write(sink);
        pack(quantity.get(), sink);
        pack_money(*fee, sink);
        of_order.pack(row_index, sink);
        in_market.pack(row_index, sink);
    }

    fn unpack(
        row_index: RowIndex,
        before: &Self::Base,
        source: &mut &[u8],
    ) -> Result<Self, BadImage> {
        let sequence = unpack_sequence(before.0, source)?;
        let time = unpack_time(before.1, source)?;
        let index = TradeIndex(unpack_u32(source)?);
        let order = OrderNo(unpack_sequence(sequence, source)?);
        let placed = unpack_time(time, source)?;
        let market = MarketNo(unpack_u32(source)?);
        let bits = u8::read(source)?;
        if bits > NO | SOLD | TOOK {
            return Err(BadImage::Value("fill"));
        }
        let wording = Wording {
            outcome: if bits & NO == 0 { Outcome::Yes } else { Outcome::No },
            side: if bits & SOLD == 0 { Side::Buy } else { Side::Sell },
        };
        let liquidity = if bits & TOOK == 0 { Liquidity::Maker } else { Liquidity::Taker };
        let price = Imaged::read(source)?;
        let quantity = Lots::new(unpack(source)?);
        let fee = unpack_money(source)?;
        let row = FillRow {
            index,
            order,
            placed,
            market,
            wording,
            price,
            quantity,
            liquidity,
            fee,
            time,
            sequence,
        };
        let of_order = Links::unpack(row_index, source)?;
        Ok(Fill { row, of_order, in_market: Links::unpack(row_index, source)? })
    }
}

impl Fills {
    /// Writes every user's newest fills.
    pub(crate) fn write(&self, sink: &mut impl ImageSink) {
        let Fills { users } = self;
        users.write(sink);
    }

    pub(crate) fn read(
        history: History,
        sizes: Sizes,
        source: &mut impl ImageSource,
    ) -> Result<Fills, BadImage> {
        let check =
            |fills: &[Fill]| fills.iter().try_for_each(|fill| sizes.has_market(fill.row.market));
        Ok(Fills { users: Streams::read(history, sizes.users, source, check)? })
    }
}
