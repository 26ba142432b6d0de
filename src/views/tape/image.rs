//! Packing of trades and candles.

use super::TradeRow;
use super::candles::{Candle, Done, Prices};
use crate::history::Kind;
use crate::history::chain::RowIndex;
use crate::history::pack::{
    RowBuffer, pack, pack_from, pack_sequence, pack_time, pack_wide, unpack, unpack_from,
    unpack_sequence, unpack_time, unpack_u32, unpack_wide,
};
use crate::history::stream::Row;
use crate::image::Refers;
use exchange::ids::{MarketNo, TradeIndex, UserNo};
use exchange::image::coding::{BadImage, Imaged};
use exchange::units::{Lots, LotsSum, Sequence, TimeMs};

impl Row for TradeRow {
    type Base = (Sequence, TimeMs);

    const KIND: Kind = Kind::Trades;

    fn base(&self) -> Self::Base {
        (self.sequence, self.time)
    }

    fn pack(&self, _: RowIndex, before: &Self::Base, sink: &mut RowBuffer) {
        let TradeRow { quantity, time, sequence, index, price, taker } = self;
        pack_sequence(before.0, *sequence, sink);
        pack_time(before.1, *time, sink);
        pack(u64::from(index.0), sink);
        price.write(sink);
        taker.write(sink);
        pack(quantity.get(), sink);
    }

    fn unpack(_: RowIndex, before: &Self::Base, source: &mut &[u8]) -> Result<Self, BadImage> {
        Ok(TradeRow {
            sequence: unpack_sequence(before.0, source)?,
            time: unpack_time(before.1, source)?,
            index: TradeIndex(unpack_u32(source)?),
            price: Imaged::read(source)?,
            taker: Imaged::read(source)?,
            quantity: Lots::new(unpack(source)?),
        })
    }
}

/// The base that the next candle is packed against.
#[derive(Debug, Clone, Copy, Default)]
pub struct Before {
    start: TimeMs,
    through: LotsSum,
    interest: Lots,
}

impl<const MINUTES: bool> Row for Done<MINUTES> {
    type Base = Before;

    const KIND: Kind = if MINUTES { Kind::Minutes } else { Kind::Hours };

    fn base(&self) -> Before {
        let Candle { start, through, interest, .. } = self.0;
        Before { start, through, interest }
    }

    fn pack(&self, _: RowIndex, before: &Before, sink: &mut RowBuffer) {
        let Candle { start, prices, trades, through, interest } = self.0;
        pack_time(before.start, start, sink);
        let Prices { open, high, low, close } = prices;
        for price in [open, high, low, close] {
            price.write(sink);
        }
        pack(u64::from(trades), sink);
        pack_wide(through.get().wrapping_sub(before.through.get()), sink);
        pack_from(before.interest.get(), interest.get(), sink);
    }

    fn unpack(_: RowIndex, before: &Before, source: &mut &[u8]) -> Result<Self, BadImage> {
        Ok(Done(Candle {
            start: unpack_time(before.start, source)?,
            prices: Prices {
                open: Imaged::read(source)?,
                high: Imaged::read(source)?,
                low: Imaged::read(source)?,
                close: Imaged::read(source)?,
            },
            trades: unpack_u32(source)?,
            through: LotsSum::new(before.through.get().wrapping_add(unpack_wide(source)?)),
            interest: Lots::new(unpack_from(before.interest.get(), source)?),
        }))
    }
}

impl Refers for TradeRow {
    type Owner = MarketNo;

    fn refers(&self) -> (Option<UserNo>, Option<MarketNo>) {
        (None, None)
    }
}
