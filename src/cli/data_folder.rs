//! Whether a start may begin a new venue: only where that was asked for, so that a misspelt path or
//! a disk that is not mounted never becomes an empty venue that answers.

use std::path::Path;

use super::Failure;
use super::settings::ServeArgs;
use journal::directory::LogStore;
use journal::store::OpenError;

/// Whether a start may begin a venue where there is none.
///
/// # Errors
/// There is no venue, and none may begin.
pub(crate) fn may_begin(args: &ServeArgs) -> Result<bool, Failure> {
    if args.init || args.demo {
        return Ok(true);
    }
    let data = args.folder();
    LogStore::there(data).map(|()| false).map_err(|error| refused(data, &error))
}

/// Whose a folder is, if it is another user's: files that one of them makes the other cannot read.
pub(crate) fn of_another(folder: &Path) -> Option<String> {
    let (owner, own) = os::another_owner(folder)?;
    let name = folder.display();
    Some(format!(
        "{name} belongs to the user with the number {owner}, and this is run by {own}: run it as \
         that user, as by `sudo -u '#{owner}' ...`"
    ))
}

/// The failure to open a data directory.
pub(crate) fn refused(data: &Path, error: &OpenError) -> Failure {
    let hint = match error {
        OpenError::Missing(_) => {
            "; is the path right, and its disk mounted? A new venue begins there only by \
             `openoutcry init`, or with --init (OPENOUTCRY_INIT=true)"
                .to_owned()
        }
        _ if error.is_damage() => String::new(),
        _ => of_another(data).map_or_else(String::new, |whose| format!("; {whose}")),
    };
    let message = format!("{}: {error}{hint}", data.display());
    if error.is_damage() { Failure::Journal(message) } else { Failure::Failed(message) }
}
