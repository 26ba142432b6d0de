//! Starting and stopping: creates the engine's threads and ends them.

use std::convert::Infallible;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Sender, bounded, unbounded};
use parking_lot::RwLock;

use super::archiver::{ArchiveBoard, ArchiveStatus, Archiver};
use super::clock::Clock;
use super::clock_stamp::ClockStamp;
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
use super::watcher::Watcher;
use super::{Engine, EngineShared};
use exchange::digest::StateDigest;
use exchange::invariant::Broken;
use exchange::results::ResultsHash;
use exchange::units::Sequence;
use journal::archive::Archive;
use journal::reader::JournalReader;
use journal::replay::{RESULTS_LAG_BLOCKS_MAX, Replayer};
use journal::snapshot::folder::SnapshotFolder;
use journal::watch::JournalFiles;
use journal::{Journal, JournalError};
use views::history::History;

/// Blocks queued between two stages: one being worked on, one waiting, and some slack. More would
/// only hide a slow stage.
const BLOCKS_MAX: usize = 4;

// A block may be ahead of the results it records by the queued blocks and the one being applied.
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
    /// The system could not start a thread.
    #[error("no thread could be started: {0}")]
    Thread(#[from] std::io::Error),
}

impl StartError {
    /// Whether the journal is damaged or contradicts itself, so that another start of the same
    /// software cannot succeed.
    pub const fn is_damage(&self) -> bool {
        match self {
            StartError::Journal(error) => error.is_damage(),
            StartError::Halted(reason) => reason.is_contradiction(),
            StartError::Thread(_) => false,
        }
    }
}

/// What an engine stores beside its journal.
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
    /// The folder. Valid snapshots in it are used at the start.
    pub folder: SnapshotFolder,
    /// Records between two snapshots; `None` to take none.
    pub every: Option<NonZeroU64>,
}

/// A running engine's threads, and what is needed to end them.
#[derive(Debug)]
pub struct Running {
    engine: Engine,
    snapshotter: Option<(Sender<Infallible>, JoinHandle<()>)>,
    watcher: Option<(Sender<Infallible>, JoinHandle<Option<()>>)>,
    sequencer: JoinHandle<Option<Left>>,
    matcher: JoinHandle<Option<Replayer>>,
    history: Option<HistoryStore>,
    archiving: Option<Archiving>,
}

/// What the sequencer's thread returns: the journal, which others may still read.
struct Left {
    _journal: Option<Box<dyn Journal>>,
}

/// The archiver's thread.
#[derive(Debug)]
struct Archiving {
    board: Arc<ArchiveBoard>,
    /// Dropped to signal that the journal has ended.
    alive: Sender<()>,
    archiver: JoinHandle<()>,
}

/// The engine's final state.
#[derive(Debug, Clone, Copy)]
pub struct Stopped {
    /// The last record that readers saw.
    pub sequence: Sequence,
    /// The state's digest as of that record; `None` if the matcher did not end in an orderly way.
    pub digest: Option<StateDigest>,
    /// The results hash of all records up to it; `None` as above.
    pub results: Option<ResultsHash>,
    /// Why it halted, if it did.
    pub halted: Option<HaltReason>,
    /// The archive's progress, if there is one.
    pub archive: Option<ArchiveStatus>,
}

/// As [`start_with`], with history in memory and no snapshots.
///
/// # Errors
/// [`StartError`]; nothing was changed.
pub fn start<J: Journal + 'static>(journal: J) -> Result<Running, StartError> {
    start_with(journal, None)
}

/// Restores the newest valid snapshot, replays the rest of the journal through the matcher and
/// starts to take commands. Returns once every record of the journal is applied and folded.
///
/// # Errors
/// [`StartError`]; nothing was changed.
pub fn start_with<J: Journal + 'static>(
    journal: J,
    storage: Option<Storage>,
) -> Result<Running, StartError> {
    let clock = Clock::after(journal.head().time);
    start_metered(journal, storage, Arc::default(), (clock, None))
}

/// As [`start_with`], with metrics from the first moment on, and a clock that continues after the
/// journal, with its stamp.
///
/// If a start from a snapshot halts, the fault may be the snapshot's or the journal's. So the whole
/// journal is replayed from the first record, and if that succeeds the snapshot is set aside.
///
/// # Errors
/// [`StartError`]; nothing was changed.
pub fn start_metered<J: Journal + 'static>(
    journal: J,
    storage: Option<Storage>,
    meter: Arc<Meter>,
    (clock, stamp): (Clock, Option<ClockStamp>),
) -> Result<Running, StartError> {
    let clock = Arc::new(clock);
    let files = journal.files();
    meter.sequencer.post_replay_head(journal.head().sequence);
    let reader = journal.reader();
    let end = reader.head();
    if let Some(storage) = &storage {
        storage.history.resume(&reader);
    }
    let restored = restore_newest(storage.as_ref(), &reader);
    let (history, snapshots) = match storage {
        Some(Storage { history, snapshots }) => (Some(history), snapshots),
        None => (None, None),
    };
    let mut from = restored.sequence();
    let snapshot_folder = snapshots.as_ref().map(|snapshots| &snapshots.folder);
    let outcome = match replay_from(
        journal,
        restored,
        history.as_ref(),
        snapshot_folder,
        Arc::clone(&meter),
        Arc::clone(&clock),
    ) {
        Err(NotStarted { journal: Some(journal), error: StartError::Halted(reason) })
            if from != Sequence::ZERO =>
        {
            let bad_snapshot = std::mem::replace(&mut from, Sequence::ZERO);
            tracing::error!(
                snapshot = %bad_snapshot, %reason,
                "the start from this snapshot went wrong; everything is replayed from the journal"
            );
            let nothing = empty_state(history.as_ref().inspect(|history| history.doubt()));
            let again = replay_from(
                journal,
                nothing,
                history.as_ref(),
                snapshot_folder,
                meter,
                Arc::clone(&clock),
            );
            if let (Ok(_), Some(folder)) = (&again, snapshot_folder) {
                set_aside(folder, bad_snapshot);
            }
            again
        }
        outcome => outcome,
    };
    let (mut running, status) = outcome.map_err(|not| not.error)?;
    if let Some(history) = &history {
        history.caught_up(&end);
    }
    running.watch(files, history.as_ref(), stamp, clock)?;
    if let (Some(Snapshots { folder, every: Some(every) }), Some(history)) = (snapshots, history) {
        let (ends, ending) = bounded(0);
        let board = Arc::clone(&running.engine.0.snapshots);
        let pace = Throttle::background(ending);
        let (journal, last, failed) = (reader, from, false);
        let snapshotter =
            Snapshotter { folder, every, history, journal, due: status, board, pace, last, failed };
        // A panic of this thread does not halt the engine: the venue goes on without snapshots.
        let thread = Builder::new().name("snapshotter".to_owned());
        running.snapshotter = Some((ends, thread.spawn(move || snapshotter.run())?));
    }
    Ok(running)
}

/// Why a replay failed, and the journal, if it is still available.
struct NotStarted<J> {
    journal: Option<J>,
    error: StartError,
}

impl<J> From<std::io::Error> for NotStarted<J> {
    fn from(error: std::io::Error) -> NotStarted<J> {
        NotStarted { journal: None, error: error.into() }
    }
}

/// Replays from the restored state to the journal's end.
fn replay_from<J: Journal + 'static>(
    journal: J,
    restored: Restored,
    history: Option<&HistoryStore>,
    snapshot_folder: Option<&SnapshotFolder>,
    meter: Arc<Meter>,
    clock: Arc<Clock>,
) -> Result<(Running, Arc<MatcherStatus>), NotStarted<J>> {
    let halt = Arc::new(Halt::default());
    let Restored { replayer, read_model } = restored;
    let began = replayer.results();
    let status = Arc::new(MatcherStatus::of(replayer.exchange(), began));
    meter.matcher.post_applied(began.through);
    let read_model = Arc::new(RwLock::new(read_model));
    let (intake, commands) = sequencer::intake();
    let (durable, blocks) = bounded(BLOCKS_MAX);
    // Unbounded, as the intake: a bounded queue would keep trials after the matcher's end.
    let (trials, trials_asked) = unbounded();
    let (sender, result) = bounded(1);

    let projector = Projector::new(Arc::clone(&read_model), history.cloned());
    let published = Arc::clone(&projector.published);
    let matcher = Matcher {
        replayer,
        blocks,
        trials: trials_asked,
        held: None,
        held_blocks: 0,
        slicing: false,
        replayed: journal.head().sequence,
        projector,
        status: Arc::clone(&status),
        halt: Arc::clone(&halt),
        meter: Arc::clone(&meter),
        clock: Arc::clone(&clock),
    };
    let past =
        Past::new(journal.reader(), snapshot_folder.cloned(), Bounds::STANDARD, Arc::clone(&clock));
    let (stop, counts, board) = (Arc::clone(&halt), Arc::clone(&meter), Arc::clone(&status));
    let sequencer = Sequencer::new(journal, commands, durable, board, stop, counts, clock);
    let heartbeats = Arc::clone(&sequencer.heartbeats);

    let matcher = spawn("matcher", &halt, move || matcher.run())?;
    let sequencer = spawn("sequencer", &halt, move || sequence(sequencer, &sender))?;
    let died = || StartError::Halted(HaltReason::ThreadDied("sequencer"));
    let replayed = result.recv().map_err(|_| NotStarted { journal: None, error: died() });
    if let Err(not) = replayed.and_then(|replayed| replayed) {
        // Releases what the threads hold before another attempt.
        drop((sequencer.join(), matcher.join()));
        return Err(not);
    }
    halt.go_live();
    let snapshots = Arc::new(SnapshotBoard::started_from(began.through));
    let quota = IntakeQuota::default();
    let shared = EngineShared {
        intake,
        quota,
        trials,
        read_model,
        published,
        halt,
        meter,
        past,
        snapshots,
        heartbeats,
        status: Arc::clone(&status),
    };
    let engine = Engine(Arc::new(shared));
    Ok((Running::of(engine, sequencer, matcher, history.cloned()), status))
}

/// The sequencer's thread.
fn sequence<J: Journal + 'static>(
    mut sequencer: Sequencer<J>,
    replayed: &Sender<Result<(), NotStarted<J>>>,
) -> Left {
    // The start waits for this; if the receiver is gone, so is the process.
    if let Err(error) = sequencer.replay() {
        drop(replayed.send(Err(NotStarted { journal: Some(sequencer.journal), error })));
        return Left { _journal: None };
    }
    drop(replayed.send(Ok(())));
    Left { _journal: Some(Box::new(sequencer.run())) }
}

/// Takes a snapshot out of use that the journal has proved wrong.
fn set_aside(folder: &SnapshotFolder, snapshot: Sequence) {
    match folder.set_aside(snapshot) {
        Ok(()) => tracing::warn!(%snapshot, "the snapshot was wrong and is set aside"),
        Err(error) => tracing::error!(
            %snapshot, %error,
            "the snapshot was wrong and could not be set aside: delete it, the server stopped"
        ),
    }
}

/// The empty state, for a start from the first record.
fn empty_state(history: Option<&HistoryStore>) -> Restored {
    let Some(history) = history else { return Restored::nothing(&History::default()) };
    history.folded(Sequence::ZERO);
    Restored::nothing(&history.history())
}

/// The state that a start begins with.
fn restore_newest(storage: Option<&Storage>, journal: &JournalReader) -> Restored {
    let Some(Storage { history, snapshots }) = storage else { return empty_state(None) };
    let Some(Snapshots { folder, .. }) = snapshots else { return empty_state(Some(history)) };
    let (latest, pages) = (Sequence::new(u64::MAX), Pages::Here(history));
    let restored = restore::newest(folder, journal, latest, pages, &mut Throttle::full());
    let Ok(restored) = restored else { return empty_state(Some(history)) };
    history.folded(restored.sequence());
    if restored.sequence() > Sequence::ZERO {
        tracing::info!(sequence = %restored.sequence(), "a snapshot was restored");
    }
    restored
}

/// Spawns a named thread whose panic halts the engine instead of going unnoticed.
fn spawn<T: Send + 'static>(
    name: &'static str,
    halt: &Arc<Halt>,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<Option<T>>, std::io::Error> {
    let halt = Arc::clone(halt);
    Builder::new().name(name.to_owned()).spawn(move || halt.watch(name, run))
}

/// Registers what may fail while the venue goes on.
fn register_warnings(engine: &EngineShared, history: Option<&HistoryStore>) {
    let gauges = &engine.meter.gauges;
    if let Some(history) = history.cloned() {
        let help = "1 once pages of history were found lost or damaged, until a restart";
        gauges
            .add_warning("HISTORY_DAMAGED", "history_damaged", help, move || history.has_failed());
    }
    let (board, help) = (Arc::clone(&engine.snapshots), "1 while snapshots cannot be taken");
    gauges.add_warning("SNAPSHOTS_FAILING", "snapshots_failing", help, move || board.is_failing());
}

/// Registers the archive's progress as metrics.
fn register_archive_gauges(gauges: &Gauges, board: &Arc<ArchiveBoard>) {
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
    let (board, help) =
        (Arc::clone(board), "1 while the archive cannot be written, or is not there");
    gauges.add_warning("ARCHIVE_FAILING", "archive_failing", help, move || board.is_failing());
}

impl Running {
    fn of(
        engine: Engine,
        sequencer: JoinHandle<Option<Left>>,
        matcher: JoinHandle<Option<Replayer>>,
        history: Option<HistoryStore>,
    ) -> Running {
        let (snapshotter, watcher, archiving) = (None, None, None);
        Running { engine, snapshotter, watcher, sequencer, matcher, history, archiving }
    }

    /// Watches the files and the clock from now on.
    fn watch(
        &mut self,
        files: Option<Arc<JournalFiles>>,
        history: Option<&HistoryStore>,
        stamp: Option<ClockStamp>,
        clock: Arc<Clock>,
    ) -> std::io::Result<()> {
        register_warnings(&self.engine.0, history);
        if let Some(repairs) = files.as_ref().map(|files| Arc::clone(files.repairs())) {
            let help = "Damaged files of the journal made whole again since the start";
            let count = move || i64::try_from(repairs.count()).unwrap_or(i64::MAX);
            self.engine.0.meter.gauges.add("journal_repairs", help, count);
        }
        let (ends, ending) = bounded(0);
        let (history, halt) = (history.cloned(), Arc::clone(&self.engine.0.halt));
        let watcher = Watcher { files, history, stamp, clock, halt, ending };
        let thread = spawn("watcher", &self.engine.0.halt, move || watcher.run())?;
        self.watcher = Some((ends, thread));
        Ok(())
    }

    /// A handle for callers.
    pub fn engine(&self) -> Engine {
        self.engine.clone()
    }

    /// Copies everything durable to an archive from now on, on a thread of its own.
    ///
    /// # Errors
    /// The system could not start a thread.
    pub fn archive(&mut self, archive: Archive, journal: JournalReader) -> std::io::Result<()> {
        let (alive, ended) = bounded(0);
        let board = Arc::new(ArchiveBoard::new(archive.head().sequence, journal.clone()));
        let archiver = Archiver::new(archive, journal, Arc::clone(&board), ended);
        register_archive_gauges(&self.engine.meter().gauges, &board);
        let posted = Arc::clone(&board);
        let archiver =
            std::thread::Builder::new().name("archiver".to_owned()).spawn(move || {
                // Trading goes on without it.
                if catch_unwind(AssertUnwindSafe(|| archiver.run())).is_err() {
                    posted.failed();
                    tracing::error!("the archiver died: nothing is archived until a restart");
                }
            })?;
        self.archiving = Some(Archiving { board, alive, archiver });
        Ok(())
    }

    /// Ends the engine: commands taken in are made durable, applied, answered and archived first.
    ///
    /// # Errors
    /// [`Broken`] if the state's image breaks an invariant.
    pub fn stop(self) -> Result<Stopped, Broken> {
        self.engine.0.halt.end();
        // A sequencer that has halted no longer listens.
        drop(self.engine.0.intake.send(Intake::Stop));
        let Running { engine, snapshotter, watcher, sequencer, matcher, history, archiving } = self;
        // It holds the journal's files open.
        drop(watcher.map(|(ends, thread)| {
            drop(ends);
            thread.join()
        }));
        let snapshotter = snapshotter.map(|(ends, thread)| {
            drop(ends);
            thread
        });
        // A thread that died has halted the engine, which is reported below.
        let left = sequencer.join().ok().flatten();
        let replayer = matcher.join().ok().flatten();
        // Its result does not matter.
        drop(snapshotter.map(JoinHandle::join));
        let sequence = engine.watermark();
        let whole = replayer.filter(|replayer| replayer.exchange().sequence() == sequence);
        let archive = archiving.map(|Archiving { board, alive, archiver }| {
            drop(alive);
            // If it died, it has logged that.
            drop(archiver.join());
            board.status()
        });
        // Before the journal is closed: whoever opens it next may remove history that is still
        // locked.
        if let Some(history) = history {
            history.close();
        }
        // The archiver has read the journal to its end.
        drop(left);
        let results = whole.as_ref().map(|replayer| replayer.results().hash);
        let digest = whole.map(|replayer| replayer.exchange().digest()).transpose()?;
        Ok(Stopped { sequence, digest, results, halted: engine.halted(), archive })
    }
}
