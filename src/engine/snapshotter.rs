//! The snapshotter: replays the journal behind the running venue and writes the state now and then.
//!
//! It continues from the last valid snapshot through the journal's blocks, up to a record whose
//! results the matcher has posted, and must get the same results; only then is the state written.
//! The matcher and the sequencer never wait for it. A failure is logged and counted, and the venue
//! goes on.
//!
//! A busy venue has no core to spare for a second replay, so a snapshot is deferred until it is
//! quieter, but only until a start would take too long. Under lasting load snapshots are taken one
//! after the other; and if records still arrive faster than a throttled replay applies them,
//! throttling ends, or each start would have more to replay than the one before.

use std::io::{self, Write};
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::background::Stepped;
use super::history::{HistoryStore, NotVouched};
use super::matcher_status::MatcherStatus;
use super::pending::{AppliedBlock, AppliedRecords};
use super::restore::{self, Pages, Restored};
use super::throttle::{Ended, Paced, Throttle};
use exchange::invariant::Broken;
use exchange::results::{Results, ResultsHash};
use exchange::units::Sequence;
use journal::JournalError;
use journal::block::Head;
use journal::reader::JournalReader;
use journal::replay::{ReplayFault, Stop};
use journal::snapshot::{Kind, Point, SnapshotFolder, SnapshotUnwritten};

/// How often it polls the matcher's progress.
const POLL_EVERY: Duration = Duration::from_millis(100);
/// More records than this between two polls mean a busy venue: over 20,000 a second.
const BUSY_RECORDS: u64 = 2_000;
/// How many times the usual distance a busy venue may defer a snapshot: records that arrive while
/// it is taken are replayed at a start too.
const DEFER_TIMES_MAX: u64 = 2;
/// The distance, as the same multiple, from which it works unthrottled.
const UNTHROTTLED_TIMES: u64 = 3;
/// How often it polls whether the live read model has folded the snapshot's record: the read model
/// lags by a block, unless the engine has halted.
const FOLDED_POLLS_MAX: u32 = 100;

/// Why a snapshot was not taken. The codes are stable.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotFailure {
    /// The replay gives other results than the running venue.
    #[error(
        "SNAPSHOT_RESULTS: the records up to {through} came to {here} in a replay of the journal, \
         and to {live} in the running venue"
    )]
    ResultsDiffer {
        /// The last of the records.
        through: Sequence,
        /// The replay's hash.
        here: ResultsHash,
        /// What the matcher posted.
        live: ResultsHash,
    },
    /// The matcher posted a record at which no block of the journal ends.
    #[error("SNAPSHOT_NO_BLOCK: no block of the journal ends with record {0}")]
    NoBlock(Sequence),
    /// A block contradicts the recorded results, or breaks the exchange.
    #[error(transparent)]
    Replay(#[from] ReplayFault),
    /// The replayed state breaks an invariant.
    #[error("SNAPSHOT_BROKEN: {0}")]
    Broken(#[from] Broken),
    /// Effects contradicted the replayed read model.
    #[error("SNAPSHOT_VIEWS: {0} effects contradicted the read model")]
    Views(u64),
    /// The journal could not be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The live read model has not folded that record.
    #[error("SNAPSHOT_BEHIND: record {0} is not folded in the running venue")]
    Behind(Sequence),
    /// The pages of history cannot be attested.
    #[error(transparent)]
    History(#[from] NotVouched),
    /// The files could not be written.
    #[error(transparent)]
    Unwritten(#[from] SnapshotUnwritten),
    /// The snapshotter's code panicked.
    #[error("SNAPSHOT_PANICKED: the snapshotter panicked")]
    Panicked,
    /// The engine is ending; no failure.
    #[error(transparent)]
    Ended(#[from] Ended),
}

/// The snapshotter's work since the start, published to other threads.
#[derive(Debug, Default)]
pub struct SnapshotBoard(Mutex<SnapshotStatus>);

/// A reading of the [`SnapshotBoard`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SnapshotStatus {
    /// The last record of the newest snapshot, taken or restored at the start; zero if there is
    /// none.
    pub sequence: Sequence,
    /// How long the last one took, in milliseconds.
    pub duration_ms: u64,
    /// Bytes of the last one's two files.
    pub bytes: u64,
    /// How many were taken since the start.
    pub taken: u64,
    /// How many attempts failed, including those with results other than the venue's.
    pub failures: u64,
    /// Whether the last attempt failed.
    pub failing: bool,
}

impl SnapshotBoard {
    /// For a start from this snapshot.
    pub fn started_from(sequence: Sequence) -> SnapshotBoard {
        SnapshotBoard(Mutex::new(SnapshotStatus { sequence, ..SnapshotStatus::default() }))
    }

    /// The status now.
    pub fn read(&self) -> SnapshotStatus {
        *self.0.lock()
    }

    fn took(&self, sequence: Sequence, duration: Duration, bytes: u64) {
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let mut status = self.0.lock();
        let (taken, failing) = (status.taken.saturating_add(1), false);
        *status = SnapshotStatus { sequence, duration_ms, bytes, taken, failing, ..*status };
    }

    fn failed(&self) {
        let mut status = self.0.lock();
        status.failures = status.failures.saturating_add(1);
        status.failing = true;
    }
}

/// The snapshotter's state. Between two snapshots it holds no exchange or read model.
#[derive(Debug)]
pub struct Snapshotter {
    /// Where snapshots are kept.
    pub folder: SnapshotFolder,
    /// Records between two snapshots, at least.
    pub every: NonZeroU64,
    /// Where the pages of the live read model are.
    pub history: HistoryStore,
    /// The journal.
    pub journal: JournalReader,
    /// Where the matcher posts its results.
    pub due: Arc<MatcherStatus>,
    /// Where to publish the status.
    pub board: Arc<SnapshotBoard>,
    /// Limits the work, and says when to end.
    pub pace: Throttle,
    /// The last record of the last snapshot, taken or attempted.
    pub last: Sequence,
    /// The last record at the last poll.
    pub seen: Sequence,
    /// Whether that attempt failed.
    pub failed: bool,
}

impl Stepped for Snapshotter {
    /// Takes a snapshot if it is time for one.
    fn step(&mut self) -> Duration {
        let live = self.due.results();
        let since = |before: Sequence| live.through.get().saturating_sub(before.get());
        if is_time(self.every, since(self.last), since(self.seen)) {
            self.unthrottle_if_behind(self.last);
            self.last = live.through;
            self.attempt(live);
        }
        self.seen = live.through;
        POLL_EVERY
    }
}

impl Snapshotter {
    fn attempt(&mut self, live: Results) {
        let (sequence, began) = (live.through, Instant::now());
        let taken = catch_unwind(AssertUnwindSafe(|| self.take(live)));
        match taken.unwrap_or(Err(SnapshotFailure::Panicked)) {
            Ok(bytes) => {
                self.failed = false;
                let duration = began.elapsed();
                self.board.took(sequence, duration, bytes);
                tracing::info!(
                    sequence = sequence.get(),
                    bytes,
                    duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
                    "snapshot taken"
                );
            }
            Err(SnapshotFailure::Ended(_)) => {}
            Err(failure) => {
                self.failed = true;
                self.board.failed();
                let sequence = sequence.get();
                tracing::error!(sequence, %failure, "no snapshot; the venue goes on");
            }
        }
        if let Err(error) = self.folder.retain(sequence) {
            tracing::warn!(%error, "old snapshots could not be removed");
        }
    }

    /// Works unthrottled if so many records followed a snapshot that a start from it would take too
    /// long; not after a failed attempt, where speed may not help.
    fn unthrottle_if_behind(&mut self, snapshot: Sequence) {
        let since = self.due.results().through.get().saturating_sub(snapshot.get());
        self.pace.set_unthrottled(!self.failed && is_behind(self.every, since));
    }

    fn take(&mut self, live: Results) -> Result<u64, SnapshotFailure> {
        let limit = Sequence::new(live.through.get().saturating_sub(1));
        let pages = Pages::Elsewhere(&self.history);
        let base = restore::newest(&self.folder, &self.journal, limit, pages, &mut self.pace)?;
        let (restored, head) = self.advance(base, live)?;
        let Restored { replayer, read_model } = restored;
        let exchange = replayer.into_exchange();
        exchange.check()?;
        self.pace.pause_if_due()?;
        let state = exchange.digest()?;
        let Head { sequence, time, hash: chain, .. } = head;
        let point = Point { sequence, time, chain, results: live.hash, state };
        self.vouch(&point)?;
        self.pace.pause_if_due()?;
        let image = exchange.image()?;
        drop(exchange);
        let state_bytes = self.write(Kind::State, &point, |out| out.write_all(&image))?;
        drop(image);
        let views_bytes =
            self.write(Kind::Views, &point, |mut out| read_model.write_image(&mut out))?;
        Ok(state_bytes.saturating_add(views_bytes))
    }

    /// Makes the pages durable that the read model refers to; the live read model has put them.
    fn vouch(&mut self, point: &Point) -> Result<(), SnapshotFailure> {
        let mut polls = FOLDED_POLLS_MAX;
        while self.history.through() < point.sequence {
            self.pace.wait(POLL_EVERY)?;
            polls = polls.checked_sub(1).ok_or(SnapshotFailure::Behind(point.sequence))?;
        }
        Ok(self.history.vouch(point)?)
    }

    /// Applies and folds the journal's blocks up to the matcher's record, and compares the results.
    fn advance(
        &mut self,
        mut base: Restored,
        live: Results,
    ) -> Result<(Restored, Head), SnapshotFailure> {
        let (from, through) = (base.sequence(), live.through);
        let mut blocks = self.journal.read(from.next());
        let head = loop {
            let block = blocks.next().transpose()?.ok_or(SnapshotFailure::NoBlock(through))?;
            let (mut effects, mut records) = (Vec::new(), AppliedRecords::default());
            match base.replayer.apply(&block, &mut effects, &mut records) {
                Ok(()) => {}
                Err(Stop::Fault(fault)) => return Err(fault.into()),
                Err(Stop::Listener(never)) => match never {},
            }
            for applied in AppliedBlock::new(effects, records).records() {
                base.read_model.fold(&applied);
            }
            self.unthrottle_if_behind(from);
            self.pace.pause_if_due()?;
            if block.last() >= through {
                break block.head();
            }
        };
        let here = base.replayer.results();
        if here.through != through {
            return Err(SnapshotFailure::NoBlock(through));
        }
        if here.hash != live.hash {
            let (here, live) = (here.hash, live.hash);
            return Err(SnapshotFailure::ResultsDiffer { through, here, live });
        }
        match base.read_model.inconsistencies() {
            0 => Ok((base, head)),
            count => Err(SnapshotFailure::Views(count)),
        }
    }

    /// Writes one file. Giving up because the engine is ending is no failure.
    fn write(
        &mut self,
        kind: Kind,
        point: &Point,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<u64, SnapshotFailure> {
        let (folder, pace) = (&self.folder, &mut self.pace);
        let written = folder.write(kind, point, |out| fill(&mut Paced { stream: out, pace }));
        let ended = self.pace.ended();
        written.map_err(|unwritten| ended.map_or_else(Into::into, |()| unwritten.into()))
    }
}

/// Whether to take a snapshot, given the records since the last one and since the last poll.
const fn is_time(every: NonZeroU64, since: u64, since_poll: u64) -> bool {
    let every = every.get();
    let quiet = since_poll <= BUSY_RECORDS;
    since >= every && (quiet || since >= every.saturating_mul(DEFER_TIMES_MAX))
}

/// Whether a start would take too long from a snapshot after which so many records came.
const fn is_behind(every: NonZeroU64, since: u64) -> bool {
    since >= every.get().saturating_mul(UNTHROTTLED_TIMES)
}

#[cfg(test)]
#[path = "../../tests/unit/engine/snapshotter.rs"]
mod tests;
