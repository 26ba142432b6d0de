//! The archiver: copies what the journal made durable to an archive, on a thread of its own.
//!
//! It may fall behind and it may fail; trading never waits for it. Whatever it has missed it reads
//! from the journal later, so a gap cannot arise.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, TryRecvError};

use super::clock;
use crate::exchange::units::Sequence;
use crate::journal::archive::Archive;
use crate::journal::member::MEMBER_BLOCKS_BYTES;
use crate::journal::reader::JournalReader;

/// How often it looks for new blocks: what is lost at most if the machine is lost. Each look that
/// finds some costs a sync of a disk that may be the journal's.
const ARCHIVE_EVERY: Duration = Duration::from_secs(1);
/// Pause after a failure.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Longest pause, to which it doubles: a freed disk is noticed within a minute.
const RETRY_AFTER_LONGEST: Duration = Duration::from_mins(1);
/// Tries when the server ends: a full disk must not keep it from ending.
const LAST_TRIES: u32 = 3;
/// How long the rest of a journal that has ended is copied, so that a process that was told to stop
/// does.
const ENDING_MAX: Duration = Duration::from_secs(10);
/// How often the log says how far it is, while that changes.
const TELL_EVERY: Duration = Duration::from_mins(1);

/// How far an archive is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveStatus {
    /// Its last record.
    pub archived: Sequence,
    /// Records that the journal holds beyond it.
    pub behind: u64,
    /// Failed tries since the start.
    pub failures: u64,
}

/// Where the archiver says how far it is, for everyone to see.
#[derive(Debug)]
pub struct ArchiveBoard {
    archived: AtomicU64,
    failures: AtomicU64,
    journal: JournalReader,
}

impl ArchiveBoard {
    /// An archive that ends with this record, of this journal.
    pub fn new(archived: Sequence, journal: JournalReader) -> ArchiveBoard {
        let (archived, failures) = (AtomicU64::new(archived.get()), AtomicU64::new(0));
        ArchiveBoard { archived, failures, journal }
    }

    /// How far it is by now.
    pub fn status(&self) -> ArchiveStatus {
        // Read before the journal's head, so that an archive is never seen ahead.
        let archived = self.archived.load(Ordering::Acquire);
        let behind = self.journal.head().sequence.get().saturating_sub(archived);
        let failures = self.failures.load(Ordering::Acquire);
        ArchiveStatus { archived: Sequence::new(archived), behind, failures }
    }

    fn archived(&self, last: Sequence) {
        self.archived.store(last.get(), Ordering::Release);
    }

    /// Counts a failed try.
    pub fn failed(&self) {
        self.failures.fetch_add(1, Ordering::AcqRel);
    }
}

/// The archiver's state.
#[derive(Debug)]
pub struct Archiver {
    archive: Archive,
    journal: JournalReader,
    board: Arc<ArchiveBoard>,
    /// Disconnected once the journal has ended.
    ended: Receiver<()>,
    /// Until when the rest of an ended journal is copied.
    until: Option<Instant>,
    told: (Instant, Sequence),
}

impl Archiver {
    /// An archiver that goes on where the archive ends.
    pub fn new(
        archive: Archive,
        journal: JournalReader,
        board: Arc<ArchiveBoard>,
        ended: Receiver<()>,
    ) -> Archiver {
        let told = (Instant::now(), archive.head().sequence);
        Archiver { archive, journal, board, ended, until: None, told }
    }

    /// Copies until the journal has ended, then the rest of it.
    pub fn run(mut self) {
        let mut retry = RETRY_AFTER;
        loop {
            let pause = if self.catch_up() {
                retry = RETRY_AFTER;
                ARCHIVE_EVERY
            } else {
                let pause = retry;
                retry = retry.saturating_mul(2).min(RETRY_AFTER_LONGEST);
                pause
            };
            self.tell();
            match self.ended.recv_timeout(pause) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        for remaining in (0..LAST_TRIES).rev() {
            if self.catch_up() || remaining == 0 || self.is_over() {
                break;
            }
            std::thread::sleep(RETRY_AFTER);
        }
        let ArchiveStatus { archived, behind, .. } = self.board.status();
        if behind == 0 {
            tracing::info!(%archived, "the archive is complete");
        } else {
            tracing::error!(%archived, behind, "the archive ends before the journal");
        }
    }

    /// Archives everything there is by now; whether that went well.
    fn catch_up(&mut self) -> bool {
        while self.archive.head().sequence < self.journal.head().sequence {
            if self.is_over() {
                return false;
            }
            if let Err(error) = self.archive_some() {
                self.board.failed();
                let ArchiveStatus { archived, behind, failures } = self.board.status();
                tracing::error!(
                    error, %archived, behind, failures,
                    "not archived; trading goes on and it is tried again"
                );
                return false;
            }
        }
        true
    }

    /// Whether the journal ended too long ago to copy more of it: a process that was told to stop
    /// must. The next start goes on.
    fn is_over(&mut self) -> bool {
        if self.until.is_none() && self.ended.try_recv() == Err(TryRecvError::Disconnected) {
            self.until = Some(Instant::now() + ENDING_MAX);
        }
        self.until.is_some_and(|until| until <= Instant::now())
    }

    /// Archives the next blocks, as many as one member takes.
    fn archive_some(&mut self) -> Result<(), String> {
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
        self.board.archived(self.archive.head().sequence);
        Ok(())
    }

    /// Says how far it is, if that has changed or it is behind.
    fn tell(&mut self) {
        let (at, last) = self.told;
        let ArchiveStatus { archived, behind, failures } = self.board.status();
        if at.elapsed() < TELL_EVERY || (archived == last && behind == 0) {
            return;
        }
        // The oldest record that is not archived yet says for how long.
        let oldest = self.journal.read(archived.next()).next().and_then(Result::ok);
        let since = oldest.and_then(|block| block.records().first().map(|record| record.time));
        let seconds = since.map_or(0, |since| (clock::now().get() - since.get()).max(0) / 1_000);
        tracing::info!(%archived, behind, behind_seconds = seconds, failures, "archiving");
        self.told = (Instant::now(), archived);
    }
}
