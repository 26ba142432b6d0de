//! Trades and candles in the read model's image: market by market, oldest first.

use super::candles::{Candle, Interval, Prices, Series};
use super::{MarketTape, Tape, TradeRow};
use crate::exchange::command::Direction;
use crate::exchange::ids::TradeIndex;
use crate::exchange::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, imaged, imaged_choice,
};
use crate::exchange::units::{Lots, Sequence, TimeMs};
use crate::projection::history::chain::Place;
use crate::projection::history::pack::{
    pack, pack_sequence, pack_time, unpack, unpack_sequence, unpack_time, unpack_u32,
};
use crate::projection::history::stream::{Row, Streams};
use crate::projection::history::{History, Kind};
use crate::projection::image::{Sizes, hold};

imaged_choice!(Direction { Up = 1, Down = 2 });
imaged!(Prices { open, high, low, close });
imaged!(Candle { start, prices, trades, through, interest });

impl Row for TradeRow {
    type Base = (Sequence, TimeMs);

    const KIND: Kind = Kind::Trades;

    fn base(&self) -> Self::Base {
        (self.sequence, self.time)
    }

    fn pack(&self, _: Place, before: &Self::Base, sink: &mut Vec<u8>) {
        let TradeRow { quantity, time, sequence, index, price, taker } = self;
        pack_sequence(before.0, *sequence, sink);
        pack_time(before.1, *time, sink);
        pack(u64::from(index.0), sink);
        price.write(sink);
        taker.write(sink);
        pack(quantity.get(), sink);
    }

    fn unpack(_: Place, before: &Self::Base, source: &mut &[u8]) -> Result<Self, BadImage> {
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

impl Tape {
    /// Writes every market's trades and minutes.
    pub(in crate::projection) fn write(&self, sink: &mut impl ImageSink) {
        let Tape { trades, markets } = self;
        trades.write(sink);
        for market in markets {
            // Hours are made of minutes.
            let MarketTape { minutes, hours: _ } = market;
            minutes.0.write(sink);
        }
    }

    /// Reads them.
    pub(in crate::projection) fn read(
        history: History,
        sizes: Sizes,
        source: &mut impl ImageSource,
    ) -> Result<Tape, BadImage> {
        let check = |trades: &[TradeRow]| {
            hold(trades.is_sorted_by(|a, b| a.sequence <= b.sequence), "trades out of order")
        };
        let trades = Streams::read(history, sizes.markets, source, check)?;
        let mut tape = Tape { trades, markets: Vec::new() };
        for _ in 0..sizes.markets {
            let minutes = Series(Imaged::read(source)?);
            let rising = |a: &Candle, b: &Candle| a.start < b.start && a.through <= b.through;
            hold(minutes.0.is_sorted_by(rising), "candles out of order")?;
            let begins = |candle: &Candle| Interval::Minute.start(candle.start) == candle.start;
            hold(minutes.0.iter().all(begins), "a candle that begins within a minute")?;
            let mut hours = Series::default();
            for minute in &minutes.0 {
                hours.take(Interval::Hour, minute);
            }
            tape.markets.push(MarketTape { minutes, hours });
        }
        Ok(tape)
    }
}
