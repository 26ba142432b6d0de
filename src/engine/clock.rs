//! The only clock. What it says is journaled by the sequencer; nothing after that asks it.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::exchange::units::TimeMs;

/// Now. A clock set before 1970 reads as 1970, one after 9999 as 9999: the sequencer never lets
/// time go back, so neither can disturb an order already journaled.
pub fn now() -> TimeMs {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    TimeMs::new(ms).unwrap_or(TimeMs::MAX)
}
