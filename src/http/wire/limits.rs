//! The JSON of a user's limits.

use serde::Serialize;

use super::Text;
use crate::keyring::DailyLeft;
use crate::rates::Allowance;
use exchange::units::{Money, MoneySum};

/// A user's limits; `null` where there is none.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitsJson {
    /// Requests without a command.
    pub reads: Option<LimitJson>,
    /// Commands other than cancels.
    pub writes: Option<LimitJson>,
    /// Cancels of orders.
    pub cancels: Option<LimitJson>,
    /// Records of a day.
    pub records: Option<DailyJson>,
    /// The user's exposure, over all keys.
    pub exposure: ExposureJson,
    /// The user's trading mode.
    pub mode: &'static str,
    /// The venue's trading mode.
    pub venue_mode: &'static str,
}

/// A user's exposure and its limit.
#[derive(Debug, Serialize)]
pub struct ExposureJson {
    /// The reserved money plus the cost of the contracts held.
    pub open: Text<MoneySum>,
    /// Orders that would exceed it are refused; `null` if there is no limit.
    pub limit: Option<Text<Money>>,
}

/// The daily allowance of records.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DailyJson {
    per_day: u32,
    remaining: u32,
    /// What is left to cancels, which have an allowance of the same size of their own.
    cancels_remaining: u32,
    reset_seconds: u64,
}

impl DailyJson {
    /// An allowance, and what is left of it.
    pub fn new(per_day: u32, DailyLeft { records, endings }: DailyLeft) -> DailyJson {
        DailyJson {
            per_day,
            remaining: records.remaining,
            cancels_remaining: endings.remaining,
            reset_seconds: records.reset_seconds.max(endings.reset_seconds),
        }
    }
}

/// The rate limit of one request class.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitJson {
    per_second: u32,
    burst: u32,
    remaining: u32,
    reset_seconds: u64,
}

impl LimitJson {
    /// The limit of a bucket with this rate and state.
    pub const fn new(per_second: u32, left: Allowance) -> LimitJson {
        LimitJson {
            per_second,
            burst: left.limit,
            remaining: left.remaining,
            reset_seconds: left.reset_seconds,
        }
    }
}
