//! Trades and candles in the read model's image: by market, oldest first.

use super::candles::{Candle, Done, Prices, Series};
use super::{MarketTape, Tape, TradeRow};
use crate::history::chain::RowIndex;
use crate::history::pack::{
    RowBuffer, pack, pack_from, pack_sequence, pack_time, pack_wide, unpack, unpack_from,
    unpack_sequence, unpack_time, unpack_u32, unpack_wide,
};
use crate::history::stream::{Row, Streams, Tail};
use crate::history::{History, Kind};
use crate::image::{Sizes, hold};
use exchange::ids::TradeIndex;
use exchange::image::coding::{BadImage, ImageSink, ImageSource, Imaged, imaged};
use exchange::units::{Lots, LotsSum, Sequence, TimeMs};

imaged!(Prices { open, high, low, close });
imaged!(Candle { start, prices, trades, through, interest });

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
        prices.write(sink);
        pack(u64::from(trades), sink);
        pack_wide(through.get().wrapping_sub(before.through.get()), sink);
        pack_from(before.interest.get(), interest.get(), sink);
    }

    fn unpack(_: RowIndex, before: &Before, source: &mut &[u8]) -> Result<Self, BadImage> {
        Ok(Done(Candle {
            start: unpack_time(before.start, source)?,
            prices: Imaged::read(source)?,
            trades: unpack_u32(source)?,
            through: LotsSum::new(before.through.get().wrapping_add(unpack_wide(source)?)),
            interest: Lots::new(unpack_from(before.interest.get(), source)?),
        }))
    }
}

impl Tape {
    /// Writes every market's newest trades and candles.
    pub(crate) fn write(&self, sink: &mut impl ImageSink) {
        let Tape { history: _, trades, markets } = self;
        trades.write(sink);
        for market in markets {
            market.is_some().write(sink);
            if let Some(MarketTape { minutes, hours }) = market.as_deref() {
                minutes.write(sink);
                hours.write(sink);
            }
        }
    }

    pub(crate) fn read(
        history: History,
        sizes: Sizes,
        source: &mut impl ImageSource,
    ) -> Result<Tape, BadImage> {
        let check = |trades: &[TradeRow]| {
            hold(trades.is_sorted_by(|a, b| a.sequence <= b.sequence), "trades out of order")
        };
        let rows = history.rows_per_page();
        let trades = Streams::read(history.clone(), sizes.markets, source, check)?;
        let mut tape = Tape { trades, ..Tape::on(history) };
        for _ in 0..sizes.markets {
            let market = bool::read(source)?.then(|| {
                let (minutes, hours) = (Series::read(rows, source)?, Series::read(rows, source)?);
                hold(minutes.volume() == hours.volume(), "hours that are not those of minutes")?;
                Ok::<_, BadImage>(Box::new(MarketTape { minutes, hours }))
            });
            tape.markets.push(market.transpose()?);
        }
        Ok(tape)
    }
}

impl<const MINUTES: bool> Series<MINUTES> {
    fn write(&self, sink: &mut impl ImageSink) {
        let Series { done, last } = self;
        done.write(sink);
        // A series exists only with at least one candle.
        if let Some(last) = last {
            last.write(sink);
        }
    }

    fn read(rows: RowIndex, source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let (done, kept): (Tail<Done<MINUTES>>, Vec<_>) = Tail::read(rows, source)?;
        let last = Candle::read(source)?;
        let all: Vec<Candle> = kept.into_iter().map(|done| done.0).chain([last]).collect();
        let rising = |a: &Candle, b: &Candle| a.start < b.start && a.through <= b.through;
        hold(all.is_sorted_by(rising), "candles out of order")?;
        let begins = |candle: &Candle| Self::INTERVAL.start(candle.start) == candle.start;
        hold(all.iter().all(begins), "a candle that begins within an interval")?;
        Ok(Series { done, last: Some(last) })
    }
}
