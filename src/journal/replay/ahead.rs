//! Reading ahead: blocks are read, verified and decoded on a thread of their own while those
//! before them are applied.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Builder};

use crate::journal::block::Block;
use crate::journal::store::{Step, StoreError};
use crate::journal::{Durable, JournalError};

/// Blocks that are read and not yet taken: enough that neither side waits for the other at every
/// block, a megabyte or two at most.
const BLOCKS_MAX: usize = 8;

/// A block, or why there is no more.
type Read = Result<Durable<Block>, JournalError>;

/// Blocks as they are read, in order; what is found wrong comes in its place, as without a thread.
#[derive(Debug)]
pub struct ReadAhead {
    /// `None` is the end. A thread that is gone without it has not read everything.
    read: Receiver<Option<Read>>,
    over: bool,
}

impl Iterator for ReadAhead {
    type Item = Read;

    fn next(&mut self) -> Option<Read> {
        if self.over {
            return None;
        }
        let gone = || JournalError::Read(StoreError::new(Step::Read, "nobody reads any more"));
        let read = self.read.recv().unwrap_or_else(|_| Some(Err(gone())));
        self.over = !matches!(read, Some(Ok(_)));
        read
    }
}

/// Has `blocks` read on another thread while `take` takes them. Whatever is not taken is left.
/// Where the system gives no thread, reading fails.
pub fn reading_ahead<'a, T>(
    blocks: impl Iterator<Item = Read> + Send + 'a,
    take: impl FnOnce(&mut ReadAhead) -> T,
) -> T {
    thread::scope(|scope| {
        let (sends, read) = sync_channel(BLOCKS_MAX);
        let reader = Builder::new().name("reader".to_owned());
        let started = reader.spawn_scoped(scope, move || send(blocks, &sends));
        // One that was not started has nobody's end: the first look says so.
        drop(started);
        take(&mut ReadAhead { read, over: false })
    })
}

/// Reads until the end, or until nobody takes any more.
fn send(blocks: impl Iterator<Item = Read>, sends: &SyncSender<Option<Read>>) {
    for block in blocks {
        if sends.send(Some(block)).is_err() {
            return;
        }
    }
    // Nobody has to hear of the end.
    drop(sends.send(None));
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::exchange::command::{Command, Record};
    use crate::exchange::results::Results;
    use crate::exchange::units::{Sequence, TimeMs};
    use crate::journal::Journal;
    use crate::journal::block::BlockBuilder;
    use crate::journal::memory::MemoryJournal;

    fn journal(blocks: u64) -> MemoryJournal {
        let mut journal = MemoryJournal::new();
        for sequence in (1..=blocks).map(Sequence::new) {
            let mut block = BlockBuilder::new(journal.head());
            let (time, command) = (TimeMs::default(), Command::AdvanceClock);
            block.push(Record { sequence, time, once: None, command }).unwrap();
            journal.append(block.build(Results::NONE).unwrap()).unwrap();
        }
        journal
    }

    #[test]
    fn every_block_comes_in_order_and_then_none() {
        let journal = journal(100);
        let all: Vec<Read> = journal.read(Sequence::new(1)).collect();
        assert_eq!(all.len(), 100);
        reading_ahead(journal.read(Sequence::new(1)), |blocks| {
            assert_eq!(blocks.by_ref().collect::<Vec<Read>>(), all);
            assert_eq!(blocks.next(), None);
        });
    }

    #[test]
    fn what_is_wrong_comes_in_its_place_and_is_the_last() {
        let journal = journal(20);
        let wrong = || Err(JournalError::Stopped);
        let blocks = || journal.read(Sequence::new(1)).take(12).chain([wrong()]);
        let more = blocks().chain(journal.read(Sequence::new(13)));
        let read = reading_ahead(more, |blocks| blocks.collect::<Vec<Read>>());
        assert_eq!(read, blocks().collect::<Vec<Read>>());
    }

    /// Nobody waits for a reader that has more to read than fits.
    #[test]
    fn what_is_not_taken_is_left() {
        let journal = journal(100);
        let read = AtomicUsize::new(0);
        let counted = journal.read(Sequence::new(1)).inspect(|_| {
            read.fetch_add(1, Ordering::Relaxed);
        });
        // One is taken, as many wait as may, and one finds no place, or nobody.
        let most = BLOCKS_MAX + 2;
        let first = reading_ahead(counted, |blocks| {
            let first = blocks.next();
            while read.load(Ordering::Relaxed) < most {
                thread::yield_now();
            }
            first
        });
        assert_eq!(first.unwrap().unwrap().first(), Sequence::new(1));
        assert_eq!(read.into_inner(), most);
    }

    #[test]
    fn a_reader_that_is_gone_is_not_the_end() {
        let (sends, read) = sync_channel(1);
        drop::<SyncSender<Option<Read>>>(sends);
        let mut ahead = ReadAhead { read, over: false };
        assert!(matches!(ahead.next(), Some(Err(JournalError::Read(_)))));
        assert_eq!(ahead.next(), None);
    }
}
