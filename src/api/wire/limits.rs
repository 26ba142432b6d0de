//! The JSON of a key's limits, and of its user's.

use serde::Serialize;

use super::Text;
use crate::api::rates::Allowance;
use crate::exchange::units::{Money, MoneySum};

/// What a key may ask, lane by lane; `null` where it has no limit.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitsJson {
    /// Everything that only looks.
    pub reads: Option<LimitJson>,
    /// Everything that changes something, cancels aside.
    pub writes: Option<LimitJson>,
    /// Cancels of orders.
    pub cancels: Option<LimitJson>,
    /// What the user may lose, on all keys together.
    pub exposure: ExposureJson,
    /// What the operator lets the user do.
    pub mode: &'static str,
    /// What the operator lets anybody do.
    pub venue_mode: &'static str,
}

/// What a user may lose, and how much of that the operator allows.
#[derive(Debug, Serialize)]
pub struct ExposureJson {
    /// What is reserved, and what the contracts held cost.
    pub open: Text<MoneySum>,
    /// An order that would bring it beyond this is refused; `null` where there is no limit.
    pub limit: Option<Text<Money>>,
}

/// One lane.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitJson {
    per_second: u32,
    burst: u32,
    remaining: u32,
    reset_seconds: u64,
}

impl LimitJson {
    /// Of a bucket that fills at this rate and has this left.
    pub const fn new(per_second: u32, left: Allowance) -> LimitJson {
        LimitJson {
            per_second,
            burst: left.limit,
            remaining: left.remaining,
            reset_seconds: left.reset_seconds,
        }
    }
}
