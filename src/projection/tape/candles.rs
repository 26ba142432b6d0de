//! Candles: what traded in each interval. Volumes are kept as running totals, so that those of any
//! stretch of time are one subtraction.

use crate::exchange::ids::MarketNo;
use crate::exchange::units::{Lots, LotsSum, Tick, TimeMs};
use crate::projection::fault::Fault;
use crate::projection::history::chain::RowIndex;
use crate::projection::history::pack::RowBuffer;
use crate::projection::history::stream::{Pages, Tail};
use crate::projection::history::{History, HistoryError};

const MINUTE_MS: i64 = 60 * 1000;

/// A length of candles.
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

    /// When the interval began that a moment is in.
    pub fn start(self, time: TimeMs) -> TimeMs {
        TimeMs::new(time.get() - time.get().rem_euclid(self.ms())).unwrap_or_default()
    }

    /// Whether its candles are made of minutes; else of hours.
    pub(super) const fn of_minutes(self) -> bool {
        matches!(self, Interval::Minute | Interval::FiveMinutes)
    }
}

/// What was traded at in an interval, in prices of yes.
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

/// An interval that saw a trade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Candle {
    /// When it began.
    pub start: TimeMs,
    pub prices: Prices,
    /// How many trades it saw.
    pub trades: u32,
    /// Contracts traded from the market's beginning to this interval's end.
    pub through: LotsSum,
    /// Open interest after the last of its trades.
    pub interest: Lots,
}

impl Candle {
    /// That of one trade, after which so much has been traded.
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

/// One interval as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bar {
    /// When it begins.
    pub start: TimeMs,
    /// Its prices; `None` if nothing traded.
    pub prices: Option<Prices>,
    /// Contracts traded in it.
    pub volume: LotsSum,
    /// Open interest after the last trade in it, or before it.
    pub interest: Lots,
    /// How many trades it saw.
    pub trades: u64,
}

/// Candles of one market and one length: that which may still change, and those before it, most
/// of them put away.
#[derive(Debug, Clone, Default)]
pub(super) struct Series<const MINUTES: bool> {
    pub(super) done: Tail<Done<MINUTES>>,
    pub(super) last: Option<Candle>,
}

/// A candle that changes no more, of a minute or else of an hour.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done<const MINUTES: bool>(pub(super) Candle);

impl<const MINUTES: bool> Series<MINUTES> {
    pub(super) const INTERVAL: Interval = if MINUTES { Interval::Minute } else { Interval::Hour };

    /// Takes in what traded later than all before.
    pub(super) fn take(
        &mut self,
        history: &History,
        market: MarketNo,
        later: &Candle,
    ) -> Result<(), Fault> {
        // A clock that is set back does not reach a record's time, which never goes back.
        let start = Self::INTERVAL.start(later.start);
        match &mut self.last {
            Some(last) if last.start >= start => last.take(later),
            last => {
                if let Some(done) = last.replace(Candle { start, ..*later }) {
                    // Once a minute, so nothing is kept for it.
                    self.done.push_on(history, market.0, &Done(done), &mut RowBuffer::new())?;
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

    /// The candles as they are now.
    pub(super) fn candles(&self, history: &History, market: MarketNo) -> Candles<MINUTES> {
        let done = Pages::of(history.clone(), market.0, self.done.clone());
        Candles { done, last: self.last }
    }
}

/// Candles of one market and one length as they were at one moment, to be read whenever.
#[derive(Debug, Clone)]
pub struct Candles<const MINUTES: bool> {
    done: Pages<Done<MINUTES>>,
    last: Option<Candle>,
}

impl<const MINUTES: bool> Candles<MINUTES> {
    /// A candle, counted from the oldest.
    fn at(&mut self, place: RowIndex) -> Result<Option<Candle>, HistoryError> {
        if place == self.done.count() {
            return Ok(self.last);
        }
        Ok(self.done.row(place)?.map(|done| done.0))
    }

    /// How many candles began before this moment. Looks back from the newest in steps that grow,
    /// since the newest are asked for most.
    fn before(&mut self, time: TimeMs) -> Result<RowIndex, HistoryError> {
        let all = self.done.count() + u32::from(self.last.is_some());
        let mut early = |place| Ok(self.at(place)?.is_some_and(|candle| candle.start < time));
        let (mut low, mut high, mut step) = (0, all, 1_u32);
        while let Some(place) = high.checked_sub(1) {
            let place = place.saturating_sub(step - 1);
            if early(place)? {
                low = place + 1;
                break;
            }
            (high, step) = (place, step.saturating_mul(2));
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

    fn last_before(&mut self, place: RowIndex) -> Result<Option<Candle>, HistoryError> {
        place.checked_sub(1).map_or(Ok(None), |last| self.at(last))
    }

    /// Contracts traded in the intervals that began after `time`. Reads a few pages.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn volume_after(mut self, time: TimeMs) -> Result<LotsSum, HistoryError> {
        let before = self.before(TimeMs::new(time.get() + 1).unwrap_or(TimeMs::MAX))?;
        let through_before = through(self.last_before(before)?.as_ref());
        Ok(through(self.last.as_ref()).less(through_before).unwrap_or_default())
    }

    /// See [`Tape::candles`](super::Tape::candles).
    fn bars(
        mut self,
        interval: Interval,
        from: TimeMs,
        count: usize,
    ) -> Result<Vec<Bar>, HistoryError> {
        let mut place = self.before(from)?;
        let mut before = self.last_before(place)?;
        let mut next = self.at(place)?;
        let mut bars = Vec::with_capacity(count);
        let mut start = from.get();
        for _ in 0..count {
            let end = start.saturating_add(interval.ms());
            let mut sum: Option<Candle> = None;
            while let Some(candle) = next.filter(|candle| candle.start.get() < end) {
                match &mut sum {
                    Some(sum) => sum.take(&candle),
                    None => sum = Some(candle),
                }
                place += 1;
                next = self.at(place)?;
            }
            let traded = sum.map(|sum| sum.through.less(through(before.as_ref())));
            before = sum.or(before);
            bars.push(Bar {
                start: TimeMs::new(start).unwrap_or(TimeMs::MAX),
                prices: sum.map(|sum| sum.prices),
                volume: traded.and_then(Result::ok).unwrap_or_default(),
                interest: before.map_or(Lots::ZERO, |candle| candle.interest),
                trades: sum.map_or(0, |sum| u64::from(sum.trades)),
            });
            start = end;
        }
        Ok(bars)
    }
}

/// Intervals of one market one after the other, as they were at one moment, to be read whenever.
#[derive(Debug)]
pub struct Chart {
    pub(super) made_of: MadeOf,
    pub(super) interval: Interval,
    pub(super) from: TimeMs,
    pub(super) count: usize,
}

/// What the intervals of a chart are sums of.
#[derive(Debug)]
pub(super) enum MadeOf {
    Minutes(Box<Candles<true>>),
    Hours(Box<Candles<false>>),
    Nothing,
}

impl Chart {
    /// The intervals; none at all if there is no such market. Walks what traded: at most 5 minutes
    /// of each, or 24 hours.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn bars(self) -> Result<Vec<Bar>, HistoryError> {
        let Chart { made_of, interval, from, count } = self;
        match made_of {
            MadeOf::Minutes(candles) => candles.bars(interval, from, count),
            MadeOf::Hours(candles) => candles.bars(interval, from, count),
            MadeOf::Nothing => Ok(Vec::new()),
        }
    }
}

fn through(candle: Option<&Candle>) -> LotsSum {
    candle.map_or(LotsSum::ZERO, |candle| candle.through)
}
