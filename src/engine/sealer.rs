//! Hashes results beside the matcher, on a thread of its own, while a start replays: the matcher
//! writes what happened as bytes and goes on. Live, handing over would cost more than hashing.

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::exchange::results::{Results, ResultsChain, Seal};
use crate::exchange::units::Sequence;
use crate::journal::replay::RESULTS_LAG_BLOCKS_MAX;

/// Pieces on the way to the thread: enough that neither waits for the other at every block.
const PIECES_MAX: usize = 16;
/// Results on the way back: more than blocks may be without any, so that the thread never waits.
const RESULTS_MAX: usize = 2 * RESULTS_LAG_BLOCKS_MAX;

/// What the thread is sent.
enum Piece {
    Bytes(Vec<u8>),
    End(Sequence),
}

/// The matcher's end. The thread ends with it.
#[derive(Debug)]
pub struct Sealer {
    pieces: Sender<Piece>,
    results: Receiver<Results>,
    /// Buffers that were hashed.
    spare: Receiver<Vec<u8>>,
}

impl Sealer {
    /// A thread that goes on after the block that `after` ends with.
    ///
    /// # Errors
    /// The system gave no thread.
    pub fn start(after: Results) -> std::io::Result<Sealer> {
        let (pieces, work) = bounded(PIECES_MAX);
        let (told, results) = bounded(RESULTS_MAX);
        let (used, spare) = bounded(PIECES_MAX);
        let thread = std::thread::Builder::new().name("sealer".to_owned());
        thread.spawn(move || hash(ResultsChain::resume(after), &work, &told, &used))?;
        Ok(Sealer { pieces, results, spare })
    }
}

/// Hashes until nobody sends or listens any more.
fn hash(
    mut chain: ResultsChain,
    work: &Receiver<Piece>,
    told: &Sender<Results>,
    used: &Sender<Vec<u8>>,
) {
    for piece in work {
        match piece {
            Piece::Bytes(mut bytes) => {
                chain.update(&bytes);
                bytes.clear();
                // One buffer more or less is all the same.
                drop(used.try_send(bytes));
            }
            Piece::End(through) => {
                if told.send(chain.end(through)).is_err() {
                    return;
                }
            }
        }
    }
}

impl Seal for Sealer {
    fn take(&mut self, bytes: &mut Vec<u8>) {
        let spare = self.spare.try_recv().unwrap_or_default();
        // A thread that is gone gives no results, and that is noticed.
        drop(self.pieces.send(Piece::Bytes(std::mem::replace(bytes, spare))));
    }

    fn end(&mut self, through: Sequence) {
        drop(self.pieces.send(Piece::End(through)));
    }

    fn next(&mut self, wait: bool) -> Option<Results> {
        if wait { self.results.recv().ok() } else { self.results.try_recv().ok() }
    }
}
