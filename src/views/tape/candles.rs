//! Candles of a market's trades. Volumes are stored as running totals, so that the volume of any
//! period is one subtraction.

use std::iter;

use crate::fault::Fault;
use crate::history::chain::RowIndex;
use crate::history::stream::{Pages, Tail};
use crate::history::{History, HistoryError};
use crate::saved::{Saved, Sink, Source, saved};
use exchange::ids::MarketNo;
use exchange::image::coding::BadImage;
use exchange::units::{Lots, LotsSum, Tick, TimeMs};

const MINUTE_MS: i64 = 60 * 1000;

/// The length of a candle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    /// One minute.
    Minute,
    /// Five minutes.
    FiveMinutes,
    /// One hour.
    Hour,
    /// One day, in UTC.
    Day,
}

impl Interval {
    /// Its length in milliseconds.
    pub const fn ms(self) -> i64 {
        match self {
            Interval::Minute => MINUTE_MS,
            Interval::FiveMinutes => 5 * MINUTE_MS,
            Interval::Hour => 60 * MINUTE_MS,
            Interval::Day => 24 * 60 * MINUTE_MS,
        }
    }

    /// The start of the interval that contains a time.
    pub fn start(self, time: TimeMs) -> TimeMs {
        TimeMs::new(time.get() - time.get().rem_euclid(self.ms())).unwrap_or_default()
    }

    /// Whether its candles are sums of minute candles; otherwise of hour candles.
    pub(super) const fn of_minutes(self) -> bool {
        matches!(self, Interval::Minute | Interval::FiveMinutes)
    }
}

/// Prices traded in an interval, of yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prices {
    /// The first.
    pub open: Tick,
    /// The highest.
    pub high: Tick,
    /// The lowest.
    pub low: Tick,
    /// The last.
    pub close: Tick,
}

saved!(Prices { open, high, low, close });

impl Prices {
    fn and(self, later: Prices) -> Prices {
        Prices {
            open: self.open,
            high: self.high.max(later.high),
            low: self.low.min(later.low),
            close: later.close,
        }
    }
}

/// A candle: an interval with at least one trade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Candle {
    /// When it began.
    pub start: TimeMs,
    pub prices: Prices,
    /// Number of trades.
    pub trades: u32,
    /// Volume in lots from the market's first trade to the end of this interval.
    pub through: LotsSum,
    /// Open interest after the last of its trades.
    pub interest: Lots,
}

saved!(Candle { start, prices, trades, through, interest });

impl Candle {
    /// The candle of one trade; `through` is the volume including it.
    pub(super) const fn of_trade(time: TimeMs, price: Tick, through: LotsSum) -> Candle {
        let prices = Prices { open: price, high: price, low: price, close: price };
        Candle { start: time, prices, trades: 1, through, interest: Lots::ZERO }
    }

    fn take(&mut self, later: &Candle) {
        self.prices = self.prices.and(later.prices);
        self.trades = self.trades.saturating_add(later.trades);
        self.through = later.through;
        self.interest = later.interest;
    }
}

/// One interval of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bar {
    /// When it begins.
    pub start: TimeMs,
    /// Its prices; `None` without trades.
    pub prices: Option<Prices>,
    /// Volume in lots.
    pub volume: LotsSum,
    /// Open interest after the last trade up to the end of the interval.
    pub interest: Lots,
    /// Number of trades.
    pub trades: u64,
}

/// Candles of one market and one length: the last one, which may still change, and the finished
/// ones, most of them on pages.
#[derive(Debug, Clone, Default)]
pub(super) struct Series<const MINUTES: bool> {
    pub(super) done: Tail<Done<MINUTES>>,
    pub(super) last: Option<Candle>,
}

impl<const MINUTES: bool> Saved for Series<MINUTES> {
    fn save(&self, sink: &mut Sink<'_>) {
        let Series { done, last } = self;
        done.save(sink);
        last.save(sink);
    }

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        Ok(Series { done: Saved::load(source)?, last: Saved::load(source)? })
    }
}

/// A finished candle, of a minute or an hour.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done<const MINUTES: bool>(pub(super) Candle);

impl<const MINUTES: bool> Series<MINUTES> {
    pub(super) const INTERVAL: Interval = if MINUTES { Interval::Minute } else { Interval::Hour };

    /// Adds trades that are later than all before.
    pub(super) fn take(
        &mut self,
        history: &History,
        market: MarketNo,
        later: &Candle,
    ) -> Result<(), Fault> {
        // Record times never go back, even if the clock is set back.
        let start = Self::INTERVAL.start(later.start);
        match &mut self.last {
            Some(last) if last.start >= start => last.take(later),
            last => {
                if let Some(done) = last.replace(Candle { start, ..*later }) {
                    self.done.push_on(history, market.0, &Done(done))?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn note_interest(&mut self, interest: Lots) {
        if let Some(last) = &mut self.last {
            last.interest = interest;
        }
    }

    pub(super) fn volume(&self) -> LotsSum {
        through(self.last.as_ref())
    }

    /// A copy of the candles as they are now.
    pub(super) fn candles(&self, history: &History, market: MarketNo) -> Candles<MINUTES> {
        let done = Pages::of(history.clone(), market.0, self.done.clone());
        Candles { done, last: self.last }
    }
}

/// Candles of one market and one length as of one moment, to be read later.
#[derive(Debug, Clone)]
pub struct Candles<const MINUTES: bool> {
    done: Pages<Done<MINUTES>>,
    last: Option<Candle>,
}

impl<const MINUTES: bool> Candles<MINUTES> {
    /// The candle at this index, counted from the oldest.
    fn at(&mut self, index: RowIndex) -> Result<Option<Candle>, HistoryError> {
        if index == self.done.count() {
            return Ok(self.last);
        }
        Ok(self.done.row(index)?.map(|done| done.0))
    }

    /// How many candles began before this time. Searches back from the newest in growing steps,
    /// since the newest are requested most.
    fn before(&mut self, time: TimeMs) -> Result<RowIndex, HistoryError> {
        let all = self.done.count() + RowIndex::from(self.last.is_some());
        let mut early = |index| Ok(self.at(index)?.is_some_and(|candle| candle.start < time));
        let (mut low, mut high, mut step) = (0, all, 1_u64);
        while let Some(index) = high.checked_sub(1) {
            let index = index.saturating_sub(step - 1);
            if early(index)? {
                low = index + 1;
                break;
            }
            (high, step) = (index, step.saturating_mul(2));
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if early(middle)? {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    fn last_before(&mut self, index: RowIndex) -> Result<Option<Candle>, HistoryError> {
        index.checked_sub(1).map_or(Ok(None), |last| self.at(last))
    }

    /// Volume in lots of the intervals that began after `time`. Reads a few pages.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn volume_after(mut self, time: TimeMs) -> Result<LotsSum, HistoryError> {
        let before = self.before(TimeMs::new(time.get() + 1).unwrap_or(TimeMs::MAX))?;
        let through_before = through(self.last_before(before)?.as_ref());
        Ok(through(self.last.as_ref()).less(through_before).unwrap_or_default())
    }

    /// See [`Chart::bars`].
    fn bars(mut self, interval: Interval, from: TimeMs) -> Result<Bars<MINUTES>, HistoryError> {
        let index = self.before(from)?;
        let (before, next) = (self.last_before(index)?, self.at(index)?);
        Ok(Bars { candles: self, interval, start: from, index, next, before })
    }
}

/// Consecutive intervals without end, made from candles.
struct Bars<const MINUTES: bool> {
    candles: Candles<MINUTES>,
    interval: Interval,
    /// Where the next interval begins.
    start: TimeMs,
    /// The first candle that is not summed yet, and its index.
    next: Option<Candle>,
    index: RowIndex,
    /// The last candle, or sum of candles, before `start`.
    before: Option<Candle>,
}

impl<const MINUTES: bool> Bars<MINUTES> {
    fn bar(&mut self) -> Result<Bar, HistoryError> {
        let start = self.start;
        let end = start.get().saturating_add(self.interval.ms());
        self.start = TimeMs::new(end).unwrap_or(TimeMs::MAX);
        let mut sum: Option<Candle> = None;
        while let Some(candle) = self.next.filter(|candle| candle.start.get() < end) {
            match &mut sum {
                Some(sum) => sum.take(&candle),
                None => sum = Some(candle),
            }
            self.index += 1;
            self.next = self.candles.at(self.index)?;
        }
        let traded = sum.map(|sum| sum.through.less(through(self.before.as_ref())));
        self.before = sum.or(self.before);
        Ok(Bar {
            start,
            prices: sum.map(|sum| sum.prices),
            volume: traded.and_then(Result::ok).unwrap_or_default(),
            interest: self.before.map_or(Lots::ZERO, |candle| candle.interest),
            trades: sum.map_or(0, |sum| u64::from(sum.trades)),
        })
    }
}

impl<const MINUTES: bool> Iterator for Bars<MINUTES> {
    type Item = Result<Bar, HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.bar())
    }
}

/// The intervals of a chart.
pub type ChartBars = Box<dyn Iterator<Item = Result<Bar, HistoryError>> + Send>;

/// Consecutive intervals of one market as of one moment, to be read later.
#[derive(Debug)]
pub struct Chart {
    pub(super) made_of: MadeOf,
    pub(super) interval: Interval,
    pub(super) from: TimeMs,
    pub(super) count: usize,
}

/// The candles that a chart's intervals are summed from.
#[derive(Debug)]
pub(super) enum MadeOf {
    Minutes(Box<Candles<true>>),
    Hours(Box<Candles<false>>),
    Nothing,
}

impl Chart {
    /// The intervals; empty if there is no such market. Each is read when it is taken, from at most
    /// 5 minute candles or 24 hour candles.
    ///
    /// # Errors
    /// History cannot be read, now or when an interval is taken.
    pub fn bars(self) -> Result<ChartBars, HistoryError> {
        let Chart { made_of, interval, from, count } = self;
        Ok(match made_of {
            MadeOf::Minutes(candles) => Box::new(candles.bars(interval, from)?.take(count)),
            MadeOf::Hours(candles) => Box::new(candles.bars(interval, from)?.take(count)),
            MadeOf::Nothing => Box::new(iter::empty()),
        })
    }
}

fn through(candle: Option<&Candle>) -> LotsSum {
    candle.map_or(LotsSum::ZERO, |candle| candle.through)
}
