//! What is damaged while the venue is off, and what must come of it.

use super::World;
use crate::damage::{self, Expected};
use crate::disk::Faults;
use crate::venue::Venue;

impl World<'_> {
    /// Something is damaged while the venue is off; it must start all the same, or name the damage,
    /// and start once that is undone.
    pub(super) fn damage(&mut self) -> Result<(), String> {
        let halted = self.venue.as_ref().is_none_or(|venue| venue.halted().is_some());
        if halted || self.oracle.doubt {
            return Ok(());
        }
        self.end(false)?;
        self.disk.cut_never();
        let faults = self.options.faults;
        self.disk.set_faults(Faults::default());
        self.disk.set_full(false);
        let before = self.disk.image();
        let sound = self.copy_sound_after;
        let found = damage::some(&self.disk, &mut self.chance, sound);
        let Some((what, expected)) = found else {
            self.disk.set_faults(faults);
            return self.restart(false);
        };
        self.mark(what);
        if what.contains("copy") {
            self.copy_sound_after = Some(damage::fed(&self.disk));
        }
        let undone = match expected {
            Expected::Started => false,
            Expected::Refused(codes) => !self.seen(what, codes, false)?,
            Expected::Seen(codes) => !self.seen(what, codes, true)?,
        };
        if undone {
            self.disk.restore(before);
        }
        let mut done = self.restart(false).map_err(|error| format!("after {what}: {error}"));
        // What no start reads is found by whoever reads all: before the copy is damaged, too. So
        // nothing may keep that from being mended.
        let segment = self.venue.as_ref().filter(|_| what.contains("sealed segment"));
        if let (Ok(()), Some(venue)) = (&done, segment) {
            self.disk.cut_never();
            let made = self.oracle.made_again(venue).map(drop);
            done = made.map_err(|error| format!("after {what}: {error}"));
        }
        self.disk.set_faults(faults);
        done
    }

    /// Starts with something damaged: it must be refused by one of these codes, or it may start and
    /// must not take what is damaged for sound. Whether the next start makes it anew.
    fn seen(&mut self, what: &str, codes: &[&str], may_start: bool) -> Result<bool, String> {
        let venue = match Venue::open(self.options, &self.clocks, &self.oracle.tap, &self.bucket) {
            Ok(venue) if may_start => venue,
            Ok(_) => return Err(format!("UNSEEN: it starts although {what}")),
            Err(refused) => {
                let Some(code) = codes.iter().find(|code| refused.contains(*code)) else {
                    return Err(format!("NAMED: {what}, and the start says {refused}"));
                };
                self.mark(&format!("a start was refused: {code}"));
                return Ok(false);
            }
        };
        if self.options.archive && self.oracle.archived(&venue).is_err() {
            self.mark("an archive was found damaged");
        }
        let read = self.oracle.state(&venue);
        let anew = venue.history.has_failed();
        match read {
            Err(error) if !anew || !error.contains("HISTORY_") => {
                return Err(format!("after {what}: {error}"));
            }
            Err(_) => self.mark("a page was found damaged, and made anew"),
            Ok(()) => {}
        }
        self.oracle.tap.forget();
        venue.stop();
        Ok(anew)
    }
}
