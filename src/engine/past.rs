//! Time travel: the state at an earlier moment, and the records themselves, read from the journal
//! on threads other than the engine's. Both a query's cost and the number of concurrent queries are
//! bounded.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use super::clock::{Clock, Settled};
use super::restore;
use exchange::Exchange;
use exchange::command::Record;
use exchange::effect::Effect;
use exchange::ids::UserNo;
use exchange::results::Results;
use exchange::units::{Sequence, TimeMs};
use journal::block::{Block, Head};
use journal::reader::JournalReader;
use journal::replay::{Listener, ReplayFault, Replayer, Stop};
use journal::snapshot::folder::SnapshotFolder;
use journal::{Durable, JournalError};

/// Attempts, with a pause before each next one, to resolve a moment that has just passed while a
/// block of it is being written: two seconds in all, longer than any disk takes that is not
/// stalled.
const SETTLED_TRIES_MAX: usize = 2_000;
/// See [`SETTLED_TRIES_MAX`].
const SETTLED_TRY_EVERY: Duration = Duration::from_millis(1);
/// Most traders with a query that runs or waits; the next one's is refused. A query takes a second
/// at most, so nobody waits longer than clients do.
const TRADERS_MAX: usize = 8;

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
    /// All query slots are taken.
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
    /// The query's thread ended without an answer.
    #[error("the question ended without an answer")]
    Lost,
}

/// Bounds on the cost of queries about the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Most records replayed for one query.
    pub records: u64,
    /// Most concurrent queries; traders get one fewer, and each has one at a time.
    pub askers: usize,
}

impl Bounds {
    /// A server's bounds. A million records replay while a reader waits (the rate is in
    /// `benches/RESULTS.md`); that is twice the distance between two snapshots, so a missing
    /// snapshot leaves no gap. Two at once: each takes a core and a copy of the state.
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

/// A query slot, held until it is dropped.
#[derive(Debug)]
#[allow(dead_code, reason = "holding it is what it is for")]
pub struct QuerySlot {
    slot: OwnedSemaphorePermit,
    public: Option<(OwnedSemaphorePermit, TraderPlace)>,
}

/// A trader's place in the queue for a slot, and then in the slot: each has one.
#[derive(Debug)]
struct TraderPlace {
    shared: Arc<Shared>,
    user: UserNo,
}

impl Drop for TraderPlace {
    fn drop(&mut self) {
        self.shared.traders.lock().remove(&self.user);
    }
}

/// Answers queries about the past. Clones share their bounds.
#[derive(Debug, Clone)]
pub struct Past {
    shared: Arc<Shared>,
    /// The trader who asks, if it is one: traders leave one slot to the operator.
    trader: Option<UserNo>,
}

#[derive(Debug)]
struct Shared {
    reader: JournalReader,
    /// Snapshots on disk, if any are kept.
    snapshots: Option<SnapshotFolder>,
    bounds: Bounds,
    clock: Arc<Clock>,
    slots: Arc<Semaphore>,
    /// All slots but one: the traders' share. They wait for it in turn, so that one who asks again
    /// and again does not hold the others out.
    public: Arc<Semaphore>,
    /// Traders with a query that runs or waits.
    traders: Mutex<BTreeSet<UserNo>>,
    /// The state of the last query; a query for the same or a later moment continues from it. One
    /// only, as each is as large as the exchange.
    last_state: Mutex<Option<Rebuilt>>,
}

impl Past {
    /// The past of this journal, with the snapshots taken of it.
    pub fn new(
        reader: JournalReader,
        snapshots: Option<SnapshotFolder>,
        bounds: Bounds,
        clock: Arc<Clock>,
    ) -> Past {
        let slots = Arc::new(Semaphore::new(bounds.askers));
        let public = Arc::new(Semaphore::new(bounds.askers.saturating_sub(1)));
        let (traders, last_state) = Default::default();
        let shared =
            Shared { reader, snapshots, bounds, clock, slots, public, traders, last_state };
        Past { shared: Arc::new(shared), trader: None }
    }

    /// A handle for a trader. Traders together leave one slot to the operator, so that an audit
    /// does not wait for them.
    #[must_use]
    pub fn for_trader(&self, trader: UserNo) -> Past {
        Past { shared: Arc::clone(&self.shared), trader: Some(trader) }
    }

    /// The time by the venue's clock, which bounds the moments that can be asked about.
    pub fn now(&self) -> TimeMs {
        self.shared.clock.now()
    }

    /// Takes a query slot, as every query does. A trader waits for one.
    ///
    /// # Errors
    /// [`PastError::Busy`] if all slots are taken, or as many traders wait as may;
    /// [`PastError::Another`] if the trader has a query already.
    pub async fn enter(&self) -> Result<QuerySlot, PastError> {
        let Shared { slots, public, .. } = &*self.shared;
        let Some(user) = self.trader else {
            let free = Arc::clone(slots).try_acquire_owned();
            return free.map(|slot| QuerySlot { slot, public: None }).map_err(|_| PastError::Busy);
        };
        let place = self.place(user)?;
        let next = async |slots: &Arc<Semaphore>| {
            Arc::clone(slots).acquire_owned().await.map_err(|_| PastError::Lost)
        };
        let public = next(public).await?;
        Ok(QuerySlot { slot: next(slots).await?, public: Some((public, place)) })
    }

    /// Takes the trader's place.
    fn place(&self, user: UserNo) -> Result<TraderPlace, PastError> {
        let mut traders = self.shared.traders.lock();
        if traders.contains(&user) {
            return Err(PastError::Another);
        }
        if traders.len() >= TRADERS_MAX || self.shared.bounds.askers < 2 {
            return Err(PastError::Busy);
        }
        traders.insert(user);
        Ok(TraderPlace { shared: Arc::clone(&self.shared), user })
    }

    /// Rebuilds the state at a moment and calls `look` on it.
    ///
    /// # Errors
    /// [`PastError`].
    pub async fn ask<T: Send + 'static>(
        &self,
        moment: Moment,
        look: impl FnOnce(&Rebuilt) -> T + Send + 'static,
    ) -> Result<T, PastError> {
        self.run_blocking(move |shared| {
            let state = shared.rebuild(moment)?;
            let seen = look(&state);
            *shared.last_state.lock() = Some(state);
            Ok(seen)
        })
        .await
    }

    /// Reads records from `from` on, at most `count_max`; fewer where the journal ends, or where
    /// their blocks exceed `bytes_max` bytes, but at least one if there is one.
    ///
    /// # Errors
    /// [`PastError::Busy`], or the journal's.
    pub async fn records(
        &self,
        from: Sequence,
        count_max: usize,
        bytes_max: usize,
    ) -> Result<Vec<Record>, PastError> {
        self.run_blocking(move |shared| {
            let (mut records, mut bytes) = (Vec::new(), 0_usize);
            for block in shared.reader.read(from) {
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

    /// Runs a query on a blocking thread, within a slot.
    async fn run_blocking<T: Send + 'static>(
        &self,
        answer: impl FnOnce(&Shared) -> Result<T, PastError> + Send + 'static,
    ) -> Result<T, PastError> {
        let (slot, shared) = (self.enter().await?, Arc::clone(&self.shared));
        // The caller may go away, but the slot stays taken until the work is done.
        let asked = spawn_blocking(move || {
            let answered = answer(&shared);
            if let Err(error @ (PastError::Journal(_) | PastError::Fault(_))) = &answered {
                tracing::error!(%error, "the past cannot be read");
            }
            drop(slot);
            answered
        });
        asked.await.unwrap_or(Err(PastError::Lost))
    }
}

impl Shared {
    fn rebuild(&self, moment: Moment) -> Result<Rebuilt, PastError> {
        let target = self.resolve(moment)?;
        let mut state = self.start_state(target)?;
        state.advance(&self.reader, target)?;
        Ok(state)
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
        if records > self.bounds.records {
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
