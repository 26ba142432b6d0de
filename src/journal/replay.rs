//! Replay: the one loop that applies records to an exchange, for a server's matcher and for every
//! check of a journal. It compares the results that each block records.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Builder};
use std::vec::IntoIter;

use super::block::{Block, Head};
use super::store::{Step, StoreError};
use super::{Durable, JournalError};
use exchange::Exchange;
use exchange::book::AHEAD;
use exchange::command::Record;
use exchange::effect::Effect;
use exchange::invariant::Broken;
use exchange::results::{Results, ResultsHash, ResultsLog};
use exchange::units::Sequence;

/// Most blocks between a block and the one whose results it records. A server has fewer between its
/// sequencer and its matcher; more would leave records whose results were never recorded.
pub const RESULTS_LAG_BLOCKS_MAX: usize = 8;

/// A replay that breaks an invariant, or differs from what was recorded. The codes are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReplayFault {
    /// The exchange broke an invariant.
    #[error("REPLAY_BROKEN: record {at}: {broken}")]
    Broken {
        /// The record that was being applied.
        at: Sequence,
        /// The invariant.
        broken: Broken,
    },
    /// The results differ from those recorded when the records were journaled: a record, the
    /// recorded results or the matching rules were changed.
    #[error(
        "RESULTS_DIFFER: the block of record {block} records other results of records {from} to \
         {through} than they come to"
    )]
    ResultsDiffer {
        /// First sequence of the block with the recorded results.
        block: Sequence,
        /// The first record they cover that no earlier block's results cover.
        from: Sequence,
        /// The last record they cover.
        through: Sequence,
    },
    /// The block records results up to a record that ends no block.
    #[error(
        "RESULTS_PLACE: the block of record {block} records results up to record {through}, \
         where no block ends"
    )]
    ResultsPlace {
        /// First sequence of the block.
        block: Sequence,
        /// The last record that its results cover.
        through: Sequence,
    },
    /// The block leaves the results of more blocks unrecorded than any server does.
    #[error(
        "RESULTS_LAG: the block of record {block} records results up to record {through} only, \
         more than {RESULTS_LAG_BLOCKS_MAX} blocks before it"
    )]
    ResultsLag {
        /// First sequence of the block.
        block: Sequence,
        /// The last record that its results cover.
        through: Sequence,
    },
}

/// Why a replay stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The journal could not be read, or is damaged.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Its records break the exchange, or differ from the recorded results.
    #[error(transparent)]
    Fault(#[from] ReplayFault),
}

/// Called for every record, in order.
pub trait Listener {
    /// Why it stops the replay.
    type Stop;

    /// Whether effects of a block's earlier records are kept until the block's end.
    const KEEPS: bool = true;

    /// Called with the state before a record.
    ///
    /// # Errors
    /// Ends the replay before the record.
    fn before(&mut self, _exchange: &Exchange, _record: &Record) -> Result<(), Self::Stop> {
        Ok(())
    }

    /// Called with a record, its effects and the state after it.
    ///
    /// # Errors
    /// Ends the replay after the record.
    fn after(
        &mut self,
        exchange: &Exchange,
        record: &Record,
        effects: &[Effect],
    ) -> Result<(), Self::Stop>;
}

/// What ended a replay within a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop<S> {
    /// The journal's fault.
    Fault(ReplayFault),
    /// The listener stopped it.
    Listener(S),
}

/// An exchange, and the results of its records, block by block.
#[derive(Debug, Clone)]
pub struct Replayer {
    exchange: Exchange,
    log: ResultsLog,
    /// Results at the ends of blocks, oldest first: the last that a block recorded, or the start,
    /// and every later one. At most [`RESULTS_LAG_BLOCKS_MAX`] plus two.
    ends: VecDeque<Results>,
    /// The record it started after.
    began: Sequence,
}

impl Replayer {
    /// Starts before the first record.
    pub fn new() -> Replayer {
        Replayer::resume(Exchange::new(), ResultsHash::ZERO)
    }

    /// Continues from an exchange at the end of a block, with the results up to there. Results that
    /// later blocks record of earlier records are not compared; results of later records include
    /// the earlier ones in their hash.
    pub fn resume(exchange: Exchange, results: ResultsHash) -> Replayer {
        let end = Results { through: exchange.sequence(), hash: results };
        let (log, ends, began) = (ResultsLog::resume(end), VecDeque::from([end]), end.through);
        Replayer { exchange, log, ends, began }
    }

    /// The results up to the last record applied. Within a block this copies the hash's state.
    pub fn results(&self) -> Results {
        self.log.latest()
    }

    /// The state after the last record applied.
    pub const fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// The state after the last record applied, to keep.
    pub fn into_exchange(self) -> Exchange {
        self.exchange
    }

    /// The last record whose results some block records. The start, if there is none.
    pub fn confirmed(&self) -> Sequence {
        self.ends.front().map_or(self.began, |end| end.through)
    }

    /// The results at the end of the last block that was applied as a whole.
    pub const fn known(&self) -> Results {
        self.log.sealed()
    }

    /// Compares the results that a block records, then applies its records not applied yet, appends
    /// their effects to `effects` and calls `listener` for each. If the listener stopped it,
    /// calling it again with the same block continues. Effects stay in `effects` if the listener
    /// [keeps](Listener::KEEPS) them.
    ///
    /// # Errors
    /// The journal's first fault, or the listener's stop. After a fault within a record the state
    /// must not be used any more; any other is found before anything of the block is applied.
    pub fn apply<L: Listener>(
        &mut self,
        block: &Durable<Block>,
        effects: &mut Vec<Effect>,
        listener: &mut L,
    ) -> Result<(), Stop<L::Stop>> {
        if block.last() <= self.known().through {
            return Ok(());
        }
        self.compare(block).map_err(Stop::Fault)?;
        for (place, record) in block.records().iter().enumerate() {
            if place % AHEAD == 0 {
                self.exchange.prefetch(block.records().get(place..).unwrap_or_default());
            }
            if record.sequence <= self.exchange.sequence() {
                continue;
            }
            listener.before(&self.exchange, record).map_err(Stop::Listener)?;
            if !L::KEEPS {
                // Reuses memory that is still in the CPU's cache.
                effects.clear();
            }
            let from = effects.len();
            self.exchange.apply(record, effects).map_err(|broken| {
                Stop::Fault(ReplayFault::Broken { at: record.sequence, broken })
            })?;
            let effects = effects.get(from..).unwrap_or_default();
            self.log.push(record, effects);
            listener.after(&self.exchange, record, effects).map_err(Stop::Listener)?;
        }
        self.ends.push_back(self.log.seal());
        Ok(())
    }

    /// Compares the results that a block records, and drops those that no later block may record.
    fn compare(&mut self, block: &Block) -> Result<(), ReplayFault> {
        let (first, recorded) = (block.first(), block.recorded());
        let through = recorded.through;
        let confirmed = self.confirmed();
        if through >= self.began || confirmed != self.began {
            let found = self.ends.iter().position(|end| end.through == through);
            let place = found.ok_or(ReplayFault::ResultsPlace { block: first, through })?;
            if self.ends.get(place) != Some(&recorded) {
                let from = confirmed.next().min(through);
                return Err(ReplayFault::ResultsDiffer { block: first, from, through });
            }
            self.ends.drain(..place);
        }
        if self.ends.len() > RESULTS_LAG_BLOCKS_MAX.saturating_add(1) {
            return Err(ReplayFault::ResultsLag { block: first, through });
        }
        Ok(())
    }
}

impl Default for Replayer {
    fn default() -> Replayer {
        Replayer::new()
    }
}

/// A listener that never stops.
struct CallEach<T>(T);

impl<T: FnMut(&Record, &[Effect])> Listener for CallEach<T> {
    type Stop = Infallible;

    const KEEPS: bool = false;

    fn after(
        &mut self,
        _: &Exchange,
        record: &Record,
        effects: &[Effect],
    ) -> Result<(), Infallible> {
        (self.0)(record, effects);
        Ok(())
    }
}

/// Applies every record that `replayer` has not applied yet and calls `each` with it and its
/// effects. Returns the head of the last block read, [`Head::START`] if there was none.
///
/// # Errors
/// The first fault; nothing after it was applied.
pub fn replay(
    blocks: impl Iterator<Item = Result<Durable<Block>, JournalError>>,
    replayer: &mut Replayer,
    each: impl FnMut(&Record, &[Effect]),
) -> Result<Head, ReplayError> {
    let mut head = Head::START;
    let (mut effects, mut listener) = (Vec::new(), CallEach(each));
    for block in blocks {
        let block = block?;
        effects.clear();
        match replayer.apply(&block, &mut effects, &mut listener) {
            Ok(()) => head = block.head(),
            Err(Stop::Fault(fault)) => return Err(fault.into()),
            Err(Stop::Listener(never)) => match never {},
        }
    }
    Ok(head)
}

// Read-ahead: one thread reads, verifies and decodes blocks while another applies those before
// them.

/// Bytes per batch: thousands of records, because waking a thread takes as long as reading
/// hundreds.
const BATCH_BYTES: usize = 128 * 1024;
/// Most blocks per batch, however small.
const BATCH_BLOCKS: usize = 64;
/// Batches read and not taken yet: enough that neither thread waits for the other at each, a
/// megabyte or two at most.
const BATCHES_MAX: usize = 3;

/// A block, or why there are no more.
type Read = Result<Durable<Block>, JournalError>;

/// Blocks in order; `None` marks the end.
type Batch = Vec<Option<Read>>;

/// Blocks in order; an error comes at its position, as without a thread.
#[derive(Debug)]
pub struct ReadAhead {
    /// A channel that closes without an end marker means that the reader thread died.
    batches: Receiver<Batch>,
    batch: IntoIter<Option<Read>>,
    ended: bool,
}

impl ReadAhead {
    fn of(batches: Receiver<Batch>) -> ReadAhead {
        ReadAhead { batches, batch: Vec::new().into_iter(), ended: false }
    }
}

impl Iterator for ReadAhead {
    type Item = Read;

    fn next(&mut self) -> Option<Read> {
        let gone = || JournalError::Read(StoreError::new(Step::Read, "the reader has ended"));
        while !self.ended {
            if let Some(read) = self.batch.next() {
                self.ended = !matches!(read, Some(Ok(_)));
                return read;
            }
            let batch = self.batches.recv().unwrap_or_else(|_| vec![Some(Err(gone()))]);
            self.batch = batch.into_iter();
        }
        None
    }
}

/// Reads `blocks` on another thread while `take` consumes them; the rest is not read. If no thread
/// can be started, reading fails.
pub fn reading_ahead<'a, T>(
    blocks: impl Iterator<Item = Read> + Send + 'a,
    take: impl FnOnce(&mut ReadAhead) -> T,
) -> T {
    thread::scope(|scope| {
        let (sender, batches) = sync_channel(BATCHES_MAX);
        let reader = Builder::new().name("reader".to_owned());
        let started = reader.spawn_scoped(scope, move || send(blocks, &sender));
        // If it was not started, the channel is closed and the first read fails.
        drop(started);
        take(&mut ReadAhead::of(batches))
    })
}

/// Reads until the end, or until the receiver is dropped.
fn send(blocks: impl Iterator<Item = Read>, sender: &SyncSender<Batch>) {
    let (mut batch, mut bytes) = (Batch::new(), 0_usize);
    for block in blocks {
        let length = block.as_ref().map_or(0, |block| block.bytes().len());
        bytes = bytes.saturating_add(length);
        batch.push(Some(block));
        if bytes >= BATCH_BYTES || batch.len() >= BATCH_BLOCKS {
            bytes = 0;
            if sender.send(std::mem::take(&mut batch)).is_err() {
                return;
            }
        }
    }
    batch.push(None);
    // The receiver may be gone.
    drop(sender.send(batch));
}

#[cfg(test)]
#[path = "../../tests/unit/journal/replay/ahead.rs"]
mod tests;
