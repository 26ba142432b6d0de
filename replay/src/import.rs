//! `import`: a new data directory from a file, an archive or another directory.

use std::path::Path;

use exchange::Exchange;
use exchange::command::Record;
use exchange::effect::Effect;
use exchange::units::Sequence;
use journal::Durable;
use journal::block::Block;
use journal::import::{self, ImportError};
use serde_json::{Value, json};

use crate::answer::{Failure, head_fields};
use crate::moment::Moment;
use crate::pass::{Fault, Listener, Sound, journal_failure, pass, size, state_failure};
use crate::progress::Progress;
use crate::source::{Source, name_left_out};

/// Replays nothing but the results that blocks record.
struct Silent;

impl Listener for Silent {
    fn after(&mut self, _: &Exchange, _: &Record, _: &[Effect]) -> Result<(), Failure> {
        Ok(())
    }
}

/// Makes a data directory whose journal has exactly the blocks of the given source, or its whole
/// blocks up to a moment. Unless told not to `check`, it replays them first: a server could not
/// start from a journal that does not replay.
pub fn import(
    journal: &Path,
    new: &Path,
    to: Option<Moment>,
    check: bool,
) -> Result<Value, Failure> {
    let mut source = Source::open_any(journal)?;
    let replayed = if check { Some(replayed(&mut source, to)?) } else { None };
    let progress = Progress::over(source.extent(), false);
    let (mut sound, mut blocks) = (Sound::START, 0_u64);
    let mut copied = source.blocks_to(to)?;
    // An archive grows while it is read: only what was replayed is copied.
    let checked = |block: &Result<Durable<Block>, _>| match (block, replayed) {
        (Ok(block), Some(end)) => block.last() <= end,
        _ => true,
    };
    let imported = import::import(new, copied.by_ref().take_while(checked), |block| {
        sound.read(block);
        blocks = blocks.saturating_add(1);
        progress.passed(size(block.bytes().len()), size(block.records().len()));
    });
    let left_out = copied.left_out();
    drop((progress, copied));
    match imported {
        Ok(head) => {
            let mut value = json!({
                "ok": true,
                "blocks": blocks,
                "head": head_fields(&head),
                "replayed": check,
            });
            name_left_out(&mut value, to, left_out);
            Ok(value)
        }
        Err(ImportError::Source(error)) => {
            Err(source.placed(journal_failure(&error, source.offset(), &sound)))
        }
        Err(error) => Err(Failure::failed(error)),
    }
}

/// Replays the source up to a moment; returns the last record replayed.
fn replayed(source: &mut Source, to: Option<Moment>) -> Result<Sequence, Failure> {
    source.check_archive()?;
    let reached = pass(source, to, false, &mut Silent)?;
    let record = reached.exchange.sequence();
    let broken = |broken| state_failure(&Fault { record, broken }, reached.head.sequence, None);
    reached.exchange.check().map_err(broken)?;
    Ok(reached.head.sequence)
}
