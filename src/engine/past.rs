//! Time travel: the state at an earlier moment, and the records themselves, read from the journal
//! on threads other than the engine's. The cost of a query is bounded.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::clock::{Clock, Settled};
use super::restore;
use exchange::Exchange;
use exchange::command::Record;
use exchange::effect::Effect;
use exchange::results::Results;
use exchange::units::{Sequence, TimeMs};
use journal::block::{Block, Head};
use journal::reader::JournalReader;
use journal::replay::{Listener, ReplayFault, Replayer, Stop};
use journal::snapshot::SnapshotFolder;
use journal::{Durable, JournalError};

/// Attempts, with a pause before each next one, to resolve a moment that has just passed while a
/// block of it is being written: two seconds in all, longer than any disk takes that is not
/// stalled.
const SETTLED_TRIES_MAX: usize = 2_000;
/// See [`SETTLED_TRIES_MAX`].
const SETTLED_TRY_EVERY: Duration = Duration::from_millis(1);
/// Most records replayed for one query: as many as replay while a reader waits (the rate is in
/// `benches/RESULTS.md`); that is twice the distance between two snapshots, so a missing snapshot
/// leaves no gap.
pub const RECORDS_MAX: u64 = 1_000_000;

/// A moment of the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// After this record; zero is before the first.
    After(Sequence),
    /// After the last record stamped at or before this time.
    Until(TimeMs),
    /// After the last durable record.
    Head,
}

/// Why a query about the past was not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PastError {
    /// Too many ask at once, or the disk is too slow to say what the moment's records are.
    #[error("too many questions about the past at once")]
    Busy,
    /// The trader has a query that is not answered yet.
    #[error("another question about the past of the same user is being answered")]
    Another,
    /// The moment has not passed yet.
    #[error("the moment is later than the journal's last record, {0}")]
    Beyond(Sequence),
    /// More records than one query may replay lie between the moment and the nearest state before
    /// it.
    #[error("{0} records would have to be replayed for this")]
    OutOfReach(u64),
    /// The journal could not be read, or is damaged.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The replay contradicts the recorded results, or breaks the exchange.
    #[error(transparent)]
    Fault(#[from] ReplayFault),
    /// Effects contradict the read model that is folded again.
    #[error("{0} effects contradicted the read model")]
    Views(u64),
    /// The query ended without an answer.
    #[error("the question ended without an answer")]
    Lost,
}

/// The state after some record.
#[derive(Debug)]
pub struct Rebuilt {
    replayer: Replayer,
    head: Head,
}

impl Default for Rebuilt {
    fn default() -> Rebuilt {
        Rebuilt { replayer: Replayer::new(), head: Head::START }
    }
}

impl Rebuilt {
    /// The state.
    pub const fn exchange(&self) -> &Exchange {
        self.replayer.exchange()
    }

    /// The last record in it.
    pub const fn sequence(&self) -> Sequence {
        self.exchange().sequence()
    }

    /// The results of its records.
    pub fn results(&self) -> Results {
        self.replayer.results()
    }

    /// The end of the last block that was applied as a whole.
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// Applies the records up to `target` and checks each block's recorded results.
    fn advance(&mut self, reader: &JournalReader, target: Sequence) -> Result<(), PastError> {
        if self.sequence() >= target {
            return Ok(());
        }
        let mut effects = Vec::new();
        for block in reader.read(self.sequence().next()) {
            let block = block?;
            effects.clear();
            match self.replayer.apply(&block, &mut effects, &mut UpTo(target)) {
                Ok(()) => self.head = block.head(),
                Err(Stop::Listener(Reached)) => return Ok(()),
                Err(Stop::Fault(fault)) => return Err(fault.into()),
            }
            if self.sequence() >= target {
                return Ok(());
            }
        }
        // Unreachable: the target is not beyond the head, and a read that ends early is an error.
        Err(PastError::Lost)
    }
}

/// Stops a replay after a record.
struct UpTo(Sequence);

/// The next record is beyond the last one wanted.
struct Reached;

impl Listener for UpTo {
    type Stop = Reached;

    const KEEPS: bool = false;

    fn before(&mut self, _: &Exchange, record: &Record) -> Result<(), Reached> {
        if record.sequence > self.0 { Err(Reached) } else { Ok(()) }
    }

    fn after(&mut self, _: &Exchange, _: &Record, _: &[Effect]) -> Result<(), Reached> {
        Ok(())
    }
}

/// Answers queries about the past, each on the thread that asks.
#[derive(Debug)]
pub struct Past {
    reader: JournalReader,
    /// Snapshots on disk, if any are kept.
    snapshots: Option<SnapshotFolder>,
    clock: Arc<Clock>,
    /// Most records replayed for one query.
    records_max: u64,
    /// The state of the last query; a query for the same or a later moment continues from it. One
    /// only, as each is as large as the exchange.
    last_state: Mutex<Option<Rebuilt>>,
}

impl Past {
    /// The past of this journal, with the snapshots taken of it.
    pub fn new(
        reader: JournalReader,
        snapshots: Option<SnapshotFolder>,
        clock: Arc<Clock>,
    ) -> Past {
        let (records_max, last_state) = (RECORDS_MAX, Mutex::default());
        Past { reader, snapshots, clock, records_max, last_state }
    }

    /// The same with another bound on records.
    #[must_use]
    pub fn bounded(self, records_max: u64) -> Past {
        Past { records_max, ..self }
    }

    /// Rebuilds the state at a moment and calls `look` on it.
    ///
    /// # Errors
    /// [`PastError`].
    pub fn ask<T>(&self, moment: Moment, look: impl FnOnce(&Rebuilt) -> T) -> Result<T, PastError> {
        let target = self.resolve(moment)?;
        let mut state = self.start_state(target)?;
        state.advance(&self.reader, target)?;
        let seen = look(&state);
        *self.last_state.lock() = Some(state);
        Ok(seen)
    }

    /// Reads records from `from` on, at most `count_max`; fewer where the journal ends, or where
    /// their blocks exceed `bytes_max` bytes, but at least one if there is one.
    ///
    /// # Errors
    /// The journal's.
    pub fn records(
        &self,
        from: Sequence,
        count_max: usize,
        bytes_max: usize,
    ) -> Result<Vec<Record>, PastError> {
        let (mut records, mut bytes) = (Vec::new(), 0_usize);
        for block in self.reader.read(from) {
            let block = block?;
            bytes = bytes.saturating_add(block.bytes().len());
            if bytes > bytes_max && !records.is_empty() {
                break;
            }
            let asked = block.records().iter().filter(|record| record.sequence >= from);
            let room = count_max.saturating_sub(records.len());
            records.extend(asked.take(room).cloned());
            if records.len() >= count_max {
                break;
            }
        }
        Ok(records)
    }

    /// The last record of a moment.
    fn resolve(&self, moment: Moment) -> Result<Sequence, PastError> {
        // Before the head is read: records stamped by then are at or before that head.
        let over = match moment {
            Moment::Until(time) => self.wait_until_settled(time)?,
            Moment::Head | Moment::After(_) => true,
        };
        let head = self.reader.head();
        match moment {
            Moment::Head => Ok(head.sequence),
            Moment::After(sequence) if sequence <= head.sequence => Ok(sequence),
            Moment::Until(time) if over => Ok(self.last_until(time, head.sequence)?),
            Moment::After(_) | Moment::Until(_) => Err(PastError::Beyond(head.sequence)),
        }
    }

    /// Waits until all records of a moment that has passed are in the journal, so that a repeated
    /// query gets the same answer. False if the moment has not passed.
    fn wait_until_settled(&self, time: TimeMs) -> Result<bool, PastError> {
        for _ in 0..SETTLED_TRIES_MAX {
            match self.clock.settled(time) {
                Settled::Yes => return Ok(true),
                Settled::No if time > self.clock.now() => return Ok(false),
                Settled::No | Settled::Soon => std::thread::sleep(SETTLED_TRY_EVERY),
            }
        }
        Err(PastError::Busy)
    }

    /// The last record up to `end` stamped at or before `time`; zero if there is none. Binary
    /// search, reading one block per step.
    fn last_until(&self, time: TimeMs, end: Sequence) -> Result<Sequence, JournalError> {
        // Records up to `low` are not later, records after `high` are. Both are block boundaries.
        let (mut low, mut high) = (0, end.get());
        while low < high {
            let middle = low.saturating_add(high.saturating_sub(low).div_ceil(2));
            let Some(block) = self.block_of(Sequence::new(middle))? else { break };
            let before_first = block.first().get().saturating_sub(1);
            let within = block.records().partition_point(|record| record.time <= time);
            if within == 0 {
                high = before_first;
            } else if within == block.records().len() {
                low = block.last().get();
            } else {
                low = before_first.saturating_add(u64::try_from(within).unwrap_or(u64::MAX));
                break;
            }
        }
        Ok(Sequence::new(low))
    }

    fn block_of(&self, sequence: Sequence) -> Result<Option<Durable<Block>>, JournalError> {
        self.reader.read(sequence).next().transpose()
    }

    /// The latest state at hand that is not later than `target`, if it is near enough.
    fn start_state(&self, target: Sequence) -> Result<Rebuilt, PastError> {
        let last_state =
            self.last_state.lock().take_if(|last_state| last_state.sequence() <= target);
        let after = last_state.as_ref().map_or(Sequence::ZERO, Rebuilt::sequence);
        let begun = self.nearest(after, target).or(last_state).unwrap_or_default();
        let records = target.get().saturating_sub(begun.sequence().get());
        if records > self.records_max {
            // Later queries for nearer moments continue from it.
            self.last_state.lock().get_or_insert(begun);
            return Err(PastError::OutOfReach(records));
        }
        Ok(begun)
    }

    /// The latest state on disk that is later than `after` and not later than `target`.
    fn nearest(&self, after: Sequence, target: Sequence) -> Option<Rebuilt> {
        let snapshots = self.snapshots.as_ref()?;
        let found = restore::newest_state(snapshots, &self.reader, after, target);
        found.map(|(replayer, head)| Rebuilt { replayer, head })
    }
}
