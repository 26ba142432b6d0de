//! The clock of a venue that starts: it continues after the last record, and is not set ahead by
//! what may be a mistake.

use std::path::Path;

use chrono::{DateTime, SecondsFormat};

use super::Failure;
use engine::clock::{self, Clock, ClockAhead};
use engine::clock_stamp::ClockStamp;
use exchange::units::TimeMs;

/// Refuses a clock with which nothing can be opened, before anything is.
pub(crate) fn possible() -> Result<(), Failure> {
    if !clock::is_before_1970() {
        return Ok(());
    }
    let why = "CLOCK_BEFORE_1970: the system's clock is set to a time before 1970; set it and \
               start again; nothing was opened";
    Err(Failure::Failed(why.to_owned()))
}

/// The clock of a data directory whose last record has this time, and its stamp, which is written
/// at once: a start that is repeated need not ask again.
pub(crate) fn open(
    data: &Path,
    last: TimeMs,
    accepted: bool,
) -> Result<(Clock, Option<ClockStamp>), Failure> {
    let opened = ClockStamp::open(data).unwrap_or_else(|error| {
        // It only helps to judge the system's clock.
        tracing::warn!(data = %data.display(), %error, "the clock's stamp cannot be opened");
        None
    });
    let (stamp, known) = opened.unzip();
    let clock = if accepted {
        Clock::after(last)
    } else {
        Clock::judged(last, known.flatten()).map_err(ahead)?
    };
    let stamp = stamp.map(|mut stamp| {
        stamp.keep(&clock);
        stamp
    });
    Ok((clock, stamp))
}

fn ahead(ClockAhead { last, system }: ClockAhead) -> Failure {
    let days = system.get().saturating_sub(last.get()) / (24 * 3_600_000);
    let (last, system) = (shown(last), shown(system));
    Failure::Failed(format!(
        "CLOCK_AHEAD: the system's clock says {system}, the last record is of {last}, {days} days \
         earlier. What is due by a wrong clock cannot be undone: markets close, orders expire. If \
         the clock is right, and the venue stood still for so long, start it once with \
         --accept-clock (or OPENOUTCRY_ACCEPT_CLOCK=true); if it is wrong, set it and start again"
    ))
}

fn shown(time: TimeMs) -> String {
    let time = DateTime::from_timestamp_millis(time.get()).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}
