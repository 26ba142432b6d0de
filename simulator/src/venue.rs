//! A running venue on the simulated disk: the product's own stations, stepped by hand.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::archiver::{ArchiveBoard, Archiver};
use engine::background::{End, Stepped, ending};
use engine::clock::Clock;
use engine::halt::{Halt, HaltReason};
use engine::history::HistoryStore;
use engine::sequencer::Progress;
use engine::snapshotter::{SnapshotBoard, SnapshotStatus, Snapshotter};
use engine::start::{Snapshots, Stations, Storage};
use engine::throttle::Throttle;
use engine::watcher::Watcher;
use journal::Journal;
use journal::archive::Archive;
use journal::block::Head;
use journal::directory::LogJournal;
use journal::disk::mounted::ROOT;
use journal::reader::JournalReader;
use journal::snapshot::SnapshotFolder;

use crate::bucket::{Bucket, BucketArchiver};
use crate::clock::Clocks;
use crate::marks;
use crate::options::Options;
use crate::oracle::Tap;

/// Blocks that wait for the matcher, at most; a step may add two, and waits if there are more than
/// four.
const BLOCKS_MAX: usize = 3;

/// The data directory.
pub fn data() -> PathBuf {
    Path::new(ROOT).join("data")
}

/// The archive's folder.
pub fn archive() -> PathBuf {
    Path::new(ROOT).join("archive")
}

/// A venue between its start and its end.
pub struct Venue {
    /// Its stations.
    pub stations: Stations<LogJournal>,
    /// Its pages.
    pub history: HistoryStore,
    /// Its snapshots.
    pub snapshots: SnapshotFolder,
    /// What the start repaired.
    pub repairs: u64,
    /// Whether the start cut something off.
    pub cut: bool,
    /// Whether it cut a torn end off the archive.
    pub archive_torn: bool,
    /// The row of the recovery table that it took.
    pub row: String,
    snapshotter: Snapshotter,
    archiver: Option<Archiver>,
    /// Its archiver to a bucket.
    pub bucket: Option<BucketArchiver>,
    watcher: Watcher,
    _end: End,
}

/// Why a venue did not start, in the words of an operator's log.
pub type Refused = String;

impl Venue {
    /// Starts it, as the server does.
    pub fn open(
        options: &Options,
        clocks: &Clocks,
        tap: &Arc<Tap>,
        bucket: &Bucket,
    ) -> Result<Venue, Refused> {
        let words = |error: &dyn std::fmt::Display| error.to_string();
        let data = data();
        let (journal, recovered) = LogJournal::open(&data).map_err(|error| words(&error))?;
        let clock = Clock::reading(Box::new(clocks.clone()), journal.head().time);
        let reader = journal.reader();
        let archive = if options.archive { Some(opened(&reader)?) } else { None };
        let archive_torn = archive.as_ref().is_some_and(|(_, torn)| *torn);
        let history = HistoryStore::open_paged(&data, options.rows).map_err(|e| words(&e))?;
        // As the server: without the folder it starts all the same.
        let snapshots = SnapshotFolder::open(&data);
        let snapshots = snapshots.unwrap_or_else(|_| SnapshotFolder::of(&data));
        let every = options.snapshot_every;
        let taken = Snapshots { folder: snapshots.clone(), every: Some(every) };
        let storage = Storage { history: history.clone(), snapshots: Some(taken) };
        let files = journal.files();
        let stations = Stations::open(journal, Some(&storage), Arc::default(), clock);
        let stations = stations.map_err(|error| words(&error))?;
        stations.engine.announce(Arc::<Tap>::clone(tap));
        let (end, ending) = ending();
        let due = Arc::clone(&stations.sequencer.status);
        let seen = due.results().through;
        let snapshotter = Snapshotter {
            folder: snapshots.clone(),
            every,
            history: history.clone(),
            journal: reader.clone(),
            last: stations.engine.snapshots().sequence,
            due,
            board: Arc::new(SnapshotBoard::default()),
            pace: Throttle::full(),
            seen,
            failed: false,
        };
        let time = Arc::clone(&stations.sequencer.clock);
        let bucket = options.bucket.map(|_| bucket.archiver(&reader, Arc::clone(&time)));
        let bucket = bucket.transpose().map_err(|error| words(&error))?;
        let archiver = archive.map(|(archive, _)| {
            let board = Arc::new(ArchiveBoard::new(archive.head().sequence, reader.clone()));
            Archiver::new(Box::new(archive), reader, board, ending, time)
        });
        let (clock, halt) =
            (Arc::clone(&stations.sequencer.clock), stations.sequencer.halt.clone());
        let watcher = Watcher { files, history: Some(history.clone()), stamp: None, clock, halt };
        let (repairs, cut) = (recovered.repairs.count(), recovered.cut.is_some());
        let row = marks::row(recovered.row);
        Ok(Venue {
            stations,
            history,
            snapshots,
            repairs,
            cut,
            archive_torn,
            row,
            snapshotter,
            archiver,
            bucket,
            watcher,
            _end: end,
        })
    }

    /// Where the journal ends.
    pub fn head(&self) -> Head {
        *self.stations.sequencer.journal.head()
    }

    /// Reads the journal.
    pub fn reader(&self) -> JournalReader {
        self.stations.sequencer.journal.reader()
    }

    /// Why it takes no more commands, if so.
    pub fn halted(&self) -> Option<HaltReason> {
        Halt::reason(&self.stations.sequencer.halt)
    }

    /// Steps the sequencer, unless it would wait; whether it did something.
    pub fn sequence(&mut self) -> bool {
        let room = self.stations.matcher.blocks.len() < BLOCKS_MAX;
        room && self.halted().is_none() && self.stations.sequencer.step() == Progress::Worked
    }

    /// Steps the matcher; whether it did something.
    pub fn apply(&mut self) -> bool {
        self.stations.matcher.step()
    }

    /// Does a piece of the keeper's work; whether there was one.
    pub fn keep(&self) -> bool {
        self.stations.sequencer.journal.store().tidy()
    }

    /// Steps one of those that work beside.
    pub fn snapshot(&mut self) {
        self.snapshotter.step();
    }

    /// Copies what is new to the archives.
    pub fn archive(&mut self) {
        if let Some(archiver) = &mut self.archiver {
            archiver.step();
        }
        if let Some(archiver) = &mut self.bucket {
            archiver.step();
        }
    }

    /// Looks after the files.
    pub fn watch(&mut self) {
        self.watcher.step();
    }

    /// What became of snapshots since the start.
    pub fn snapshots_since(&self) -> SnapshotStatus {
        self.snapshotter.board.read()
    }

    /// Ends it in order: what was durable is applied.
    pub fn stop(mut self) {
        while self.halted().is_none() && self.apply() {}
        self.archive();
        self.history.close();
    }
}

/// The archive, and whether its end was torn.
fn opened(journal: &JournalReader) -> Result<(Archive, bool), Refused> {
    let (archive, torn) = Archive::open(&archive()).map_err(|error| error.to_string())?;
    archive.belongs_to(journal).map_err(|error| error.to_string())?;
    Ok((archive, torn.is_some()))
}
