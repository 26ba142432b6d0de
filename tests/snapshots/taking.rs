//! Taking snapshots behind a running venue: under load, with differing results, on a disk that
//! fails.

use std::fs;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::background::Stepped;
use engine::history::HistoryStore;
use engine::matcher_status::MatcherStatus;
use engine::snapshotter::{SnapshotBoard, SnapshotStatus, Snapshotter};
use engine::throttle::Throttle;
use exchange::Exchange;
use exchange::results::{Results, ResultsHash};
use exchange::units::Sequence;
use journal::Journal;
use journal::directory::LogJournal;
use journal::replay::{Replayer, replay};
use journal::snapshot::{Kind, NEWEST_KEPT, SnapshotFolder};
use views::ReadModel;
use views::history::History;

use super::venue::{
    ROWS, commands, play, start, start_from_the_first_record, stop, wait_for_taken,
};

/// Checks that every state on disk equals that of a replay up to its record; returns how many there
/// are.
fn check_states(data: &Path) -> usize {
    let (journal, _) = LogJournal::open(data).unwrap();
    let folder = SnapshotFolder::of(data);
    let mut states = folder.list(Kind::State).unwrap();
    states.reverse();
    let mut replayer = Replayer::new();
    for sequence in &states {
        let blocks = journal.read(replayer.exchange().sequence().next());
        let until = blocks.take_while(|block| block.as_ref().unwrap().first() <= *sequence);
        replay(until, &mut replayer, |_, _| ()).unwrap();
        let mut file = folder.read(Kind::State, *sequence).unwrap();
        let point = file.header().point;
        assert_eq!(replayer.results().through, point.sequence);
        assert_eq!(replayer.results().hash, point.results);
        assert_eq!(replayer.exchange().digest().unwrap(), point.state);
        let mut image = Vec::new();
        std::io::Read::read_to_end(&mut file, &mut image).unwrap();
        assert_eq!(Exchange::from_image(&image).unwrap().digest().unwrap(), point.state);
    }
    states.len()
}

#[test]
fn snapshots_taken_under_load_equal_the_venues_states() {
    let data = tempfile::tempdir().unwrap();
    let running = start(data.path(), 300);
    let engine = running.engine();
    for part in commands().chunks(700) {
        let taken = engine.snapshots().taken;
        play(&engine, part);
        wait_for_taken(&engine, taken + 1);
    }
    let status = engine.snapshots();
    assert_eq!(status.failures, 0);
    assert!(status.sequence > Sequence::ZERO && status.bytes > 0, "{status:?}");
    let seen = stop(running);
    assert_eq!(seen, stop(start(data.path(), 0)));
    assert_eq!(seen, stop(start_from_the_first_record(data.path())));
    let count = check_states(data.path());
    assert!(status.taken > 0 && count > NEWEST_KEPT, "{count}");
    let views = SnapshotFolder::of(data.path()).list(Kind::Views).unwrap();
    assert_eq!(views.len(), count);
}

#[test]
fn a_stop_while_a_snapshot_is_written_leaves_no_partial_file() {
    let data = tempfile::tempdir().unwrap();
    for part in commands().chunks(1_000) {
        let running = start(data.path(), 1);
        play(&running.engine(), part);
        // The snapshotter is likely to be writing at this moment.
        stop(running);
    }
    let entries = fs::read_dir(data.path().join("snapshots")).unwrap();
    let left = entries.filter(|entry| {
        entry.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "part")
    });
    assert_eq!(left.count(), 0, "given up, and left behind");
    check_states(data.path());
}

#[test]
fn a_venue_goes_on_when_snapshots_cannot_be_written() {
    let data = tempfile::tempdir().unwrap();
    let running = start(data.path(), 1);
    let engine = running.engine();
    fs::remove_dir_all(data.path().join("snapshots")).unwrap();
    play(&engine, &commands()[..1_000]);
    while engine.snapshots().failures == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(engine.snapshots().taken, 0);
    play(&engine, &commands()[1_000..1_500]);
    assert_eq!(engine.halted(), None);
    // Snapshots resume once the folder is writable again.
    fs::create_dir(data.path().join("snapshots")).unwrap();
    while engine.snapshots().taken == 0 {
        std::thread::sleep(Duration::from_millis(5));
        play(&engine, &commands()[1_500..1_501]);
    }
    stop(running);
    assert!(check_states(data.path()) > 0);
}

/// Runs a snapshotter behind a journal at rest, with the matcher's results replaced by `post` of
/// the true ones.
fn behind(data: &Path, post: impl Fn(Results) -> Results) -> SnapshotStatus {
    let (journal, _) = LogJournal::open(data).unwrap();
    let mut replayer = Replayer::new();
    replay(journal.read(Sequence::new(1)), &mut replayer, |_, _| ()).unwrap();
    let history = HistoryStore::open_paged(data, ROWS).unwrap();
    history.folded(journal.head().sequence);
    let due = Arc::new(MatcherStatus::default());
    let board = Arc::new(SnapshotBoard::default());
    let mut snapshotter = Snapshotter {
        folder: SnapshotFolder::open(data).unwrap(),
        every: NonZeroU64::MIN,
        history: history.clone(),
        journal: journal.reader(),
        due: Arc::clone(&due),
        board: Arc::clone(&board),
        pace: Throttle::full(),
        last: Sequence::ZERO,
        seen: Sequence::ZERO,
        failed: false,
    };
    let posted = post(replayer.results());
    due.post_applied(posted, None, 0, None);
    snapshotter.step();
    board.read()
}

#[test]
fn a_snapshot_with_differing_results_is_counted_as_failed_and_not_kept() {
    let data = tempfile::tempdir().unwrap();
    let running = start(data.path(), 0);
    play(&running.engine(), &commands()[..1_000]);
    stop(running);
    let folder = SnapshotFolder::of(data.path());

    let status = behind(data.path(), |mut live| {
        live.hash = ResultsHash([9; 32]);
        live
    });
    assert_eq!((status.taken, status.failures), (0, 1));
    assert!(folder.list(Kind::State).unwrap().is_empty());
    // A record in the middle of a block, and one that does not exist yet.
    for through in [Sequence::new(999), Sequence::new(5_000)] {
        let status = behind(data.path(), |live| Results { through, ..live });
        assert_eq!((status.taken, status.failures), (0, 1), "{through}");
        assert!(folder.list(Kind::State).unwrap().is_empty());
    }

    let status = behind(data.path(), |live| live);
    assert_eq!((status.taken, status.failures), (1, 0));
    assert_eq!(folder.list(Kind::State).unwrap(), [Sequence::new(1_000)]);
    let mut views = folder.read(Kind::Views, Sequence::new(1_000)).unwrap();
    let nowhere = History::discarding().paged(ROWS);
    let read_model = ReadModel::read_image(&mut views, &nowhere).unwrap();
    assert_eq!(read_model.watermark(), Sequence::new(1_000));
    check_states(data.path());
}
