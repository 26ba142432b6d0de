//! Prices and volume over time in a bounded number of steps. Steps get wider as the market's time
//! span grows, so a day and a year take the same memory.

use exchange::units::{Lots, Overflow, Tick, TimeMs};

/// Steps at most: as many as a page's width can show.
const STEPS_MAX: i64 = 240;
/// Step widths in milliseconds, each a multiple of the one before.
const WIDTHS: [i64; 15] = [
    1_000,
    5_000,
    15_000,
    30_000,
    60_000,
    300_000,
    900_000,
    1_800_000,
    3_600_000,
    7_200_000,
    14_400_000,
    43_200_000,
    86_400_000,
    604_800_000,
    2_419_200_000,
];

/// Open, high, low and close of the trades of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First.
    pub open: Tick,
    /// Highest.
    pub high: Tick,
    /// Lowest.
    pub low: Tick,
    /// Last.
    pub close: Tick,
}

impl Span {
    fn of(price: Tick) -> Span {
        Span { open: price, high: price, low: price, close: price }
    }

    fn then(self, later: Span) -> Span {
        Span {
            open: self.open,
            high: self.high.max(later.high),
            low: self.low.min(later.low),
            close: later.close,
        }
    }
}

/// Trading in a step of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// When it begins, in milliseconds.
    pub start: i64,
    /// Prices of yes; `None` without trades.
    pub traded: Option<Span>,
    /// Volume in lots.
    pub volume: Lots,
    /// Best bid and best ask at its end.
    pub quote: (Option<Tick>, Option<Tick>),
}

/// Steps with activity, oldest first.
#[derive(Debug)]
pub struct Series {
    width: i64,
    steps: Vec<Step>,
}

impl Series {
    /// An empty series.
    pub fn new() -> Series {
        Series { width: WIDTHS[0], steps: Vec::new() }
    }

    /// Width of a step in milliseconds.
    pub const fn width(&self) -> i64 {
        self.width
    }

    /// The steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Adds a trade.
    pub fn trade(&mut self, time: TimeMs, price: Tick, lots: Lots) -> Result<(), Overflow> {
        let quote = self.steps.last().map_or((None, None), |step| step.quote);
        let (start, traded) = (time.get(), Some(Span::of(price)));
        self.take(Step { start, traded, volume: lots, quote })
    }

    /// Sets the best bid and ask after a change.
    pub fn quote(
        &mut self,
        time: TimeMs,
        quote: (Option<Tick>, Option<Tick>),
    ) -> Result<(), Overflow> {
        let step = Step { start: time.get(), traded: None, volume: Lots::ZERO, quote };
        self.take(step)
    }

    fn take(&mut self, mut step: Step) -> Result<(), Overflow> {
        step.start = self.floor(step.start);
        merge(&mut self.steps, step)?;
        while self.span() > STEPS_MAX {
            self.widen()?;
        }
        Ok(())
    }

    fn floor(&self, ms: i64) -> i64 {
        ms.saturating_sub(ms.checked_rem(self.width).unwrap_or_default())
    }

    /// Number of steps from the first to the last, including empty ones.
    fn span(&self) -> i64 {
        let ends = self.steps.first().zip(self.steps.last());
        ends.map_or(0, |(first, last)| {
            let length = last.start.saturating_sub(first.start);
            length.checked_div(self.width).unwrap_or_default().saturating_add(1)
        })
    }

    fn widen(&mut self) -> Result<(), Overflow> {
        let wider = WIDTHS.into_iter().find(|width| *width > self.width);
        self.width = wider.unwrap_or_else(|| self.width.saturating_mul(2));
        let mut merged = Vec::new();
        for mut step in std::mem::take(&mut self.steps) {
            step.start = self.floor(step.start);
            merge(&mut merged, step)?;
        }
        self.steps = merged;
        Ok(())
    }
}

/// Appends a step, or merges it into the last one if both start at the same time.
fn merge(steps: &mut Vec<Step>, step: Step) -> Result<(), Overflow> {
    match steps.last_mut() {
        Some(last) if last.start >= step.start => {
            last.traded = match (last.traded, step.traded) {
                (Some(earlier), Some(later)) => Some(earlier.then(later)),
                (earlier, later) => earlier.or(later),
            };
            last.volume = last.volume.plus(step.volume)?;
            last.quote = step.quote;
        }
        _ => steps.push(step),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> TimeMs {
        TimeMs::new(seconds * 1000).unwrap()
    }

    fn tick(ticks: u8) -> Tick {
        Tick::new(ticks).unwrap()
    }

    #[test]
    fn steps_widen_and_lose_no_volume() {
        let mut series = Series::new();
        for second in 0..100_000_u64 {
            let price = tick(u8::try_from(second % 99).unwrap() + 1);
            series.trade(at(second.try_into().unwrap()), price, Lots::new(second)).unwrap();
            assert!(series.span() <= STEPS_MAX);
        }
        assert_eq!(series.width(), 900_000);
        let volume: u64 = series.steps().iter().map(|step| step.volume.get()).sum();
        assert_eq!(volume, 99_999 * 50_000);
        let first = series.steps()[0];
        // Seconds 0 to 899: open 1, close 899 % 99 + 1.
        let (open, close) = (tick(1), tick(9));
        assert_eq!(first.traded, Some(Span { open, high: tick(99), low: tick(1), close }));
        assert_eq!(series.steps().len(), 112);
    }

    #[test]
    fn a_quote_is_that_of_the_end() {
        let mut series = Series::new();
        series.quote(at(1), (Some(tick(40)), None)).unwrap();
        series.quote(at(1), (Some(tick(41)), Some(tick(60)))).unwrap();
        series.trade(at(2), tick(60), Lots::new(5)).unwrap();
        let quotes: Vec<_> = series.steps().iter().map(|step| step.quote).collect();
        assert_eq!(quotes, [(Some(tick(41)), Some(tick(60))); 2]);
        assert_eq!(series.steps()[0].traded, None);
    }
}
