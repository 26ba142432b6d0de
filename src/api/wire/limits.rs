//! The JSON of a key's rate limits and of its user's limits.

use serde::Serialize;

use super::Text;
use crate::api::rates::Allowance;
use crate::exchange::units::{Money, MoneySum};

/// A key's rate limits by request class, `null` if there is none; and its user's limits.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitsJson {
    /// Requests without a command.
    pub reads: Option<LimitJson>,
    /// Commands other than cancels.
    pub writes: Option<LimitJson>,
    /// Cancels of orders.
    pub cancels: Option<LimitJson>,
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
