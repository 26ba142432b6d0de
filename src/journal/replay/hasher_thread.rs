//! Hashes results beside whoever applies records, on a thread of its own, during a replay: the one
//! writes what happened as bytes and goes on. Live, handing over would cost more than hashing.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use crate::exchange::results::{Buffer, Results, ResultsChain, ResultsHasher};
use crate::exchange::units::Sequence;

/// Bytes that are handed over at once: a thousand records or so, because waking the thread costs as
/// much as hashing some kilobytes.
const BATCH_BYTES: usize = 64 * 1024;
/// Blocks that are handed over at once, however few bytes they come to.
const BATCH_BLOCKS: usize = 256;
/// Batches on the way to the thread: enough that neither waits for the other at each.
const BATCHES_MAX: usize = 4;

/// What the thread is sent: bytes of any number of blocks.
#[derive(Debug, Default)]
struct Batch {
    bytes: Buffer,
    /// Where in them blocks end, and with which record.
    ends: Vec<(usize, Sequence)>,
}

/// The end of whoever applies records. The thread ends with it.
#[derive(Debug)]
pub struct HasherThread {
    batches: SyncSender<Batch>,
    /// As many as there are blocks in the batches on the way, and so bounded.
    results: Receiver<Results>,
    /// Batches that were hashed, to be used again.
    spare: Receiver<Batch>,
    /// Ends of blocks in bytes that were left.
    ends: Vec<(usize, Sequence)>,
}

impl HasherThread {
    /// A thread that goes on after the block that `after` ends with.
    ///
    /// # Errors
    /// The system gave no thread.
    pub fn start(after: Results) -> std::io::Result<HasherThread> {
        let (batches, work) = sync_channel(BATCHES_MAX);
        let (told, results) = channel();
        let (used, spare) = sync_channel(BATCHES_MAX);
        let thread = std::thread::Builder::new().name("sealer".to_owned());
        thread.spawn(move || hash(ResultsChain::resume(after), &work, &told, &used))?;
        Ok(HasherThread { batches, results, spare, ends: Vec::new() })
    }

    fn send(&mut self, bytes: &mut Buffer) {
        let spare = self.spare.try_recv().unwrap_or_default();
        let bytes = std::mem::replace(bytes, spare.bytes);
        let ends = std::mem::replace(&mut self.ends, spare.ends);
        // A thread that is gone gives no results, and that is noticed.
        drop(self.batches.send(Batch { bytes, ends }));
    }
}

/// Hashes until nobody sends or listens any more.
fn hash(
    mut chain: ResultsChain,
    work: &Receiver<Batch>,
    told: &Sender<Results>,
    used: &SyncSender<Batch>,
) {
    for mut batch in work {
        let Batch { bytes, ends } = &mut batch;
        let mut from = 0;
        for (to, through) in ends.drain(..) {
            chain.update(bytes.as_slice().get(from..to).unwrap_or_default());
            from = to;
            if told.send(chain.end(through)).is_err() {
                return;
            }
        }
        chain.update(bytes.as_slice().get(from..).unwrap_or_default());
        bytes.clear();
        // One batch more or less is all the same.
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
mod tests {
    use super::*;
    use crate::exchange::results::ResultsHash;

    /// Blocks of any number of pieces, none and empty ones included, alone and many at a time:
    /// hashed as in place.
    #[test]
    fn what_is_hashed_beside_is_what_is_hashed_here() {
        let large = vec![7; BATCH_BYTES];
        let blocks: [&[&[u8]]; 7] = [
            &[b"a"],
            &[b"b", b"c", b"d"],
            &[],
            &[b""],
            &[b"e", &large, b"f"],
            &[&large],
            &[b"g", b"", b"h"],
        ];
        let began = Results { through: Sequence::new(7), hash: ResultsHash([1; 32]) };
        for together in [1, 3, 2 * BATCH_BLOCKS] {
            let mut here = ResultsChain::resume(began);
            let mut beside = HasherThread::start(began).unwrap();
            let (mut bytes, mut expected) = (Buffer::default(), Vec::new());
            for (through, block) in (8..).map(Sequence::new).zip(blocks.iter().cycle()).take(1_000)
            {
                for piece in *block {
                    here.update(piece);
                    bytes.append(piece);
                    beside.take(&mut bytes);
                    assert!(bytes.len() < BATCH_BYTES);
                }
                beside.end(&mut bytes, through);
                expected.push(here.end(through));
                if expected.len() == together {
                    for expected in expected.drain(..) {
                        assert_eq!(beside.next(&mut bytes, true), Some(expected));
                    }
                }
            }
            for expected in expected {
                assert_eq!(beside.next(&mut bytes, true), Some(expected));
            }
            assert_eq!(beside.next(&mut bytes, false), None);
        }
    }
}
