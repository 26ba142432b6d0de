//! Files that the tool makes: whole or not at all, and never over an existing one.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use openoutcry::journal::portable;

use crate::answer::Failure;

/// A file in the making, beside the place where it will be. If it is dropped before it is
/// finished nothing is left of it.
pub struct NewFile {
    path: PathBuf,
    partial: PathBuf,
    out: BufWriter<File>,
    finished: bool,
}

impl NewFile {
    /// Begins a file.
    ///
    /// # Errors
    /// There is one already, or the folder cannot be written.
    pub fn create(path: &Path) -> Result<NewFile, Failure> {
        if path.symlink_metadata().is_ok() {
            return Err(Failure::taken(path));
        }
        let mut name = path.file_name().map(OsString::from).unwrap_or_default();
        name.push(".partial");
        let partial = path.with_file_name(name);
        let file = OpenOptions::new().create(true).truncate(true).write(true).open(&partial);
        let file = file.map_err(|error| Failure::writing(&partial, error))?;
        let out = BufWriter::new(file);
        Ok(NewFile { path: path.to_owned(), partial, out, finished: false })
    }

    /// Puts the whole file in its place, on disk.
    pub fn finish(mut self) -> Result<(), Failure> {
        let written = self.out.flush().and_then(|()| self.out.get_ref().sync_all());
        let placed = written.and_then(|()| fs::rename(&self.partial, &self.path));
        self.finished = placed.is_ok();
        let placed = placed.and_then(|()| portable::sync_folder_of(&self.path));
        placed.map_err(|error| Failure::writing(&self.path, error))
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).map_err(|error| {
            // Which file it was, whoever writes to it does not know.
            io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.finished {
            // A remainder that cannot be removed is called partial and harms nobody.
            drop(fs::remove_file(&self.partial));
        }
    }
}
