//! Starting and stopping: creates the engine's threads and ends them.

use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{bounded, unbounded};

use super::archiver::{ArchiveBoard, ArchiveStatus, Archiver};
use super::background::{Background, ending};
use super::catch_up::{StartError, catch_up};
use super::clock::Clock;
use super::clock_stamp::ClockStamp;
use super::follower::Followed;
use super::halt::{Halt, HaltReason};
use super::history::HistoryStore;
use super::matcher::{HeldTrial, Matcher};
use super::matcher_status::MatcherStatus;
use super::meter::{Gauges, Meter};
use super::past::Past;
use super::pending::Intake;
use super::projector::Projector;
use super::restore::Restored;
use super::sequencer::{self, Sequencer};
use super::shelf::{Shelf, ShelfNames};
use super::snapshotter::{SnapshotBoard, Snapshotter};
use super::throttle::Throttle;
use super::watcher::Watcher;
use super::{Engine, EngineShared};
use exchange::invariant::Broken;
use exchange::results::{ResultsHash, StateDigest};
use exchange::units::Sequence;
use journal::Journal;
use journal::reader::JournalReader;
use journal::replay::{RESULTS_LAG_BLOCKS_MAX, Replayer};
use journal::snapshot::SnapshotFolder;

/// Blocks queued between two stages: one being worked on, one waiting, and some slack. More would
/// only hide a slow stage.
const BLOCKS_MAX: usize = 4;

// A block may be ahead of the results it records by the queued blocks and the one being applied.
const _: () = assert!(BLOCKS_MAX < RESULTS_LAG_BLOCKS_MAX);

/// What an engine is started with beside its journal.
#[derive(Debug, Default)]
pub struct Options {
    /// What it stores; without it history is in memory, and there are no snapshots.
    pub storage: Option<Storage>,
    /// Where durable blocks are copied to.
    pub archives: Vec<Box<dyn Shelf>>,
    /// Its metrics, which tell how far the start is.
    pub meter: Arc<Meter>,
    /// A clock that continues after the journal; without it one that believes the system's.
    pub clock: Option<Clock>,
    /// The stamp of that clock.
    pub stamp: Option<ClockStamp>,
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
    /// It returns the journal, which others may still read.
    sequencer: JoinHandle<Option<JournalLeft>>,
    matcher: JoinHandle<Option<Replayer>>,
    history: Option<HistoryStore>,
    watcher: Background,
    snapshotter: Option<Background>,
    archivers: Vec<(Arc<ArchiveBoard>, Background)>,
}

/// A journal that is written no more, to be closed when it is dropped.
struct JournalLeft {
    _journal: Box<dyn Journal>,
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
    /// The progress of the archive that is furthest behind, if there is one.
    pub archive: Option<ArchiveStatus>,
}

/// The stations of an engine that has caught up with its journal, before any thread steps them.
pub struct Stations<J> {
    /// The handle for callers.
    pub engine: Engine,
    /// The first station.
    pub sequencer: Sequencer<J>,
    /// The second station, with the third in it.
    pub matcher: Matcher,
    /// The record of the snapshot that it began with.
    from: Sequence,
}

impl<J: Journal> Stations<J> {
    /// Restores the newest valid snapshot and replays the rest of the journal.
    ///
    /// # Errors
    /// [`StartError`]; nothing was changed.
    pub fn open(
        journal: J,
        storage: Option<&Storage>,
        meter: Arc<Meter>,
        clock: Clock,
    ) -> Result<Stations<J>, StartError> {
        meter.sequencer.post_replay_head(journal.head().sequence);
        let history = storage.map(|storage| &storage.history);
        let folder = storage.and_then(|storage| storage.snapshots.as_ref());
        let folder = folder.map(|snapshots| &snapshots.folder);
        if let Some(history) = history {
            history.resume(&journal.reader());
        }
        let (state, from) = catch_up(&journal, history, folder, &meter)?;
        if let Some(history) = history {
            history.caught_up(journal.head());
        }
        let Restored { replayer, read_model } = state;
        let (clock, halt) = (Arc::new(clock), Arc::new(Halt::default()));
        let status = Arc::new(MatcherStatus::of(replayer.exchange(), replayer.results()));
        let projector = Projector::new(read_model, history.cloned());
        let (intake, arrivals) = sequencer::intake();
        let (durable, blocks) = bounded(BLOCKS_MAX);
        // Unbounded, as the intake: a bounded queue would keep trials after the matcher's end.
        let (trials, trials_asked) = unbounded();
        let followed = Followed {
            journal: journal.reader(),
            published: Arc::clone(&projector.published),
            history: projector.read_model.read().history().read_only(),
            snapshots: folder.cloned().zip(history.cloned()),
        };
        let past = Past::new(journal.reader(), folder.cloned(), Arc::clone(&clock));
        let sequencer = Sequencer::new(
            journal,
            arrivals,
            durable,
            Arc::clone(&status),
            Arc::clone(&halt),
            Arc::clone(&meter),
            Arc::clone(&clock),
        );
        let engine = Engine(Arc::new(EngineShared {
            intake,
            trials,
            read_model: Arc::clone(&projector.read_model),
            published: Arc::clone(&projector.published),
            announcer: Arc::clone(&projector.announcer),
            halt: Arc::clone(&halt),
            meter: Arc::clone(&meter),
            past: Arc::new(past),
            followed,
            snapshots: Arc::new(SnapshotBoard::started_from(from)),
            heartbeats: Arc::clone(&sequencer.heartbeats),
            status: Arc::clone(&status),
            clock: Arc::clone(&clock),
        }));
        let (trials, held, slicing) = (trials_asked, HeldTrial::default(), false);
        let matcher = Matcher {
            replayer,
            blocks,
            trials,
            held,
            slicing,
            projector,
            status,
            halt,
            meter,
            clock,
        };
        Ok(Stations { engine, sequencer, matcher, from })
    }
}

/// Opens the [`Stations`], and starts to take commands. Returns once every record of the journal is
/// applied and folded.
///
/// # Errors
/// [`StartError`]; nothing was changed.
pub fn start<J: Journal + 'static>(journal: J, options: Options) -> Result<Running, StartError> {
    let Options { storage, archives, meter, clock, stamp } = options;
    let clock = clock.unwrap_or_else(|| Clock::after(journal.head().time));
    let (reader, files) = (journal.reader(), journal.files());
    let stations = Stations::open(journal, storage.as_ref(), meter, clock)?;
    let Stations { engine, sequencer, matcher, from } = stations;
    let (history, snapshots) = match storage {
        Some(Storage { history, snapshots }) => (Some(history), snapshots),
        None => (None, None),
    };
    let shared = &engine.0;
    register_warnings(shared, history.as_ref());
    if let Some(repairs) = files.as_ref().map(|files| Arc::clone(files.repairs())) {
        let help = "Damaged files of the journal made whole again since the start";
        let count = move || i64::try_from(repairs.count()).unwrap_or(i64::MAX);
        shared.meter.gauges.add("journal_repairs", help, count);
    }
    let matcher = spawn("matcher", &shared.halt, move || matcher.run())?;
    let sequencer = spawn("sequencer", &shared.halt, move || JournalLeft {
        _journal: Box::new(sequencer.run()),
    })?;
    let (clock, halt) = (Arc::clone(&shared.clock), Arc::clone(&shared.halt));
    let watcher = Watcher { files, history: history.clone(), stamp, clock, halt };
    let halt = Arc::clone(&shared.halt);
    let died = move || halt.halt(HaltReason::ThreadDied("watcher"));
    let watcher = Background::start("watcher", ending(), watcher, died)?;
    let snapshotter = match (snapshots, history.clone()) {
        (Some(Snapshots { folder, every: Some(every) }), Some(history)) => {
            Some(snapshotter((folder, every), history, reader.clone(), shared, from)?)
        }
        _ => None,
    };
    let archivers = archives.into_iter().map(|archive| archiver(archive, reader.clone(), &engine));
    let archivers = archivers.collect::<io::Result<_>>()?;
    Ok(Running { engine, sequencer, matcher, history, watcher, snapshotter, archivers })
}

/// Takes snapshots from now on.
fn snapshotter(
    (folder, every): (SnapshotFolder, NonZeroU64),
    history: HistoryStore,
    journal: JournalReader,
    engine: &EngineShared,
    from: Sequence,
) -> io::Result<Background> {
    let (end, ending) = ending();
    let pace = Throttle::background(ending.clone());
    let (due, board) = (Arc::clone(&engine.status), Arc::clone(&engine.snapshots));
    let (last, seen, failed) = (from, due.results().through, false);
    let snapshotter =
        Snapshotter { folder, every, history, journal, due, board, pace, last, seen, failed };
    // The venue goes on without snapshots.
    let died = || tracing::error!("the snapshotter died: no snapshots until a restart");
    Background::start("snapshotter", (end, ending), snapshotter, died)
}

/// Copies everything durable to an archive from now on.
fn archiver(
    archive: Box<dyn Shelf>,
    journal: JournalReader,
    engine: &Engine,
) -> io::Result<(Arc<ArchiveBoard>, Background)> {
    let (end, ending) = ending();
    let board = Arc::new(ArchiveBoard::new(archive.head().sequence, journal.clone()));
    register_archive_gauges(&engine.meter().gauges, archive.names(), &board);
    let clock = Arc::clone(&engine.0.clock);
    let archiver = Archiver::new(archive, journal, Arc::clone(&board), ending.clone(), clock);
    let posted = Arc::clone(&board);
    // Trading goes on without it.
    let died = move || {
        posted.failed();
        tracing::error!("the archiver died: nothing is archived until a restart");
    };
    Ok((board, Background::start("archiver", (end, ending), archiver, died)?))
}

/// Spawns a named thread whose panic halts the engine instead of going unnoticed.
fn spawn<T: Send + 'static>(
    name: &'static str,
    halt: &Arc<Halt>,
    run: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<Option<T>>> {
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
    gauges
        .add_warning("SNAPSHOTS_FAILING", "snapshots_failing", help, move || board.read().failing);
}

/// Registers the archive's progress as metrics.
fn register_archive_gauges(gauges: &Gauges, names: &ShelfNames, board: &Arc<ArchiveBoard>) {
    type Read = fn(ArchiveStatus) -> u64;
    let figures: [(&'static str, &'static str, Read); 3] = [
        (names.sequence, "The last record in the archive", |status| status.archived.get()),
        (names.behind, "Durable records not archived yet", |status| status.behind),
        (names.failures, "Failed tries to write to the archive", |status| status.failures),
    ];
    for (name, help, read) in figures {
        let board = Arc::clone(board);
        gauges.add(name, help, move || i64::try_from(read(board.status())).unwrap_or(i64::MAX));
    }
    let (board, help) =
        (Arc::clone(board), "1 while the archive cannot be written, or is not there");
    gauges.add_warning(names.warning, names.failing, help, move || board.is_failing());
}

impl Running {
    /// A handle for callers.
    pub fn engine(&self) -> Engine {
        self.engine.clone()
    }

    /// Ends the engine: commands taken in are made durable, applied, answered and archived first.
    ///
    /// # Errors
    /// [`Broken`] if the state's image breaks an invariant.
    pub fn stop(self) -> Result<Stopped, Broken> {
        let Running { engine, sequencer, matcher, history, watcher, snapshotter, archivers } = self;
        engine.0.halt.end();
        // A sequencer that has halted no longer listens.
        drop(engine.0.intake.send(Intake::Stop));
        // It holds the journal's files open.
        watcher.end().join();
        let snapshotter = snapshotter.map(Background::end);
        // A thread that died has halted the engine, which is reported below.
        let journal = sequencer.join().ok().flatten();
        let replayer = matcher.join().ok().flatten();
        if let Some(snapshotter) = snapshotter {
            snapshotter.join();
        }
        let sequence = engine.watermark();
        let whole = replayer.filter(|replayer| replayer.exchange().sequence() == sequence);
        let ending = archivers.into_iter().map(|(board, archiver)| (board, archiver.end()));
        let ending: Vec<_> = ending.collect();
        let ended = ending.into_iter().map(|(board, archiver)| {
            archiver.join();
            board.status()
        });
        let archive = ended.max_by_key(|status| status.behind);
        // Before the journal is closed: whoever opens it next may remove history that is still
        // locked.
        if let Some(history) = history {
            history.close();
        }
        // The archiver has read the journal to its end.
        drop(journal);
        let results = whole.as_ref().map(|replayer| replayer.results().hash);
        let digest = whole.map(|replayer| replayer.exchange().digest()).transpose()?;
        Ok(Stopped { sequence, digest, results, halted: engine.halted(), archive })
    }
}
