//! The dates of HTTP, as far as hyper needs them. Whatever the system's clock says, there is one:
//! before 1970 and after 9999 the nearest in between.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::DateTime;

/// The last second of the year 9999: later dates have too many digits.
const LAST: Duration = Duration::from_secs(253_402_300_799);

/// A date for a header, in whole seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpDate(i64);

impl From<SystemTime> for HttpDate {
    fn from(time: SystemTime) -> HttpDate {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default().min(LAST);
        HttpDate(i64::try_from(since.as_secs()).unwrap_or(0))
    }
}

impl fmt::Display for HttpDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let date = DateTime::from_timestamp(self.0, 0).unwrap_or_default();
        write!(f, "{}", date.format("%a, %d %b %Y %H:%M:%S GMT"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_gives_a_date_of_the_same_length() {
        let day = Duration::from_hours(24);
        for (time, date) in [
            (UNIX_EPOCH - day, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (UNIX_EPOCH, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (UNIX_EPOCH + Duration::from_secs(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT"),
            (UNIX_EPOCH + LAST, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (UNIX_EPOCH + LAST + day, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            assert_eq!(HttpDate::from(time).to_string(), date);
        }
    }
}
