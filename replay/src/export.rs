//! `export`: a journal's blocks as a file, plain or compressed.

use std::io;
use std::path::Path;

use journal::portable::{self, ExportError, Form};
use serde_json::json;

use crate::answer::{Answer, Failure, head_fields};
use crate::moment::Moment;
use crate::pass::{Sound, journal_failure, size};
use crate::progress::Progress;
use crate::source::{Source, name_left_out};

/// Writes all blocks, or the whole ones up to a moment, byte for byte as journaled, to a new file.
/// Compresses it if `compress` is set
/// or the file's name ends in `.gz`.
pub fn export(
    journal: &Path,
    out: &Path,
    compress: bool,
    to: Option<Moment>,
) -> Result<Answer, Failure> {
    let named = out.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
    let form = if compress || named { Form::Compressed } else { Form::Plain };
    let mut source = Source::open(journal)?;
    let progress = Progress::over(source.extent(), false);
    let mut sound = Sound::START;
    let mut copied = source.blocks_to(to)?;
    let exported = portable::export_as(form, copied.by_ref(), out, |block| {
        sound.read(block);
        progress.passed(size(block.bytes().len()), size(block.records().len()));
    });
    let left_out = copied.left_out();
    drop((progress, copied));
    match exported {
        Ok(head) => {
            let mut value = json!({
                "ok": true,
                "head": head_fields(&head),
                "compressed": form == Form::Compressed,
            });
            name_left_out(&mut value, to, left_out);
            Ok(Answer::Fields(value))
        }
        Err(ExportError::Journal(error)) => {
            Err(source.placed(journal_failure(&error, source.offset(), &sound)))
        }
        Err(ExportError::File(error)) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Failure::taken(out))
        }
        Err(ExportError::File(error)) => Err(Failure::writing(out, error)),
    }
}
