//! `verify`: checks every block, and the invariants after every block (`watch.rs`).

use std::path::Path;

use exchange::Exchange;
use exchange::command::Record;
use exchange::effect::Effect;
use exchange::units::Sequence;
use journal::block::{Block, Head};
use serde_json::{Value, json};

use crate::answer::{Failure, head_fields};
use crate::pass::{Fault, Listener, Reached, Sound, journal_failure, pass, size};
use crate::progress::Progress;
use crate::source::Source;
use crate::watch::{Invariants, Watch};

/// Checks the states of a first pass.
struct Checker {
    watch: Watch,
}

impl Listener for Checker {
    fn after(
        &mut self,
        exchange: &Exchange,
        _record: &Record,
        effects: &[Effect],
    ) -> Result<(), Failure> {
        self.watch.follow(exchange, effects);
        Ok(())
    }

    fn block_done(&mut self, exchange: &Exchange, _block: &Block) -> Result<(), Fault> {
        self.watch.block_done(exchange).map_err(|broken| Fault::now(exchange, broken))
    }

    fn ended(&mut self, exchange: &Exchange) -> Result<(), Fault> {
        self.watch.end(exchange).map_err(|broken| Fault::now(exchange, broken))
    }
}

/// Looks for the first record after which a state is broken: checks the whole state after every
/// block, or every record, from one on. Slow; no sound journal needs it.
struct Tracer {
    invariants: Invariants,
    from: Sequence,
    each_record: bool,
    fault: Option<Fault>,
}

impl Tracer {
    fn look(&mut self, exchange: &Exchange) {
        if self.fault.is_none() && exchange.sequence() >= self.from {
            let fault = (self.invariants)(exchange).err();
            self.fault = fault.map(|broken| Fault::now(exchange, broken));
        }
    }
}

impl Listener for Tracer {
    fn after(
        &mut self,
        exchange: &Exchange,
        _record: &Record,
        _effects: &[Effect],
    ) -> Result<(), Failure> {
        if self.each_record {
            self.look(exchange);
        }
        Ok(())
    }

    fn block_done(&mut self, exchange: &Exchange, _block: &Block) -> Result<(), Fault> {
        self.look(exchange);
        self.fault.take().map_or(Ok(()), Err)
    }
}

/// Checks a journal: its bytes, and if `state` is set the states it leads to.
pub fn verify(path: &Path, state: bool) -> Result<Value, Failure> {
    let mut source = Source::open(path)?;
    source.check_archive()?;
    let (head, blocks, reached) = if state {
        let reached = hold(&mut source, Exchange::check)?;
        (reached.head, reached.blocks, Some(reached))
    } else {
        let (head, blocks) = bytes(&mut source)?;
        (head, blocks, None)
    };
    let digest = reached.as_ref().map(|reached| reached.exchange.digest()).transpose()?;
    Ok(json!({
        "ok": true,
        "blocks": blocks,
        "records": head.sequence.get(),
        "head": head_fields(&head),
        "state": digest.map(|digest| digest.to_string()),
        "results": reached.as_ref().map(|reached| reached.results.hash.to_string()),
        "results_confirmed": reached.as_ref().map(|reached| reached.confirmed.get()),
        "refused_removed": source.cut().map(Sequence::get),
    }))
}

/// Checks the states. If a check fails, further passes find the block and the record.
fn hold(source: &mut Source, invariants: Invariants) -> Result<Reached, Failure> {
    let mut checker = Checker { watch: Watch::with(invariants) };
    let mut found = match pass(source, None, false, &mut checker) {
        Err(Failure::Damaged(found)) if is_state(&found) => found,
        other => return other,
    };
    let mut trace = |from, each_record| {
        let mut tracer = Tracer { invariants, from, each_record, fault: None };
        match pass(source, None, false, &mut tracer) {
            Err(Failure::Damaged(again)) if is_state(&again) => Some(again),
            _ => None,
        }
    };
    // The same journal leads to the same fault; otherwise the earlier finding stands.
    if let Some(after) = checker.watch.broken_after() {
        found = trace(after.next(), false).unwrap_or(found);
    }
    let block = found.get("block").and_then(Value::as_u64).unwrap_or_default();
    found = trace(Sequence::new(block), true).unwrap_or(found);
    Err(Failure::Damaged(found))
}

/// Whether a finding is about a state and not about bytes or results.
fn is_state(found: &Value) -> bool {
    let error = found.get("error").and_then(Value::as_str);
    error.is_some_and(|error| error.starts_with("STATE_BROKEN"))
}

/// Checks the bytes alone: checksums, hash chain, consecutive sequence numbers, every field.
fn bytes(source: &mut Source) -> Result<(Head, u64), Failure> {
    let progress = Progress::over(source.extent(), false);
    let (mut sound, mut count) = (Sound::START, 0_u64);
    let mut walked = Ok(());
    for block in source.blocks()? {
        match block {
            Ok(block) => {
                count = count.saturating_add(1);
                sound.read(&block);
                progress.passed(size(block.bytes().len()), size(block.records().len()));
            }
            Err(error) => walked = Err(error),
        }
    }
    drop(progress);
    walked.map_err(|error| source.placed(journal_failure(&error, source.offset(), &sound)))?;
    Ok((sound.head, count))
}

#[cfg(test)]
mod changed;

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use exchange::command::Command;
    use exchange::invariant::Broken;
    use exchange::rules::Rules;
    use exchange::units::TimeMs;
    use journal::Journal;
    use journal::memory::MemoryJournal;
    use journal::portable;

    /// An invariant that the fourth record breaks.
    fn three_at_most(exchange: &Exchange) -> Result<(), Broken> {
        if exchange.sequence() > Sequence::new(3) { Err(Broken::CrossedBook) } else { Ok(()) }
    }

    /// A file with these records, each range a block: an open venue on which nothing happens.
    fn file_of(dir: &Path, blocks: impl IntoIterator<Item = RangeInclusive<u64>>) -> Source {
        let record = |sequence| {
            let command = match sequence {
                1 => Command::OpenVenue(Rules::current()),
                _ => Command::AdvanceClock,
            };
            let sequence = Sequence::new(sequence);
            Record { sequence, time: TimeMs::default(), once: None, act: None, command }
        };
        let cut: Vec<Vec<Record>> =
            blocks.into_iter().map(|block| block.map(record).collect()).collect();
        let mut journal = MemoryJournal::new();
        for block in changed::blocks_of(&cut, |_, results| results) {
            journal.append(block).unwrap();
        }
        let file = dir.join("blocks");
        portable::export(journal.read(Sequence::new(1)), &file).unwrap();
        let Ok(source) = Source::open(&file) else { panic!("not opened") };
        source
    }

    #[test]
    fn a_broken_invariant_is_traced_to_its_record() {
        let dir = tempfile::tempdir().unwrap();
        let mut source = file_of(dir.path(), [1..=2, 3..=6, 7..=7]);
        assert!(hold(&mut source, Exchange::check).is_ok());
        let Err(Failure::Damaged(found)) = hold(&mut source, three_at_most) else { panic!("held") };
        assert_eq!((&found["block"], &found["record"]), (&3.into(), &4.into()), "{found}");
        assert_eq!(found["sound_until"], 3);
        let error = found["error"].as_str().unwrap();
        assert_eq!(error, "STATE_BROKEN: after record 4: a book is crossed");
        assert!(found["offset"].as_u64().is_some_and(|offset| offset > 64));
    }

    static WHOLE_CHECKS: AtomicU64 = AtomicU64::new(0);

    fn counted(exchange: &Exchange) -> Result<(), Broken> {
        WHOLE_CHECKS.fetch_add(1, Ordering::Relaxed);
        exchange.check()
    }

    /// A check of the whole state after each of many blocks would take blocks x open orders.
    #[test]
    fn the_whole_state_is_not_checked_after_every_block() {
        let dir = tempfile::tempdir().unwrap();
        let mut source = file_of(dir.path(), (1..=500).map(|record| record..=record));
        let Ok(reached) = hold(&mut source, counted) else { panic!("not sound") };
        assert_eq!((reached.blocks, WHOLE_CHECKS.load(Ordering::Relaxed)), (500, 1));
    }
}
