//! Catching up: what a start replays goes through threads beside each other. The sequencer's reads,
//! verifies and decodes blocks, the matcher's applies them, one hashes what they come to, and one
//! folds it. Each does what it does live, in the same order; nobody is answered before all is done.

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
use crate::exchange::results::Results;
use crate::exchange::units::{Sequence, TimeMs};
use crate::journal::replay::Replayer;
use crate::journal::replay::hasher_thread::HasherThread;

/// Blocks that are applied and not yet folded: enough that neither waits for the other at every
/// block.
const FOLDING_MAX: usize = 4;

/// A block on its way to whoever folds.
struct Folding {
    applied: Arc<AppliedBlock>,
    last: Sequence,
    next_due: Option<TimeMs>,
    results: Results,
}

/// What ended a catching up.
enum End {
    /// The first block that somebody waits for.
    Live(Sequenced),
    /// A trial is held, or nothing comes any more.
    Nothing,
    /// A fault; the engine has halted.
    Fault,
}

/// Who folds while others apply.
struct Folder<'a> {
    projector: &'a mut Projector,
    due: &'a MatcherStatus,
    halt: &'a Halt,
    meter: &'a Meter,
}

impl Folder<'_> {
    fn run(self, applied: &Receiver<Folding>) {
        for Folding { applied, last, next_due, results } in applied {
            self.due.post_came(next_due, results);
            self.meter.matcher.post_applied(last);
            // Nobody waits for what is replayed.
            if let Err(NotFolded { reason, .. }) = self.projector.project(&applied, Vec::new()) {
                self.halt.halt(reason);
                return;
            }
            // A start waits for this: it is over when all is folded.
            self.due.post_folded(results.through);
        }
    }
}

impl Matcher {
    /// Applies what is replayed, with results hashed and folded beside; false where that was the
    /// end. Without threads for that nothing is done: the same can be done in place.
    pub(super) fn catch_up(&mut self) -> bool {
        let Ok(sealer) = HasherThread::start(self.replayer.results()) else { return true };
        let mut beside = std::mem::take(&mut self.replayer).sealed_by(sealer);
        let end = self.apply_beside(&mut beside);
        match beside.settled() {
            Ok(replayer) => self.replayer = replayer,
            Err(fault) => {
                // Nobody relies on what came of it: that waits for the last block to be settled.
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

    fn apply_beside(&mut self, beside: &mut Replayer<HasherThread>) -> End {
        let Matcher { blocks, trials, held, projector, due, halt, meter, replayed, .. } = self;
        let halt: &Halt = halt;
        thread::scope(|scope| {
            let (hands_on, applied) = bounded(FOLDING_MAX);
            let folder = Folder { projector, due, halt, meter };
            let thread = Builder::new().name("folder".to_owned());
            // A panic must be seen at once: nothing else may come that would end the scope.
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
                            if !hand_on(beside, &sequenced, through, halt, &hands_on) {
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

/// Applies a block and hands on what came of it; false where that was the end.
fn hand_on(
    beside: &mut Replayer<HasherThread>,
    sequenced: &Sequenced,
    through: Sequence,
    halt: &Halt,
    hands_on: &Sender<Folding>,
) -> bool {
    let block = &sequenced.block;
    // Nobody asks for the results of a block while there are more to replay.
    let settles = block.last() >= through;
    match apply(beside, block, settles) {
        Ok((applied, results)) => {
            let (last, next_due) = (block.last(), beside.exchange().next_due());
            // Whoever folds ends at a fault only, and has halted then.
            hands_on.send(Folding { applied, last, next_due, results }).is_ok()
        }
        Err(reason) => {
            halt.halt(reason);
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::time::Duration;

    use parking_lot::RwLock;

    use super::*;
    use crate::engine::clock::Clock;
    use crate::engine::sequencer::Sequencer;
    use crate::engine::start::StartError;
    use crate::exchange::command::{Command, Record};
    use crate::exchange::ids::UserNo;
    use crate::exchange::rules::Rules;
    use crate::exchange::units::Money;
    use crate::journal::Journal;
    use crate::journal::block::BlockBuilder;
    use crate::journal::memory::MemoryJournal;
    use crate::projection::ReadModel;
    use crate::projection::history::page_storage::PageStorage;
    use crate::projection::history::{History, HistoryError, PageKey};

    /// A shelf that breaks under the first page.
    #[derive(Debug)]
    struct Rotten;

    impl PageStorage for Rotten {
        fn put(&self, _: PageKey, _: Vec<u8>) {
            panic!("expected by this test");
        }

        fn get(&self, _: PageKey) -> Result<Option<Vec<u8>>, String> {
            Ok(None)
        }

        fn failed(&self, _: &HistoryError) {}
    }

    /// Blocks of one record each; folded in pages of one row, the second deposit puts a page away.
    fn journal() -> MemoryJournal {
        let mut journal = MemoryJournal::new();
        let user = UserNo(0);
        let deposit = || Command::Deposit { user, amount: Money::new(1) };
        let (profile_name, profile_pic) = ("ann".to_owned(), String::new());
        for command in [
            Command::OpenVenue(Rules::current()),
            Command::CreateUser { profile_name, profile_pic },
            deposit(),
            deposit(),
        ] {
            let (sequence, time) = (journal.head().sequence.next(), TimeMs::default());
            let mut block = BlockBuilder::new(journal.head());
            block.push(Record { sequence, time, once: None, command }).unwrap();
            journal.append(block.build(Results::NONE).unwrap()).unwrap();
        }
        journal
    }

    /// What a start is told that replays the journal into a read model on this history, and how
    /// far its readers would see.
    fn replayed(history: &History) -> (Result<(), StartError>, Sequence) {
        let (journal, read_model) = (journal(), ReadModel::on(history));
        let read_model = Arc::new(RwLock::new(read_model));
        let (durable, blocks) = bounded(1);
        let (halt, due, meter) = (Arc::new(Halt::default()), Arc::default(), Arc::default());
        let clock = Arc::new(Clock::after(journal.head().time));
        let matcher = Matcher {
            replayer: Replayer::new(),
            blocks,
            trials: crossbeam_channel::never(),
            held: None,
            replayed: journal.head().sequence,
            projector: Projector::new(Arc::clone(&read_model), None),
            due: Arc::clone(&due),
            halt: Arc::clone(&halt),
            meter: Arc::clone(&meter),
            clock: Arc::clone(&clock),
        };
        let commands = crossbeam_channel::never();
        let mut sequencer = Sequencer::new(journal, commands, durable, due, halt, meter, clock);
        let (tells, told) = bounded(1);
        let matcher = thread::spawn(move || matcher.run());
        let start = thread::spawn(move || tells.send(sequencer.replay()));
        let told = told.recv_timeout(Duration::from_secs(20)).expect("the start waits for ever");
        start.join().unwrap().unwrap();
        matcher.join().unwrap();
        let watermark = read_model.read().watermark();
        (told, watermark)
    }

    /// Nothing else would ever tell a start that nobody folds any more.
    #[test]
    fn a_panic_while_folding_ends_the_start() {
        let one = NonZeroU32::MIN;
        let (told, seen) = replayed(&History::default().paged(one));
        assert!(told.is_ok(), "{told:?}");
        assert_eq!(seen, Sequence::new(4));
        let (told, seen) = replayed(&History::on(Arc::new(Rotten)).paged(one));
        let died = HaltReason::ThreadDied("folder");
        assert!(matches!(told, Err(StartError::Halted(reason)) if reason == died), "{told:?}");
        assert!(seen < Sequence::new(4));
    }
}
