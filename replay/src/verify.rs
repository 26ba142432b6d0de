//! `verify`: checks every block, and all invariants after every block.

use std::path::Path;

use openoutcry::exchange::Exchange;
use openoutcry::exchange::command::Record;
use openoutcry::exchange::effect::Effect;
use openoutcry::exchange::invariant::Broken;
use openoutcry::exchange::units::Sequence;
use openoutcry::journal::block::{Block, Head};
use serde_json::json;

use crate::answer::{Answer, Failure, head_fields};
use crate::pass::{Fault, Listener, Reached, Sound, journal_failure, pass, size};
use crate::progress::Progress;
use crate::source::Source;

/// An invariant check of the exchange's state.
type Invariants = fn(&Exchange) -> Result<(), Broken>;

/// Checks the state after every block, or after every record from `each_from` on.
struct Checker {
    invariants: Invariants,
    each_from: Option<Sequence>,
    fault: Option<Fault>,
}

impl Listener for Checker {
    fn after(
        &mut self,
        exchange: &Exchange,
        record: &Record,
        _effects: &[Effect],
    ) -> Result<(), Failure> {
        if self.fault.is_none() && self.each_from.is_some_and(|from| record.sequence >= from) {
            let fault = (self.invariants)(exchange).err();
            self.fault = fault.map(|broken| Fault { record: record.sequence, broken });
        }
        Ok(())
    }

    fn block_done(&mut self, exchange: &Exchange, block: &Block) -> Result<(), Fault> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let fault = |broken| Fault { record: block.last(), broken };
        (self.invariants)(exchange).map_err(fault)
    }
}

/// Checks a journal: its bytes, and if `state` is set the states it leads to.
pub fn verify(path: &Path, state: bool) -> Result<Answer, Failure> {
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
    Ok(Answer::Fields(json!({
        "ok": true,
        "blocks": blocks,
        "records": head.sequence.get(),
        "head": head_fields(&head),
        "state": digest.map(|digest| digest.to_string()),
        "results": reached.as_ref().map(|reached| reached.results.hash.to_string()),
        "results_confirmed": reached.as_ref().map(|reached| reached.confirmed.get()),
        "refused_removed": source.cut().map(Sequence::get),
    })))
}

/// Checks the state after every block. If a check fails, a second pass finds the record.
fn hold(source: &mut Source, invariants: Invariants) -> Result<Reached, Failure> {
    let mut checker = Checker { invariants, each_from: None, fault: None };
    match pass(source, None, false, &mut checker) {
        Err(Failure::Damaged(found)) => {
            let block = found.get("block").and_then(serde_json::Value::as_u64);
            let broken = found.get("error").and_then(serde_json::Value::as_str);
            let state = broken.is_some_and(|error| error.starts_with("STATE_BROKEN"));
            let Some(first) = block.filter(|_| state) else { return Err(Failure::Damaged(found)) };
            let mut checker =
                Checker { invariants, each_from: Some(Sequence::new(first)), fault: None };
            let again = pass(source, None, false, &mut checker);
            // The same journal leads to the same fault; otherwise the first finding stands.
            match again {
                Err(failure @ Failure::Damaged(_)) => Err(failure),
                _ => Err(Failure::Damaged(found)),
            }
        }
        other => other,
    }
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
    use super::*;
    use openoutcry::exchange::command::Command;
    use openoutcry::exchange::results::Results;
    use openoutcry::exchange::rules::Rules;
    use openoutcry::exchange::units::TimeMs;
    use openoutcry::journal::Journal;
    use openoutcry::journal::block::BlockBuilder;
    use openoutcry::journal::memory::MemoryJournal;
    use openoutcry::journal::portable;

    /// An invariant that the fourth record breaks.
    fn three_at_most(exchange: &Exchange) -> Result<(), Broken> {
        if exchange.sequence() > Sequence::new(3) { Err(Broken::CrossedBook) } else { Ok(()) }
    }

    #[test]
    fn a_broken_invariant_is_traced_to_its_record() {
        let mut journal = MemoryJournal::new();
        for block in [1..=2_u64, 3..=6, 7..=7] {
            let mut builder = BlockBuilder::new(journal.head());
            for sequence in block {
                let command = match sequence {
                    1 => Command::OpenVenue(Rules::current()),
                    _ => Command::AdvanceClock,
                };
                let sequence = Sequence::new(sequence);
                let record = Record { sequence, time: TimeMs::default(), once: None, command };
                assert!(builder.push(record).is_ok());
            }
            journal.append(builder.build(Results::NONE).unwrap()).unwrap();
        }
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("blocks");
        portable::export(journal.read(Sequence::new(1)), &file).unwrap();
        let Ok(mut source) = Source::open(&file) else { panic!("not opened") };
        assert!(hold(&mut source, Exchange::check).is_ok());
        let Err(Failure::Damaged(found)) = hold(&mut source, three_at_most) else { panic!("held") };
        assert_eq!((&found["block"], &found["record"]), (&3.into(), &4.into()), "{found}");
        assert_eq!(found["sound_until"], 3);
        let error = found["error"].as_str().unwrap();
        assert_eq!(error, "STATE_BROKEN: after record 4: a book is crossed");
        assert!(found["offset"].as_u64().is_some_and(|offset| offset > 64));
    }
}
