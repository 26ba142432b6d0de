//! The past: the state at an earlier moment, and the records themselves, from the journal and off
//! the threads that trade. Questions are bounded in what each may cost and in how many run at once.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use super::clock::{Clock, Settled};
use super::restore;
use crate::exchange::Exchange;
use crate::exchange::command::Record;
use crate::exchange::effect::Effect;
use crate::exchange::results::Results;
use crate::exchange::units::{Sequence, TimeMs};
use crate::journal::block::{Block, Head};
use crate::journal::reader::JournalReader;
use crate::journal::replay::{Listener, ReplayFault, Replayer, Stop};
use crate::journal::snapshot::folder::SnapshotFolder;
use crate::journal::{Durable, JournalError};

/// How often, and after which pause each time, a moment that has just come is asked for again while
/// a block of it is being written: two seconds in all, longer than any disk that is not stalled.
const SETTLED_TRIES_MAX: usize = 2_000;
/// See [`SETTLED_TRIES_MAX`].
const SETTLED_TRY_EVERY: Duration = Duration::from_millis(1);

/// A moment of the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// After this record; zero is before the first.
    After(Sequence),
    /// After the last record that is not later than this.
    Until(TimeMs),
    /// After the last record that is on disk by now.
    Head,
}

/// Why a question about the past was not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PastError {
    /// As many are answered at once as may be.
    #[error("too many questions about the past at once")]
    Busy,
    /// The moment has not come yet.
    #[error("the moment is later than the journal's last record, {0}")]
    Beyond(Sequence),
    /// More records than one question may cost lie between the moment and the nearest state from
    /// which they could be replayed.
    #[error("{0} records would have to be replayed for this")]
    OutOfReach(u64),
    /// The journal could not be read, or is damaged.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The records do not come to what they should.
    #[error(transparent)]
    Fault(#[from] ReplayFault),
    /// The answering thread ended without an answer.
    #[error("the question ended without an answer")]
    Lost,
}

/// What questions about the past may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Most records replayed for one question.
    pub records: u64,
    /// Most questions answered at once; the public's are one fewer.
    pub askers: usize,
}

impl Bounds {
    /// The bounds of a server. A million records replay while a reader waits (the rate is in
    /// `benches/RESULTS.md`), and are twice the distance between two snapshots, so that one that is
    /// missing is no gap. Two at once: each takes a core from the exchange and a copy of its state.
    pub const STANDARD: Bounds = Bounds { records: 1_000_000, askers: 2 };
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

    /// What its records came to.
    pub fn results(&self) -> Results {
        self.replayer.results()
    }

    /// The end of the last block that is in the state as a whole.
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// Applies the records up to `target`, and holds every block to the results that it records.
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
        // The target was not beyond the head, and a reading that ends early is an error.
        Err(PastError::Lost)
    }
}

/// Ends a replay after a record.
struct UpTo(Sequence);

/// The record was the last one wanted.
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

/// A place among those whose questions are answered at once, until it is dropped.
#[derive(Debug)]
#[allow(dead_code, reason = "holding it is what it is for")]
pub struct Place {
    place: OwnedSemaphorePermit,
    public: Option<OwnedSemaphorePermit>,
}

/// Answers questions about the past. Clones share their bounds.
#[derive(Debug, Clone)]
pub struct Past {
    archive: Arc<Archive>,
    /// Whether whoever asks leaves a place free.
    public: bool,
}

#[derive(Debug)]
struct Archive {
    reader: JournalReader,
    /// States on disk, where some are kept.
    states: Option<SnapshotFolder>,
    bounds: Bounds,
    clock: Arc<Clock>,
    places: Arc<Semaphore>,
    /// All places but one: what the public may hold of them.
    public: Arc<Semaphore>,
    /// The state that was asked for last: whoever asks again, for a moment not earlier, goes on
    /// from it. One only, as each is as large as the exchange.
    kept: Mutex<Option<Rebuilt>>,
}

impl Past {
    /// The past of this journal, with the states that were kept of it.
    pub fn new(
        reader: JournalReader,
        states: Option<SnapshotFolder>,
        bounds: Bounds,
        clock: Arc<Clock>,
    ) -> Past {
        let places = Arc::new(Semaphore::new(bounds.askers));
        let public = Arc::new(Semaphore::new(bounds.askers.saturating_sub(1)));
        let kept = Mutex::new(None);
        let archive = Arc::new(Archive { reader, states, bounds, clock, places, public, kept });
        Past { archive, public: false }
    }

    /// The same for the public, however many of them ask: one place is left to whoever runs the
    /// venue, so that an audit does not wait for traders.
    #[must_use]
    pub fn for_the_public(&self) -> Past {
        Past { archive: Arc::clone(&self.archive), public: true }
    }

    /// Takes a place, as every question does.
    ///
    /// # Errors
    /// [`PastError::Busy`] if all that may be had are taken.
    pub fn enter(&self) -> Result<Place, PastError> {
        let free = |places: &Arc<Semaphore>| {
            Arc::clone(places).try_acquire_owned().map_err(|_| PastError::Busy)
        };
        let public = self.public.then(|| free(&self.archive.public)).transpose()?;
        Ok(Place { place: free(&self.archive.places)?, public })
    }

    /// Rebuilds the state at a moment and looks at it.
    ///
    /// # Errors
    /// [`PastError`].
    pub async fn ask<T: Send + 'static>(
        &self,
        moment: Moment,
        look: impl FnOnce(&Rebuilt) -> T + Send + 'static,
    ) -> Result<T, PastError> {
        self.aside(move |archive| {
            let state = archive.rebuild(moment)?;
            let seen = look(&state);
            *archive.kept.lock() = Some(state);
            Ok(seen)
        })
        .await
    }

    /// Reads records from `from` on: as many as asked for, fewer where the journal ends, or where
    /// the blocks that hold them come to more than `bytes_max`; but always at least one if there
    /// is one.
    ///
    /// # Errors
    /// [`PastError::Busy`], or that of the journal.
    pub async fn records(
        &self,
        from: Sequence,
        count_max: usize,
        bytes_max: usize,
    ) -> Result<Vec<Record>, PastError> {
        self.aside(move |archive| {
            let (mut records, mut bytes) = (Vec::new(), 0_usize);
            for block in archive.reader.read(from) {
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
        })
        .await
    }

    /// Answers a question where waiting and working hold nobody up, within a place.
    async fn aside<T: Send + 'static>(
        &self,
        answer: impl FnOnce(&Archive) -> Result<T, PastError> + Send + 'static,
    ) -> Result<T, PastError> {
        let (place, archive) = (self.enter()?, Arc::clone(&self.archive));
        // Whoever asked may go away: the place is free again when the work is done, not before.
        let asked = spawn_blocking(move || {
            let answered = answer(&archive);
            if let Err(error @ (PastError::Journal(_) | PastError::Fault(_))) = &answered {
                tracing::error!(%error, "the past cannot be read");
            }
            drop(place);
            answered
        });
        asked.await.unwrap_or(Err(PastError::Lost))
    }
}

impl Archive {
    fn rebuild(&self, moment: Moment) -> Result<Rebuilt, PastError> {
        let target = self.resolve(moment)?;
        let mut state = self.begin(target)?;
        state.advance(&self.reader, target)?;
        Ok(state)
    }

    /// The last record of a moment.
    fn resolve(&self, moment: Moment) -> Result<Sequence, PastError> {
        // Before the head is looked at: what is stamped by then stands before that.
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

    /// Waits for a moment that has come until all its records are in the journal: asked again, the
    /// answer must be the same. False for one that has not come.
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

    /// The last record up to `end` that is not later than `time`; zero if there is none. Reads a
    /// block for each halving of what is left.
    fn last_until(&self, time: TimeMs, end: Sequence) -> Result<Sequence, JournalError> {
        // Records up to `low` are not later; those after `high` are. Both stand between blocks.
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
    fn begin(&self, target: Sequence) -> Result<Rebuilt, PastError> {
        let kept = self.kept.lock().take_if(|kept| kept.sequence() <= target);
        let after = kept.as_ref().map_or(Sequence::ZERO, Rebuilt::sequence);
        let begun = self.nearest(after, target).or(kept).unwrap_or_default();
        let records = target.get().saturating_sub(begun.sequence().get());
        if records > self.bounds.records {
            // Nearer questions go on from it.
            self.kept.lock().get_or_insert(begun);
            return Err(PastError::OutOfReach(records));
        }
        Ok(begun)
    }

    /// The latest state on disk that is later than `after` and not later than `target`.
    fn nearest(&self, after: Sequence, target: Sequence) -> Option<Rebuilt> {
        let states = self.states.as_ref()?;
        let found = restore::newest_state(states, &self.reader, after, target);
        found.map(|(replayer, head)| Rebuilt { replayer, head })
    }
}
