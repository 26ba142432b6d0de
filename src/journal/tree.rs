//! sled 0.34, each call inside `catch_unwind`: it panics on some of the damage it meets. The copy
//! of the journal and the index of the pages open it only through here.

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::store::{Step, StoreError};

/// How often a lock is retried that is about to be released, and the pause between.
const LOCK_TRIES_MAX: u32 = 500;
/// See [`LOCK_TRIES_MAX`]: five seconds in all.
const LOCK_TRY_EVERY: Duration = Duration::from_millis(10);
/// sled's data file.
pub(super) const DATABASE_FILE: &str = "db";
/// sled's settings.
const SETTINGS_FILE: &str = "conf";
/// Prefix of sled's snapshots, which it reads when it opens.
const SNAPSHOT_PREFIX: &str = "snap.";
/// Their suffix until they are complete.
const UNFINISHED_SUFFIX: &str = ".generating";

/// A database's segment size and cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub segment_bytes: usize,
    pub cache_bytes: u64,
}

/// Opens a sled database. The data directory is locked already, so sled's own lock can only be held
/// by a store that is just being dropped: it is released a moment later.
pub(super) fn open_db(dir: &Path, shape: Shape) -> Result<sled::Db, StoreError> {
    // If the system gives it no thread, sled waits forever.
    let given = thread::Builder::new().spawn(|| ()).map(|thread| drop(thread.join()));
    given.map_err(|error| StoreError::of(Step::Open, &error, &error))?;
    let mut tries = LOCK_TRIES_MAX;
    // It asks the system's clock for a name that it does not need, and panics before 1970.
    let impossible = |_| StoreError::new(Step::Open, "the system's clock is set before 1970");
    let config = catch_unwind(sled::Config::new)
        .map_err(impossible)?
        .path(dir)
        .segment_size(shape.segment_bytes)
        .cache_capacity(shape.cache_bytes)
        .mode(sled::Mode::HighThroughput)
        .flush_every_ms(None);
    loop {
        clear_unfinished(dir).map_err(|error| StoreError::of(Step::Open, &error, &error))?;
        let opened = caught(Step::Open, || match config.open() {
            Err(sled::Error::Io(error)) if tries > 0 && still_locked(&error) => Ok(None),
            opened => opened.map(Some),
        })?;
        if let Some(db) = opened {
            return Ok(db);
        }
        tries = tries.saturating_sub(1);
        thread::sleep(LOCK_TRY_EVERY);
    }
}

/// Removes a snapshot that an interrupted start left incomplete. sled means to skip those, but
/// looks for another suffix than it writes: it would take the file for its newest snapshot and
/// report damage. Nothing depends on a snapshot before it is complete; the previous one exists
/// until then.
fn clear_unfinished(dir: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let has_database = dir.join(DATABASE_FILE).try_exists()?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let snapshot = name.starts_with(SNAPSHOT_PREFIX) && name.ends_with(UNFINISHED_SUFFIX);
        // Settings are written before the data file is created, and mean nothing without it.
        if snapshot || name == SETTINGS_FILE && !has_database {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// sled gives this failure no error kind.
fn still_locked(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock || error.to_string().contains("acquire lock")
}

/// Calls sled; turns its error or panic into a [`StoreError`].
pub(super) fn caught<T>(
    step: Step,
    call: impl FnOnce() -> sled::Result<T>,
) -> Result<T, StoreError> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| match &error {
            sled::Error::Io(cause) => store_io(step, describe(&error), cause),
            _ => StoreError::damage(step, describe(&error)),
        }),
        // The process's panic hook prints the details.
        Err(_) => Err(StoreError::damage(step, "the store met damage that it cannot read past")),
    }
}

/// A failure of sled's input or output. A missing file is one that its other files name; an error
/// that the system did not give is about their contents, unless it is about the lock.
fn store_io(step: Step, what: String, cause: &io::Error) -> StoreError {
    let failed = StoreError::of(step, what, cause);
    let contents = match cause.raw_os_error() {
        Some(_) => cause.kind() == io::ErrorKind::NotFound,
        None => !still_locked(cause),
    };
    StoreError { damaged: failed.damaged || contents, ..failed }
}

/// sled's errors in plain words: its own text names its sources and its code.
fn describe(error: &sled::Error) -> String {
    match error {
        sled::Error::Io(error) => format!("the store could not use its files: {error}"),
        sled::Error::Corruption { .. } => "the store's files are damaged".to_owned(),
        sled::Error::Unsupported(_) => "the store's files are of another form".to_owned(),
        sled::Error::CollectionNotFound(_) => "the store has no tree of blocks".to_owned(),
        sled::Error::ReportableBug(_) => "the store met a state that cannot be".to_owned(),
    }
}

#[cfg(test)]
#[path = "../../tests/unit/journal/tree.rs"]
mod tests;
