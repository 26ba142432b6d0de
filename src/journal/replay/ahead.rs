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
#[path = "../../../tests/unit/journal/replay/ahead.rs"]
mod tests;
