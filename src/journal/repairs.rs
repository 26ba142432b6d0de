//! Damage that a start repairs, because the store holds every block known to be acknowledged: the
//! write-ahead log, which is made anew, and one of the two copies in the witness. It is reported,
//! since a disk that damaged these may damage more.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::marker::{SLOT_BYTES, WITNESS_SLOT_OFFSET, Witness, newest_witness};
use super::wal::{self, Beginning};

/// What was wrong with the write-ahead log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFault {
    /// There was none.
    Gone,
    /// It held only zeros.
    Zeroed,
    /// It began with bytes that are never written there.
    Overwritten,
}

/// What a start repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repairs {
    /// The write-ahead log was made anew.
    pub log: Option<LogFault>,
    /// One of the witness's two copies could not be read, and is written again.
    pub witness: bool,
}

impl Repairs {
    /// One sentence for each.
    pub fn described(self) -> impl Iterator<Item = &'static str> {
        let log = self.log.map(|fault| match fault {
            LogFault::Gone => "the write-ahead log (wal) was gone; it is made anew",
            LogFault::Zeroed => "the write-ahead log (wal) held only zeros; it is made anew",
            LogFault::Overwritten => {
                "the write-ahead log (wal) held bytes that no server wrote; it is made anew"
            }
        });
        let witness = "one of the two copies in the witness file could not be read; it is \
                       written again from the other";
        log.into_iter().chain(self.witness.then_some(witness))
    }
}

/// What is wrong with the log and the witness of a complete journal, before a start changes them.
pub(super) fn needed(log: &Path, witness: &Path) -> io::Result<Repairs> {
    let file = File::open(witness)?;
    let copies = [0, WITNESS_SLOT_OFFSET].map(|offset| sound(&file, offset));
    let acknowledged = newest_witness(&file)?.is_some_and(|newest| newest != Witness::NONE);
    let log = match fs::read(log) {
        Ok(bytes) => match wal::beginning(&bytes) {
            Beginning::Sound => None,
            Beginning::Zeros => Some(LogFault::Zeroed),
            Beginning::Foreign => Some(LogFault::Overwritten),
        },
        // A first start makes it last.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            acknowledged.then_some(LogFault::Gone)
        }
        Err(error) => return Err(error),
    };
    // Both damaged is a refusal.
    Ok(Repairs { log, witness: copies.contains(&true) && copies.contains(&false) })
}

/// Repairs it, once the start was not refused: else it would be reported again.
pub(super) fn done(repairs: Repairs, log: &Path, witness: &Path) -> io::Result<()> {
    if repairs.log.is_some() {
        File::create(log)?;
    }
    if !repairs.witness {
        return Ok(());
    }
    let file = OpenOptions::new().read(true).write(true).open(witness)?;
    let Some(newest) = newest_witness(&file)? else { return Ok(()) };
    for offset in [0, WITNESS_SLOT_OFFSET] {
        if !sound(&file, offset) {
            file.write_all_at(&newest.encode(), offset)?;
        }
    }
    Ok(())
}

/// Whether one of the witness's copies can be read.
fn sound(witness: &File, offset: u64) -> bool {
    let mut slot = [0; SLOT_BYTES];
    witness.read_exact_at(&mut slot, offset).is_ok() && Witness::decode(&slot).is_some()
}

#[cfg(test)]
#[path = "../../tests/unit/journal/repairs.rs"]
mod tests;
