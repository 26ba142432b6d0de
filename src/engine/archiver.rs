//! The archiver: copies durable blocks from the journal to an archive.
//!
//! Trading never waits for it. It may lag or fail: it always reads on from the archive's last
//! record, so the archive has no gap.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::background::{Ending, Stepped};
use super::clock::Clock;
use super::shelf::Shelf;
use exchange::units::Sequence;
use journal::archive::ArchiveError;
use journal::member::MEMBER_BLOCKS_BYTES;
use journal::reader::JournalReader;

/// Pause after a failure.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Longest pause; it doubles up to this, so freed disk space is noticed within a minute.
const RETRY_AFTER_LONGEST: Duration = Duration::from_mins(1);
/// Interval between two looks for what was lost, where that does not keep the rest from being
/// written.
const LOST_CHECKED_EVERY: Duration = Duration::from_hours(1);
/// Attempts at shutdown, so that a full disk cannot keep the server from ending.
const LAST_TRIES: u32 = 3;
/// Longest time spent copying the rest of a journal that has ended, so that shutdown is bounded.
const ENDING_MAX: Duration = Duration::from_secs(10);
/// Interval between progress lines in the log, while there is progress or a lag.
const LOG_EVERY: Duration = Duration::from_mins(1);

/// How far an archive has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveStatus {
    /// Its last record.
    pub archived: Sequence,
    /// Records that the journal holds beyond it.
    pub behind: u64,
    /// Failed attempts since the start.
    pub failures: u64,
}

/// Publishes the archiver's progress to other threads.
#[derive(Debug)]
pub struct ArchiveBoard {
    archived: AtomicU64,
    failures: AtomicU64,
    failing: AtomicBool,
    journal: JournalReader,
}

impl ArchiveBoard {
    /// For an archive that ends with this record, of this journal.
    pub fn new(archived: Sequence, journal: JournalReader) -> ArchiveBoard {
        let (archived, failures) = (AtomicU64::new(archived.get()), AtomicU64::new(0));
        ArchiveBoard { archived, failures, failing: AtomicBool::new(false), journal }
    }

    /// The progress now.
    pub fn status(&self) -> ArchiveStatus {
        // Read before the journal's head, so that the archive never appears ahead of the journal.
        let archived = self.archived.load(Ordering::Acquire);
        let behind = self.journal.head().sequence.get().saturating_sub(archived);
        let failures = self.failures.load(Ordering::Acquire);
        ArchiveStatus { archived: Sequence::new(archived), behind, failures }
    }

    fn archived(&self, last: Sequence) {
        self.archived.store(last.get(), Ordering::Release);
    }

    /// Whether the last attempt failed.
    pub fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Acquire)
    }

    /// Counts a failed attempt.
    pub fn failed(&self) {
        self.failing.store(true, Ordering::Release);
        self.failures.fetch_add(1, Ordering::AcqRel);
    }
}

/// The archiver's state.
#[derive(Debug)]
pub struct Archiver {
    archive: Box<dyn Shelf>,
    journal: JournalReader,
    board: Arc<ArchiveBoard>,
    /// Comes once the journal has ended.
    ended: Ending,
    clock: Arc<Clock>,
    /// The pause after the next failure.
    retry: Duration,
    /// Deadline for copying the rest of an ended journal.
    deadline: Option<Duration>,
    last_log: (Duration, Sequence),
    /// When all of it was looked at.
    checked: Option<Duration>,
    /// Whether something was lost then, and it is written on all the same.
    lost: bool,
}

impl Stepped for Archiver {
    fn step(&mut self) -> Duration {
        let pause = if self.catch_up() {
            self.retry = RETRY_AFTER;
            self.archive.every()
        } else {
            let longer = self.retry.saturating_mul(2).min(RETRY_AFTER_LONGEST);
            std::mem::replace(&mut self.retry, longer)
        };
        self.log_progress();
        pause
    }

    /// Copies the rest of a journal that has ended.
    fn finish(&mut self) {
        for remaining in (0..LAST_TRIES).rev() {
            if self.catch_up() || remaining == 0 || self.is_over() {
                break;
            }
            std::thread::sleep(RETRY_AFTER);
        }
        let ArchiveStatus { archived, behind, .. } = self.board.status();
        if behind == 0 {
            tracing::info!(archived = archived.get(), "the archive is complete");
        } else {
            tracing::error!(
                archived = archived.get(),
                behind,
                "the archive ends before the journal"
            );
        }
    }
}

impl Archiver {
    /// An archiver that continues where the archive ends.
    pub fn new(
        archive: Box<dyn Shelf>,
        journal: JournalReader,
        board: Arc<ArchiveBoard>,
        ended: Ending,
        clock: Arc<Clock>,
    ) -> Archiver {
        let last_log = (clock.monotonic(), archive.head().sequence);
        let (deadline, checked, retry, lost) = (None, None, RETRY_AFTER, false);
        Archiver { archive, journal, board, ended, clock, retry, deadline, last_log, checked, lost }
    }

    /// Checks that the archive is still there; false if it is not, and must be before it is written
    /// to.
    fn check(&mut self) -> bool {
        let every = self.archive.check_all_every();
        let every = if self.lost { every.min(LOST_CHECKED_EVERY) } else { every };
        let all = self.checked.is_none_or(|at| self.since(at) >= every);
        match self.archive.check(all) {
            Ok(()) => {
                if all {
                    self.checked = Some(self.clock.monotonic());
                    self.lost = false;
                }
                self.tell_archived();
                true
            }
            Err(error) => {
                self.lost = false;
                if let ArchiveError::Changed { sound, .. } = error {
                    self.board.archived(sound);
                    self.lost = self.archive.bears_loss();
                }
                // What must be there is looked for until it is.
                self.checked = self.lost.then(|| self.clock.monotonic());
                self.failed(&error.to_string());
                self.lost
            }
        }
    }

    /// Tells how far it reaches; with a gap it reaches that.
    fn tell_archived(&self) {
        if !self.lost {
            self.board.archived(self.archive.head().sequence);
        }
    }

    fn since(&self, at: Duration) -> Duration {
        self.clock.monotonic().saturating_sub(at)
    }

    fn failed(&self, error: &str) {
        self.board.failed();
        let ArchiveStatus { archived, behind, failures } = self.board.status();
        tracing::error!(
            error,
            archived = archived.get(),
            behind,
            failures,
            "not archived; trading goes on and it is tried again"
        );
    }

    /// Archives everything that is durable now; false if that failed or the deadline passed.
    fn catch_up(&mut self) -> bool {
        if !self.check() {
            return false;
        }
        while self.archive.head().sequence < self.journal.head().sequence {
            if self.is_over() {
                return false;
            }
            if let Err(error) = self.archive_next() {
                self.failed(&error);
                return false;
            }
        }
        self.board.failing.store(self.lost, Ordering::Release);
        true
    }

    /// Whether the deadline after the journal's end has passed. The next start continues from
    /// there.
    fn is_over(&mut self) -> bool {
        if self.deadline.is_none() && self.ended.has_come() {
            self.deadline = Some(self.clock.monotonic() + ENDING_MAX);
        }
        self.deadline.is_some_and(|deadline| deadline <= self.clock.monotonic())
    }

    /// Archives the next blocks as one member.
    fn archive_next(&mut self) -> Result<(), String> {
        let (mut blocks, mut bytes) = (Vec::new(), 0_usize);
        for block in self.journal.read(self.archive.head().sequence.next()) {
            let block = block.map_err(|error| error.to_string())?;
            bytes = bytes.saturating_add(block.bytes().len());
            blocks.push(block);
            if bytes >= MEMBER_BLOCKS_BYTES {
                break;
            }
        }
        if blocks.is_empty() {
            return Err("the journal is closed".to_owned());
        }
        self.archive.append(&blocks).map_err(|error| error.to_string())?;
        self.tell_archived();
        Ok(())
    }

    /// Logs the progress if it has changed or the archive lags.
    fn log_progress(&mut self) {
        let (at, last) = self.last_log;
        let ArchiveStatus { archived, behind, failures } = self.board.status();
        if self.since(at) < LOG_EVERY || (archived == last && behind == 0) {
            return;
        }
        // The time of the oldest record not archived yet shows how long the lag is.
        let oldest = self.journal.read(archived.next()).next().and_then(Result::ok);
        let since = oldest.and_then(|block| block.records().first().map(|record| record.time));
        let seconds =
            since.map_or(0, |since| (self.clock.now().get() - since.get()).max(0) / 1_000);
        tracing::info!(
            archived = archived.get(),
            behind,
            behind_seconds = seconds,
            failures,
            "archiving"
        );
        self.last_log = (self.clock.monotonic(), archived);
    }
}
