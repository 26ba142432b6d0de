//! `export`: a data directory's blocks as a plain file.

use std::path::Path;

use openoutcry::journal::block::Head;
use openoutcry::journal::portable::{self, ExportError};
use serde_json::json;

use crate::answer::{Answer, Failure, head_fields};
use crate::pass::journal_failure;
use crate::source::Source;

/// Writes all blocks, byte for byte as they were journaled, to a new file.
pub fn export(journal: &Path, out: &Path) -> Result<Answer, Failure> {
    let mut source = Source::open(journal)?;
    let exported = portable::export(source.blocks()?, out);
    match exported {
        Ok(head) => Ok(Answer::Fields(json!({ "ok": true, "head": head_fields(&head) }))),
        Err(ExportError::Journal(error)) => {
            Err(journal_failure(&error, source.offset(), &Head::START))
        }
        Err(ExportError::File(error)) => Err(Failure::writing(out, error)),
    }
}
