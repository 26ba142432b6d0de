//! Hashes results on a thread of its own during a replay, while another applies records. Not used
//! live, where handing over would cost more than hashing.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use exchange::results::{Buffer, Results, ResultsChain, ResultsHasher};
use exchange::units::Sequence;

/// Bytes per batch: a thousand records or so, because waking the thread costs as much as hashing
/// some kilobytes.
const BATCH_BYTES: usize = 64 * 1024;
/// Most blocks per batch, however few bytes they have.
const BATCH_BLOCKS: usize = 256;
/// Batches queued for the thread: enough that neither waits for the other at each.
const BATCHES_MAX: usize = 4;

/// A batch for the thread: bytes of any number of blocks.
#[derive(Debug, Default)]
struct Batch {
    bytes: Buffer,
    /// Where blocks end in them, and with which record.
    ends: Vec<(usize, Sequence)>,
}

/// The applying thread's end. The hasher thread ends when it is dropped.
#[derive(Debug)]
pub struct HasherThread {
    batches: SyncSender<Batch>,
    /// Unbounded, but never more than the blocks of the queued batches.
    results: Receiver<Results>,
    /// Hashed batches, to reuse their memory.
    spare: Receiver<Batch>,
    /// Ends of blocks in bytes not sent yet.
    ends: Vec<(usize, Sequence)>,
}

impl HasherThread {
    /// Starts a thread that continues after the results `after`.
    ///
    /// # Errors
    /// The system could not start a thread.
    pub fn start(after: Results) -> std::io::Result<HasherThread> {
        let (batches, work) = sync_channel(BATCHES_MAX);
        let (sender, results) = channel();
        let (used, spare) = sync_channel(BATCHES_MAX);
        let thread = std::thread::Builder::new().name("hasher".to_owned());
        thread.spawn(move || hash(ResultsChain::resume(after), &work, &sender, &used))?;
        Ok(HasherThread { batches, results, spare, ends: Vec::new() })
    }

    fn send(&mut self, bytes: &mut Buffer) {
        let spare = self.spare.try_recv().unwrap_or_default();
        let bytes = std::mem::replace(bytes, spare.bytes);
        let ends = std::mem::replace(&mut self.ends, spare.ends);
        // If the thread is gone, its results stop, which the caller notices.
        drop(self.batches.send(Batch { bytes, ends }));
    }
}

/// Hashes until a channel closes.
fn hash(
    mut chain: ResultsChain,
    work: &Receiver<Batch>,
    sender: &Sender<Results>,
    used: &SyncSender<Batch>,
) {
    for mut batch in work {
        let Batch { bytes, ends } = &mut batch;
        let mut from = 0;
        for (to, through) in ends.drain(..) {
            chain.update(bytes.as_slice().get(from..to).unwrap_or_default());
            from = to;
            if sender.send(chain.end(through)).is_err() {
                return;
            }
        }
        chain.update(bytes.as_slice().get(from..).unwrap_or_default());
        bytes.clear();
        // A batch that does not fit is dropped.
        drop(used.try_send(batch));
    }
}

impl ResultsHasher for HasherThread {
    fn take(&mut self, bytes: &mut Buffer) {
        if bytes.len() >= BATCH_BYTES {
            self.send(bytes);
        }
    }

    fn end(&mut self, bytes: &mut Buffer, through: Sequence) {
        self.ends.push((bytes.len(), through));
        if bytes.len() >= BATCH_BYTES || self.ends.len() >= BATCH_BLOCKS {
            self.send(bytes);
        }
    }

    fn next(&mut self, bytes: &mut Buffer, wait: bool) -> Option<Results> {
        if !wait {
            return self.results.try_recv().ok();
        }
        if !self.ends.is_empty() {
            self.send(bytes);
        }
        self.results.recv().ok()
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/journal/replay/hasher_thread.rs"]
mod tests;
