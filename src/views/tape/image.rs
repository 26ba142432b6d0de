//! Packing of trades and candles.

use super::TradeRow;
use super::candles::{Candle, Done, Prices};
use crate::history::chain::RowIndex;
use crate::history::onward::Made;
use crate::history::stream::Row;
use crate::history::{Coder, Kind, Refers};
use exchange::ids::{MarketNo, TradeIndex, UserNo};
use exchange::image::coding::{BadImage, ImageSink, ImageSource, Imaged, imaged};
use exchange::units::{Lots, LotsSum, Sequence, TimeMs};

imaged!(Prices { open, high, low, close });

impl Row for TradeRow {
    type Base = (Sequence, TimeMs);

    const KIND: Kind = Kind::Trades;

    fn base(&self) -> Self::Base {
        self.made()
    }

    fn code(
        row: Option<&Self>,
        _: RowIndex,
        before: &Self::Base,
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage> {
        Ok(TradeRow {
            sequence: coder.sequence(before.0, row.map(|row| row.sequence))?,
            time: coder.time(before.1, row.map(|row| row.time))?,
            index: TradeIndex(coder.short(row.map(|row| row.index.0))?),
            price: coder.imaged(row.map(|row| row.price))?,
            taker: coder.imaged(row.map(|row| row.taker))?,
            quantity: coder.lots(row.map(|row| row.quantity))?,
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

    fn code(
        row: Option<&Self>,
        _: RowIndex,
        before: &Before,
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage> {
        let candle = row.map(|row| row.0);
        let start = coder.time(before.start, candle.map(|candle| candle.start))?;
        let prices = coder.imaged(candle.map(|candle| candle.prices))?;
        let trades = coder.short(candle.map(|candle| candle.trades))?;
        let through = before.through.get();
        let further = candle.map(|candle| candle.through.get().wrapping_sub(through));
        let through = LotsSum::new(through.wrapping_add(coder.wide(further)?));
        let interest = candle.map(|candle| candle.interest.get());
        let interest = Lots::new(coder.from(before.interest.get(), interest)?);
        Ok(Done(Candle { start, prices, trades, through, interest }))
    }
}

impl Made for TradeRow {
    fn made(&self) -> (Sequence, TimeMs) {
        (self.sequence, self.time)
    }
}

impl Refers for TradeRow {
    type Owner = MarketNo;

    fn refers(&self) -> (Option<UserNo>, Option<MarketNo>) {
        (None, None)
    }
}
