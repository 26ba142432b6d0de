//! Trades and candles in the read model's image: market by market, oldest first.

use super::candles::{Candle, Interval, Prices, Series};
use super::{MarketTape, Tape, TradeRow};
use crate::exchange::command::Direction;
use crate::exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, imaged_choice,
};
use crate::projection::image::{Sizes, hold};

imaged_choice!(Direction { Up = 1, Down = 2 });
imaged!(TradeRow { quantity, time, sequence, index, price, taker });
imaged!(Prices { open, high, low, close });
imaged!(Candle { start, prices, trades, through, interest });

impl Tape {
    /// Writes every market's trades and minutes.
    pub(in crate::projection) fn write(&self, sink: &mut impl ImageSink) {
        let Tape { markets } = self;
        for market in markets {
            // Hours are made of minutes.
            let MarketTape { trades, minutes, hours: _ } = market;
            trades.write(sink);
            minutes.0.write(sink);
        }
    }

    /// Reads them.
    pub(in crate::projection) fn read(
        sizes: Sizes,
        source: &mut impl ImageSource,
    ) -> Result<Tape, BadImage> {
        let mut tape = Tape::default();
        for _ in 0..sizes.markets {
            let trades: Vec<TradeRow> = Imaged::read(source)?;
            hold(trades.is_sorted_by(|a, b| a.sequence <= b.sequence), "trades out of order")?;
            let minutes = Series(Imaged::read(source)?);
            let rising = |a: &Candle, b: &Candle| a.start < b.start && a.through <= b.through;
            hold(minutes.0.is_sorted_by(rising), "candles out of order")?;
            let begins = |candle: &Candle| Interval::Minute.start(candle.start) == candle.start;
            hold(minutes.0.iter().all(begins), "a candle that begins within a minute")?;
            let mut hours = Series::default();
            for minute in &minutes.0 {
                hours.take(Interval::Hour, minute);
            }
            tape.markets.push(MarketTape { trades, minutes, hours });
        }
        Ok(tape)
    }
}
