//! `import`: a new data directory from a file, an archive or another directory.

use std::path::Path;

use openoutcry::journal::block::Head;
use openoutcry::journal::import::{self, ImportError};
use serde_json::json;

use crate::answer::{Answer, Failure, head_fields};
use crate::pass::{journal_failure, size};
use crate::progress::Progress;
use crate::source::Source;

/// Makes a data directory whose journal has exactly the blocks of the given source.
pub fn import(journal: &Path, new: &Path) -> Result<Answer, Failure> {
    let mut source = Source::open(journal)?;
    let progress = Progress::over(source.extent(), false);
    let (mut sound, mut blocks) = (Head::START, 0_u64);
    let imported = import::import(new, source.blocks()?, |block| {
        sound = block.head();
        blocks = blocks.saturating_add(1);
        progress.passed(size(block.bytes().len()), size(block.records().len()));
    });
    drop(progress);
    match imported {
        Ok(head) => {
            Ok(Answer::Fields(json!({ "ok": true, "blocks": blocks, "head": head_fields(&head) })))
        }
        Err(ImportError::Source(error)) => {
            Err(source.placed(journal_failure(&error, source.offset(), &sound)))
        }
        Err(error) => Err(Failure::failed(error)),
    }
}
