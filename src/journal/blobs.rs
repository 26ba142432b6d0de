//! Watches sled's folder `blobs/`, where sled would put values too large for its segments, in files
//! that it never syncs.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::sled::opening;
use super::store::{OpenError, Step, StoreError};

/// Longest step of a file system's clock: two ticks of the slowest kernel.
const FILE_CLOCK_STEP_MAX: Duration = Duration::from_millis(20);

/// The folder of the files that sled never syncs; it must stay empty.
///
/// It is watched by its modification time, because listing it takes a file descriptor: a server
/// whose clients hold them all must still be able to journal.
#[derive(Debug)]
pub(super) struct BlobFolder {
    path: PathBuf,
    /// Modification time, in seconds and nanoseconds, when it was last seen empty.
    changed: (i64, i64),
}

impl BlobFolder {
    /// Watches a folder, which must be empty.
    pub(super) fn found_empty(path: PathBuf) -> Result<BlobFolder, OpenError> {
        let changed = changed_at(&path).map_err(opening)?;
        // After this pause any change gets a later time, however coarse the file system's clock.
        thread::sleep(FILE_CLOCK_STEP_MAX);
        if any_file(&path).map_err(opening)? || changed_at(&path).map_err(opening)? != changed {
            return Err(OpenError::Blobs(path));
        }
        Ok(BlobFolder { path, changed })
    }

    /// Fails once sled has created a file here.
    pub(super) fn still_empty(&self, step: Step) -> Result<(), StoreError> {
        match changed_at(&self.path) {
            Ok(changed) if changed == self.changed => Ok(()),
            Ok(_) => {
                let path = self.path.display();
                Err(StoreError::new(step, format_args!("{path} has held a file never synced")))
            }
            Err(error) => Err(StoreError::new(step, error)),
        }
    }
}

/// When an entry was last added to a folder or removed.
fn changed_at(folder: &Path) -> io::Result<(i64, i64)> {
    // Not `ctime`, which a new owner or mode changes too.
    fs::metadata(folder).map(|folder| (folder.mtime(), folder.mtime_nsec()))
}

/// Whether a directory exists and has entries.
pub(super) fn any_file(dir: &Path) -> io::Result<bool> {
    match fs::read_dir(dir) {
        Ok(mut entries) => Ok(entries.next().transpose()?.is_some()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
