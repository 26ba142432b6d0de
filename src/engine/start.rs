//! Starting and stopping: the engine's threads are made and ended here.

use std::convert::Infallible;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Sender, bounded, unbounded};
use parking_lot::RwLock;

use super::archiver::{ArchiveBoard, ArchiveStatus, Archiver};
use super::clock::Clock;
use super::halt::{Halt, HaltReason};
use super::history::HistoryStore;
use super::intake_quota::IntakeQuota;
use super::matcher::Matcher;
use super::matcher_status::MatcherStatus;
use super::meter::{Gauges, Meter};
use super::past::{Bounds, Past};
use super::pending::Intake;
use super::projector::Projector;
use super::restore::{self, Pages, Restored};
use super::sequencer::{self, Sequencer};
use super::snapshotter::{SnapshotBoard, Snapshotter};
use super::throttle::Throttle;
use super::{Engine, EngineShared};
use crate::exchange::digest::StateDigest;
use crate::exchange::invariant::Broken;
use crate::exchange::results::ResultsHash;
use crate::exchange::units::Sequence;
use crate::journal::archive::Archive;
use crate::journal::reader::JournalReader;
use crate::journal::replay::{RESULTS_LAG_BLOCKS_MAX, Replayer};
use crate::journal::snapshot::folder::SnapshotFolder;
use crate::journal::{Journal, JournalError};
use crate::projection::history::History;

/// Blocks between two stations: one being worked on, one waiting, and some slack. More would only
/// hide a slow station.
const BLOCKS_MAX: usize = 4;

// Those waiting, and the one being applied: what a block may be ahead of the results it records.
const _: () = assert!(BLOCKS_MAX < RESULTS_LAG_BLOCKS_MAX);

/// Why an engine did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The journal is damaged or cannot be read.
    #[error("the journal cannot be replayed: {0}")]
    Journal(#[from] JournalError),
    /// The engine halted while replaying.
    #[error("the journal cannot be replayed: {0}")]
    Halted(HaltReason),
    /// The system gave no thread.
    #[error("no thread could be started: {0}")]
    Thread(#[from] std::io::Error),
}

/// What an engine keeps beside its journal.
#[derive(Debug)]
pub struct Storage {
    /// The pages of its read model.
    pub history: HistoryStore,
    /// Snapshots, if any are to be used or taken.
    pub snapshots: Option<Snapshots>,
}

/// Where snapshots are, and how often to take one.
#[derive(Debug, Clone)]
pub struct Snapshots {
    /// The folder. What is in it is used, if it can be vouched for.
    pub folder: SnapshotFolder,
    /// Records between two snapshots; `None` to take none.
    pub every: Option<NonZeroU64>,
}

/// A running engine's threads, and what is needed to end them.
#[derive(Debug)]
pub struct Running {
    engine: Engine,
    snapshotter: Option<(Sender<Infallible>, JoinHandle<()>)>,
    sequencer: JoinHandle<Option<Left>>,
    matcher: JoinHandle<Option<Replayer>>,
    history: Option<HistoryStore>,
    archiving: Option<Archiving>,
}

/// What the sequencer leaves: its journal, which others may still read.
struct Left {
    _journal: Option<Box<dyn Journal>>,
}

/// The archiver's thread.
#[derive(Debug)]
struct Archiving {
    board: Arc<ArchiveBoard>,
    /// Dropped to say that the journal has ended.
    going_on: Sender<()>,
    archiver: JoinHandle<()>,
}

/// What an engine was like when it ended.
#[derive(Debug, Clone, Copy)]
pub struct Stopped {
    /// The last record that readers saw.
    pub sequence: Sequence,
    /// The state's digest as of that record; `None` if the matcher did not end in good order.
    pub digest: Option<StateDigest>,
    /// What all records up to it came to; `None` as above.
    pub results: Option<ResultsHash>,
    /// Why it ended, if not because it was told to.
    pub halted: Option<HaltReason>,
    /// How far the archive came, if there is one.
    pub archive: Option<ArchiveStatus>,
}

/// As [`start_with`], with nothing but memory beside the journal.
///
/// # Errors
/// [`StartError`]; nothing was changed.
pub fn start<J: Journal + 'static>(journal: J) -> Result<Running, StartError> {
    start_with(journal, None)
}

/// Restores the newest snapshot that can be vouched for, replays the rest of the journal through
/// the matcher and starts to take commands. Returns once every record of the journal is applied
/// and folded.
///
/// # Errors
/// [`StartError`]; nothing was changed.
pub fn start_with<J: Journal + 'static>(
    journal: J,
    beside: Option<Storage>,
) -> Result<Running, StartError> {
    start_metered(journal, beside, Arc::default())
}

/// As [`start_with`], telling `meter` of the work from the first moment on.
///
/// A start that goes from a snapshot and meets something that cannot be tells of the snapshot or of
/// the journal. So it is tried again from the first record, and if that goes well the snapshot is
/// set aside.
///
/// # Errors
/// [`StartError`]; nothing was changed.
pub fn start_metered<J: Journal + 'static>(
    journal: J,
    beside: Option<Storage>,
    meter: Arc<Meter>,
) -> Result<Running, StartError> {
    meter.sequencer.post_replay_head(journal.head().sequence);
    let reader = journal.reader();
    let restored = restored(beside.as_ref(), &reader);
    let (history, snapshots) = match beside {
        Some(Storage { history, snapshots }) => (Some(history), snapshots),
        None => (None, None),
    };
    let mut from = restored.sequence();
    let states = snapshots.as_ref().map(|snapshots| &snapshots.folder);
    let started = match replayed(journal, restored, history.as_ref(), states, Arc::clone(&meter)) {
        Err(NotStarted { journal: Some(journal), error: StartError::Halted(reason) })
            if from != Sequence::ZERO =>
        {
            let wrong = std::mem::replace(&mut from, Sequence::ZERO);
            tracing::error!(
                snapshot = %wrong, %reason,
                "the start from this snapshot went wrong; everything is replayed from the journal"
            );
            let nothing = nothing(history.as_ref());
            let again = replayed(journal, nothing, history.as_ref(), states, meter);
            if let (Ok(_), Some(folder)) = (&again, states) {
                set_aside(folder, wrong);
            }
            again
        }
        started => started,
    };
    let (mut running, due) = started.map_err(|not| not.error)?;
    if let Some(history) = &history {
        history.caught_up();
    }
    if let (Some(Snapshots { folder, every: Some(every) }), Some(history)) = (snapshots, history) {
        let (ends, ending) = bounded(0);
        let board = Arc::clone(&running.engine.0.snapshots);
        let pace = Throttle::background(ending);
        let (journal, last, failed) = (reader, from, false);
        let snapshotter =
            Snapshotter { folder, every, history, journal, due, board, pace, last, failed };
        // Not one of those whose end halts the engine: the venue goes on without snapshots.
        let thread = Builder::new().name("snapshotter".to_owned());
        running.snapshotter = Some((ends, thread.spawn(move || snapshotter.run())?));
    }
    Ok(running)
}

/// Why a journal was not replayed, and the journal, if it is still there.
struct NotStarted<J> {
    journal: Option<J>,
    error: StartError,
}

impl<J> From<std::io::Error> for NotStarted<J> {
    fn from(error: std::io::Error) -> NotStarted<J> {
        NotStarted { journal: None, error: error.into() }
    }
}

/// Goes on from what was restored to the journal's end.
fn replayed<J: Journal + 'static>(
    journal: J,
    restored: Restored,
    history: Option<&HistoryStore>,
    states: Option<&SnapshotFolder>,
    meter: Arc<Meter>,
) -> Result<(Running, Arc<MatcherStatus>), NotStarted<J>> {
    let halt = Arc::new(Halt::default());
    let due = Arc::new(MatcherStatus::default());
    let Restored { replayer, read_model } = restored;
    let began = replayer.results();
    due.post_came(replayer.exchange().next_due(), began);
    due.post_folded(began.through);
    meter.matcher.post_applied(began.through);
    let read_model = Arc::new(RwLock::new(read_model));
    let (intake, commands) = sequencer::intake();
    let (durable, blocks) = bounded(BLOCKS_MAX);
    // As the intake: a bounded queue would keep what waits in it after the matcher's end.
    let (trials, trials_asked) = unbounded();
    let (tells, told) = bounded(1);

    let clock = Arc::new(Clock::after(journal.head().time));
    let projector = Projector::new(Arc::clone(&read_model), history.cloned());
    let shown = Arc::clone(&projector.shown);
    let matcher = Matcher {
        replayer,
        blocks,
        trials: trials_asked,
        held: None,
        replayed: journal.head().sequence,
        projector,
        due: Arc::clone(&due),
        halt: Arc::clone(&halt),
        meter: Arc::clone(&meter),
        clock: Arc::clone(&clock),
    };
    let past = Past::new(journal.reader(), states.cloned(), Bounds::STANDARD, Arc::clone(&clock));
    let (stop, counts, board) = (Arc::clone(&halt), Arc::clone(&meter), Arc::clone(&due));
    let mut sequencer = Sequencer::new(journal, commands, durable, board, stop, counts, clock);

    let matcher = spawn("matcher", &halt, move || matcher.run())?;
    let sequencer = spawn("sequencer", &halt, move || {
        // The start waits for this; if it is gone, so is the process.
        if let Err(error) = sequencer.replay() {
            drop(tells.send(Err(NotStarted { journal: Some(sequencer.journal), error })));
            return Left { _journal: None };
        }
        drop(tells.send(Ok(())));
        Left { _journal: Some(Box::new(sequencer.run())) }
    })?;
    let died = || StartError::Halted(HaltReason::ThreadDied("sequencer"));
    let replayed = told.recv().map_err(|_| NotStarted { journal: None, error: died() });
    if let Err(not) = replayed.and_then(|replayed| replayed) {
        // What they hold is let go before anything is tried again.
        drop((sequencer.join(), matcher.join()));
        return Err(not);
    }
    halt.go_live();
    let snapshots = Arc::new(SnapshotBoard::started_from(began.through));
    let room = IntakeQuota::default();
    let reached =
        EngineShared { intake, room, trials, read_model, shown, halt, meter, past, snapshots };
    let engine = Engine(Arc::new(reached));
    let history = history.cloned();
    Ok((Running { engine, snapshotter: None, sequencer, matcher, history, archiving: None }, due))
}

/// Takes a snapshot that the journal has proved wrong out of use.
fn set_aside(folder: &SnapshotFolder, snapshot: Sequence) {
    match folder.set_aside(snapshot) {
        Ok(()) => tracing::warn!(%snapshot, "the snapshot was wrong and is set aside"),
        Err(error) => tracing::error!(
            %snapshot, %error,
            "the snapshot was wrong and could not be set aside: delete it, the server stopped"
        ),
    }
}

/// What a start from the first record begins with.
fn nothing(history: Option<&HistoryStore>) -> Restored {
    let Some(history) = history else { return Restored::nothing(&History::default()) };
    history.folded(Sequence::ZERO);
    Restored::nothing(&history.history())
}

/// What a start begins with.
fn restored(beside: Option<&Storage>, journal: &JournalReader) -> Restored {
    let Some(Storage { history, snapshots }) = beside else { return nothing(None) };
    let Some(Snapshots { folder, .. }) = snapshots else { return nothing(Some(history)) };
    let (latest, pages) = (Sequence::new(u64::MAX), Pages::Here(history));
    let restored = restore::newest(folder, journal, latest, pages, &mut Throttle::full());
    let Ok(restored) = restored else { return nothing(Some(history)) };
    history.folded(restored.sequence());
    if restored.sequence() > Sequence::ZERO {
        tracing::info!(sequence = %restored.sequence(), "a snapshot was restored");
    }
    restored
}

/// A named thread whose panic halts the engine instead of going unseen.
fn spawn<T: Send + 'static>(
    name: &'static str,
    halt: &Arc<Halt>,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<Option<T>>, std::io::Error> {
    let halt = Arc::clone(halt);
    Builder::new().name(name.to_owned()).spawn(move || halt.watch(name, run))
}

/// How far the archive is, among the engine's figures.
fn tell_of_archive(gauges: &Gauges, board: &Arc<ArchiveBoard>) {
    type Read = fn(ArchiveStatus) -> u64;
    let figures: [(&'static str, &'static str, Read); 3] = [
        ("archive_sequence", "The last record in the archive", |status| status.archived.get()),
        ("archive_behind_records", "Durable records not archived yet", |status| status.behind),
        ("archive_failures", "Failed tries to write to the archive", |status| status.failures),
    ];
    for (name, help, read) in figures {
        let board = Arc::clone(board);
        gauges.add(name, help, move || i64::try_from(read(board.status())).unwrap_or(i64::MAX));
    }
}

impl Running {
    /// A handle for callers.
    pub fn engine(&self) -> Engine {
        self.engine.clone()
    }

    /// Has everything durable copied to an archive from now on, behind the journal's back.
    ///
    /// # Errors
    /// The system gave no thread.
    pub fn archive(&mut self, archive: Archive, journal: JournalReader) -> std::io::Result<()> {
        let (going_on, ended) = bounded(0);
        let board = Arc::new(ArchiveBoard::new(archive.head().sequence, journal.clone()));
        let archiver = Archiver::new(archive, journal, Arc::clone(&board), ended);
        tell_of_archive(&self.engine.meter().gauges, &board);
        let posted = Arc::clone(&board);
        let archiver =
            std::thread::Builder::new().name("archiver".to_owned()).spawn(move || {
                // Trading goes on without it.
                if catch_unwind(AssertUnwindSafe(|| archiver.run())).is_err() {
                    posted.failed();
                    tracing::error!("the archiver died: nothing is archived until a restart");
                }
            })?;
        self.archiving = Some(Archiving { board, going_on, archiver });
        Ok(())
    }

    /// Ends the engine: what was taken in is made durable, applied, answered and archived first.
    ///
    /// # Errors
    /// [`Broken`] if the state's image contradicts itself.
    pub fn stop(self) -> Result<Stopped, Broken> {
        self.engine.0.halt.end();
        // A sequencer that has halted has nothing left to be told.
        drop(self.engine.0.intake.send(Intake::Stop));
        let Running { engine, snapshotter, sequencer, matcher, history, archiving } = self;
        let snapshotter = snapshotter.map(|(ends, thread)| {
            drop(ends);
            thread
        });
        // A thread that died has halted the engine, which says so.
        let left = sequencer.join().ok().flatten();
        let replayer = matcher.join().ok().flatten();
        // Whatever became of it: it has nothing that anybody waits for.
        drop(snapshotter.map(JoinHandle::join));
        let sequence = engine.watermark();
        let whole = replayer.filter(|replayer| replayer.exchange().sequence() == sequence);
        let archive = archiving.map(|Archiving { board, going_on, archiver }| {
            drop(going_on);
            // One that died has said so.
            drop(archiver.join());
            board.status()
        });
        // Before the journal: whoever has that open may take away what of history is locked.
        if let Some(history) = history {
            history.close();
        }
        // The archiver has read it to its end.
        drop(left);
        let results = whole.as_ref().map(|replayer| replayer.results().hash);
        let digest = whole.map(|replayer| replayer.exchange().digest()).transpose()?;
        Ok(Stopped { sequence, digest, results, halted: engine.halted(), archive })
    }
}
