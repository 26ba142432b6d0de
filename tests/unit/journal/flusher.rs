//! Unit tests of `src/journal/flusher.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use super::*;
use crate::tree::Sled;
use exchange::units::Sequence;

/// A thread that wants more stack than there are addresses.
fn none_to_be_had() -> thread::Builder {
    thread::Builder::new().stack_size(1 << 60)
}

#[test]
fn where_no_thread_can_be_had_all_is_settled_before_anybody_goes_on() {
    assert!(none_to_be_had().spawn(|| ()).is_err());
    let dir = tempfile::tempdir().unwrap();
    let (store, failure_file) = (dir.path().join("store"), dir.path().join("unsettled"));
    let sled = Sled::open(&store).unwrap();
    sled.blocks.put(Sequence::new(1), b"a block that is long enough to be found");
    let written = || fs::read(store.join("db")).unwrap();
    let found = |bytes: &[u8]| bytes.windows(7).any(|window| window == b"a block");
    assert!(!found(&written()));

    let file = File::open(store.join("db")).unwrap();
    let flusher = SledFlusher::of(sled.blocks.clone(), file, failure_file.clone());
    let mut task = flusher.begin_on(none_to_be_had());
    assert!(matches!(task, FlushTask::Ended(Ok(()))) && task.has_ended());
    assert_eq!(task.end(), Ok(()));
    assert!(found(&written()) && !failure_file.exists());

    // A file that cannot be synced: the caller gets the error.
    let unsynced = File::open("/dev/null").unwrap();
    let flusher = SledFlusher::of(sled.blocks.clone(), unsynced, failure_file.clone());
    let mut task = flusher.begin_on(none_to_be_had());
    assert!(task.has_ended() && failure_file.exists());
    assert_eq!(task.end().map_err(|failed| failed.step), Err(Step::Sync));
}

/// A block that arrives during a flush may still be refused.
#[test]
fn what_comes_after_the_beginning_is_not_given() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let sled = Sled::open(&store).unwrap();
    let file = File::open(store.join("db")).unwrap();
    let flusher = SledFlusher::of(sled.blocks.clone(), file, dir.path().join("unsettled"));
    let blocks = sled.blocks.clone();
    blocks.put(Sequence::new(1), b"one");
    for number in 2..40 {
        let mut task = flusher.begin();
        blocks.put(Sequence::new(number), b"one more");
        assert_eq!(task.end(), Ok(()));
        let left = blocks.buffered();
        assert_eq!(left.iter().map(|(first, _)| first.get()).collect::<Vec<_>>(), [number]);
    }
}
