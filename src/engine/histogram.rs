//! A lock-free histogram whose bounds double, so that one table covers a microsecond and ten
//! seconds alike.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Bounded buckets. With microseconds as the unit the last bound is 16.8 seconds.
const BOUNDS: usize = 25;
const NANOSECONDS_PER_MICROSECOND: u64 = 1_000;

/// Counts of values by size. Any thread may count and read at any time.
#[derive(Debug)]
pub struct Histogram {
    /// The first bound; the unit of the values' resolution.
    unit: u64,
    /// The last bucket holds values beyond every bound.
    buckets: [AtomicU64; BOUNDS + 1],
    sum: AtomicU64,
}

/// A histogram's contents at one moment; values being counted meanwhile may be missing in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spread {
    /// Upper bounds, inclusive, with the count of values above the previous bound and up to this
    /// one.
    pub buckets: Vec<(u64, u64)>,
    /// How many values are beyond the last bound.
    pub beyond: u64,
    /// Sum of all values.
    pub sum: u64,
}

impl Spread {
    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum::<u64>() + self.beyond
    }
}

impl Histogram {
    /// For times in nanoseconds; the first bound is a microsecond.
    pub fn of_times() -> Histogram {
        Histogram::from(NANOSECONDS_PER_MICROSECOND)
    }

    /// For counts; the first bound is 1.
    pub fn of_counts() -> Histogram {
        Histogram::from(1)
    }

    fn from(unit: u64) -> Histogram {
        Histogram {
            unit,
            buckets: std::array::from_fn(|_| AtomicU64::new(0)),
            sum: AtomicU64::new(0),
        }
    }

    /// Counts a value.
    pub fn count(&self, value: u64) {
        self.count_times(value, 1);
    }

    /// Counts a value `times` times.
    pub fn count_times(&self, value: u64, times: u64) {
        if let Some(bucket) = self.buckets.get(self.bucket_of(value)) {
            bucket.fetch_add(times, Ordering::Relaxed);
            self.sum.fetch_add(value.saturating_mul(times), Ordering::Relaxed);
        }
    }

    /// Counts the time elapsed since `began`.
    pub fn count_since(&self, began: Instant) {
        self.count_times_since(began, 1);
    }

    /// Counts the time elapsed since `began`, `times` times.
    pub fn count_times_since(&self, began: Instant, times: usize) {
        let value = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.count_times(value, u64::try_from(times).unwrap_or(u64::MAX));
    }

    /// The bucket of a value: the least `i` for which the value is at most `unit << i`.
    fn bucket_of(&self, value: u64) -> usize {
        let units = value.div_ceil(self.unit).max(1);
        let doublings = u64::BITS - (units - 1).leading_zeros();
        usize::try_from(doublings).map_or(BOUNDS, |index| index.min(BOUNDS))
    }

    /// The contents now.
    pub fn read(&self) -> Spread {
        let counts = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed));
        let bounds = (0..BOUNDS).map(|index| self.unit << index);
        Spread {
            beyond: self.buckets.last().map_or(0, |last| last.load(Ordering::Relaxed)),
            buckets: bounds.zip(counts).collect(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/engine/histogram.rs"]
mod tests;
