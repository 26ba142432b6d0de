//! From journal to exchange: the one loop in which records are applied, by a server's matcher and
//! by whoever checks a journal. It holds every block to the results that it records.

pub mod ahead;
pub mod hasher_thread;

use std::collections::VecDeque;
use std::convert::Infallible;

use super::block::{Block, Head};
use super::{Durable, JournalError};
use crate::exchange::Exchange;
use crate::exchange::command::Record;
use crate::exchange::effect::Effect;
use crate::exchange::invariant::Broken;
use crate::exchange::prefetch::AHEAD;
use crate::exchange::results::{InlineHasher, Results, ResultsHash, ResultsHasher, ResultsLog};
use crate::exchange::units::Sequence;

/// Blocks that may stand between the one whose results a block records and that block itself. A
/// server's are those between its sequencer and its matcher, fewer than these; more would leave
/// records whose results nobody answers for.
pub const RESULTS_LAG_BLOCKS_MAX: usize = 8;

/// What a journal's records led to that cannot be, or was not so when it was journaled. The codes
/// are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReplayFault {
    /// The exchange came to a state that cannot be.
    #[error("REPLAY_BROKEN: record {at}: {broken}")]
    Broken {
        /// The record that was being applied.
        at: Sequence,
        /// What cannot be.
        broken: Broken,
    },
    /// The records come to other results than those that were recorded when they were journaled:
    /// a record or the recorded results were changed, or the rules of matching were.
    #[error(
        "RESULTS_DIFFER: the block of record {block} records other results of records {from} to \
         {through} than they come to"
    )]
    ResultsDiffer {
        /// First sequence of the block that carries the recorded results.
        block: Sequence,
        /// The first record that they speak of and that no earlier block answered for.
        from: Sequence,
        /// The last record that they speak of.
        through: Sequence,
    },
    /// The block records results up to a record with which no block ends.
    #[error(
        "RESULTS_PLACE: the block of record {block} records results up to record {through}, \
         where no block ends"
    )]
    ResultsPlace {
        /// First sequence of the block.
        block: Sequence,
        /// Up to which record it records results.
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
        /// Up to which record it records results.
        through: Sequence,
    },
}

/// Why a replay stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The journal could not be read, or is damaged.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Its records do not come to what they should.
    #[error(transparent)]
    Fault(#[from] ReplayFault),
}

/// Who is told of every record, in order.
pub trait Listener {
    /// Why it wants to hear no more.
    type Stop;

    /// Whether what a block's earlier records did is wanted until its end.
    const KEEPS: bool = true;

    /// The state before a record.
    ///
    /// # Errors
    /// Ends the replay before the record.
    fn before(&mut self, _exchange: &Exchange, _record: &Record) -> Result<(), Self::Stop> {
        Ok(())
    }

    /// A record, what it did, and the state after it.
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
    /// The listener's wish.
    Listener(S),
}

/// Where a block ended.
#[derive(Debug, Clone, Copy)]
struct End {
    /// With this record.
    through: Sequence,
    /// What the records up to it came to, once that is known.
    hash: Option<ResultsHash>,
}

/// What a block recorded of results that were not known yet when its turn came.
#[derive(Debug, Clone, Copy)]
struct Claim {
    /// First sequence of the block.
    block: Sequence,
    /// The first record that it speaks of and no block before it.
    from: Sequence,
    /// What it recorded.
    recorded: Results,
}

impl Claim {
    /// Holds the block to it.
    fn hold(&self, hash: ResultsHash) -> Result<(), ReplayFault> {
        let Claim { block, from, recorded: Results { through, hash: recorded } } = *self;
        let differs = ReplayFault::ResultsDiffer { block, from, through };
        if hash == recorded { Ok(()) } else { Err(differs) }
    }
}

/// An exchange, and what its records came to block by block.
#[derive(Debug, Clone)]
pub struct Replayer<S = InlineHasher> {
    exchange: Exchange,
    log: ResultsLog<S>,
    /// Ends of blocks, oldest first: the last whose results a block recorded, or the one it began
    /// with, and every later one. At most [`RESULTS_LAG_BLOCKS_MAX`] and two.
    ends: VecDeque<End>,
    /// What is to be compared once results are known, oldest first.
    claims: VecDeque<Claim>,
    /// The latest results that are known.
    known: Results,
    /// The last record of the last block applied.
    ended: Sequence,
    /// Before this nothing is known.
    began: Sequence,
}

impl Replayer {
    /// Before the first record.
    pub fn new() -> Replayer {
        Replayer::resume(Exchange::new(), ResultsHash::ZERO)
    }

    /// Goes on from an exchange as a block's last record left it, with the results up to there.
    /// Results that later blocks record of earlier records are not compared; those that they
    /// record of later ones speak of the earlier ones too.
    pub fn resume(exchange: Exchange, results: ResultsHash) -> Replayer {
        let end = Results { through: exchange.sequence(), hash: results };
        let Results { through, hash } = end;
        let ends = VecDeque::from([End { through, hash: Some(hash) }]);
        let (log, claims) = (ResultsLog::resume(end), VecDeque::new());
        Replayer { exchange, log, ends, claims, known: end, ended: through, began: through }
    }

    /// Between two blocks: has the results hashed elsewhere from now on. `seal` goes on after
    /// [`Replayer::results`].
    pub fn sealed_by<S: ResultsHasher>(self, seal: S) -> Replayer<S> {
        let Replayer { exchange, log: _, ends, claims, known, ended, began } = self;
        let log = ResultsLog::sealed_by(seal, ended);
        Replayer { exchange, log, ends, claims, known, ended, began }
    }

    /// What the records up to the last one applied came to. Costs a copy of the hash's state
    /// within a block, nothing at its end.
    pub fn results(&self) -> Results {
        self.log.latest()
    }
}

impl<S: ResultsHasher> Replayer<S> {
    /// The state after the last record applied.
    pub const fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// The state after the last record applied, to keep.
    pub fn into_exchange(self) -> Exchange {
        self.exchange
    }

    /// The last record whose results a block applied so far records, and rightly once all is
    /// [settled](Replayer::settle); where it began if there is none.
    pub fn confirmed(&self) -> Sequence {
        self.ends.front().map_or(self.began, |end| end.through)
    }

    /// The latest results at the end of a block that are known by now.
    pub const fn known(&self) -> Results {
        self.known
    }

    /// Waits for the results of all blocks applied, and has compared all that they record.
    ///
    /// # Errors
    /// The first block that records other results, or whoever hashes them is gone.
    pub fn settle(&mut self) -> Result<Results, ReplayFault> {
        while self.known.through < self.ended {
            let (at, broken) = (self.ended, Broken::Unhashed);
            let end = self.log.next(true).ok_or(ReplayFault::Broken { at, broken })?;
            self.learned(end)?;
        }
        Ok(self.known)
    }

    /// Hashes here again, all results being known.
    ///
    /// # Errors
    /// As [`Replayer::settle`].
    pub fn settled(mut self) -> Result<Replayer, ReplayFault> {
        let end = self.settle()?;
        let Replayer { exchange, log: _, ends, claims, known, ended, began } = self;
        let log = ResultsLog::resume(end);
        Ok(Replayer { exchange, log, ends, claims, known, ended, began })
    }

    /// Compares the results that a block records, then applies those of its records that were not
    /// applied yet, appends their effects to `effects` and tells `listener` of each. If the
    /// listener ends it, the same block goes on where it ended. What is in `effects` stays there if
    /// the listener [keeps](Listener::KEEPS) it.
    ///
    /// Results that are hashed elsewhere may not be known yet: then they are compared when they
    /// are, and nobody may rely on what is applied meanwhile before it is
    /// [settled](Replayer::settle).
    ///
    /// # Errors
    /// The journal's first fault, or the listener's wish. After a fault within a record, or of
    /// results that are hashed elsewhere, the state is not to be used any more; any other is found
    /// before anything of the block is applied.
    pub fn apply<L: Listener>(
        &mut self,
        block: &Durable<Block>,
        effects: &mut Vec<Effect>,
        listener: &mut L,
    ) -> Result<(), Stop<L::Stop>> {
        if block.last() <= self.ended {
            return Ok(());
        }
        self.compare(block).map_err(|fault| Stop::Fault(self.first_of(fault)))?;
        for (place, record) in block.records().iter().enumerate() {
            if place % AHEAD == 0 {
                self.exchange.prefetch(block.records().get(place..).unwrap_or_default());
            }
            if record.sequence <= self.exchange.sequence() {
                continue;
            }
            listener.before(&self.exchange, record).map_err(Stop::Listener)?;
            if !L::KEEPS {
                // The next record's are written where these are still near.
                effects.clear();
            }
            let told = effects.len();
            self.exchange.apply(record, effects).map_err(|broken| {
                let at = record.sequence;
                Stop::Fault(self.first_of(ReplayFault::Broken { at, broken }))
            })?;
            let effects = effects.get(told..).unwrap_or_default();
            self.log.push(record, effects);
            listener.after(&self.exchange, record, effects).map_err(Stop::Listener)?;
        }
        self.log.end();
        self.ended = block.last();
        self.ends.push_back(End { through: self.ended, hash: None });
        while let Some(end) = self.log.next(false) {
            self.learned(end).map_err(Stop::Fault)?;
        }
        Ok(())
    }

    /// Takes the results up to the end of the oldest block whose results were not known.
    fn learned(&mut self, end: Results) -> Result<(), ReplayFault> {
        self.known = end;
        if let Some(of) = self.ends.iter_mut().rev().find(|of| of.through == end.through) {
            of.hash = Some(end.hash);
        }
        while let Some(claim) = self.claims.front().copied() {
            if claim.recorded.through > end.through {
                break;
            }
            claim.hold(end.hash)?;
            self.claims.pop_front();
        }
        Ok(())
    }

    /// A fault that was met, or what an earlier block recorded wrongly and nobody knew yet.
    fn first_of(&mut self, met: ReplayFault) -> ReplayFault {
        match self.settle() {
            Err(earlier @ ReplayFault::ResultsDiffer { .. }) => earlier,
            _ => met,
        }
    }

    /// Holds a block to the results that it records, and forgets those that no later block may
    /// record any more.
    fn compare(&mut self, block: &Block) -> Result<(), ReplayFault> {
        let (first, recorded) = (block.first(), block.recorded());
        let through = recorded.through;
        let confirmed = self.confirmed();
        if through >= self.began || confirmed != self.began {
            let place = self.ends.iter().position(|end| end.through == through);
            let place = place.ok_or(ReplayFault::ResultsPlace { block: first, through })?;
            let from = confirmed.next().min(through);
            let claim = Claim { block: first, from, recorded };
            match self.ends.get(place).and_then(|end| end.hash) {
                Some(hash) => claim.hold(hash)?,
                None => self.claims.push_back(claim),
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

/// A listener that only listens.
struct Telling<T>(T);

impl<T: FnMut(&Record, &[Effect])> Listener for Telling<T> {
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

/// Applies every record that `replayer` has not seen yet and tells of each with its effects, in
/// order. The head is that of the last block read, [`Head::START`] if there was none.
///
/// # Errors
/// The first fault; nothing after it was applied.
pub fn replay<S: ResultsHasher>(
    blocks: impl Iterator<Item = Result<Durable<Block>, JournalError>>,
    replayer: &mut Replayer<S>,
    tell: impl FnMut(&Record, &[Effect]),
) -> Result<Head, ReplayError> {
    let mut head = Head::START;
    let (mut effects, mut telling) = (Vec::new(), Telling(tell));
    for block in blocks {
        let block = match block {
            Ok(block) => block,
            // What a block before it recorded wrongly is the first fault.
            Err(error) => {
                replayer.settle()?;
                return Err(error.into());
            }
        };
        effects.clear();
        match replayer.apply(&block, &mut effects, &mut telling) {
            Ok(()) => head = block.head(),
            Err(Stop::Fault(fault)) => return Err(fault.into()),
            Err(Stop::Listener(never)) => match never {},
        }
    }
    Ok(head)
}
