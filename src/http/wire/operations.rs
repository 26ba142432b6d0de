//! The JSON of the health checks and of the time.

use serde::Serialize;

use super::Timestamp;
use exchange::units::TimeMs;

/// The status of the process.
#[derive(Debug, Serialize)]
pub struct StatusJson {
    /// One word.
    pub status: &'static str,
    /// What fails beside the venue, by stable codes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<&'static str>,
}

/// The server's time.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TimeJson {
    time: Timestamp,
    unix_milliseconds: i64,
}

impl From<TimeMs> for TimeJson {
    fn from(time: TimeMs) -> TimeJson {
        TimeJson { time: Timestamp(time), unix_milliseconds: time.get() }
    }
}
