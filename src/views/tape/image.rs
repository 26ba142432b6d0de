//! Trades and candles in the read model's image: by market, oldest first.

use super::candles::{Candle, Done, Prices, Series};
use super::{MarketTape, Tape, TradeRow};
use crate::history::chain::RowIndex;
use crate::history::pack::Coder;
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
