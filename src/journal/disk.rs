//! The disk, as far as the journal uses one: files, folders and their names.
//!
//! It is the system's. Built with the feature `simulated`, which only the simulator asks for, a
//! thread may mount another one beside it (`disk/mounted.rs`), on which every fault can be had.

#[cfg(feature = "simulated")]
pub mod mounted;

#[cfg(feature = "simulated")]
pub use mounted::{
    File, Metadata, MetadataExt, OpenOptions, canonicalize, copy, create_dir_all, exists, is_dir,
    is_file, links_and_length, metadata, open_path, read, read_dir, read_to_string, remove_dir_all,
    remove_file, rename, segment_bytes, simulated, write,
};
#[cfg(not(feature = "simulated"))]
pub use system::*;

/// The system's disk, as it is.
#[cfg(not(feature = "simulated"))]
mod system {
    pub use std::fs::{
        File, Metadata, OpenOptions, canonicalize, copy, create_dir_all, metadata, read, read_dir,
        read_to_string, remove_dir_all, remove_file, rename, write,
    };
    use std::io;
    use std::os::fd::AsRawFd;
    pub use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};

    /// Whether a path leads to something.
    pub fn exists(path: &Path) -> bool {
        path.exists()
    }

    /// Whether a path leads to a folder.
    pub fn is_dir(path: &Path) -> bool {
        path.is_dir()
    }

    /// Whether a path leads to a file.
    pub fn is_file(path: &Path) -> bool {
        path.is_file()
    }

    /// How many names an open file has, and its length in bytes.
    ///
    /// # Errors
    /// The system's.
    pub fn links_and_length(file: &File) -> io::Result<(u64, u64)> {
        super::ask_links_and_length(file)
    }

    /// The path of an open file now, as far as the system tells.
    ///
    /// # Errors
    /// The system's.
    pub fn open_path(file: &File) -> io::Result<PathBuf> {
        let descriptor = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        std::fs::read_link(descriptor)
    }

    /// Bytes of a segment on this disk: as many as usual.
    pub const fn segment_bytes(usual: usize) -> usize {
        usual
    }

    /// Whether this thread has mounted a simulated disk: then it does all work itself.
    pub const fn simulated() -> bool {
        false
    }
}

/// Without the times of the file: a file system that is asked for those gives the next write a time
/// of its own, which costs that write more than everything else here.
fn ask_links_and_length(file: impl std::os::fd::AsFd) -> std::io::Result<(u64, u64)> {
    use rustix::fs::{AtFlags, StatxFlags, statx};

    let told = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::NLINK | StatxFlags::SIZE)?;
    Ok((told.stx_nlink.into(), told.stx_size))
}
