//! Flushes blocks to sled's file in the background, in batches. The journal waits for a flush only
//! before it begins the next one, and before it overwrites a half of the write-ahead log.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread::{self, JoinHandle};

use super::groups::Group;
use super::store::{Step, StoreError};
use super::tree::{SEGMENT_BYTES, SledBlocks};

/// Gives sled blocks and syncs its file.
#[derive(Debug, Clone)]
pub(super) struct SledFlusher {
    blocks: SledBlocks,
    /// Sled's data file, kept open because the system reports a failed write-back only to handles
    /// that were open at the time.
    file: Arc<File>,
    /// Created when a flush fails: the system may then hold pages that it wrongly believes to be on
    /// disk, also for later opens of the file.
    failure_file: PathBuf,
    /// The file's length after the last flush; held while sled writes.
    length: Arc<Mutex<u64>>,
}

impl SledFlusher {
    /// For these blocks, which sled keeps in this file.
    pub(super) fn of(blocks: SledBlocks, file: File, failure_file: PathBuf) -> SledFlusher {
        let length = Arc::new(Mutex::new(length(&file)));
        SledFlusher { blocks, file: Arc::new(file), failure_file, length }
    }

    /// Gives sled the blocks that it lacks and returns once all are on disk.
    pub(super) fn flush(&self) -> Result<(), StoreError> {
        self.flush_groups(&self.blocks.buffered())
    }

    /// Whether somebody else has cut the file since sled wrote to it last. While sled writes that
    /// cannot be told; the flush has checked it then.
    pub(super) fn was_cut(&self) -> bool {
        match self.length.try_lock() {
            Ok(before) => is_cut(*before, length(&self.file)),
            Err(TryLockError::Poisoned(before)) => is_cut(*before.into_inner(), length(&self.file)),
            Err(TryLockError::WouldBlock) => false,
        }
    }

    fn flush_groups(&self, groups: &[Group]) -> Result<(), StoreError> {
        let mut before = self.length.lock().unwrap_or_else(PoisonError::into_inner);
        let whole = |now: u64| {
            let cut = || StoreError::new(Step::Put, "the store's file was truncated");
            if is_cut(*before, now) { Err(cut()) } else { Ok(now) }
        };
        // sled would write behind the end, and leave a hole in a file that looks whole.
        whole(length(&self.file))?;
        let flushed = self.flush_unchecked(groups);
        *before = whole(length(&self.file))?;
        flushed
    }

    fn flush_unchecked(&self, groups: &[Group]) -> Result<(), StoreError> {
        let inserted = self.blocks.insert_oldest(groups);
        let flush = || self.blocks.on_blocks(Step::Flush, |blocks| blocks.flush().map(drop));
        // Sled's flush only starts write-out: it syncs neither the file's length nor the drive's
        // cache.
        let sync = || self.file.sync_data().map_err(|error| StoreError::new(Step::Sync, error));
        let flushed = inserted.and_then(|()| flush()).and_then(|()| sync());
        flushed.map_err(|failed| match File::create(&self.failure_file) {
            Ok(_) => failed,
            Err(error) => {
                let what = format_args!("{}, and that could not be noted: {error}", failed.what);
                StoreError::new(failed.step, what)
            }
        })
    }

    /// Starts a flush of the blocks there are now on a thread of its own; flushes on the caller's
    /// if no thread can be started.
    pub(super) fn begin(&self) -> FlushTask {
        self.begin_on(thread::Builder::new().name("flusher".to_owned()))
    }

    fn begin_on(&self, thread: thread::Builder) -> FlushTask {
        // Taken now: only these blocks are known to be durable in the log.
        let (flusher, groups) = (self.clone(), self.blocks.buffered());
        match thread.spawn(move || flusher.flush_groups(&groups)) {
            Ok(thread) => FlushTask::Begun(thread),
            Err(_) => FlushTask::Ended(self.flush()),
        }
    }

    /// Removes the sign of an earlier failure, after a successful flush.
    pub(super) fn clear(&self) -> io::Result<()> {
        match fs::remove_file(&self.failure_file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// A file's length; the greatest there is if the system does not say.
fn length(file: &File) -> u64 {
    file.metadata().map_or(u64::MAX, |file| file.len())
}

/// Whether a file that had a length was cut, by somebody else than sled, which frees whole
/// segments.
const fn is_cut(before: u64, now: u64) -> bool {
    now < before && before != u64::MAX && (now == 0 || !now.is_multiple_of(SEGMENT_BYTES as u64))
}

/// A background flush.
#[derive(Debug)]
pub(super) enum FlushTask {
    /// It runs on a thread, or has ended there.
    Begun(JoinHandle<Result<(), StoreError>>),
    /// Its result.
    Ended(Result<(), StoreError>),
}

impl FlushTask {
    pub(super) fn has_ended(&self) -> bool {
        match self {
            FlushTask::Begun(thread) => thread.is_finished(),
            FlushTask::Ended(_) => true,
        }
    }

    /// Waits for the result.
    pub(super) fn end(&mut self) -> Result<(), StoreError> {
        match std::mem::replace(self, FlushTask::Ended(Ok(()))) {
            FlushTask::Ended(ended) => ended,
            FlushTask::Begun(thread) => {
                let panicked = |_| Err(StoreError::new(Step::Flush, "the thread panicked"));
                thread.join().unwrap_or_else(panicked)
            }
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/journal/flusher.rs"]
mod tests;
