//! A journal in a data directory: `lock`, held while it is open; `refused`, the marker; in
//! `journal/` the log in `log/`, which is the truth, and its copy in `sled/`. data-directory.md
//! describes all files.

use std::fs::TryLockError;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::block::BLOCK_BYTES_MAX;
use super::copy::CopyFolder;
use super::disk::{self, File, OpenOptions};
use super::keeper::{Keeper, empty_segment, take_back};
use super::log::{Log, segment, segment_bytes, segments};
use super::portable;
use super::reader::{JournalReader, Published};
use super::recovery::{Marker, SLOT_BYTES};
use super::repairs::Repairs;
use super::segment::{Rest, lone_bits, place};
use super::store::{
    BlockSource, BlockStore, Judged, OpenError, Recovered, Step, StoreError, StoredJournal, judge,
};
use super::watch::{Fate, JournalFiles, MARKER_FILE};
use exchange::units::Sequence;

/// Locked by the process that has the journal open.
pub(super) const LOCK_FILE: &str = "lock";
/// The folder of the log and its copy.
pub(super) const JOURNAL_DIR: &str = "journal";
/// The log, in that folder.
pub(super) const LOG_DIR: &str = "log";
/// The copy, in that folder.
pub(super) const COPY_DIR: &str = "sled";
/// Exists in a directory while a journal is being imported into it.
pub(super) const UNFINISHED_FILE: &str = "importing";
/// Full segments whose ends a start compares with what follows, 4 ms each: those before are
/// compared when they are read.
const JOINTS_CHECKED: usize = 32;
/// Reads of a log that is being written, until its end is seen between two writes.
const TRIES_MAX: u32 = 20;

/// A journal in a data directory.
pub type LogJournal = StoredJournal<LogStore>;

impl LogJournal {
    /// Opens the journal of a data directory; creates it if missing.
    pub fn open(data: &Path) -> Result<(LogJournal, Recovered), OpenError> {
        LogJournal::over(LogStore::open(data)?)
    }

    /// Opens the journal of a data directory; an error if there is none. Recovery runs as at any
    /// start: a block that was refused is removed.
    pub fn open_existing(data: &Path) -> Result<(LogJournal, Recovered), OpenError> {
        LogStore::there(data)?;
        let lock = lock(data)?;
        refuse_unfinished(data)?;
        LogJournal::over(LogStore::open_files(data, lock)?)
    }
}

/// Reads the journal of a data directory, also while a server has it open. Writes nothing and locks
/// nothing. Also gives the first record of what a start would remove from the end.
pub fn read_only(data: &Path) -> Result<(JournalReader, Option<Sequence>), OpenError> {
    LogStore::there(data)?;
    refuse_unfinished(data)?;
    let folder = log_of(data);
    if !disk::is_dir(&folder) {
        return Err(OpenError::Lost(folder));
    }
    let marker = data.join(MARKER_FILE);
    let mut tries = TRIES_MAX;
    loop {
        let (log, rest) = Log::open(&folder, None, Arc::default())?;
        let refusal = match disk::read(&marker) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(OpenError::FileMissing(marker));
            }
            read => Marker::decode(&read.map_err(at(&marker))?),
        };
        let source: Arc<dyn BlockSource> = Arc::new(log);
        match judge(&*source, refusal, rest) {
            Ok(Judged { head, removed, .. }) => {
                return Ok((JournalReader::new(source, Published::new(head)), removed));
            }
            // The last block may be half written.
            Err(_) if tries > 0 => tries = tries.saturating_sub(1),
            Err(error) => return Err(error),
        }
    }
}

/// The log, and the marker file.
#[derive(Debug)]
pub struct LogStore {
    // Fields are dropped in this order: the lock goes last.
    keeper: Keeper,
    log: Arc<Log>,
    /// The open segment's file.
    file: File,
    /// Whether a block was written that is not known to be on disk.
    unsynced: Option<Sequence>,
    /// Whether the next segment was asked for.
    prepared: bool,
    rest: Rest,
    marker: File,
    files: Arc<JournalFiles>,
    _locks: [File; 2],
}

impl LogStore {
    /// Opens the store of a data directory; creates it if missing.
    pub fn open(data: &Path) -> Result<LogStore, OpenError> {
        if disk::is_file(data) {
            return Err(OpenError::File(data.to_owned()));
        }
        disk::create_dir_all(data).map_err(at(data))?;
        let new = [MARKER_FILE, JOURNAL_DIR].iter().all(|name| !disk::exists(&data.join(name)));
        if new && portable::segments(data).map_err(at(data))?.is_some() {
            return Err(OpenError::Archive(data.to_owned()));
        }
        let lock = lock(data)?;
        refuse_unfinished(data)?;
        LogStore::open_files(data, lock)
    }

    /// Whether a data directory holds a journal, or did; the error says what it is instead.
    pub fn there(data: &Path) -> Result<(), OpenError> {
        if is_old(data) {
            return Err(OpenError::Old(data.to_owned()));
        }
        let begun = segment(&log_of(data), Sequence::ZERO.next());
        let signs = [data.join(UNFINISHED_FILE), data.join(MARKER_FILE), begun];
        if signs.iter().any(|sign| disk::exists(sign)) {
            return Ok(());
        }
        if disk::is_file(data) {
            return Err(OpenError::File(data.to_owned()));
        }
        if disk::is_dir(data) && portable::segments(data).map_err(at(data))?.is_some() {
            return Err(OpenError::Archive(data.to_owned()));
        }
        Err(OpenError::Missing(data.to_owned()))
    }

    /// Opens the store's files, also those of an import in progress.
    pub(super) fn open_files(data: &Path, lock: File) -> Result<LogStore, OpenError> {
        if is_old(data) {
            return Err(OpenError::Old(data.to_owned()));
        }
        let (folder, marker_path) = (log_of(data), data.join(MARKER_FILE));
        // The marker is made last: where it exists, there is a journal.
        let complete = disk::exists(&marker_path);
        if !complete {
            begin(data, &marker_path)?;
        }
        if !disk::is_dir(&folder) {
            return Err(OpenError::Lost(folder));
        }
        // Somebody may have removed the file `lock` under a running server; nobody removes this.
        let held = File::open(&folder).map_err(at(&folder))?;
        // Where a file system locks no folders, the file alone must do.
        if let Err(TryLockError::WouldBlock) = held.try_lock() {
            return Err(OpenError::Locked(data.to_owned()));
        }
        let copy = Arc::new(CopyFolder::at(data.join(JOURNAL_DIR).join(COPY_DIR)));
        let (log, rest) = open_log(&folder, &copy)?;
        let (first, used) = log.tail();
        let path = segment(&folder, first);
        let file = writable(&path)?;
        if !complete {
            if used > 0 || rest != Rest::Nothing {
                return Err(OpenError::FileMissing(marker_path));
            }
            // It must not outlive a loss of power that the names of the journal do not.
            sync_names(data, &folder).map_err(at(data))?;
            place(&marker_path, [Marker::Clear.encode().as_slice()]).map_err(at(&marker_path))?;
        }
        sync_names(data, &folder).map_err(at(data))?;
        log.check_joints(JOINTS_CHECKED)?;
        let marker = writable(&marker_path)?;
        let handles = (file.try_clone(), marker.try_clone());
        let open = [
            (&*path, handles.0.map_err(at(&path))?),
            (&*marker_path, handles.1.map_err(at(data))?),
        ];
        let files = Arc::new(JournalFiles::of(&log, open).map_err(at(data))?);
        let keeper = Keeper::start(&log, &copy);
        let (unsynced, prepared, locks) = (None, false, [held, lock]);
        Ok(LogStore { keeper, log, file, unsynced, prepared, rest, marker, files, _locks: locks })
    }

    /// Checks that the open segment has a name and is as long as it was made: a block written
    /// behind the end of a truncated file would look durable, and would not be found at a start.
    fn intact(&self) -> Result<(), Fate> {
        match disk::links_and_length(&self.file) {
            Ok((0, _)) => Err(Fate::Deleted),
            Ok((_, length)) if length < wide(segment_bytes()) => Err(Fate::Truncated),
            // The write itself shows what else is wrong.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Does a piece of the keeper's work where that has no thread; whether there was one.
    pub fn tidy(&self) -> bool {
        self.keeper.step()
    }

    /// Goes on in the next segment, which begins with this record.
    fn roll(&mut self, first: Sequence) -> io::Result<()> {
        let (file, path) = (self.keeper.next_segment(first)?, segment(self.log.folder(), first));
        self.files.rolled(&path, file.try_clone()?)?;
        self.file = file;
        self.prepared = false;
        self.log.roll(first);
        self.keeper.seal();
        Ok(())
    }

    /// Writes again what was taken away from under the server, as far as it is in memory.
    fn restore(&self) {
        let [(segment, fate), (marker, marker_fate)] = self.files.fates();
        let mut blocks = self.log.tail_blocks();
        if self.unsynced.is_some() {
            blocks.truncate(self.log.cut(self.unsynced.unwrap_or_default()));
        }
        blocks.resize(segment_bytes(), 0);
        let mut slot = [0; SLOT_BYTES];
        let told = self.marker.read_exact_at(&mut slot, 0).is_ok();
        let slot = if told { slot } else { Marker::Clear.encode() };
        for (path, fate, bytes) in
            [(segment, fate, blocks.as_slice()), (marker, marker_fate, slot.as_slice())]
        {
            if fate.is_none_or(|fate| fate == Fate::Moved) {
                continue;
            }
            let folder = path.parent().map_or(Ok(()), disk::create_dir_all);
            if fate == Some(Fate::Replaced) {
                drop(disk::rename(&path, path.with_extension("replaced")));
            }
            // What fails here is missing at the next start, which says so.
            drop(folder.and_then(|()| place(&path, [bytes])));
        }
    }
}

impl Drop for LogStore {
    fn drop(&mut self) {
        self.keeper.end();
        if self.files.change().is_some() {
            self.restore();
        }
        self.log.close();
    }
}

impl BlockStore for LogStore {
    fn put(&mut self, first: Sequence, bytes: &[u8]) -> Result<(), StoreError> {
        let putting = |error: io::Error| StoreError::of(Step::Put, &error, &error);
        // Before anything is done: nothing is written where it would not be found.
        self.intact().map_err(|fate| StoreError::new(Step::Put, self.files.note_segment(fate)))?;
        self.unsynced = Some(first);
        let (_, mut used) = self.log.tail();
        if used.saturating_add(bytes.len()) > segment_bytes() {
            self.roll(first).map_err(putting)?;
            used = 0;
        }
        if used > segment_bytes() / 2 && !self.prepared {
            self.keeper.prepare();
            self.prepared = true;
        }
        self.log.push(first, bytes);
        // A crash may leave out any sector: what could be missed for a flipped bit comes first.
        for (from, part) in lone_bits(bytes, used) {
            let written = self.file.write_all_at(part, wide(used.saturating_add(from)));
            written.and_then(|()| self.file.sync_data()).map_err(putting)?;
        }
        self.file.write_all_at(bytes, wide(used)).map_err(putting)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(|error| StoreError::of(Step::Sync, &error, &error))?;
        self.unsynced = None;
        Ok(())
    }

    fn remove_from(&mut self, first: Sequence) -> Result<(), StoreError> {
        let from = self.log.cut(first);
        let zeros = vec![0; segment_bytes().saturating_sub(from)];
        let written = self.file.write_all_at(&zeros, wide(from));
        written.map_err(|error| StoreError::of(Step::Remove, &error, &error))?;
        self.rest = Rest::Nothing;
        Ok(())
    }

    fn marker(&self) -> Result<Marker, StoreError> {
        let marking = |error: io::Error| StoreError::of(Step::Mark, &error, &error);
        let length = self.marker.metadata().map_err(marking)?.len();
        if usize::try_from(length) != Ok(SLOT_BYTES) {
            return Ok(Marker::Unreadable);
        }
        let mut bytes = [0; SLOT_BYTES];
        self.marker.read_exact_at(&mut bytes, 0).map_err(marking)?;
        Ok(Marker::decode(&bytes))
    }

    fn mark(&mut self, marker: Marker) -> Result<(), StoreError> {
        let written = self.marker.write_all_at(&marker.encode(), 0);
        let synced = written.and_then(|()| self.marker.sync_data());
        synced.map_err(|error| StoreError::of(Step::Mark, &error, &error))
    }

    fn rest(&self) -> Rest {
        self.rest
    }

    fn settle(&mut self) -> Result<(), StoreError> {
        // After a failed sync the system may hold a block in memory that it wrongly believes to be
        // on disk; before that one every block was synced. So may it the zeros that an earlier
        // start put over what it removed, a block at most.
        let putting = |error: io::Error| StoreError::of(Step::Put, &error, &error);
        let (_, used) = self.log.tail();
        let last = self.log.at_or_before(Sequence::new(u64::MAX))?;
        if let Some((_, block)) = last
            && let Some(offset) = used.checked_sub(block.len())
        {
            self.file.write_all_at(&block, wide(offset)).map_err(putting)?;
        }
        let after = segment_bytes().saturating_sub(used).min(BLOCK_BYTES_MAX);
        self.file.write_all_at(&vec![0; after], wide(used)).map_err(putting)?;
        self.sync()
    }

    fn source(&self) -> Arc<dyn BlockSource> {
        Arc::<Log>::clone(&self.log)
    }

    fn files(&self) -> Option<Arc<JournalFiles>> {
        Some(Arc::clone(&self.files))
    }
}

/// Opens the log, with what only its copy has. A copy that is no use is moved aside.
fn open_log(folder: &Path, copy: &Arc<CopyFolder>) -> Result<(Arc<Log>, Rest), OpenError> {
    let repairs: Arc<Repairs> = Arc::default();
    let open = || Log::open(folder, Some(Arc::clone(copy)), Arc::clone(&repairs));
    let (log, rest) = open()?;
    if rest == Rest::Others {
        return Ok((Arc::new(log), rest));
    }
    let again = match take_back(&log, copy) {
        Ok(again) => again,
        Err(error) if error.by_system => {
            repairs.trouble(format!("the log's copy cannot be read: {error}"));
            false
        }
        Err(error) => {
            copy.set_aside().map_err(at(copy.path()))?;
            let path = copy.path().display();
            repairs.note(format!("{path}, the log's copy, was moved aside: {error}"));
            false
        }
    };
    let (log, rest) = if again { open()? } else { (log, rest) };
    Ok((Arc::new(log), rest))
}

/// Begins a journal as far as its first segment; what an interrupted start left goes on.
fn begin(data: &Path, marker: &Path) -> Result<(), OpenError> {
    let folder = log_of(data);
    disk::create_dir_all(&folder).map_err(at(&folder))?;
    let listed = segments(&folder).map_err(at(&folder))?;
    let first = Sequence::ZERO.next();
    match listed.as_slice() {
        [] => empty_segment(&segment(&folder, first)).map(drop).map_err(at(&folder)),
        [only] if *only == first => Ok(()),
        _ => Err(OpenError::FileMissing(marker.to_owned())),
    }
}

/// The folder of the log in a data directory.
pub(super) fn log_of(data: &Path) -> PathBuf {
    data.join(JOURNAL_DIR).join(LOG_DIR)
}

/// Whether a data directory is of a version that kept its journal in sled.
fn is_old(data: &Path) -> bool {
    disk::exists(&data.join(JOURNAL_DIR).join("db")) && !disk::exists(&log_of(data))
}

fn refuse_unfinished(data: &Path) -> Result<(), OpenError> {
    let unfinished = data.join(UNFINISHED_FILE);
    if disk::exists(&unfinished) { Err(OpenError::Unfinished(unfinished)) } else { Ok(()) }
}

/// The error for a file that the system cannot open or read.
pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> OpenError {
    move |error| {
        StoreError::of(Step::Open, format_args!("{}: {error}", path.display()), &error).into()
    }
}

/// Opens a file that exists.
fn writable(path: &Path) -> Result<File, OpenError> {
    OpenOptions::new().read(true).write(true).open(path).map_err(at(path))
}

/// Takes the data directory's lock, held while the file is open.
pub(super) fn lock(data: &Path) -> Result<File, OpenError> {
    let path = data.join(LOCK_FILE);
    let file = OpenOptions::new().create(true).append(true).open(&path).map_err(at(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked(data.to_owned())),
        Err(TryLockError::Error(error)) => Err(at(data)(error)),
    }
}

/// Makes file and directory names durable: a folder of the data directory, the folder that it is
/// in, the data directory, and its parent.
pub(super) fn sync_names(data: &Path, dir: &Path) -> io::Result<()> {
    let whole = disk::canonicalize(data)?;
    for path in [Some(dir), dir.parent(), Some(data), whole.parent()].into_iter().flatten() {
        File::open(path)?.sync_all()?;
    }
    Ok(())
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
