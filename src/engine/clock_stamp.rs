//! The clock's stamp: a small file beside the journal with which a later start judges the system's
//! clock. It says on which boot of the machine, and at which time of that boot's clock, which time
//! it was. A hint, never synced: without it, or on another boot, a start knows only the last
//! record's time.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::clock::{Clock, SinceBoot};
use exchange::units::TimeMs;

/// The file's name in the data directory.
pub const STAMP_FILE: &str = "clock";
/// Names the boot of the machine.
const BOOT_ID_FILE: &str = "/proc/sys/kernel/random/boot_id";
/// A stamp that is wrong by more than this is written anew.
const WRONG_FROM_MS: i64 = 500;

/// Keeps the stamp of a running venue.
#[derive(Debug)]
pub struct ClockStamp {
    path: PathBuf,
    file: File,
    boot: String,
    /// The difference of the two times in the file.
    written: Option<i64>,
    failed: bool,
}

impl ClockStamp {
    /// Opens the stamp of a data directory whose journal is open; and reads what it says, if it is
    /// of this boot. `None` where boots have no names.
    ///
    /// # Errors
    /// The system's.
    pub fn open(data: &Path) -> io::Result<Option<(ClockStamp, Option<SinceBoot>)>> {
        let Ok(boot) = std::fs::read_to_string(BOOT_ID_FILE) else { return Ok(None) };
        let boot = boot.trim().to_owned();
        let path = data.join(STAMP_FILE);
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).read(true).write(true).mode(0o600);
        let file = options.open(&path)?;
        let known = read(&file, &boot);
        Ok(Some((ClockStamp { path, file, boot, written: None, failed: false }, known)))
    }

    /// Writes the stamp if it is wrong by now: when the venue's clock was set, or goes at half
    /// speed. A failure is logged once.
    pub fn keep(&mut self, clock: &Clock) {
        let SinceBoot { time, at } = clock.since_boot();
        let at = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
        let difference = time.get().saturating_sub(at);
        let wrong = |written: i64| written.abs_diff(difference) > WRONG_FROM_MS.unsigned_abs();
        if self.written.is_none_or(wrong) {
            let line = format!("{} {at:>20} {:>20}\n", self.boot, time.get());
            match self.file.write_all_at(line.as_bytes(), 0) {
                Ok(()) => (self.written, self.failed) = (Some(difference), false),
                Err(error) if !self.failed => {
                    self.failed = true;
                    let file = self.path.display();
                    tracing::warn!(%file, %error, "the clock's stamp cannot be written");
                }
                Err(_) => {}
            }
        }
    }
}

/// What the file says, if it is of this boot. Whatever else stands there says nothing.
fn read(file: &File, boot: &str) -> Option<SinceBoot> {
    let mut bytes = [0; 256];
    let count = file.read_at(&mut bytes, 0).ok()?;
    let text = str::from_utf8(bytes.get(..count)?).ok()?;
    let mut words = text.strip_suffix('\n')?.split_ascii_whitespace();
    let (stamped, at, time) = (words.next()?, words.next()?, words.next()?);
    if stamped != boot || words.next().is_some() {
        return None;
    }
    let at = Duration::from_millis(at.parse().ok()?);
    Some(SinceBoot { time: TimeMs::new(time.parse().ok()?)?, at })
}

#[cfg(test)]
#[path = "../../tests/unit/engine/clock_stamp.rs"]
mod tests;
