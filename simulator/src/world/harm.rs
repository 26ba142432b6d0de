//! What is damaged while the venue is off, and what must come of it.

use std::path::Path;

use exchange::units::Sequence;
use journal::Journal;
use journal::directory::LogJournal;
use journal::disk::mounted::ROOT;
use journal::import::{ImportError, import};
use journal::salvage::Salvage;

use super::{SALVAGED_ONE_IN, World};
use crate::damage::{self, Expected};
use crate::disk::Faults;
use crate::venue::{Venue, archive, data};

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
        self.set_faults(false);
        self.disk.set_full(false);
        let before = self.disk.image();
        let sound = self.copy_sound_after;
        let found = damage::some(&self.disk, &mut self.chance, sound);
        let Some((what, expected)) = found else {
            self.set_faults(true);
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
        let mut done = self.restart(false);
        // What no start reads is found by whoever reads all: before the copy is damaged, too. So
        // nothing may keep that from being mended.
        let segment = self.venue.as_ref().filter(|_| what.contains("sealed segment"));
        if let (Ok(()), Some(venue)) = (&done, segment) {
            self.disk.cut_never();
            done = self.oracle.made_again(venue).map(drop);
        }
        self.set_faults(true);
        done.map_err(|error| format!("after {what}: {error}"))
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
                let whole = !code.starts_with("RECOVERY") && *code != "OPEN_FILE_MISSING";
                if self.chance.one_in(SALVAGED_ONE_IN / 4) {
                    self.salvage(whole)
                        .map_err(|error| format!("SALVAGE: after {what}: {error}"))?;
                }
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

    /// Salvages what is whole, but for a block that was refused last.
    pub(super) fn salvage_at_rest(&mut self) -> Result<(), String> {
        self.disk.cut_never();
        self.disk.set_faults(Faults::default());
        self.disk.set_full(false);
        let before = self.disk.image();
        self.salvage(true).map_err(|error| format!("SALVAGE: {error}"))?;
        self.disk.restore(before);
        self.disk.set_faults(self.faults);
        Ok(())
    }

    /// After a refused start the operator is told to salvage: a new directory gets all that is still
    /// known to be durable, nothing that was refused, and opens. `whole` says that all is.
    fn salvage(&mut self, whole: bool) -> Result<(), String> {
        let words = |error: &dyn std::fmt::Display| error.to_string();
        let (root, known) = (Path::new(ROOT), self.oracle.known);
        let new = root.join("salvaged");
        let archive = archive();
        let archived = (!self.disk.files(&archive).is_empty()).then_some(archive.as_path());
        let chain = Salvage::of(&data(), archived, &root.join("scratch"));
        let mut chain = chain.map_err(|error| words(&error))?;
        let imported = import(&new, &mut chain, |_| {});
        let done = chain.finish();
        let head = match imported {
            // Only the open segment, whose first block is damaged, and no archive.
            Err(ImportError::Empty) => done.head,
            imported => imported.map_err(|error| words(&error))?,
        };
        // What is full has a copy; without its marker a directory's last block may be a refused
        // one.
        let mut sure = damage::firsts(&self.disk).into_iter().rev().skip(usize::from(!done.marked));
        let sure = Sequence::new(sure.next().unwrap_or(1).saturating_sub(1));
        let least = if whole { known.sequence } else { sure };
        if head.sequence < least || done.complete && head.sequence < known.sequence {
            let (last, complete) = (known.sequence, done.complete);
            return Err(format!("{head:?} of {last}, {least} is sure, complete {complete}"));
        }
        self.mark(if done.complete { "all was salvaged" } else { "a part was salvaged" });
        if head.sequence == Sequence::ZERO {
            return Ok(());
        }
        let (journal, _) = LogJournal::open(&new).map_err(|error| words(&error))?;
        // A venue that has halted has not applied all that is durable.
        let mut truth = self.oracle.records.iter();
        for block in journal.reader().read(Sequence::new(1)) {
            let block = block.map_err(|error| words(&error))?;
            let told = |record| truth.next().is_none_or(|told| told == record);
            if block.last() > known.sequence || !block.records().iter().all(told) {
                return Err(format!("the block of record {} is another", block.first()));
            }
        }
        let ours = head.sequence < known.sequence || head.hash == known.hash;
        if ours && *journal.head() == head { Ok(()) } else { Err(format!("it leads to {head:?}")) }
    }
}
