//! Moments of a journal as people write them: a sequence number, or a time.

use chrono::{DateTime, SecondsFormat};
use exchange::command::Record;
use exchange::units::{Sequence, TimeMs};

use crate::answer::Failure;

/// A moment of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// At a record.
    Sequence(Sequence),
    /// A time.
    Time(TimeMs),
}

impl Moment {
    /// Reads a sequence number or an RFC 3339 time. A time is cut to milliseconds, the resolution
    /// of records.
    pub fn parse(text: &str) -> Result<Moment, String> {
        if let Ok(sequence) = text.parse() {
            return Ok(Moment::Sequence(Sequence::new(sequence)));
        }
        let time = DateTime::parse_from_rfc3339(text).map_err(|_| {
            "is neither a sequence number nor a time like 2026-08-10T18:00:00Z".to_owned()
        })?;
        let time = TimeMs::new(time.timestamp_millis());
        time.map(Moment::Time).ok_or_else(|| "is not between the years 1970 and 9999".to_owned())
    }

    /// Whether a journal that ends at this record has this moment. It has every time, since nothing
    /// changes after the last record, but only the records up to its end.
    pub fn within(self, end: Sequence) -> Result<(), Failure> {
        match self {
            Moment::Sequence(asked) if asked > end => Err(Failure::Failed(format!(
                "AT_BEYOND_END: there is no record {asked}: the journal ends with record {end}"
            ))),
            Moment::Sequence(_) | Moment::Time(_) => Ok(()),
        }
    }

    /// Whether a record comes before this moment.
    pub fn is_after(self, record: &Record) -> bool {
        match self {
            Moment::Sequence(sequence) => record.sequence < sequence,
            Moment::Time(time) => record.time < time,
        }
    }

    /// Whether a record is later than this moment. A record exactly at it is not.
    pub fn is_before(self, record: &Record) -> bool {
        match self {
            Moment::Sequence(sequence) => record.sequence > sequence,
            Moment::Time(time) => record.time > time,
        }
    }
}

/// A time as `YYYY-MM-DDTHH:MM:SS.mmmZ`.
pub fn rfc3339(time: TimeMs) -> String {
    // Every `TimeMs` is in the calendar's range; the raw number is a fallback.
    DateTime::from_timestamp_millis(time.get()).map_or_else(
        || format!("{} ms", time.get()),
        |moment| moment.to_rfc3339_opts(SecondsFormat::Millis, true),
    )
}

/// A time for people: `2026-08-10 21:46:09.379`, UTC.
pub fn when(time: TimeMs) -> String {
    rfc3339(time).replacen('T', " ", 1).trim_end_matches('Z').to_owned()
}

/// The duration between two times: `0.104 seconds`, `2 hours 5 minutes`.
pub fn elapsed(from: TimeMs, to: TimeMs) -> String {
    let ms = to.get().saturating_sub(from.get());
    let (seconds, millis) = (ms.div_euclid(1_000), ms.rem_euclid(1_000));
    let count = |count: i64, one: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    };
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) if millis == 0 => count(seconds, "second"),
        (0, 0, 0) => format!("{seconds}.{millis:03} seconds"),
        (0, 0, _) => format!("{} {}", count(minutes, "minute"), count(seconds % 60, "second")),
        (0, ..) => format!("{} {}", count(hours, "hour"), count(minutes, "minute")),
        _ => format!("{} {}", count(days, "day"), count(hours, "hour")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_number_or_a_time() {
        let at = |ms| Ok(Moment::Time(TimeMs::new(ms).unwrap()));
        assert_eq!(Moment::parse("17"), Ok(Moment::Sequence(Sequence::new(17))));
        assert_eq!(Moment::parse("1970-01-01T00:00:01Z"), at(1000));
        assert_eq!(Moment::parse("1970-01-01T01:00:01.0019+01:00"), at(1001));
        for bad in ["", "-1", "yesterday", "2026-08-10", "1969-12-31T23:59:59Z", "17.5"] {
            assert!(Moment::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(rfc3339(TimeMs::MAX), "9999-12-31T23:59:59.999Z");
        assert_eq!(when(TimeMs::MAX), "9999-12-31 23:59:59.999");
        let start = TimeMs::new(500).unwrap();
        for (ms, text) in [
            (500, "0 seconds"),
            (604, "0.104 seconds"),
            (1_500, "1 second"),
            (60_500, "1 minute 0 seconds"),
            (7_500_500, "2 hours 5 minutes"),
            (90_000_500, "1 day 1 hour"),
        ] {
            assert_eq!(elapsed(start, TimeMs::new(ms).unwrap()), text);
        }
    }
}
