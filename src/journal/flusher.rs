//! Settling: how sled's blocks reach the disk behind the write-ahead log, a little at a time, on
//! threads that nobody waits for until a half of the log is to be written over.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::groups::Group;
use super::store::{Step, StoreError};
use super::tree::SledBlocks;

/// Has on disk what sled was given.
#[derive(Debug, Clone)]
pub(super) struct SledFlusher {
    blocks: SledBlocks,
    /// sled's data file, open for as long as sled is, because an error that the system could not
    /// write back is reported to handles that were open when it happened.
    file: Arc<File>,
    /// Made where that fails: the system may hold bytes in memory then that it believes are on
    /// disk, also for whoever opens the file next.
    unsettled: PathBuf,
}

impl SledFlusher {
    /// Of these blocks, which sled keeps in this file.
    pub(super) fn of(blocks: SledBlocks, file: File, unsettled: PathBuf) -> SledFlusher {
        SledFlusher { blocks, file: Arc::new(file), unsettled }
    }

    /// Gives sled the blocks that it lacks and returns once all are on disk.
    pub(super) fn settle(&self) -> Result<(), StoreError> {
        self.settle_with(&self.blocks.not_given())
    }

    fn settle_with(&self, groups: &[Group]) -> Result<(), StoreError> {
        let given = self.blocks.give(groups);
        let flush = || self.blocks.on_blocks(Step::Flush, |blocks| blocks.flush().map(drop));
        // sled's flush asks for write-out only: neither the file's length nor the drive's cache.
        let sync = || self.file.sync_data().map_err(|error| StoreError::new(Step::Sync, error));
        let settled = given.and_then(|()| flush()).and_then(|()| sync());
        settled.map_err(|failed| match File::create(&self.unsettled) {
            Ok(_) => failed,
            Err(error) => {
                let what = format_args!("{}, and that could not be noted: {error}", failed.what);
                StoreError::new(failed.step, what)
            }
        })
    }

    /// Begins to do so on a thread of its own, with the blocks that there are now; where the system
    /// gives none, does it.
    pub(super) fn begin(&self) -> FlushTask {
        self.begin_on(thread::Builder::new().name("settling".to_owned()))
    }

    fn begin_on(&self, thread: thread::Builder) -> FlushTask {
        // Only what is here by now is durable in the log.
        let (settler, groups) = (self.clone(), self.blocks.not_given());
        match thread.spawn(move || settler.settle_with(&groups)) {
            Ok(thread) => FlushTask::Begun(thread),
            Err(_) => FlushTask::Ended(self.settle()),
        }
    }

    /// What failed earlier is settled now.
    pub(super) fn clear(&self) -> io::Result<()> {
        match fs::remove_file(&self.unsettled) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// What was begun, and is waited for later.
#[derive(Debug)]
pub(super) enum FlushTask {
    /// A thread is at it, or has ended.
    Begun(JoinHandle<Result<(), StoreError>>),
    /// It came to this.
    Ended(Result<(), StoreError>),
}

impl FlushTask {
    pub(super) fn has_ended(&self) -> bool {
        match self {
            FlushTask::Begun(thread) => thread.is_finished(),
            FlushTask::Ended(_) => true,
        }
    }

    /// Waits for it.
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
mod tests {
    #![allow(clippy::unwrap_used)] // a test may stop

    use super::*;
    use crate::exchange::units::Sequence;
    use crate::journal::tree::Sled;

    /// A thread that wants more room than there are addresses.
    fn none_to_be_had() -> thread::Builder {
        thread::Builder::new().stack_size(1 << 60)
    }

    #[test]
    fn where_no_thread_can_be_had_all_is_settled_before_anybody_goes_on() {
        assert!(none_to_be_had().spawn(|| ()).is_err());
        let dir = tempfile::tempdir().unwrap();
        let (store, unsettled) = (dir.path().join("store"), dir.path().join("unsettled"));
        let sled = Sled::open(&store).unwrap();
        sled.blocks.put(Sequence::new(1), b"a block that is long enough to be found");
        let written = || fs::read(store.join("db")).unwrap();
        let found = |bytes: &[u8]| bytes.windows(7).any(|window| window == b"a block");
        assert!(!found(&written()));

        let file = File::open(store.join("db")).unwrap();
        let settler = SledFlusher::of(sled.blocks.clone(), file, unsettled.clone());
        let mut settling = settler.begin_on(none_to_be_had());
        assert!(matches!(settling, FlushTask::Ended(Ok(()))) && settling.has_ended());
        assert_eq!(settling.end(), Ok(()));
        assert!(found(&written()) && !unsettled.exists());

        // One that cannot be synced: whoever waits for it is told so.
        let unsynced = File::open("/dev/null").unwrap();
        let settler = SledFlusher::of(sled.blocks.clone(), unsynced, unsettled.clone());
        let mut settling = settler.begin_on(none_to_be_had());
        assert!(settling.has_ended() && unsettled.exists());
        assert_eq!(settling.end().map_err(|failed| failed.step), Err(Step::Sync));
    }

    /// A block that comes while sled is given others may be refused yet.
    #[test]
    fn what_comes_after_the_beginning_is_not_given() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store");
        let sled = Sled::open(&store).unwrap();
        let file = File::open(store.join("db")).unwrap();
        let settler = SledFlusher::of(sled.blocks.clone(), file, dir.path().join("unsettled"));
        let blocks = sled.blocks.clone();
        blocks.put(Sequence::new(1), b"one");
        for number in 2..40 {
            let mut settling = settler.begin();
            blocks.put(Sequence::new(number), b"one more");
            assert_eq!(settling.end(), Ok(()));
            let left = blocks.not_given();
            assert_eq!(left.iter().map(|(first, _)| first.get()).collect::<Vec<_>>(), [number]);
        }
    }
}
