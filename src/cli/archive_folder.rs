//! The archive's folder: it must be outside the data directory, and belong to the journal.

use std::path::{Path, PathBuf};

use super::Failure;
use journal::archive::{Archive, ArchiveError, Cut};
use journal::reader::JournalReader;

/// Refuses an archive in the data directory: one of the two would be damaged with the other, and
/// the directory would no longer be taken for a journal.
pub(crate) fn outside(data: &Path, archive: &Path) -> Result<(), Failure> {
    let (data, archive) = (real(data), real(archive));
    let what = if archive == data {
        "is the data directory"
    } else if archive.starts_with(&data) {
        "is inside the data directory"
    } else {
        return Ok(());
    };
    let name = archive.display();
    Err(Failure::Usage(format!(
        "--archive {name} {what}; name another folder, best on another disk"
    )))
}

/// A path without links and relative parts, as far as it exists.
fn real(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let known = whole.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    match known {
        Some((part, canonical)) => match whole.strip_prefix(part) {
            Ok(rest) if rest.as_os_str().is_empty() => canonical,
            Ok(rest) => canonical.join(rest),
            Err(_) => canonical,
        },
        None => whole,
    }
}

/// Opens the archive; one that belongs to another journal is refused.
pub(crate) fn open_archive(folder: &Path, journal: &JournalReader) -> Result<Archive, Failure> {
    let failed =
        |error: ArchiveError| Failure::Failed(format!("archive {}: {error}", folder.display()));
    let (archive, cut) = Archive::open(folder).map_err(failed)?;
    if let Some(Cut { path, length, bytes }) = cut {
        tracing::warn!(
            file = %path.display(), length, bytes,
            "a write to the archive was interrupted; what it left was cut off"
        );
    }
    archive.belongs_to(journal).map_err(failed)?;
    let head = archive.head();
    tracing::info!(
        archive = %folder.display(), sequence = head.sequence.get(), chain = %head.hash,
        "archive opened"
    );
    Ok(archive)
}
