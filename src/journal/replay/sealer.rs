//! Hashes results beside whoever applies records, on a thread of its own, during a replay: the one
//! writes what happened as bytes and goes on. Live, handing over would cost more than hashing.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::RESULTS_LAG_BLOCKS_MAX;
use crate::exchange::results::{Results, ResultsChain, Seal};
use crate::exchange::units::Sequence;

/// Pieces on the way to the thread: enough that neither waits for the other at every block.
const PIECES_MAX: usize = 16;
/// Results on the way back: more than blocks may be without any, so that the thread never waits.
const RESULTS_MAX: usize = 2 * RESULTS_LAG_BLOCKS_MAX;

/// What the thread is sent: bytes of a block, and if they are its last, the record it ends with.
struct Piece {
    bytes: Vec<u8>,
    end: Option<Sequence>,
}

/// The end of whoever applies records. The thread ends with it.
#[derive(Debug)]
pub struct Sealer {
    pieces: SyncSender<Piece>,
    results: Receiver<Results>,
    /// Buffers that were hashed.
    spare: Receiver<Vec<u8>>,
    /// Bytes that were taken and not sent: the block's last, it may be, and then one message is
    /// enough.
    held: Vec<u8>,
}

impl Sealer {
    /// A thread that goes on after the block that `after` ends with.
    ///
    /// # Errors
    /// The system gave no thread.
    pub fn start(after: Results) -> std::io::Result<Sealer> {
        let (pieces, work) = sync_channel(PIECES_MAX);
        let (told, results) = sync_channel(RESULTS_MAX);
        let (used, spare) = sync_channel(PIECES_MAX);
        let thread = std::thread::Builder::new().name("sealer".to_owned());
        thread.spawn(move || hash(ResultsChain::resume(after), &work, &told, &used))?;
        Ok(Sealer { pieces, results, spare, held: Vec::new() })
    }
}

/// Hashes until nobody sends or listens any more.
fn hash(
    mut chain: ResultsChain,
    work: &Receiver<Piece>,
    told: &SyncSender<Results>,
    used: &SyncSender<Vec<u8>>,
) {
    for Piece { mut bytes, end } in work {
        chain.update(&bytes);
        bytes.clear();
        // One buffer more or less is all the same.
        drop(used.try_send(bytes));
        if let Some(through) = end
            && told.send(chain.end(through)).is_err()
        {
            return;
        }
    }
}

impl Sealer {
    fn send(&mut self, bytes: Vec<u8>, end: Option<Sequence>) {
        // A thread that is gone gives no results, and that is noticed.
        drop(self.pieces.send(Piece { bytes, end }));
    }
}

impl Seal for Sealer {
    fn take(&mut self, bytes: &mut Vec<u8>) {
        let spare = self.spare.try_recv().unwrap_or_default();
        let taken = std::mem::replace(bytes, spare);
        let earlier = std::mem::replace(&mut self.held, taken);
        if !earlier.is_empty() {
            self.send(earlier, None);
        }
    }

    fn end(&mut self, through: Sequence) {
        let last = std::mem::take(&mut self.held);
        self.send(last, Some(through));
    }

    fn next(&mut self, wait: bool) -> Option<Results> {
        if wait { self.results.recv().ok() } else { self.results.try_recv().ok() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::results::ResultsHash;

    /// Blocks of any number of pieces, none and empty ones included: hashed as in place.
    #[test]
    fn what_is_hashed_beside_is_what_is_hashed_here() {
        let blocks: [&[&[u8]]; 5] = [&[b"a"], &[b"b", b"c", b"d"], &[], &[b""], &[b"e", b"", b"f"]];
        let began = Results { through: Sequence::new(7), hash: ResultsHash([1; 32]) };
        let (mut here, mut beside) = (ResultsChain::resume(began), Sealer::start(began).unwrap());
        for (through, block) in (8..).map(Sequence::new).zip(blocks) {
            for piece in block {
                here.update(piece);
                let mut bytes = piece.to_vec();
                beside.take(&mut bytes);
                assert!(bytes.is_empty());
            }
            beside.end(through);
            assert_eq!(beside.next(true), Some(here.end(through)));
        }
        assert_eq!(beside.next(false), None);
    }
}
