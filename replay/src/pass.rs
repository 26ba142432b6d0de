//! One pass over a journal: reads blocks, applies their records to an exchange, and passes the
//! effects to a listener.

use exchange::Exchange;
use exchange::command::Record;
use exchange::effect::Effect;
use exchange::invariant::Broken;
use exchange::results::Results;
use exchange::units::Sequence;
use journal::JournalError;
use journal::block::{Block, BlockFault, Head};
use journal::replay::{self, ReadAhead, ReplayFault, Replayer, reading_ahead};
use serde_json::json;

use crate::answer::Failure;
use crate::moment::Moment;
use crate::progress::Progress;
use crate::source::Source;

/// Is called for every record, in order.
pub trait Listener {
    /// The state before a record.
    fn before(&mut self, _exchange: &Exchange, _record: &Record) -> Result<(), Failure> {
        Ok(())
    }

    /// A record, what it did, and the state after it.
    fn after(
        &mut self,
        exchange: &Exchange,
        record: &Record,
        effects: &[Effect],
    ) -> Result<(), Failure>;

    /// After the last record of a block.
    fn block_done(&mut self, _exchange: &Exchange, _block: &Block) -> Result<(), Fault> {
        Ok(())
    }

    /// After the last block.
    fn ended(&mut self, _exchange: &Exchange) -> Result<(), Fault> {
        Ok(())
    }
}

/// An invalid state that a listener found.
pub struct Fault {
    /// The first record after which the state was invalid, as far as known.
    pub record: Sequence,
    /// What is wrong.
    pub broken: Broken,
}

impl Fault {
    /// The state after the last record applied is invalid.
    pub const fn now(exchange: &Exchange, broken: Broken) -> Fault {
        Fault { record: exchange.sequence(), broken }
    }
}

/// The end of a pass.
pub struct Reached {
    /// The state there.
    pub exchange: Exchange,
    /// The results of all records up to there.
    pub results: Results,
    /// The last record covered by the results stored in a block.
    pub confirmed: Sequence,
    /// The end of the last block of which a record was applied.
    pub head: Head,
    /// Number of blocks of which a record was applied.
    pub blocks: u64,
}

/// Why a pass stopped early.
enum Stop {
    Journal(JournalError),
    /// With the first sequence number of its block and the byte offset of that block.
    Fault(ReplayFault, Sequence, u64),
    State(Fault, Sequence, u64),
    Listener(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Listener(failure)
    }
}

/// Applies every record not later than `until` and calls the listener for each.
pub fn pass(
    source: &mut Source,
    until: Option<Moment>,
    streams: bool,
    listener: &mut impl Listener,
) -> Result<Reached, Failure> {
    let progress = Progress::over(source.extent(), streams);
    let mut walk = Walk { replayer: Replayer::new(), sound: Sound::START, blocks: 0 };
    let walked = walk.through(source, until, &progress, listener);
    drop(progress);
    let Walk { replayer, sound, blocks } = walk;
    walked.map_err(|stop| match stop {
        Stop::Listener(failure) => failure,
        Stop::Journal(error) => source.placed(journal_failure(&error, source.offset(), &sound)),
        Stop::Fault(fault, block, offset) => {
            replay_failure(&fault, block, source.offset().map(|_| offset))
        }
        Stop::State(fault, block, offset) => {
            state_failure(&fault, block, source.offset().map(|_| offset))
        }
    })?;
    let (results, confirmed) = (replayer.results(), replayer.confirmed());
    let head = sound.head;
    Ok(Reached { exchange: replayer.into_exchange(), results, confirmed, head, blocks })
}

/// The state at a moment, or at the journal's end; calls the listener for each record up to there.
pub fn pass_to(
    source: &mut Source,
    at: Option<Moment>,
    listener: &mut impl Listener,
) -> Result<Reached, Failure> {
    let reached = pass(source, at, false, listener)?;
    at.map_or(Ok(()), |at| at.within(reached.exchange.sequence()))?;
    Ok(reached)
}

/// How far a journal is sound: the block read last, and the last record before that block.
#[derive(Debug, Clone, Copy)]
pub struct Sound {
    /// The end of the block read last.
    pub head: Head,
    /// The last record of the block before it.
    before: Sequence,
}

impl Sound {
    /// Nothing was read yet.
    pub const START: Sound = Sound { head: Head::START, before: Sequence::ZERO };

    /// One more block was read and verified.
    pub fn read(&mut self, block: &Block) {
        self.before = self.head.sequence;
        self.head = block.head();
    }

    /// The last record that this damage cannot concern. A block that does not continue the chain
    /// may be sound, and the one before it changed together with its checksum.
    const fn until(&self, fault: &BlockFault) -> Sequence {
        match fault {
            BlockFault::Chain { .. } => self.before,
            _ => self.head.sequence,
        }
    }
}

/// The state of a running pass.
struct Walk {
    replayer: Replayer,
    sound: Sound,
    blocks: u64,
}

/// Why the replay of a block stopped early.
enum End {
    /// The moment was reached.
    Reached,
    Failed(Failure),
}

/// Forwards records up to a moment to a listener.
struct Until<'a, L> {
    moment: Option<Moment>,
    listener: &'a mut L,
    /// Whether any record was applied.
    taken: bool,
}

impl<L: Listener> replay::Listener for Until<'_, L> {
    type Stop = End;

    const KEEPS: bool = false;

    fn before(&mut self, exchange: &Exchange, record: &Record) -> Result<(), End> {
        if self.moment.is_some_and(|moment| moment.is_before(record)) {
            return Err(End::Reached);
        }
        self.taken = true;
        self.listener.before(exchange, record).map_err(End::Failed)
    }

    fn after(
        &mut self,
        exchange: &Exchange,
        record: &Record,
        effects: &[Effect],
    ) -> Result<(), End> {
        self.listener.after(exchange, record, effects).map_err(End::Failed)
    }
}

impl Walk {
    fn through(
        &mut self,
        source: &mut Source,
        moment: Option<Moment>,
        progress: &Progress,
        listener: &mut impl Listener,
    ) -> Result<(), Stop> {
        let blocks = source.blocks()?;
        reading_ahead(blocks, |blocks| self.over(blocks, moment, progress, listener))
    }

    fn over(
        &mut self,
        blocks: &mut ReadAhead,
        moment: Option<Moment>,
        progress: &Progress,
        listener: &mut impl Listener,
    ) -> Result<(), Stop> {
        let mut effects = Vec::new();
        let (mut offset, mut last) = (0_u64, (Sequence::ZERO, 0_u64));
        for block in blocks {
            let block = block.map_err(Stop::Journal)?;
            let (first, bytes) = (block.first(), size(block.bytes().len()));
            let mut until = Until { moment, listener: &mut *listener, taken: false };
            effects.clear();
            let applied = self.replayer.apply(&block, &mut effects, &mut until);
            if until.taken {
                self.sound.read(&block);
                self.blocks = self.blocks.saturating_add(1);
            }
            match applied {
                Ok(()) => {}
                Err(replay::Stop::Listener(End::Reached)) => break,
                Err(replay::Stop::Listener(End::Failed(failure))) => return Err(failure.into()),
                Err(replay::Stop::Fault(fault)) => return Err(Stop::Fault(fault, first, offset)),
            }
            let exchange = self.replayer.exchange();
            let done = listener.block_done(exchange, &block);
            done.map_err(|fault| Stop::State(fault, first, offset))?;
            progress.passed(bytes, size(block.records().len()));
            last = (first, offset);
            offset = offset.saturating_add(bytes);
        }
        let ended = listener.ended(self.replayer.exchange());
        ended.map_err(|fault| Stop::State(fault, last.0, last.1))
    }
}

/// An invalid state, and the block it was found in.
pub fn state_failure(fault: &Fault, block: Sequence, offset: Option<u64>) -> Failure {
    let Fault { record, broken } = *fault;
    let error = format!("STATE_BROKEN: after record {record}: {broken}");
    damaged(&error, block, [record; 2], before(record), offset)
}

/// A replay fault: the block it was found in, and the records that may have it.
pub fn replay_failure(fault: &ReplayFault, block: Sequence, offset: Option<u64>) -> Failure {
    let error = fault.to_string();
    match *fault {
        // Whether those before it in its block are as they were written, only the chain would say.
        ReplayFault::Broken { at, .. } => damaged(&error, block, [at; 2], before(block), offset),
        ReplayFault::ResultsDiffer { from, through, .. } => {
            damaged(&error, block, [from, through], before(from), offset)
        }
        ReplayFault::ResultsPlace { .. } | ReplayFault::ResultsLag { .. } => {
            damaged(&error, block, [block; 2], before(block), offset)
        }
    }
}

fn before(record: Sequence) -> u64 {
    record.get().saturating_sub(1)
}

/// A fault in one of a range of records, found in a block.
fn damaged(
    error: &str,
    block: Sequence,
    [first, last]: [Sequence; 2],
    sound_until: u64,
    offset: Option<u64>,
) -> Failure {
    Failure::Damaged(json!({
        "ok": false,
        "error": error,
        "block": block.get(),
        "record": first.get(),
        "last_record": (last != first).then(|| last.get()),
        "offset": offset,
        "sound_until": sound_until,
    }))
}

/// A length as a `u64`, like sequence numbers and offsets.
pub fn size(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// A journal error. Damage is reported with its block and, if known, its record; in a file also
/// with the byte offset of the block.
pub fn journal_failure(error: &JournalError, offset: Option<u64>, sound: &Sound) -> Failure {
    let JournalError::Damaged(damage) = error else {
        if !error.is_damage() {
            return Failure::failed(error);
        }
        return Failure::Damaged(json!({
            "ok": false,
            "error": error.to_string(),
            "sound_until": sound.head.sequence.get(),
        }));
    };
    let record = match damage.fault {
        BlockFault::Record { sequence, .. }
        | BlockFault::Time(sequence)
        | BlockFault::Missing(sequence)
        | BlockFault::Gap { expected: sequence, .. } => Some(sequence.get()),
        _ => None,
    };
    Failure::Damaged(json!({
        "ok": false,
        "error": error.to_string(),
        "block": damage.block.get(),
        "record": record,
        "offset": offset,
        "sound_until": sound.until(&damage.fault).get(),
    }))
}
