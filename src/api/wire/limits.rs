//! The JSON of a key's limits.

use serde::Serialize;

use crate::api::rates::Allowance;

/// What a key may ask, lane by lane; `null` where it has no limit.
#[derive(Debug, Serialize)]
pub struct LimitsJson {
    /// Everything that only looks.
    pub reads: Option<LimitJson>,
    /// Everything that changes something, cancels aside.
    pub writes: Option<LimitJson>,
    /// Cancels of orders.
    pub cancels: Option<LimitJson>,
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
