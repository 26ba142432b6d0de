//! Whether a start may begin a new venue: only where that was asked for, so that a misspelt path or
//! a disk that is not mounted never becomes an empty venue that answers.

use std::io::ErrorKind;
use std::path::Path;

use super::Failure;
use super::serve::ServeArgs;
use journal::directory::LogStore;
use journal::store::OpenError;

/// The data directory unless one is named. Nobody misspells it, so it may begin unasked.
pub(crate) const DEFAULT: &str = "./data";

/// What a start may do with its data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// Open what is there, or else begin a venue.
    Begin,
    /// The same, and nobody asked for it: the start says so.
    BeginUnasked,
    /// Open what is there.
    Open,
}

/// What a start with these arguments may do.
///
/// # Errors
/// There is no venue, and none may begin.
pub(crate) fn leave(args: &ServeArgs) -> Result<Leave, Failure> {
    if args.init || args.demo {
        return Ok(Leave::Begin);
    }
    let data = args.folder();
    let absent = || data.symlink_metadata().is_err_and(|e| e.kind() == ErrorKind::NotFound);
    // One that is there and empty may be where a disk is not mounted.
    if args.data.is_none() && absent() {
        return Ok(Leave::BeginUnasked);
    }
    LogStore::there(data).map(|()| Leave::Open).map_err(|error| refused(data, &error))
}

/// The failure to open a data directory.
pub(crate) fn refused(data: &Path, error: &OpenError) -> Failure {
    let hint = match error {
        OpenError::Missing(_) => {
            "; is the path right, and its disk mounted? A new venue begins there only with --init \
             (OPENOUTCRY_INIT=true)"
        }
        _ => "",
    };
    let message = format!("{}: {error}{hint}", data.display());
    if error.is_damage() { Failure::Journal(message) } else { Failure::Failed(message) }
}
