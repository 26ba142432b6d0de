//! The JSON of the health checks and of the time.

use schemars::JsonSchema;
use serde::Serialize;

use super::Timestamp;
use super::words::{StatusWord, WarningWord};
use exchange::units::TimeMs;

/// How the process is, in one word.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Condition")]
pub struct StatusJson {
    #[schemars(with = "StatusWord")]
    pub status: &'static str,
    /// What fails beside the venue, which goes on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<WarningWord>")]
    pub warnings: Vec<&'static str>,
}

answers! {
    /// The server's time, by the clock that stamps records.
    TimeJson = "ServerTime" (time: TimeMs) {
        time: Timestamp = Timestamp(time);
        /// The same in milliseconds since 1970.
        #[schemars(with = "u64")]
        unix_milliseconds: i64 = time.get();
    }
}
