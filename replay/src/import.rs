//! `import`: a new data directory from a file, an archive or another directory.

use std::path::Path;

use openoutcry::journal::import::{self, ImportError};
use serde_json::json;

use crate::answer::{Answer, Failure, head_fields};
use crate::moment::Moment;
use crate::pass::{Sound, journal_failure, size};
use crate::progress::Progress;
use crate::source::{Source, name_left_out};

/// Makes a data directory whose journal has exactly the blocks of the given source, or its whole
/// blocks up to a moment.
pub fn import(journal: &Path, new: &Path, to: Option<Moment>) -> Result<Answer, Failure> {
    let mut source = Source::open(journal)?;
    let progress = Progress::over(source.extent(), false);
    let (mut sound, mut blocks) = (Sound::START, 0_u64);
    let mut copied = source.blocks_to(to)?;
    let imported = import::import(new, copied.by_ref(), |block| {
        sound.read(block);
        blocks = blocks.saturating_add(1);
        progress.passed(size(block.bytes().len()), size(block.records().len()));
    });
    let left_out = copied.left_out();
    drop((progress, copied));
    match imported {
        Ok(head) => {
            let mut value = json!({ "ok": true, "blocks": blocks, "head": head_fields(&head) });
            name_left_out(&mut value, to, left_out);
            Ok(Answer::Fields(value))
        }
        Err(ImportError::Source(error)) => {
            Err(source.placed(journal_failure(&error, source.offset(), &sound)))
        }
        Err(error) => Err(Failure::failed(error)),
    }
}
