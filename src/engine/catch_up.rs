//! Catch-up: replay at a start, pipelined over threads. The sequencer's thread reads, verifies and
//! decodes blocks, the matcher's applies them, one hashes the results and one folds them. Each does
//! what it does live, in the same order; no command is answered before the replay is complete.

use std::sync::Arc;
use std::thread::{self, Builder};

use crossbeam_channel::{Receiver, Sender, bounded, select};

use super::halt::{Halt, HaltReason};
use super::matcher::{Matcher, apply};
use super::matcher_status::MatcherStatus;
use super::meter::Meter;
use super::pending::AppliedBlock;
use super::projector::{NotFolded, Projector};
use super::sequencer::Sequenced;
use exchange::results::Results;
use exchange::units::{Sequence, TimeMs};
use journal::replay::Replayer;
use journal::replay::hasher_thread::HasherThread;

/// Applied blocks that may wait to be folded: enough that neither thread waits for the other at
/// every block.
const FOLDING_MAX: usize = 4;

/// An applied block on its way to the folder thread.
struct Folding {
    applied: Arc<AppliedBlock>,
    last: Sequence,
    next_due: Option<TimeMs>,
    results: Results,
}

/// Why a catch-up ended.
enum End {
    /// The first live block: one whose records have reply slots.
    Live(Sequenced),
    /// A trial is waiting, or a channel has closed.
    Nothing,
    /// A fault; the engine has halted.
    Fault,
}

/// The folder thread's state.
struct Folder<'a> {
    projector: &'a mut Projector,
    status: &'a MatcherStatus,
    halt: &'a Halt,
    meter: &'a Meter,
}

impl Folder<'_> {
    fn run(self, applied: &Receiver<Folding>) {
        for Folding { applied, last, next_due, results } in applied {
            self.status.post_came(next_due, results);
            self.meter.matcher.post_applied(last);
            // Replayed records have no callers.
            if let Err(NotFolded { reason, .. }) = self.projector.project(&applied, Vec::new()) {
                self.halt.halt(reason);
                return;
            }
            // The start waits for this: it ends when everything is folded.
            self.status.post_folded(results.through);
        }
    }
}

impl Matcher {
    /// Applies replayed blocks, with hashing and folding on threads of their own; false if the
    /// engine must end. Where no hasher thread can be started it does nothing: [`Matcher::apply`]
    /// then does all.
    pub(super) fn catch_up(&mut self) -> bool {
        let Ok(hasher) = HasherThread::start(self.replayer.results()) else { return true };
        let mut threaded = std::mem::take(&mut self.replayer).sealed_by(hasher);
        let end = self.apply_threaded(&mut threaded);
        match threaded.settled() {
            Ok(replayer) => self.replayer = replayer,
            Err(fault) => {
                // Nothing depends on these results yet: the start waits until the last block is
                // settled.
                self.halt.halt(fault.into());
                return false;
            }
        }
        let sound = match end {
            End::Live(live) => self.apply(live),
            End::Nothing => true,
            End::Fault => false,
        };
        self.try_held();
        sound
    }

    fn apply_threaded(&mut self, threaded: &mut Replayer<HasherThread>) -> End {
        let Matcher { blocks, trials, held, projector, status, halt, meter, replayed, .. } = self;
        let halt: &Halt = halt;
        thread::scope(|scope| {
            let (to_folder, applied) = bounded(FOLDING_MAX);
            let folder = Folder { projector, status, halt, meter };
            let thread = Builder::new().name("folder".to_owned());
            // A panic must halt at once: nothing else would end the scope.
            let run = move || halt.watch("folder", || folder.run(&applied));
            if thread.spawn_scoped(scope, run).is_err() {
                halt.halt(HaltReason::ThreadDied("folder"));
                return End::Fault;
            }
            while held.is_none() {
                select! {
                    recv(blocks) -> sequenced => match sequenced {
                        Ok(sequenced) if sequenced.replies.is_empty() => {
                            meter.matcher.post_blocks_waiting(blocks.len());
                            let through = *replayed;
                            if !apply_and_send(threaded, &sequenced, through, halt, &to_folder) {
                                return End::Fault;
                            }
                        }
                        Ok(sequenced) => return End::Live(sequenced),
                        Err(_) => return End::Nothing,
                    },
                    recv(trials) -> trial => match trial {
                        Ok(trial) => *held = Some(trial),
                        Err(_) => return End::Nothing,
                    },
                }
            }
            End::Nothing
        })
    }
}

/// Applies a block and sends the result to the folder thread; false if the engine must end.
fn apply_and_send(
    threaded: &mut Replayer<HasherThread>,
    sequenced: &Sequenced,
    through: Sequence,
    halt: &Halt,
    to_folder: &Sender<Folding>,
) -> bool {
    let block = &sequenced.block;
    // Results are only settled at the last block: until then nobody reads them.
    let settles = block.last() >= through;
    match apply(threaded, block, settles) {
        Ok((applied, results)) => {
            let (last, next_due) = (block.last(), threaded.exchange().next_due());
            // The folder thread ends only at a fault, and has halted the engine then.
            to_folder.send(Folding { applied, last, next_due, results }).is_ok()
        }
        Err(reason) => {
            halt.halt(reason);
            false
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/engine/catch_up.rs"]
mod tests;
