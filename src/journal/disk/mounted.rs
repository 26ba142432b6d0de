//! A disk that a thread has mounted: what lies under [`ROOT`] is on it, everything else is on the
//! system's. One thread sees it, so nothing here may be left to another.

use std::cell::RefCell;
use std::fmt::Debug;
use std::fs::{self, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the mounted disk is.
pub const ROOT: &str = "/simulated";

/// A disk with files, folders and names.
pub trait Files: Debug {
    /// Opens a file or a folder.
    fn open(&self, path: &Path, how: &OpenOptions) -> io::Result<Box<dyn OpenFile>>;
    /// What a path leads to.
    fn metadata(&self, path: &Path) -> io::Result<Metadata>;
    /// The names in a folder, in order.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Makes a folder and those above it.
    fn make_folders(&self, path: &Path) -> io::Result<()>;
    /// Gives a file or folder another name in the same folder.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file's name, or a folder's with all below it.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Bytes of a segment here.
    fn segment_bytes(&self) -> usize;
}

/// An open file or folder.
pub trait OpenFile: Debug + Send + Sync {
    /// Reads at an offset, perhaps less than there is room for.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes at an offset.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    /// Cuts or lengthens it.
    fn set_len(&self, length: u64) -> io::Result<()>;
    /// Returns once what was written, or named in the folder, is on the disk.
    fn sync(&self) -> io::Result<()>;
    /// What it is.
    fn metadata(&self) -> io::Result<Metadata>;
    /// Locks it until all handles are closed; false if another has it locked.
    fn lock(&self) -> io::Result<bool>;
    /// Another handle.
    fn again(&self) -> Box<dyn OpenFile>;
}

thread_local! {
    static MOUNTED: RefCell<Option<Arc<dyn Files>>> = const { RefCell::new(None) };
}

/// Mounts a disk for this thread, or takes it away.
pub fn mount(disk: Option<Arc<dyn Files>>) {
    MOUNTED.with(|mounted| *mounted.borrow_mut() = disk);
}

fn there(path: &Path) -> Option<Arc<dyn Files>> {
    if !path.starts_with(ROOT) {
        return None;
    }
    MOUNTED.with(|mounted| mounted.borrow().clone())
}

/// Whether this thread has mounted a simulated disk: then it does all work itself.
pub fn simulated() -> bool {
    MOUNTED.with(|mounted| mounted.borrow().is_some())
}

/// Bytes of a segment on this thread's disk: a simulated one has small ones, so that a short run
/// fills many.
pub fn segment_bytes(usual: usize) -> usize {
    MOUNTED.with(|mounted| mounted.borrow().as_ref().map_or(usual, |disk| disk.segment_bytes()))
}

/// What a file or folder is.
#[derive(Debug, Clone, Copy)]
pub struct Metadata {
    /// Whether it is a folder.
    pub folder: bool,
    /// Its length in bytes.
    pub length: u64,
    /// The number of its disk, and its own.
    pub identity: (u64, u64),
    /// How many names it has.
    pub links: u64,
}

impl Metadata {
    /// Its length in bytes.
    pub const fn len(&self) -> u64 {
        self.length
    }

    /// Whether it has no bytes.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether it is a file.
    pub const fn is_file(&self) -> bool {
        !self.folder
    }

    /// Whether it is a folder.
    pub const fn is_dir(&self) -> bool {
        self.folder
    }
}

impl From<fs::Metadata> for Metadata {
    fn from(told: fs::Metadata) -> Metadata {
        use std::os::unix::fs::MetadataExt;

        let identity = (told.dev(), told.ino());
        Metadata { folder: told.is_dir(), length: told.len(), identity, links: told.nlink() }
    }
}

/// What the system's metadata have beside the above.
pub trait MetadataExt {
    /// The disk's number.
    fn dev(&self) -> u64;
    /// The file's number.
    fn ino(&self) -> u64;
    /// How many names it has.
    fn nlink(&self) -> u64;
}

impl MetadataExt for Metadata {
    fn dev(&self) -> u64 {
        self.identity.0
    }

    fn ino(&self) -> u64 {
        self.identity.1
    }

    fn nlink(&self) -> u64 {
        self.links
    }
}

/// How to open a file.
#[derive(Debug, Clone, Default)]
#[allow(clippy::struct_excessive_bools, reason = "as the system has them")]
pub struct OpenOptions {
    /// To read.
    pub read: bool,
    /// To write.
    pub write: bool,
    /// To write at the end.
    pub append: bool,
    /// To make it if it is missing.
    pub create: bool,
    /// To empty it.
    pub truncate: bool,
}

impl OpenOptions {
    /// Not at all.
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// To read.
    pub fn read(&mut self, read: bool) -> &mut OpenOptions {
        self.read = read;
        self
    }

    /// To write.
    pub fn write(&mut self, write: bool) -> &mut OpenOptions {
        self.write = write;
        self
    }

    /// To write at the end.
    pub fn append(&mut self, append: bool) -> &mut OpenOptions {
        self.append = append;
        self
    }

    /// To make it if it is missing.
    pub fn create(&mut self, create: bool) -> &mut OpenOptions {
        self.create = create;
        self
    }

    /// To empty it.
    pub fn truncate(&mut self, truncate: bool) -> &mut OpenOptions {
        self.truncate = truncate;
        self
    }

    /// Opens a file.
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let path = path.as_ref();
        if let Some(disk) = there(path) {
            let file = disk.open(path, self)?;
            return Ok(File::Mounted { file, position: AtomicU64::new(0) });
        }
        let mut how = fs::OpenOptions::new();
        how.read(self.read).write(self.write).append(self.append);
        how.create(self.create).truncate(self.truncate).open(path).map(File::System)
    }
}

/// An open file or folder.
#[derive(Debug)]
pub enum File {
    /// On the system's disk.
    System(fs::File),
    /// On the mounted one.
    Mounted {
        /// The file.
        file: Box<dyn OpenFile>,
        /// Where the next read or write without an offset is.
        position: AtomicU64,
    },
}

impl File {
    /// Opens a file to read it.
    pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
        OpenOptions::new().read(true).open(path)
    }

    /// Makes or empties a file.
    pub fn create(path: impl AsRef<Path>) -> io::Result<File> {
        OpenOptions::new().write(true).create(true).truncate(true).open(path)
    }

    /// How to open one.
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// What it is.
    pub fn metadata(&self) -> io::Result<Metadata> {
        match self {
            File::System(file) => file.metadata().map(Metadata::from),
            File::Mounted { file, .. } => file.metadata(),
        }
    }

    /// Returns once all of it is on the disk.
    pub fn sync_all(&self) -> io::Result<()> {
        match self {
            File::System(file) => file.sync_all(),
            File::Mounted { file, .. } => file.sync(),
        }
    }

    /// Returns once its bytes are on the disk.
    pub fn sync_data(&self) -> io::Result<()> {
        match self {
            File::System(file) => file.sync_data(),
            File::Mounted { file, .. } => file.sync(),
        }
    }

    /// Cuts or lengthens it.
    pub fn set_len(&self, length: u64) -> io::Result<()> {
        match self {
            File::System(file) => file.set_len(length),
            File::Mounted { file, .. } => file.set_len(length),
        }
    }

    /// Another handle.
    pub fn try_clone(&self) -> io::Result<File> {
        match self {
            File::System(file) => file.try_clone().map(File::System),
            File::Mounted { file, position } => {
                let position = AtomicU64::new(position.load(Ordering::Relaxed));
                Ok(File::Mounted { file: file.again(), position })
            }
        }
    }

    /// Locks it until it is closed.
    pub fn try_lock(&self) -> Result<(), TryLockError> {
        match self {
            File::System(file) => file.try_lock(),
            File::Mounted { file, .. } => match file.lock() {
                Ok(true) => Ok(()),
                Ok(false) => Err(TryLockError::WouldBlock),
                Err(error) => Err(TryLockError::Error(error)),
            },
        }
    }

    fn advance(position: &AtomicU64, done: usize) {
        position.fetch_add(u64::try_from(done).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl FileExt for File {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            File::System(file) => file.read_at(into, offset),
            File::Mounted { file, .. } => file.read_at(into, offset),
        }
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        match self {
            File::System(file) => file.write_at(bytes, offset),
            File::Mounted { file, .. } => file.write_at(bytes, offset),
        }
    }
}

impl Read for File {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            File::System(file) => file.read(into),
            File::Mounted { file, position } => {
                let done = file.read_at(into, position.load(Ordering::Relaxed))?;
                File::advance(position, done);
                Ok(done)
            }
        }
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            File::System(file) => file.write(bytes),
            File::Mounted { file, position } => {
                let done = file.write_at(bytes, position.load(Ordering::Relaxed))?;
                File::advance(position, done);
                Ok(done)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            File::System(file) => file.flush(),
            File::Mounted { .. } => Ok(()),
        }
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            File::System(file) => file.seek(to),
            File::Mounted { file, position } => {
                let from = match to {
                    SeekFrom::Start(_) => 0,
                    SeekFrom::End(_) => file.metadata()?.length,
                    SeekFrom::Current(_) => position.load(Ordering::Relaxed),
                };
                let to = match to {
                    SeekFrom::Start(offset) => offset,
                    SeekFrom::End(by) | SeekFrom::Current(by) => {
                        from.checked_add_signed(by).ok_or(io::ErrorKind::InvalidInput)?
                    }
                };
                position.store(to, Ordering::Relaxed);
                Ok(to)
            }
        }
    }
}

/// The bytes of a file.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    if there(path.as_ref()).is_none() {
        return fs::read(path);
    }
    let (mut file, mut bytes) = (File::open(path)?, Vec::new());
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a file.
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Writes a file anew.
pub fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    File::create(path)?.write_all(bytes.as_ref())
}

/// Copies a file on its disk; returns its length.
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    if there(from.as_ref()).is_none() {
        return fs::copy(from, to);
    }
    let bytes = read(from)?;
    write(to, &bytes)?;
    Ok(u64::try_from(bytes.len()).unwrap_or(u64::MAX))
}

/// What a path leads to.
pub fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    match there(path.as_ref()) {
        Some(disk) => disk.metadata(path.as_ref()),
        None => fs::metadata(path).map(Metadata::from),
    }
}

/// Whether a path leads to something.
pub fn exists(path: &Path) -> bool {
    metadata(path).is_ok()
}

/// Whether a path leads to a folder.
pub fn is_dir(path: &Path) -> bool {
    metadata(path).is_ok_and(|told| told.is_dir())
}

/// Whether a path leads to a file.
pub fn is_file(path: &Path) -> bool {
    metadata(path).is_ok_and(|told| told.is_file())
}

/// The path without detours.
pub fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    match there(path.as_ref()) {
        Some(disk) => disk.metadata(path.as_ref()).map(|_| path.as_ref().to_owned()),
        None => fs::canonicalize(path),
    }
}

/// A name in a folder.
#[derive(Debug)]
pub struct Entry {
    path: PathBuf,
}

impl Entry {
    /// Its path.
    pub fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// The name alone.
    pub fn file_name(&self) -> std::ffi::OsString {
        self.path.file_name().unwrap_or_default().to_owned()
    }

    /// What it is.
    pub fn file_type(&self) -> io::Result<Metadata> {
        metadata(&self.path)
    }
}

/// What is in a folder.
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<std::vec::IntoIter<io::Result<Entry>>> {
    let path = path.as_ref();
    let found: Vec<_> = match there(path) {
        Some(disk) => {
            let names = disk.list(path)?.into_iter();
            names.map(|name| Ok(Entry { path: path.join(name) })).collect()
        }
        None => fs::read_dir(path)?.map(|entry| Ok(Entry { path: entry?.path() })).collect(),
    };
    Ok(found.into_iter())
}

/// Makes a folder and those above it.
pub fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    match there(path.as_ref()) {
        Some(disk) => disk.make_folders(path.as_ref()),
        None => fs::create_dir_all(path),
    }
}

/// Gives a file or a folder another name.
pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    match there(from.as_ref()) {
        Some(disk) => disk.rename(from.as_ref(), to.as_ref()),
        None => fs::rename(from, to),
    }
}

/// Removes a file's name.
pub fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    match there(path.as_ref()) {
        Some(disk) => disk.remove(path.as_ref()),
        None => fs::remove_file(path),
    }
}

/// Removes a folder and all below it.
pub fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    match there(path.as_ref()) {
        Some(disk) => disk.remove(path.as_ref()),
        None => fs::remove_dir_all(path),
    }
}

/// How many names an open file has, and its length in bytes.
pub fn links_and_length(file: &File) -> io::Result<(u64, u64)> {
    match file {
        File::System(file) => super::ask_links_and_length(file),
        File::Mounted { file, .. } => file.metadata().map(|told| (told.links, told.length)),
    }
}

/// The path of an open file now, as far as the system tells.
pub fn open_path(file: &File) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;

    match file {
        File::System(file) => {
            fs::read_link(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()))
        }
        File::Mounted { .. } => Err(io::ErrorKind::Unsupported.into()),
    }
}
