//! Output files of the tool: written completely or not at all, and never over an existing file.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use journal::portable;

use crate::answer::Failure;

/// An output file being written, next to its final path. Removed if dropped before
/// [`finish`](NewFile::finish).
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

    /// Moves the complete file to its final path and syncs it to disk.
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
            // The caller does not know which file failed.
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
            // A file that cannot be removed is recognisable by its `.partial` name.
            drop(fs::remove_file(&self.partial));
        }
    }
}
