//! `export`: a journal's blocks as a file, plain or compressed.

use std::io;
use std::path::Path;

use openoutcry::journal::block::Head;
use openoutcry::journal::portable::{self, ExportError, Form};
use serde_json::json;

use crate::answer::{Answer, Failure, head_fields};
use crate::pass::{journal_failure, size};
use crate::progress::Progress;
use crate::source::Source;

/// Writes all blocks, byte for byte as journaled, to a new file. Compresses it if `compress` is set
/// or the file's name ends in `.gz`.
pub fn export(journal: &Path, out: &Path, compress: bool) -> Result<Answer, Failure> {
    let named = out.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
    let form = if compress || named { Form::Compressed } else { Form::Plain };
    let mut source = Source::open(journal)?;
    let progress = Progress::over(source.extent(), false);
    let mut sound = Head::START;
    let exported = portable::export_as(form, source.blocks()?, out, |block| {
        sound = block.head();
        progress.passed(size(block.bytes().len()), size(block.records().len()));
    });
    drop(progress);
    match exported {
        Ok(head) => Ok(Answer::Fields(json!({
            "ok": true,
            "head": head_fields(&head),
            "compressed": form == Form::Compressed,
        }))),
        Err(ExportError::Journal(error)) => {
            Err(source.placed(journal_failure(&error, source.offset(), &sound)))
        }
        Err(ExportError::File(error)) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Failure::taken(out))
        }
        Err(ExportError::File(error)) => Err(Failure::writing(out, error)),
    }
}
