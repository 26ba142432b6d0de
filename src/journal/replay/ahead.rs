//! Read-ahead: one thread reads, verifies and decodes blocks while another applies those before
//! them.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Builder};
use std::vec::IntoIter;

use crate::block::Block;
use crate::store::{Step, StoreError};
use crate::{Durable, JournalError};

/// Bytes per batch: thousands of records, because waking a thread takes as long as reading
/// hundreds.
const BATCH_BYTES: usize = 128 * 1024;
/// Most blocks per batch, however small.
const BATCH_BLOCKS: usize = 64;
/// Batches read and not taken yet: enough that neither thread waits for the other at each, a
/// megabyte or two at most.
const BATCHES_MAX: usize = 3;

/// A block, or why there are no more.
type Read = Result<Durable<Block>, JournalError>;

/// Blocks in order; `None` marks the end.
type Batch = Vec<Option<Read>>;

/// Blocks in order; an error comes at its position, as without a thread.
#[derive(Debug)]
pub struct ReadAhead {
    /// A channel that closes without an end marker means that the reader thread died.
    batches: Receiver<Batch>,
    batch: IntoIter<Option<Read>>,
    ended: bool,
}

impl ReadAhead {
    fn of(batches: Receiver<Batch>) -> ReadAhead {
        ReadAhead { batches, batch: Vec::new().into_iter(), ended: false }
    }
}

impl Iterator for ReadAhead {
    type Item = Read;

    fn next(&mut self) -> Option<Read> {
        let gone = || JournalError::Read(StoreError::new(Step::Read, "the reader has ended"));
        while !self.ended {
            if let Some(read) = self.batch.next() {
                self.ended = !matches!(read, Some(Ok(_)));
                return read;
            }
            let batch = self.batches.recv().unwrap_or_else(|_| vec![Some(Err(gone()))]);
            self.batch = batch.into_iter();
        }
        None
    }
}

/// Reads `blocks` on another thread while `take` consumes them; the rest is not read. If no thread
/// can be started, reading fails.
pub fn reading_ahead<'a, T>(
    blocks: impl Iterator<Item = Read> + Send + 'a,
    take: impl FnOnce(&mut ReadAhead) -> T,
) -> T {
    thread::scope(|scope| {
        let (sender, batches) = sync_channel(BATCHES_MAX);
        let reader = Builder::new().name("reader".to_owned());
        let started = reader.spawn_scoped(scope, move || send(blocks, &sender));
        // If it was not started, the channel is closed and the first read fails.
        drop(started);
        take(&mut ReadAhead::of(batches))
    })
}

/// Reads until the end, or until the receiver is dropped.
fn send(blocks: impl Iterator<Item = Read>, sender: &SyncSender<Batch>) {
    let (mut batch, mut bytes) = (Batch::new(), 0_usize);
    for block in blocks {
        let length = block.as_ref().map_or(0, |block| block.bytes().len());
        bytes = bytes.saturating_add(length);
        batch.push(Some(block));
        if bytes >= BATCH_BYTES || batch.len() >= BATCH_BLOCKS {
            bytes = 0;
            if sender.send(std::mem::take(&mut batch)).is_err() {
                return;
            }
        }
    }
    batch.push(None);
    // The receiver may be gone.
    drop(sender.send(batch));
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::Journal;
    use crate::block::BlockBuilder;
    use crate::memory::MemoryJournal;
    use exchange::command::{Command, Record};
    use exchange::results::Results;
    use exchange::units::{Sequence, TimeMs};

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
        let journal = journal(300);
        let all: Vec<Read> = journal.read(Sequence::new(1)).collect();
        assert_eq!(all.len(), 300);
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

    /// The scope must not wait for a reader whose queue is full.
    #[test]
    fn what_is_not_taken_is_left() {
        let journal = journal(1_000);
        let read = AtomicUsize::new(0);
        let counted = journal.read(Sequence::new(1)).inspect(|_| {
            read.fetch_add(1, Ordering::Relaxed);
        });
        // One batch is taken, the queue is full, and one more is blocked or rejected.
        let most = (BATCHES_MAX + 2) * BATCH_BLOCKS;
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
        let (sender, batches) = sync_channel(1);
        drop::<SyncSender<Batch>>(sender);
        let mut ahead = ReadAhead::of(batches);
        assert!(matches!(ahead.next(), Some(Err(JournalError::Read(_)))));
        assert_eq!(ahead.next(), None);
    }
}
