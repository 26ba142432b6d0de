//! Limits of a user: a token bucket per request class, filled steadily up to its burst, and the
//! same for the records of a day. The time is a parameter, so this module reads no clock. The
//! crates for this neither show a bucket without taking from it nor take tokens back.

use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::Method;

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;
const NANOSECONDS_PER_DAY: u64 = 24 * 60 * 60 * NANOSECONDS_PER_SECOND;
/// The highest daily allowance: more than a journal takes in a day.
const DAILY_MAX: u32 = 1_000_000_000;
/// The default burst of a rate, in seconds.
const BURST_SECONDS: u32 = 2;
/// The highest rate. Higher rates would not limit anything, and the time to fill the largest burst
/// at one token per second must fit 64 bits of nanoseconds.
const PER_SECOND_MAX: u32 = 1_000_000;

/// The class of a request, for rate limits and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestClass {
    /// Health checks, metrics and documentation.
    Probes,
    /// Requests without a command.
    Reads,
    /// Commands that only cancel orders. They have a bucket of their own, so other commands cannot
    /// use up their tokens.
    Cancels,
    /// Any other command.
    Writes,
}

impl RequestClass {
    /// All classes.
    pub const ALL: [RequestClass; 4] =
        [RequestClass::Probes, RequestClass::Reads, RequestClass::Cancels, RequestClass::Writes];

    /// Its name in metrics and messages.
    pub const fn name(self) -> &'static str {
        match self {
            RequestClass::Probes => "probes",
            RequestClass::Reads => "reads",
            RequestClass::Cancels => "cancels",
            RequestClass::Writes => "writes",
        }
    }

    /// The class of a request without a route.
    pub fn of_method(method: &Method) -> RequestClass {
        if matches!(*method, Method::GET | Method::HEAD) {
            RequestClass::Reads
        } else {
            RequestClass::Writes
        }
    }
}

/// How fast a bucket fills and how much it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    tokens: NonZeroU32,
    /// The nanoseconds in which so many tokens come.
    per: u64,
    burst: NonZeroU32,
}

/// The text is not a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 0 for no limit, or a number up to 1000000 a second, as in 50 or 50:200 (burst)")]
pub struct NoRate;

impl Rate {
    /// `per_second` requests a second, up to `burst` at a time. `None` if one is 0 or too large.
    pub fn new(per_second: u32, burst: u32) -> Option<Rate> {
        let within = per_second <= PER_SECOND_MAX && burst <= PER_SECOND_MAX * BURST_SECONDS;
        let (tokens, burst) = (NonZeroU32::new(per_second)?, NonZeroU32::new(burst)?);
        within.then_some(Rate { tokens, per: NANOSECONDS_PER_SECOND, burst })
    }

    /// Requests in the time for which the rate is given: a second or a day.
    pub const fn tokens(self) -> u32 {
        self.tokens.get()
    }

    /// Requests that a full bucket allows at a time.
    pub const fn burst(self) -> u32 {
        self.burst.get()
    }

    /// Nanoseconds per token; rounded up, so that the rate is never exceeded.
    fn interval(self) -> u64 {
        self.per.div_ceil(u64::from(self.tokens.get()))
    }

    /// Nanoseconds in which an empty bucket fills.
    fn span(self) -> u64 {
        self.interval().saturating_mul(u64::from(self.burst.get()))
    }
}

/// A rate or none: `0` is no limit, `50` is 50 a second, `50:200` the same with a burst of 200.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(pub Option<Rate>);

impl FromStr for Limit {
    type Err = NoRate;

    fn from_str(text: &str) -> Result<Limit, NoRate> {
        let number = |text: &str| text.parse::<u32>().map_err(|_| NoRate);
        let (per_second, burst) = match text.split_once(':') {
            Some((per_second, burst)) => (number(per_second)?, Some(number(burst)?)),
            None => (number(text)?, None),
        };
        if (per_second, burst) == (0, None) {
            return Ok(Limit(None));
        }
        let burst = burst.unwrap_or(per_second.saturating_mul(BURST_SECONDS));
        Rate::new(per_second, burst).map(|rate| Limit(Some(rate))).ok_or(NoRate)
    }
}

/// The text is not a daily allowance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 0 for no limit, or a number up to 1000000000")]
pub struct NoAllowance;

/// How many records a day, or any number. The whole allowance can be used at once; it comes back
/// steadily, in a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Daily(pub Option<Rate>);

impl FromStr for Daily {
    type Err = NoAllowance;

    fn from_str(text: &str) -> Result<Daily, NoAllowance> {
        let number: u32 = text.parse().map_err(|_| NoAllowance)?;
        if number > DAILY_MAX {
            return Err(NoAllowance);
        }
        let rate = |tokens| Rate { tokens, per: NANOSECONDS_PER_DAY, burst: tokens };
        Ok(Daily(NonZeroU32::new(number).map(rate)))
    }
}

/// The limits of a user, by request class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Limit of [`RequestClass::Reads`].
    pub reads: Limit,
    /// Limit of [`RequestClass::Writes`].
    pub writes: Limit,
    /// Limit of [`RequestClass::Cancels`].
    pub cancels: Limit,
    /// Records a day, and as many cancels.
    pub records: Daily,
}

impl Rates {
    /// No limits.
    pub const NONE: Rates = Rates {
        reads: Limit(None),
        writes: Limit(None),
        cancels: Limit(None),
        records: Daily(None),
    };

    /// The rate of a class; `None` if it has no limit.
    pub const fn of(&self, class: RequestClass) -> Option<Rate> {
        match class {
            RequestClass::Reads => self.reads.0,
            RequestClass::Writes => self.writes.0,
            RequestClass::Cancels => self.cancels.0,
            RequestClass::Probes => None,
        }
    }
}

/// The state of a bucket, as clients see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Capacity: the burst.
    pub limit: u32,
    /// Requests that would be admitted now.
    pub remaining: u32,
    /// Seconds until it is full, rounded up.
    pub reset_seconds: u64,
    /// For a refused request: seconds until it would be admitted, rounded up.
    pub wait_seconds: Option<u64>,
}

/// A token bucket, stored as the time at which it will be full, in nanoseconds since an arbitrary
/// origin that every `now` here shares. A new bucket is full.
#[derive(Debug, Default)]
pub struct Bucket(AtomicU64);

impl Bucket {
    /// Takes `tokens` tokens, or none if fewer are left. More than the burst are never available;
    /// the wait returned is then the time until the bucket is full.
    pub fn take(&self, rate: Rate, tokens: u32, now: u64) -> Allowance {
        let worth = rate.interval().saturating_mul(u64::from(tokens));
        let after = |full: u64| full.max(now).saturating_add(worth);
        let taken = |full: u64| Some(after(full)).filter(|after| *after - now <= rate.span());
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken) {
            Ok(full) => allowance(rate, after(full), now, None),
            Err(full) => lacking(rate, tokens, full, now),
        }
    }

    /// The wait until `tokens` tokens are available or the bucket is full; takes nothing.
    pub fn wait_for(&self, rate: Rate, tokens: u32, now: u64) -> Allowance {
        lacking(rate, tokens, self.0.load(Ordering::Relaxed), now)
    }

    /// Returns tokens that the caller took and did not need.
    pub fn give_back(&self, rate: Rate, tokens: u32) {
        let worth = rate.interval().saturating_mul(u64::from(tokens));
        // They were taken at another rate, perhaps, and were worth less.
        let given = |full: u64| Some(full.saturating_sub(worth));
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, given).unwrap_or_default();
    }

    /// The state of the bucket; takes nothing.
    pub fn look(&self, rate: Rate, now: u64) -> Allowance {
        allowance(rate, self.0.load(Ordering::Relaxed), now, None)
    }
}

/// The state of a bucket that will be full at `full`, with the wait until `tokens` are available.
fn lacking(rate: Rate, tokens: u32, full: u64, now: u64) -> Allowance {
    let worth = rate.interval().saturating_mul(u64::from(tokens));
    let missing = full.saturating_sub(now).saturating_add(worth).saturating_sub(rate.span());
    allowance(rate, full, now, Some(missing.min(full.saturating_sub(now))))
}

/// The state of a bucket that will be full at `full`.
fn allowance(rate: Rate, full: u64, now: u64, wait: Option<u64>) -> Allowance {
    let missing = full.saturating_sub(now);
    let tokens = rate.span().saturating_sub(missing) / rate.interval();
    let seconds = |nanoseconds: u64| nanoseconds.div_ceil(NANOSECONDS_PER_SECOND);
    Allowance {
        limit: rate.burst(),
        remaining: u32::try_from(tokens).unwrap_or(rate.burst()),
        reset_seconds: seconds(missing),
        wait_seconds: wait.map(|wait| seconds(wait).max(1)),
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/rates.rs"]
mod tests;
