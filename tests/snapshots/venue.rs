//! A venue on disk that replays recorded flow, and everything that can be observed of it.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use engine::catch_up::StartError;
use engine::history::HistoryStore;
use engine::start::{self, Options, Running, Snapshots, Storage};
use engine::{Engine, INTAKE_MAX};
use exchange::command::{Command, Record};
use exchange::results::{ResultsHash, StateDigest};
use exchange::units::Sequence;
use flow::records::FlowRecords;
use flow::{Flow, sample};
use journal::Journal;
use journal::directory::LogJournal;
use journal::snapshot::SnapshotFolder;
use views::ReadModel;
use views::history::HistoryError;

/// Lines of the sample that are played: enough for fills, cancels and resting orders of many
/// accounts.
const LINES: u32 = 4_000;
/// Rows per page: few, so that most of history is on pages.
pub const ROWS: NonZeroU32 = NonZeroU32::new(4).unwrap();

/// The sample's commands in order. They must be applied to an empty venue, since they name each
/// other by record number.
pub fn commands() -> &'static [Command] {
    static COMMANDS: OnceLock<Vec<Command>> = OnceLock::new();
    COMMANDS.get_or_init(|| {
        let flow = Flow::read(sample::flow(), Some(LINES)).unwrap();
        let records = FlowRecords::of(&flow).records.into_iter();
        records.map(|Record { command, .. }| command).collect()
    })
}

/// Starts on a data directory; `every` 0 takes no snapshots, but uses those that are there.
pub fn start(data: &Path, every: u64) -> Running {
    let (journal, _) = LogJournal::open(data).unwrap();
    let folder = SnapshotFolder::open(data).unwrap();
    started(journal, beside(data, folder, NonZeroU64::new(every))).unwrap()
}

/// Starts on a data directory as if there were no snapshots.
pub fn start_from_the_first_record(data: &Path) -> Running {
    let (journal, _) = LogJournal::open(data).unwrap();
    let history = HistoryStore::open_paged(data, ROWS).unwrap();
    started(journal, Storage { history, snapshots: None }).unwrap()
}

/// Starts with this storage.
pub fn started(journal: impl Journal + 'static, storage: Storage) -> Result<Running, StartError> {
    start::start(journal, Options { storage: Some(storage), ..Options::default() })
}

/// The storage of an engine in these tests, beside its journal.
pub fn beside(data: &Path, folder: SnapshotFolder, every: Option<NonZeroU64>) -> Storage {
    let history = HistoryStore::open_paged(data, ROWS).unwrap();
    Storage { history, snapshots: Some(Snapshots { folder, every }) }
}

/// Applies commands, one after the other.
pub fn play(engine: &Engine, commands: &[Command]) {
    let mut answers = VecDeque::new();
    for command in commands {
        answers.push_back(engine.begin(command.clone()));
        if answers.len() > INTAKE_MAX / 2 {
            answers.pop_front().unwrap().wait().unwrap();
        }
    }
    for answer in answers {
        answer.wait().unwrap();
    }
}

/// Waits until this many snapshots were taken since the start.
pub fn wait_for_taken(engine: &Engine, count: u64) {
    while engine.snapshots().taken < count {
        assert_eq!(engine.snapshots().failures, 0);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for a snapshot of that record, or of a later one.
pub fn wait_for_snapshot_of(engine: &Engine, sequence: Sequence) {
    while engine.snapshots().sequence < sequence {
        assert_eq!(engine.snapshots().failures, 0);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Everything that can be observed of a venue: its end, its state, its results, every row of every
/// view.
#[derive(PartialEq, Eq)]
pub struct Seen {
    pub sequence: Sequence,
    pub digest: Option<StateDigest>,
    pub results: Option<ResultsHash>,
    pub views: Vec<u8>,
    /// The rows on pages, read back.
    pub history: Vec<String>,
}

impl Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Seen { sequence, digest, results, views, history } = self;
        let (views, history) = (views.len(), history.len());
        write!(f, "{sequence} {digest:?} {results:?} {views} bytes of views, {history} lists")
    }
}

/// Stops a venue and returns what was observed of it.
pub fn stop(running: Running) -> Seen {
    let mut views = Vec::new();
    running.engine().read().write_image(&mut views).unwrap();
    let history = history(&running.engine().read());
    let stopped = running.stop().unwrap();
    assert_eq!(stopped.halted, None);
    let (sequence, digest, results) = (stopped.sequence, stopped.digest, stopped.results);
    assert!(digest.is_some() && results.is_some());
    Seen { sequence, digest, results, views, history }
}

/// Every list that reaches back to the venue's beginning.
pub fn history(view: &ReadModel) -> Vec<String> {
    let mut lists = Vec::new();
    for user in view.accounts.users_newest_first().map(|row| row.no) {
        lists.push(list(view.orders.of(user)));
        lists.push(list(view.orders.fills_of(user)));
        lists.push(list(view.statements.of(user)));
    }
    for market in view.catalogue.markets_created().map(|row| row.no) {
        lists.push(list(view.activity.of(market)));
        lists.push(list(view.tape.trades(market)));
    }
    lists
}

fn list<T: Debug>(rows: impl Iterator<Item = Result<T, HistoryError>>) -> String {
    format!("{:?}", rows.map(Result::unwrap).collect::<Vec<_>>())
}
