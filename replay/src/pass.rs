//! One pass over a journal: blocks, records, an exchange of its own, effects, and whoever listens.

use openoutcry::exchange::Exchange;
use openoutcry::exchange::command::Record;
use openoutcry::exchange::effect::Effect;
use openoutcry::exchange::invariant::Broken;
use openoutcry::exchange::units::Sequence;
use openoutcry::journal::JournalError;
use openoutcry::journal::block::{Block, BlockFault, Head};
use serde_json::json;

use crate::answer::Failure;
use crate::moment::Moment;
use crate::progress::Progress;
use crate::source::Source;

/// Who is told of every record, in order.
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

    /// All records of a block are done.
    fn block_done(&mut self, _exchange: &Exchange, _block: &Block) -> Result<(), Fault> {
        Ok(())
    }
}

/// A state that cannot be, found in a listener's own way.
pub struct Fault {
    /// The first record after which the state was wrong, as far as it is known.
    pub record: Sequence,
    /// What is wrong.
    pub broken: Broken,
}

/// How far a pass came.
pub struct Reached {
    /// The state there.
    pub exchange: Exchange,
    /// The end of the last block of which a record was taken.
    pub head: Head,
    /// Blocks of which a record was taken.
    pub blocks: u64,
}

/// What ended a pass before its end.
enum Stop {
    Journal(JournalError),
    Broken { block: Sequence, offset: u64, record: Sequence, error: String },
    Listener(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Listener(failure)
    }
}

/// Applies every record that does not come later than `until` and tells of each.
pub fn pass(
    source: &mut Source,
    until: Option<Moment>,
    streams: bool,
    listener: &mut impl Listener,
) -> Result<Reached, Failure> {
    let progress = Progress::over(source.extent(), streams);
    let mut reached = Reached { exchange: Exchange::new(), head: Head::START, blocks: 0 };
    let walked = walk(source, until, &progress, listener, &mut reached);
    drop(progress);
    walked.map_err(|stop| match stop {
        Stop::Listener(failure) => failure,
        Stop::Journal(error) => {
            source.placed(journal_failure(&error, source.offset(), &reached.head))
        }
        Stop::Broken { block, offset, record, error } => Failure::Damaged(json!({
            "ok": false,
            "error": error,
            "block": block.get(),
            "record": record.get(),
            "offset": source.offset().map(|_| offset),
            "sound_until": record.get().saturating_sub(1),
        })),
    })?;
    Ok(reached)
}

fn walk(
    source: &mut Source,
    until: Option<Moment>,
    progress: &Progress,
    listener: &mut impl Listener,
    reached: &mut Reached,
) -> Result<(), Stop> {
    let mut effects = Vec::new();
    let mut offset = 0_u64;
    for block in source.blocks()? {
        let block = block.map_err(Stop::Journal)?;
        let (first, bytes) = (block.first(), size(block.bytes().len()));
        let broken = |record, error| Stop::Broken { block: first, offset, record, error };
        for (index, record) in block.records().iter().enumerate() {
            if until.is_some_and(|until| until.is_before(record)) {
                return Ok(());
            }
            if index == 0 {
                reached.head = block.head();
                reached.blocks = reached.blocks.saturating_add(1);
            }
            let exchange = &mut reached.exchange;
            listener.before(exchange, record)?;
            effects.clear();
            exchange.apply(record, &mut effects).map_err(|error| {
                let at = record.sequence;
                broken(at, format!("REPLAY_BROKEN: record {at}: {error}"))
            })?;
            listener.after(exchange, record, &effects)?;
        }
        listener.block_done(&reached.exchange, &block).map_err(|fault| {
            let Fault { record, broken: error } = fault;
            broken(record, format!("STATE_BROKEN: after record {record}: {error}"))
        })?;
        progress.passed(bytes, size(block.records().len()));
        offset = offset.saturating_add(bytes);
    }
    Ok(())
}

/// A length in the units of sequence numbers and offsets.
pub fn size(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Damage says the block it is in and the record if it is known; in a file also the byte at which
/// that block begins.
pub fn journal_failure(error: &JournalError, offset: Option<u64>, sound: &Head) -> Failure {
    let JournalError::Damaged(damage) = error else { return Failure::failed(error) };
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
        "sound_until": sound.sequence.get(),
    }))
}
