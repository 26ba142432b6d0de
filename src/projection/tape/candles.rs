//! Candles: what traded in each interval. Volumes are kept as running totals, so that those of any
//! stretch of time are one subtraction.

use crate::exchange::units::{Lots, LotsSum, Tick, TimeMs};

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

/// Candles of one market and one length, oldest first.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Series(pub(super) Vec<Candle>);

impl Series {
    /// Takes in what traded later than all before.
    pub(super) fn take(&mut self, interval: Interval, later: &Candle) {
        // A clock that is set back does not reach a record's time, which never goes back.
        let start = interval.start(later.start);
        match self.0.last_mut() {
            Some(last) if last.start >= start => last.take(later),
            _ => self.0.push(Candle { start, ..*later }),
        }
    }

    pub(super) fn note_interest(&mut self, interest: Lots) {
        if let Some(last) = self.0.last_mut() {
            last.interest = interest;
        }
    }

    pub(super) fn volume(&self) -> LotsSum {
        through(self.0.last())
    }

    pub(super) fn volume_after(&self, time: TimeMs) -> LotsSum {
        let before = self.0.partition_point(|candle| candle.start <= time);
        let before = before.checked_sub(1).and_then(|last| self.0.get(last));
        self.volume().less(through(before)).unwrap_or_default()
    }

    pub(super) fn bars(&self, interval: Interval, from: TimeMs, count: usize) -> Vec<Bar> {
        let first = self.0.partition_point(|candle| candle.start < from);
        let mut before = first.checked_sub(1).and_then(|last| self.0.get(last));
        let mut left = self.0.get(first..).unwrap_or_default();
        let mut bars = Vec::with_capacity(count);
        let mut start = from.get();
        for _ in 0..count {
            let end = start.saturating_add(interval.ms());
            let inside = left.iter().take_while(|candle| candle.start.get() < end).count();
            let (own, later) = left.split_at(inside);
            let sum = own.iter().copied().reduce(|mut sum, candle| {
                sum.take(&candle);
                sum
            });
            let traded = own.last().map(|_| through(own.last()).less(through(before)));
            before = own.last().or(before);
            bars.push(Bar {
                start: TimeMs::new(start).unwrap_or(TimeMs::MAX),
                prices: sum.map(|sum| sum.prices),
                volume: traded.and_then(Result::ok).unwrap_or_default(),
                interest: before.map_or(Lots::ZERO, |candle| candle.interest),
                trades: sum.map_or(0, |sum| u64::from(sum.trades)),
            });
            (left, start) = (later, end);
        }
        bars
    }
}

fn through(candle: Option<&Candle>) -> LotsSum {
    candle.map_or(LotsSum::ZERO, |candle| candle.through)
}
