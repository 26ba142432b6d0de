//! Copies sled's files for salvage, skipping unreadable parts, so that sled can be opened without
//! changing the originals.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::tree::{DATABASE_FILE, Sled};
use super::unreadable::copy_around;

/// Opens sled on a copy; if that fails, on a copy without sled's snapshots, which it can rebuild.
///
/// # Errors
/// The copy at this path cannot be made.
pub(super) fn store_copy(
    store: &Path,
    scratch: &Path,
    faults: &mut Vec<String>,
) -> Result<Option<Sled>, (PathBuf, io::Error)> {
    let database = store.join(DATABASE_FILE);
    if !database.exists() {
        let gone = if store.exists() { database.as_path() } else { store };
        faults.push(format!("{} is gone", gone.display()));
        return Ok(None);
    }
    for (attempt, with_snapshots) in [("1", true), ("2", false)] {
        let copy = scratch.join(attempt);
        copy_files(store, &copy, with_snapshots).map_err(|error| (copy.clone(), error))?;
        match Sled::open(&copy) {
            Ok(sled) => return Ok(Some(sled)),
            Err(error) => faults.push(format!("sled: {error}")),
        }
    }
    Ok(None)
}

fn copy_files(from: &Path, to: &Path, with_snapshots: bool) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let snapshot = entry.file_name().to_string_lossy().starts_with("snap.");
        if entry.file_type()?.is_file() && (with_snapshots || !snapshot) {
            let mut copy = File::create(to.join(entry.file_name()))?;
            copy_around(&File::open(entry.path())?, &mut copy)?;
        }
    }
    Ok(())
}
