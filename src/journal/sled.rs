//! The journal's store on disk: sled 0.34.7, with a workaround for each of its known durability
//! defects (journal-format.md, "What we assume"). A block is durable once it is in the write-ahead
//! log; sled gets it later, in a batch, and has it on disk some hundreds of orders later.
//!
//! In the data directory: `lock`, held while the journal is open; `refused`, the marker; `witness`,
//! the last acknowledged block; `wal`, the write-ahead log; `journal/`, sled's own.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::blobs::{BlobFolder, any_file};
use super::block::RawBlock;
use super::flusher::{FlushTask, SledFlusher};
use super::marker::{Marker, SLOT_BYTES, WITNESS_SLOT_OFFSET, Witness, newest_witness};
use super::portable;
use super::recovery::Reason;
use super::repairs::{self, Repairs};
use super::scrape::scrape_file;
use super::sled_log;
use super::store::{
    BlockSource, BlockStore, OpenError, Recovered, Step, StoreError, StoredJournal,
};
use super::tree::{DATABASE_FILE, SEGMENT_BYTES, Sled};
use super::wal::{self, Wal};
use super::watch::{FileChange, JournalFiles};
use exchange::units::Sequence;

/// Bytes rewritten at a time when a start distrusts sled's file.
const REWRITE_BYTES: usize = 1 << 20;
/// Bytes of new blocks after which a flush to sled begins, unless one is running. Few, since a sync
/// of the log waits behind the disk's pending writes.
const FLUSH_EVERY_BYTES: usize = 64 << 10;
/// Locked by the process that has the journal open.
pub(super) const LOCK_FILE: &str = "lock";
/// The refused marker.
pub(super) const MARKER_FILE: &str = "refused";
/// The marker while it is being created.
pub(super) const PARTIAL_MARKER_FILE: &str = "refused.partial";
/// The last acknowledged block, in two slots written alternately.
pub(super) const WITNESS_FILE: &str = "witness";
/// The write-ahead log.
pub(super) const WAL_FILE: &str = "wal";
/// Exists once a background flush of sled's file failed, and while a start gives sled the log's
/// blocks. It need not survive a power cut, after which no page cache is left to distrust.
pub(super) const UNSETTLED_FILE: &str = "unsettled";
/// sled's directory.
pub(super) const STORE_DIR: &str = "journal";
/// Exists in a directory while a journal is being imported into it.
pub(super) const UNFINISHED_FILE: &str = "importing";

/// A journal in a data directory.
pub type SledJournal = StoredJournal<SledStore>;

impl SledJournal {
    /// Opens the journal of a data directory; creates it if missing.
    pub fn open(data: &Path) -> Result<(SledJournal, Recovered), OpenError> {
        SledJournal::reporting(SledStore::open(data)?)
    }

    /// Opens the journal of a data directory; an error if there is none. Recovery runs as at any
    /// start: a block that was refused is removed.
    pub fn open_existing(data: &Path) -> Result<(SledJournal, Recovered), OpenError> {
        SledJournal::reporting(SledStore::open_existing(data)?)
    }

    fn reporting(store: SledStore) -> Result<(SledJournal, Recovered), OpenError> {
        let repairs = store.repairs;
        let (journal, recovered) = SledJournal::over(store)?;
        Ok((journal, Recovered { repairs, ..recovered }))
    }
}

/// Blocks in sled, the newest also in the write-ahead log, and the marker and witness files.
#[derive(Debug)]
pub struct SledStore {
    // Fields are dropped in this order: the lock goes last.
    /// The background flush; it covers at least all blocks before the log's current half.
    flush_task: FlushTask,
    /// Bytes of blocks put since it began.
    unflushed_bytes: usize,
    /// How many of them start the next flush; [`FLUSH_EVERY_BYTES`] outside tests.
    flush_after: usize,
    flusher: SledFlusher,
    sled: Sled,
    wal: Wal,
    /// Whether every block put is durable in the log, and nothing has failed since.
    sound: bool,
    blobs: BlobFolder,
    marker: File,
    witness: File,
    /// Offset of the slot to be written next.
    witness_offset: u64,
    /// What the start repaired.
    repairs: Repairs,
    files: Arc<JournalFiles>,
    _lock: File,
}

impl SledStore {
    /// Opens the store of a data directory; creates it if missing.
    pub fn open(data: &Path) -> Result<SledStore, OpenError> {
        if data.is_file() {
            return Err(OpenError::File(data.to_owned()));
        }
        fs::create_dir_all(data).map_err(at(data))?;
        let new = [MARKER_FILE, STORE_DIR].iter().all(|name| !data.join(name).exists());
        if new && portable::segments(data).map_err(at(data))?.is_some() {
            return Err(OpenError::Archive(data.to_owned()));
        }
        SledStore::open_locked(data, lock(data)?)
    }

    /// Opens the store of a data directory; an error if there is none.
    pub fn open_existing(data: &Path) -> Result<SledStore, OpenError> {
        SledStore::there(data)?;
        SledStore::open_locked(data, lock(data)?)
    }

    /// Whether a data directory holds a journal, or did; the error says what it is instead.
    pub fn there(data: &Path) -> Result<(), OpenError> {
        let signs = [UNFINISHED_FILE.into(), MARKER_FILE.into(), database_in(STORE_DIR)];
        if signs.iter().any(|sign: &PathBuf| data.join(sign).exists()) {
            return Ok(());
        }
        if data.is_file() {
            return Err(OpenError::File(data.to_owned()));
        }
        if data.is_dir() && portable::segments(data).map_err(at(data))?.is_some() {
            return Err(OpenError::Archive(data.to_owned()));
        }
        Err(OpenError::Missing(data.to_owned()))
    }

    fn open_locked(data: &Path, lock: File) -> Result<SledStore, OpenError> {
        let unfinished = data.join(UNFINISHED_FILE);
        if unfinished.exists() {
            return Err(OpenError::Unfinished(unfinished));
        }
        SledStore::open_files(data, lock)
    }

    /// Opens the store's files, also those of an import in progress.
    pub(super) fn open_files(data: &Path, lock: File) -> Result<SledStore, OpenError> {
        let dir = data.join(STORE_DIR);
        let (database, blobs) = (database_in(&dir), dir.join("blobs"));
        // The marker is created last, once the rest is on disk: where it exists, there is a
        // journal.
        let (marker_path, witness_path) = (data.join(MARKER_FILE), data.join(WITNESS_FILE));
        let complete = marker_path.exists();
        if complete && !witness_path.exists() {
            return Err(OpenError::FileMissing(witness_path));
        }
        if complete && !database.exists() {
            return Err(OpenError::Lost(if dir.exists() { database } else { dir }));
        }
        // Before sled runs too: sled deletes some of these files at its start, and with them the
        // evidence.
        if any_file(&blobs).map_err(opening)? {
            return Err(OpenError::Blobs(blobs));
        }
        let wal_path = data.join(WAL_FILE);
        let logged = wal::read(&wal_path).map_err(at(&wal_path))?;
        if !complete && !logged.is_empty() {
            return Err(OpenError::FileMissing(marker_path));
        }
        let (mut stored, mut repairs) = (Witness::NONE, Repairs::default());
        if complete {
            repairs = repairs::needed(&wal_path, &witness_path).map_err(at(&wal_path))?;
            stored = wal::must_be_stored(&logged, acknowledged(&witness_path)?);
            refuse_torn(&dir, stored)?;
        }
        let unsettled = data.join(UNSETTLED_FILE);
        let doubtful = unsettled.exists() || complete && refusal_stands(&marker_path)?;
        settle(&database, doubtful, &unsettled, !logged.is_empty())?;
        let unused = !complete && logged.is_empty();
        let (sled, file) = if unused { open_unused(&dir) } else { open_sled(&dir) }?;
        if !logged.is_empty() {
            sled.take_over(&logged, stored)?;
        }
        refuse_damaged_log(&wal_path, &sled)?;
        let flusher = SledFlusher::of(sled.blocks.clone(), file, unsettled);
        flusher.flush()?;
        flusher.clear().map_err(opening)?;
        let blobs = BlobFolder::found_empty(blobs)?;
        sync_settings(&dir).map_err(opening)?;
        if !complete {
            refuse_blocks(&sled, marker_path.clone())?;
            make_side_files(&marker_path, &witness_path).map_err(opening)?;
            sync_names(data, &dir).map_err(opening)?;
        }
        let wal = repairs::done(repairs, &wal_path, &witness_path)
            .and_then(|()| Wal::cleared(&wal_path))
            .map_err(at(&wal_path))?;
        sync_names(data, &dir).map_err(opening)?;
        let (marker, witness) = (writable(&marker_path)?, writable(&witness_path)?);
        let open = [wal.file(), marker.try_clone(), witness.try_clone()];
        let files = JournalFiles::of(data, open, flusher.clone()).map_err(at(data))?;
        Ok(SledStore {
            flush_task: FlushTask::Ended(Ok(())),
            unflushed_bytes: 0,
            flush_after: FLUSH_EVERY_BYTES,
            flusher,
            sled,
            wal,
            sound: true,
            blobs,
            marker,
            witness,
            witness_offset: 0,
            repairs,
            files: Arc::new(files),
            _lock: lock,
        })
    }
}

impl SledStore {
    /// Takes a block; it is durable only after [`flush_all`](Self::flush_all).
    pub(super) fn import(&mut self, first: Sequence, bytes: &[u8]) -> Result<(), StoreError> {
        self.blobs.still_empty(Step::Put)?;
        self.sled.blocks.put(first, bytes);
        Ok(())
    }

    /// Returns once everything is on disk in sled's own file.
    pub(super) fn flush_all(&mut self) -> Result<(), StoreError> {
        self.flush_task.end()?;
        self.flusher.flush()?;
        // Blocks in `blobs/` would not be durable.
        self.blobs.still_empty(Step::Sync)
    }

    /// Switches to the log's other half, once sled has its blocks on disk.
    fn switch_half(&mut self) -> Result<(), StoreError> {
        self.begin_flush()?;
        self.wal.switch_half();
        Ok(())
    }

    /// Begins a background flush of the new blocks, after the previous flush has ended.
    fn begin_flush(&mut self) -> Result<(), StoreError> {
        self.flush_task.end()?;
        self.blobs.still_empty(Step::Put)?;
        self.flush_task = self.flusher.begin();
        self.unflushed_bytes = 0;
        Ok(())
    }
}

#[cfg(test)]
impl SledStore {
    /// Delays flushes, so that sled lags behind the log as far as it ever can.
    pub(super) const fn lag(&mut self) {
        self.flush_after = usize::MAX;
    }
}

impl Drop for SledStore {
    fn drop(&mut self) {
        let ended = self.flush_task.end();
        // The next start finds everything in sled. If this fails, everything is in the log, and
        // that start reports what is wrong.
        let stored = self.sound && ended.and_then(|()| self.flush_all()).is_ok();
        // If the store's file has lost its name, a copy may exist that was made before this flush.
        let kept = matches!(self.files.change(), None | Some(FileChange { file: WAL_FILE, .. }));
        if stored && kept {
            drop(self.wal.clear());
        }
    }
}

impl BlockStore for SledStore {
    fn put(&mut self, first: Sequence, bytes: &[u8]) -> Result<(), StoreError> {
        // Before anything is done: a stop then still writes all earlier blocks into the store.
        self.wal.intact().map_err(|fate| StoreError::new(Step::Put, self.files.note(fate)))?;
        self.sound = false;
        let has_room = self.wal.has_room(bytes);
        if self.flush_task.has_ended() {
            self.flush_task.end()?;
            if has_room && self.unflushed_bytes >= self.flush_after {
                self.begin_flush()?;
            }
        }
        if !has_room {
            self.switch_half()?;
        }
        self.blobs.still_empty(Step::Put)?;
        self.sled.blocks.put(first, bytes);
        self.unflushed_bytes = self.unflushed_bytes.saturating_add(bytes.len());
        self.wal.put(bytes).map_err(|error| StoreError::new(Step::Put, error))
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.wal.write().map_err(|error| StoreError::new(Step::Flush, error))
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.wal.sync().map_err(|error| StoreError::new(Step::Sync, error))?;
        self.sound = true;
        Ok(())
    }

    fn remove_from(&mut self, first: Sequence) -> Result<(), StoreError> {
        // Two flushes must not insert the same group.
        self.flush_task.end()?;
        self.sled.blocks.insert_buffered()?;
        self.sled.cut(first)?;
        // The log has been empty since the start, so only sled's file can hold the block.
        self.flush_all()
    }

    fn marker(&self) -> Result<Marker, StoreError> {
        let marking = |error: io::Error| StoreError::new(Step::Mark, error);
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
        written
            .and_then(|()| self.marker.sync_data())
            .map_err(|error| StoreError::new(Step::Mark, error))
    }

    fn witness(&self) -> Result<Option<Witness>, StoreError> {
        newest_witness(&self.witness).map_err(|error| StoreError::new(Step::Attest, error))
    }

    fn attest(&mut self, witness: Witness) -> Result<(), StoreError> {
        self.witness
            .write_all_at(&witness.encode(), self.witness_offset)
            .map_err(|error| StoreError::new(Step::Attest, error))?;
        self.witness_offset = WITNESS_SLOT_OFFSET.saturating_sub(self.witness_offset);
        Ok(())
    }

    fn source(&self) -> Arc<dyn BlockSource> {
        Arc::new(self.sled.blocks.clone())
    }

    fn files(&self) -> Option<Arc<JournalFiles>> {
        Some(Arc::clone(&self.files))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn opening(error: io::Error) -> OpenError {
    StoreError::of(Step::Open, &error, &error).into()
}

/// sled's data file in its directory.
fn database_in(dir: impl AsRef<Path>) -> PathBuf {
    dir.as_ref().join(DATABASE_FILE)
}

/// Opens sled, and its data file.
fn open_sled(dir: &Path) -> Result<(Sled, File), OpenError> {
    let (sled, database) = (Sled::open(dir), dir.join(DATABASE_FILE));
    let sled = sled.map_err(|error| unopened(dir, &error))?;
    Ok((sled, File::open(&database).map_err(at(&database))?))
}

/// The same where there is neither a marker nor a log. If there is no block either, nothing was
/// ever acknowledged, and what sled cannot open is left of a first start that a power cut ended.
fn open_unused(dir: &Path) -> Result<(Sled, File), OpenError> {
    let opened = open_sled(dir);
    if opened.is_ok() || holds_a_block(&dir.join(DATABASE_FILE))? {
        return opened;
    }
    fs::remove_dir_all(dir).map_err(at(dir))?;
    open_sled(dir)
}

/// Whether a file holds a sound block anywhere, or unreadable bytes.
fn holds_a_block(path: &Path) -> Result<bool, OpenError> {
    let mut found = false;
    match scrape_file(path, |_, _| found = true) {
        Ok(lost) => Ok(found || lost > 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(at(path)(error)),
    }
}

/// The error for a sled folder that does not open.
fn unopened(dir: &Path, error: &StoreError) -> OpenError {
    let advice = "if its files are damaged, see `openoutcry-replay salvage`";
    let what = format!("{}: {}; {advice}", dir.display(), error.what);
    StoreError { what, ..error.clone() }.into()
}

/// The error for a file that the system cannot open or read.
fn at(path: &Path) -> impl FnOnce(io::Error) -> OpenError {
    move |error| {
        StoreError::of(Step::Open, format_args!("{}: {error}", path.display()), &error).into()
    }
}

/// Refuses blocks where the marker is missing, which is created before them.
fn refuse_blocks(sled: &Sled, marker: PathBuf) -> Result<(), OpenError> {
    match sled.blocks.at_or_after(Sequence::ZERO)? {
        Some(_) => Err(OpenError::FileMissing(marker)),
        None => Ok(()),
    }
}

/// Opens a file that exists.
fn writable(path: &Path) -> Result<File, OpenError> {
    OpenOptions::new().read(true).write(true).open(path).map_err(at(path))
}

/// sled syncs neither its settings file nor the names of the files it creates and renames.
fn sync_settings(dir: &Path) -> io::Result<()> {
    File::open(dir.join("conf"))?.sync_all()
}

/// Takes the data directory's lock, held while the file is open.
pub(super) fn lock(data: &Path) -> Result<File, OpenError> {
    let path = data.join(LOCK_FILE);
    let file = OpenOptions::new().create(true).append(true).open(&path).map_err(at(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked(data.to_owned())),
        Err(TryLockError::Error(error)) => Err(opening(error)),
    }
}

/// Makes file and directory names durable: sled's directory, the data directory, and its parent.
pub(super) fn sync_names(data: &Path, dir: &Path) -> io::Result<()> {
    let whole = data.canonicalize()?;
    for path in [Some(dir), Some(data), whole.parent()].into_iter().flatten() {
        File::open(path)?.sync_all()?;
    }
    Ok(())
}

/// The last acknowledged block, as far as the witness knows.
fn acknowledged(witness: &Path) -> Result<Witness, OpenError> {
    let newest = File::open(witness).and_then(|file| newest_witness(&file)).map_err(at(witness))?;
    newest.ok_or(OpenError::Refused(Reason::WitnessUnreadable))
}

/// Refuses a log with blocks beyond the journal's end: each block was on disk before the next one
/// was written, so what lies between was damaged later. The log is about to be overwritten.
fn refuse_damaged_log(log: &Path, sled: &Sled) -> Result<(), OpenError> {
    let last = sled.blocks.at_or_before(Sequence::new(u64::MAX))?;
    let found = match last.map(|(_, bytes)| RawBlock::new(bytes).decode()) {
        None => Sequence::ZERO,
        Some(Ok(block)) => block.last(),
        // Recovery reports that.
        Some(Err(_)) => return Ok(()),
    };
    match wal::first_behind(log, found.next()).map_err(at(log))? {
        None => Ok(()),
        Some(beyond) => Err(OpenError::LogDamaged { log: log.to_owned(), found, beyond }),
    }
}

/// Refuses a store in which sled would not find a block that it has had on disk. sled is not opened
/// then, because it overwrites what lies after the damage.
fn refuse_torn(dir: &Path, stored: Witness) -> Result<(), OpenError> {
    let none = stored.last == Sequence::ZERO;
    if none || sled_log::reaches(dir, SEGMENT_BYTES, stored).map_err(opening)? {
        return Ok(());
    }
    Err(OpenError::Torn { known: stored.last })
}

/// Whether an append failed before this start.
fn refusal_stands(marker: &Path) -> Result<bool, OpenError> {
    Ok(Marker::decode(&fs::read(marker).map_err(at(marker))?) != Marker::Clear)
}

/// Before sled is opened: rewrites a doubtful file, and notes that blocks are about to be given.
fn settle(database: &Path, doubtful: bool, unsettled: &Path, gives: bool) -> Result<(), OpenError> {
    if doubtful && database.exists() {
        rewrite(database).map_err(opening)?;
    }
    if gives {
        // Until sled's file is synced: if that fails or this process is killed, the system may
        // report the failed write-back to nobody else.
        File::create(unsettled).map_err(at(unsettled))?;
    }
    Ok(())
}

/// Rewrites every byte of the file and syncs it. After a failed sync the system may hold pages that
/// it wrongly believes to be on disk, and sled is about to rely on them.
fn rewrite(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut bytes = vec![0; REWRITE_BYTES];
    let mut offset = 0;
    loop {
        let count = file.read_at(&mut bytes, offset)?;
        let Some(read) = bytes.get(..count).filter(|read| !read.is_empty()) else { break };
        file.write_all_at(read, offset)?;
        offset = offset.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
    }
    file.sync_all()
}

/// Creates the marker and the witness with their space allocated, the marker last: it has its name
/// only once it is complete.
fn make_side_files(marker: &Path, witness: &Path) -> io::Result<()> {
    let file = OpenOptions::new().create(true).truncate(true).write(true).open(witness)?;
    for offset in [0, WITNESS_SLOT_OFFSET] {
        file.write_all_at(&Witness::NONE.encode(), offset)?;
    }
    file.sync_all()?;
    let unnamed = marker.with_file_name(PARTIAL_MARKER_FILE);
    let file = OpenOptions::new().create(true).truncate(true).write(true).open(&unnamed)?;
    file.write_all_at(&Marker::Clear.encode(), 0)?;
    file.sync_all()?;
    fs::rename(unnamed, marker)
}

#[cfg(test)]
#[path = "../../tests/unit/journal/sled.rs"]
mod tests;
