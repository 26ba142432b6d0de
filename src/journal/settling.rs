//! Settling: how sled's blocks reach the disk behind the write-ahead log, on a thread that nobody
//! waits for until the log's other half is full.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::store::{Step, StoreError};
use super::tree::SledBlocks;

/// Has on disk what sled was given.
#[derive(Debug, Clone)]
pub(super) struct Settler {
    blocks: SledBlocks,
    /// sled's data file, open for as long as sled is, because an error that the system could not
    /// write back is reported to handles that were open when it happened.
    file: Arc<File>,
    /// Made where that fails: the system may hold bytes in memory then that it believes are on
    /// disk, also for whoever opens the file next.
    unsettled: PathBuf,
}

impl Settler {
    /// Of these blocks, which sled keeps in this file.
    pub(super) fn of(blocks: SledBlocks, file: File, unsettled: PathBuf) -> Settler {
        Settler { blocks, file: Arc::new(file), unsettled }
    }

    /// Returns once everything is on disk that sled was given before.
    pub(super) fn settle(&self) -> Result<(), StoreError> {
        let flushed = self.blocks.on_blocks(Step::Flush, |blocks| blocks.flush().map(drop));
        // sled's flush asks for write-out only: neither the file's length nor the drive's cache.
        let sync = || self.file.sync_data().map_err(|error| StoreError::new(Step::Sync, error));
        flushed.and_then(|()| sync()).map_err(|failed| match File::create(&self.unsettled) {
            Ok(_) => failed,
            Err(error) => {
                let what = format_args!("{}, and that could not be noted: {error}", failed.what);
                StoreError::new(failed.step, what)
            }
        })
    }

    /// Begins to do so on a thread of its own.
    pub(super) fn begin(&self) -> Result<Settling, StoreError> {
        let (settler, thread) = (self.clone(), thread::Builder::new().name("settling".to_owned()));
        let begun = thread.spawn(move || settler.settle());
        begun.map(|thread| Settling(Some(thread))).map_err(|e| StoreError::new(Step::Flush, e))
    }

    /// What failed earlier is settled now.
    pub(super) fn clear(&self) -> io::Result<()> {
        match fs::remove_file(&self.unsettled) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// A thread that settles.
#[derive(Debug, Default)]
pub(super) struct Settling(Option<JoinHandle<Result<(), StoreError>>>);

impl Settling {
    pub(super) fn has_ended(&self) -> bool {
        self.0.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Waits for it.
    pub(super) fn end(&mut self) -> Result<(), StoreError> {
        let ended = self.0.take().map_or(Ok(Ok(())), JoinHandle::join);
        ended.unwrap_or_else(|_| Err(StoreError::new(Step::Flush, "the thread panicked")))
    }
}
