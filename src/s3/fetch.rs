//! Bringing the archive back from its bucket.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::archive::{failed, first_of};
use super::place::Place;
use journal::archive::ArchiveError;

/// Copies the objects that a folder lacks into it: then it is an archive, for `openoutcry-replay`.
/// Returns how many were copied, and how many there are; without any it makes no folder.
///
/// # Errors
/// The store does not answer or refuses, the folder cannot be written, or it holds what is not of
/// the bucket: a server's own archive or directory would be ruined.
pub fn fetch(place: &Place, folder: &Path) -> Result<(usize, usize), ArchiveError> {
    let of_file = |error| ArchiveError::Io { path: folder.to_owned(), error };
    let mut store = place.objects()?;
    let names = store.list().map_err(|error| failed(&place.url, error))?;
    let names: Vec<String> = names.into_iter().filter(|name| first_of(name).is_some()).collect();
    if names.is_empty() {
        return Ok((0, 0));
    }
    fs::create_dir_all(folder).map_err(of_file)?;
    for entry in fs::read_dir(folder).map_err(of_file)? {
        let found = entry.map_err(of_file)?.file_name();
        let found = found.to_string_lossy();
        if !names.iter().any(|name| *name == found.trim_end_matches(".partial")) {
            let why = format!("it holds {found}, which is not of the bucket: name a new folder");
            return Err(of_file(io::Error::other(why)));
        }
    }
    let mut copied = 0_usize;
    for name in &names {
        let path = folder.join(name);
        if path.exists() {
            continue;
        }
        let bytes = store.read(name).map_err(|error| failed(&place.url, error))?;
        // It gets its name once it is whole.
        let partial = folder.join(format!("{name}.partial"));
        let mut file = fs::File::create(&partial).map_err(of_file)?;
        file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(of_file)?;
        fs::rename(&partial, &path).map_err(of_file)?;
        copied = copied.saturating_add(1);
    }
    Ok((copied, names.len()))
}
