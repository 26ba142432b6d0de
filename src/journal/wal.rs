//! The write-ahead log: makes the newest blocks durable before sled has them on disk. One write and
//! one sync per block; sled gets the blocks in batches, in the background. Written by
//! [`SledStore`](super::sled::SledStore), read only at a start.
//!
//! Writes bypass the page cache (`O_DIRECT`) where the file system allows it, to save a copy
//! (`benches/PROFILE.md`). Once both halves have been full, they overwrite allocated bytes.
//!
//! The file's two halves are filled in turn. A half is overwritten only once sled has all its
//! blocks on disk: together the halves hold every block that sled may lack.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, StatxFlags, statx};

use super::block::{self, Block, MAGIC, RawBlock};
use super::marker::Witness;
use super::scrape::scrape_file;
use super::sectors::{SECTOR_BYTES, Sectors};
use super::unreadable::{copy_around, open_regular};
use super::watch::{Fate, is_gone};
use exchange::units::Sequence;

/// Bytes of a half: some thousands of orders. Sled stores blocks while they arrive, and has most of
/// them on disk when the half is full.
const HALF_BYTES: usize = 1 << 20;
/// Overwrites the beginning of a half that is to hold nothing.
const CLEARED: [u8; MAGIC.len()] = [0; MAGIC.len()];

const _: () = assert!(HALF_BYTES >= block::BLOCK_BYTES_MAX);
// So that padding the last block of a half with zeros stays within the half.
const _: () = assert!(HALF_BYTES.is_multiple_of(SECTOR_BYTES));

/// The log's file, and the position of the next block.
#[derive(Debug)]
pub struct Wal {
    /// The file opened with `O_DIRECT`, if the file system supports that.
    direct: Option<File>,
    /// The same file, through the page cache.
    file: File,
    /// Offset of the half being filled.
    half: usize,
    /// Bytes of that half that hold blocks.
    used: usize,
    /// The length that the file has had.
    reached: u64,
    /// Whether it had a name when it was opened, as the file system counts.
    named: bool,
    /// Blocks put and not written yet.
    buffer: Sectors,
}

impl Wal {
    /// Opens the log, creating it if missing. Sled may lack the blocks in it until
    /// [`clear`](Wal::clear), which must come before the first `put`.
    ///
    /// # Errors
    /// The system's.
    fn open(path: &Path) -> io::Result<Wal> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        // A file system without `O_DIRECT` reports that here or at the first write.
        let direct = OpenOptions::new().write(true).custom_flags(libc::O_DIRECT).open(path).ok();
        let open = file.metadata()?;
        let (reached, named) = (open.len(), !is_gone(&open));
        let buffer = Sectors::new(HALF_BYTES);
        Ok(Wal { direct, file, half: 0, used: 0, reached, named, buffer })
    }

    /// Opens the log and clears it: sled must have all its blocks on disk.
    ///
    /// # Errors
    /// The system's.
    pub fn cleared(path: &Path) -> io::Result<Wal> {
        let mut wal = Wal::open(path)?;
        wal.clear()?;
        Ok(wal)
    }

    /// Checks that the file has a name and is as long as it was: a block written behind the end of
    /// a truncated log would look durable, and would not be found at a start.
    ///
    /// # Errors
    /// What happened to it.
    pub fn intact(&self) -> Result<(), Fate> {
        // Without the times of the file: a file system that is asked for those gives the next write
        // a time of its own, which costs that write more than everything else here.
        let wanted = StatxFlags::NLINK | StatxFlags::SIZE;
        match statx(&self.file, "", AtFlags::EMPTY_PATH, wanted) {
            Ok(file) if self.named && file.stx_nlink == 0 => Err(Fate::Deleted),
            Ok(file) if file.stx_size < self.reached => Err(Fate::Truncated),
            // The write itself shows what else is wrong.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// The file, open a second time.
    ///
    /// # Errors
    /// The system's.
    pub fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Whether a block fits into the half being filled.
    pub const fn has_room(&self, block: &[u8]) -> bool {
        self.used.saturating_add(self.buffer.unwritten()).saturating_add(block.len()) <= HALF_BYTES
    }

    /// Switches to the other half, which will be overwritten: sled must have its blocks on disk.
    pub const fn switch_half(&mut self) {
        self.half = HALF_BYTES.saturating_sub(self.half);
        self.used = 0;
        self.buffer.clear();
    }

    /// Buffers a block, which must fit, for the next write.
    ///
    /// # Errors
    /// It does not fit.
    pub fn put(&mut self, block: &[u8]) -> io::Result<()> {
        if self.buffer.put(block) { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    /// Writes what was put.
    ///
    /// # Errors
    /// The system's. Parts may have been written.
    pub fn write(&mut self) -> io::Result<()> {
        let count = self.buffer.unwritten();
        let (before, whole) = self.buffer.padded();
        let offset = wide(self.half.saturating_add(self.used.saturating_sub(before)));
        let direct = self.direct.as_ref().map(|direct| direct.write_all_at(whole, offset));
        match direct {
            Some(Err(error)) if error.kind() == io::ErrorKind::InvalidInput => {
                // `O_DIRECT` is not supported after all: use the page cache from now on.
                self.direct = None;
                self.file.write_all_at(whole, offset)?;
            }
            Some(written) => written?,
            None => self.file.write_all_at(whole, offset)?,
        }
        self.used = self.used.saturating_add(count);
        self.reached = self.reached.max(offset.saturating_add(wide(whole.len())));
        self.buffer.mark_written();
        Ok(())
    }

    /// Returns once what was written is on disk.
    ///
    /// # Errors
    /// The system's.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Empties the log, on disk too: sled must have all its blocks on disk.
    ///
    /// # Errors
    /// The system's.
    pub fn clear(&mut self) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        for half in [0, HALF_BYTES].into_iter().map(wide).filter(|half| *half < length) {
            self.file.write_all_at(&CLEARED, half)?;
        }
        (self.half, self.used) = (0, 0);
        self.buffer.clear();
        self.sync()
    }
}

/// The chain of blocks that a log holds; none if there is no log. A block that a crash left half
/// written ends it, as does the rest of an older chain that was being overwritten.
///
/// # Errors
/// The system's.
pub fn read(path: &Path) -> io::Result<Vec<Block>> {
    let read = open_regular(path).and_then(|(mut file, _)| {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    match read {
        Ok(bytes) => Ok(chains(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// How a log's halves begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    /// As a server leaves them: with a block, or cleared over a block.
    Sound,
    /// There are bytes, and all are zeros: a log has held a block wherever it has bytes.
    Zeros,
    /// With other bytes.
    Foreign,
}

/// How the halves begin in a log's bytes.
pub(super) fn beginning(bytes: &[u8]) -> Beginning {
    if bytes.is_empty() {
        return Beginning::Sound;
    }
    if bytes.iter().all(|byte| *byte == 0) {
        return Beginning::Zeros;
    }
    let known = |half: &[u8]| half.starts_with(&MAGIC) || half.starts_with(&CLEARED);
    let (one, other) = bytes.split_at(bytes.len().min(HALF_BYTES));
    let sound = known(one) && (other.is_empty() || known(other));
    if sound { Beginning::Sound } else { Beginning::Foreign }
}

/// The same for a log with unreadable sectors, and how many bytes could not be read.
///
/// # Errors
/// The system's.
pub(super) fn read_damaged(path: &Path) -> io::Result<(Vec<Block>, u64)> {
    let mut bytes = Vec::new();
    let lost = match open_regular(path) {
        Ok((file, _)) => copy_around(&file, &mut bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    Ok((chains(&bytes), lost))
}

/// The chain of blocks in a log's bytes.
fn chains(bytes: &[u8]) -> Vec<Block> {
    let (one, other) = bytes.split_at(bytes.len().min(HALF_BYTES));
    let (mut older, mut newer) = (chain(one), chain(other));
    if older.last().map(Block::last) > newer.last().map(Block::last) {
        std::mem::swap(&mut older, &mut newer);
    }
    // If the halves do not connect, the older one is a remainder that sled has stored. If damage
    // cut the older one short, sled may lack its end: the start then refuses, as sled lacks the
    // block before the newer half.
    let connected = match (older.last(), newer.first()) {
        (Some(last), Some(first)) => first.follows(&last.head()).is_ok(),
        (None | Some(_), None) | (None, Some(_)) => false,
    };
    if !connected {
        return newer;
    }
    older.append(&mut newer);
    older
}

/// The sound blocks at the beginning of `bytes` that form a chain.
fn chain(bytes: &[u8]) -> Vec<Block> {
    let mut chain: Vec<Block> = Vec::new();
    let mut rest = bytes;
    loop {
        let whole = block::block_bytes(rest).ok().and_then(|length| rest.split_at_checked(length));
        let Some((whole, after)) = whole else { return chain };
        let Ok(block) = RawBlock::new(whole.to_vec()).decode() else { return chain };
        if chain.last().is_some_and(|last| block.follows(&last.head()).is_err()) {
            return chain;
        }
        chain.push(block);
        rest = after;
    }
}

/// The lowest first record, after `record`, of any sound block in the file, wherever it stands.
///
/// # Errors
/// The system's, or unreadable bytes.
pub fn first_behind(path: &Path, record: Sequence) -> io::Result<Option<Sequence>> {
    let mut first = None;
    let scraped = scrape_file(path, |_, block| {
        let begins = Some(block.first()).filter(|begins| *begins > record);
        first = first.into_iter().chain(begins).min();
    });
    match scraped {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(lost) if lost > 0 => Err(io::Error::other(format!("{lost} bytes cannot be read"))),
        _ => Ok(first),
    }
}

/// The block that sled must have on disk: the one before the log's first, or without a log the one
/// acknowledged last.
pub fn must_be_stored(log: &[Block], acknowledged: Witness) -> Witness {
    let Some(first) = log.first() else { return acknowledged };
    let is_it =
        |block: &Block| block.last() == acknowledged.last && block.hash() == acknowledged.hash;
    // The witness may lag. A block that it knows and the log lacks must be in sled.
    if acknowledged.last < first.first() || log.iter().any(is_it) {
        let last = Sequence::new(first.first().get().saturating_sub(1));
        return Witness { last, hash: first.previous() };
    }
    acknowledged
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may stop

    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::Journal;
    use crate::block::{BlockBuilder, Head};
    use crate::sled::{SledJournal, SledStore, WAL_FILE};
    use crate::store::OpenError;
    use crate::tree::Sled;
    use exchange::command::{Command, Record};
    use exchange::results::Results;
    use exchange::units::TimeMs;

    /// Enough to begin each half several times.
    const BLOCKS: usize = 136;
    /// Bytes of their texts, in turn: sled stores some of them in one group.
    const TEXT_BYTES: [usize; 8] = [10, 50_000, 300, 300, 300, 50_000, 50_000, 10];
    const FILES: [&str; 3] = ["refused", "witness", WAL_FILE];

    fn block_after(head: &Head, text_bytes: usize) -> Block {
        block_of(1, head, text_bytes)
    }

    /// A block of so many records, each with a text of `text_bytes`.
    pub(crate) fn block_of(records: u64, head: &Head, text_bytes: usize) -> Block {
        let mut builder = BlockBuilder::new(head);
        for number in 1..=records {
            let name = "x".repeat(text_bytes);
            let command = Command::CreateUser { profile_name: name, profile_pic: String::new() };
            let sequence = Sequence::new(head.sequence.get() + number);
            let time = TimeMs::default();
            builder.push(Record { sequence, time, once: None, command }).unwrap();
        }
        builder.build(Results::NONE).unwrap()
    }

    fn copy_files(from: &Path, to: &Path, names: &[&str]) {
        for name in names {
            fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }

    fn copy_store(from: &Path, to: &Path) {
        fs::create_dir_all(to.join("journal/blobs")).unwrap();
        for entry in fs::read_dir(from.join("journal")).unwrap().map(Result::unwrap) {
            // sled replaces its snapshots while it runs.
            if entry.file_type().is_ok_and(|kind| kind.is_file()) {
                let copied = fs::copy(entry.path(), to.join("journal").join(entry.file_name()));
                drop(copied);
            }
        }
    }

    /// Copies of a running server's directory, taken after so many blocks.
    struct Moments {
        root: tempfile::TempDir,
        taken: Vec<(usize, Head)>,
    }

    impl Moments {
        fn at(&self, blocks: usize) -> PathBuf {
            self.root.path().join(blocks.to_string())
        }

        /// With sled behind the log as usual, or as far as it ever can be.
        fn take(lags: bool) -> Moments {
            let root = tempfile::tempdir().unwrap();
            let mut moments = Moments { root, taken: Vec::new() };
            let live = moments.root.path().join("live");
            let mut store = SledStore::open(&live).unwrap();
            if lags {
                store.lag();
            }
            let (mut journal, _) = SledJournal::over(store).unwrap();
            for count in 1..=BLOCKS {
                let text_bytes = TEXT_BYTES[count % TEXT_BYTES.len()];
                let block = block_after(journal.head(), text_bytes);
                journal.append(block).unwrap();
                if count % 17 == 0 {
                    let copy = moments.at(count);
                    copy_store(&live, &copy);
                    copy_files(&live, &copy, &FILES);
                    moments.taken.push((count, *journal.head()));
                }
            }
            moments
        }

        /// sled's files of one moment, the witness and the log of two others.
        fn mixed(&self, store: usize, witness: usize, log: usize) -> tempfile::TempDir {
            let mixed = tempfile::tempdir().unwrap();
            copy_store(&self.at(store), mixed.path());
            copy_files(&self.at(log), mixed.path(), &["refused", WAL_FILE]);
            copy_files(&self.at(witness), mixed.path(), &["witness"]);
            mixed
        }
    }

    /// The head of a directory's journal, if it opens; then every block must be readable.
    fn opened(data: &Path) -> Result<Head, OpenError> {
        let (journal, recovered) = SledJournal::open_existing(data)?;
        let read = journal.read(Sequence::new(1)).map(Result::unwrap).count();
        assert_eq!(u64::try_from(read), Ok(recovered.head.sequence.get()));
        Ok(recovered.head)
    }

    #[test]
    fn whatever_sled_had_on_disk_no_acknowledged_block_goes_missing_unnoticed() {
        let (mut begun, mut caught_up, mut refused) = (0, 0, 0);
        for moments in [true, false].map(Moments::take) {
            for (index, (log, head)) in moments.taken.iter().enumerate() {
                let held = read(&moments.at(*log).join(WAL_FILE)).unwrap();
                assert_eq!(held.last().map(Block::head), Some(*head));
                begun += usize::from(held.len() < *log);
                let stores = &moments.taken[index.saturating_sub(1)..=index];
                for (store, _) in moments.taken.first().into_iter().chain(stores) {
                    // The witness is not synced: it may be as old as sled's files.
                    for witness in [log, store] {
                        let mixed = moments.mixed(*store, *witness, *log);
                        match opened(mixed.path()) {
                            Ok(found) => {
                                assert_eq!(found, *head, "{store} {witness} {log}");
                                caught_up += usize::from(store < log);
                            }
                            Err(OpenError::Torn { .. } | OpenError::Short { .. })
                                if store < log =>
                            {
                                refused += 1;
                            }
                            Err(error) => panic!("{store} {witness} {log}: {error}"),
                        }
                    }
                }
            }
        }
        assert!(begun > 0 && caught_up > 0 && refused > 0, "{begun} {caught_up} {refused}");
    }

    /// File systems reject misaligned `O_DIRECT` writes as those do that support none.
    #[test]
    fn where_nothing_may_be_written_past_the_cache_it_is_written_as_ever() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join(WAL_FILE);
        let mut wal = Wal { buffer: Sectors::misaligned(HALF_BYTES), ..Wal::open(&path).unwrap() };
        let (mut blocks, mut head) = (Vec::new(), Head::START);
        for text_bytes in [10, 50_000, 30_000, 10] {
            let block = block_after(&head, text_bytes);
            wal.put(block.bytes()).unwrap();
            wal.write().unwrap();
            head = block.head();
            blocks.push(block.hash());
        }
        wal.sync().unwrap();
        let blocks_there = read(&path).unwrap();
        assert!(blocks_there.iter().map(Block::hash).eq(blocks));
    }

    #[test]
    fn a_log_with_blocks_is_not_cleared_where_the_marker_is_gone() {
        let moments = Moments::take(true);
        let (log, head) = moments.taken[0];
        let mixed = moments.mixed(log, log, log);
        // Sled was given nothing yet, so it holds no blocks.
        fs::remove_dir_all(mixed.path().join("journal")).unwrap();
        let marker = mixed.path().join("refused");
        let kept = fs::read(&marker).unwrap();
        fs::remove_file(&marker).unwrap();
        let lost = SledJournal::open(mixed.path()).map(drop);
        assert_eq!(lost, Err(OpenError::FileMissing(marker.clone())));
        fs::write(&marker, kept).unwrap();
        let journal = mixed.path().join("journal");
        assert_eq!(SledJournal::open(mixed.path()).map(drop), Err(OpenError::Lost(journal)));
        assert_eq!(read(&mixed.path().join(WAL_FILE)).unwrap().last().map(Block::head), Some(head));
    }

    #[test]
    fn a_start_that_fails_while_sled_takes_over_leaves_word_of_it() {
        let moments = Moments::take(true);
        let (log, head) = moments.taken[0];
        let mixed = moments.mixed(log, log, log);
        let (unsettled, conf) = (mixed.path().join("unsettled"), mixed.path().join("journal/conf"));
        let kept = fs::read(&conf).unwrap();
        fs::write(&conf, b"no settings of sled's").unwrap();
        assert!(matches!(opened(mixed.path()), Err(OpenError::Store(_))));
        assert!(unsettled.exists());
        fs::write(&conf, kept).unwrap();
        assert_eq!(opened(mixed.path()), Ok(head));
        assert!(!unsettled.exists());
    }

    #[test]
    fn closed_in_order_a_journal_is_whole_without_its_log() {
        let data = tempfile::tempdir().unwrap();
        let (mut journal, _) = SledJournal::open(data.path()).unwrap();
        for _ in 0..BLOCKS / 3 {
            journal.append(block_after(journal.head(), 50_000)).unwrap();
        }
        let head = *journal.head();
        drop(journal);
        assert!(read(&data.path().join(WAL_FILE)).unwrap().is_empty());
        fs::remove_file(data.path().join(WAL_FILE)).unwrap();
        assert_eq!(opened(data.path()), Ok(head));
    }

    #[test]
    fn a_log_that_is_cut_or_changed_anywhere_never_shortens_the_journal_unnoticed() {
        let moments = Moments::take(true);
        let (last, head) = moments.taken[5];
        let whole = fs::read(moments.at(last).join(WAL_FILE)).unwrap();
        let (mut kept, mut refused) = (0, 0);
        for place in (0..whole.len()).step_by(200_003).chain([0, 7, HALF_BYTES, whole.len() - 1]) {
            for cut in [false, true] {
                let mut damaged = whole.clone();
                if cut {
                    damaged.truncate(place);
                } else {
                    damaged[place] ^= 0x10;
                }
                let mixed = moments.mixed(last, last, last);
                fs::write(mixed.path().join(WAL_FILE), &damaged).unwrap();
                match opened(mixed.path()) {
                    Ok(found) => {
                        assert_eq!(found, head, "{place} {cut}");
                        kept += 1;
                    }
                    Err(OpenError::Torn { .. } | OpenError::Short { .. }) => {
                        refused += 1;
                        let left = fs::read(mixed.path().join(WAL_FILE)).unwrap();
                        assert!(left == damaged, "{place} {cut}: what salvage needs is gone");
                    }
                    Err(error) => panic!("{place} {cut}: {error}"),
                }
            }
        }
        assert!(kept > 0 && refused > 0, "{kept} {refused}");
    }

    /// Only the last block may be one that a crash left half written.
    #[test]
    fn a_log_that_goes_on_behind_damage_is_refused_however_late_the_witness_is() {
        let moments = Moments::take(true);
        let ((early, _), (last, head)) = (moments.taken[4], moments.taken[5]);
        let whole = fs::read(moments.at(last).join(WAL_FILE)).unwrap();
        let blocks = read(&moments.at(last).join(WAL_FILE)).unwrap();
        let before_last = blocks[blocks.len() - 2].head();
        let (mut cut, mut refused) = (0, 0);
        for block in blocks.iter().rev().take(12) {
            let place = memchr::memmem::find(&whole, block.bytes()).unwrap();
            let mut damaged = whole.clone();
            damaged[place + block.bytes().len() / 2] ^= 0x10;
            let mixed = moments.mixed(last, early, last);
            fs::write(mixed.path().join(WAL_FILE), &damaged).unwrap();
            match opened(mixed.path()) {
                Ok(found) => {
                    // A block that sled has is not needed from the log.
                    assert!(found == head || found == before_last, "{}", block.first());
                    cut += usize::from(found == before_last);
                }
                Err(OpenError::LogDamaged { log, found, beyond }) => {
                    refused += 1;
                    assert_eq!((found.next(), beyond), (block.first(), block.last().next()));
                    assert!(fs::read(log).unwrap() == damaged, "what salvage needs is gone");
                }
                Err(OpenError::Torn { .. } | OpenError::Short { .. }) => {}
                Err(error) => panic!("{}: {error}", block.first()),
            }
        }
        assert!(cut == 1 && refused > 0, "{cut} {refused}");
    }

    /// A cleared log still holds old blocks after its beginning.
    #[test]
    fn a_last_block_that_cannot_be_read_is_told_of_as_that() {
        let data = tempfile::tempdir().unwrap();
        let (mut journal, _) = SledJournal::open(data.path()).unwrap();
        for _ in 0..10 {
            journal.append(block_after(journal.head(), 300)).unwrap();
        }
        drop(journal);
        assert!(first_behind(&data.path().join(WAL_FILE), Sequence::new(1)).unwrap().is_some());
        let sled = Sled::open(&data.path().join("journal")).unwrap();
        sled.blocks.put(Sequence::new(11), b"no block");
        sled.blocks.insert_buffered().unwrap();
        drop(sled);
        let opened = SledJournal::open(data.path()).map(drop);
        assert!(matches!(opened, Err(OpenError::Damaged(_) | OpenError::Refused(_))), "{opened:?}");
    }
}
