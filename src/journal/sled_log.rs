//! Reads sled's log before sled may write to it. When it opens, sled overwrites everything after
//! the first message that does not verify, including what salvage could still find. So sled is
//! opened only if the last acknowledged block comes before that.
//!
//! The format is sled 0.34.7's: segments with a header, each a sequence of messages.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use memchr::memmem::Finder;

use super::block::{self, MAGIC};
use super::marker::Witness;

/// Bytes of a segment's header: CRC-32, position in the log, position up to which the log was
/// durable.
const SEGMENT_HEADER_BYTES: usize = 20;
/// Bytes at a segment's end in which no message begins.
const MESSAGE_HEADER_BYTES_MAX: usize = 32;
/// sled masks positions, so that zeros are not a valid one.
const POSITION_MASK: u64 = 0x7FFF_FFFF_FFFF_FFFF;
/// Kinds of messages: damage, the segment's end, and the highest there is.
const DAMAGED: u8 = 0;
const CAP: u8 = 2;
const KIND_MAX: u8 = 11;
/// Kinds that hold values: a whole page, and an addition to one.
const WITH_VALUES: [u8; 2] = [8, 10];
/// Hex digits of a position in a snapshot's name.
const POSITION_LETTERS: usize = 16;

/// How a segment's messages end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// With the segment's end, or for lack of space.
    Whole,
    /// With one that does not verify: in the last segment, where the log ends.
    Torn,
}

/// The block to look for in messages.
struct Wanted<'a> {
    magic: Finder<'a>,
    witness: Witness,
}

/// Whether sled will find the acknowledged block in its file, as far as its log verifies.
pub(super) fn reaches(dir: &Path, segment_bytes: usize, witness: Witness) -> io::Result<bool> {
    let file = File::open(dir.join("db"))?;
    let length = wide(segment_bytes);
    let log = Segments::find(&file, length, snapshot_position(dir)?)?;
    let wanted = Wanted { magic: Finder::new(&MAGIC), witness };
    let mut expected = log.tail;
    let mut bytes = vec![0; segment_bytes];
    for (position, offset) in log.offsets.range(log.tail..) {
        if *position != expected {
            break;
        }
        let (found, end) = wanted.search(&file, *position, *offset, &mut bytes)?;
        if found {
            return Ok(true);
        }
        expected = expected.saturating_add(length);
        if end == End::Torn {
            break;
        }
    }
    // Not among the newest segments: it must come before what a torn end can affect. If the tail's
    // first segment is missing, sled accepts nothing beyond its snapshot.
    let before = if expected > log.tail { log.tail } else { log.snapshot };
    for (position, offset) in log.offsets.range(..before).rev() {
        if wanted.search(&file, *position, *offset, &mut bytes)?.0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Where the segments are. Positions are in the log, each a segment's first.
struct Segments {
    /// Offsets in the file, by position.
    offsets: BTreeMap<u64, u64>,
    /// sled reads its log from here on; what comes before is in its snapshot.
    snapshot: u64,
    /// The log may be torn from here on: up to here it was durable when a later segment began.
    tail: u64,
}

impl Segments {
    fn find(file: &File, length: u64, snapshot: u64) -> io::Result<Segments> {
        let snapshot = first_of(snapshot, length);
        let (mut offsets, mut on_disk) = (BTreeMap::new(), snapshot);
        let end = file.metadata()?.len();
        let mut offset = 0_u64;
        while offset.saturating_add(wide(SEGMENT_HEADER_BYTES)) <= end {
            let mut header = [0; SEGMENT_HEADER_BYTES];
            file.read_exact_at(&mut header, offset)?;
            if let Some((position, before)) = segment_header(&header) {
                offsets.insert(position, offset);
                if position >= snapshot {
                    on_disk = on_disk.max(before);
                }
            }
            offset = offset.saturating_add(length);
        }
        Ok(Segments { offsets, snapshot, tail: first_of(on_disk, length) })
    }
}

/// The first position of the segment that holds `position`.
fn first_of(position: u64, length: u64) -> u64 {
    position.saturating_sub(position.checked_rem(length).unwrap_or(0))
}

/// A segment's position, and the position up to which the log was durable when it began.
fn segment_header(header: &[u8; SEGMENT_HEADER_BYTES]) -> Option<(u64, u64)> {
    let (crc, rest) = header.split_first_chunk::<4>()?;
    if crc32fast::hash(rest) != !u32::from_le_bytes(*crc) {
        return None;
    }
    let (position, rest) = rest.split_first_chunk::<8>()?;
    let (on_disk, _) = rest.split_first_chunk::<8>()?;
    let position = u64::from_le_bytes(*position) ^ POSITION_MASK;
    let on_disk = u64::from_le_bytes(*on_disk) ^ POSITION_MASK;
    // sled writes minus one where nothing was durable yet.
    let on_disk = if on_disk > POSITION_MASK { 0 } else { on_disk };
    Some((position, on_disk))
}

/// The position up to which sled's newest snapshot goes, from the file's name.
fn snapshot_position(dir: &Path) -> io::Result<u64> {
    let mut newest = 0;
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let position = name.to_str().and_then(|name| name.strip_prefix("snap."));
        // An incomplete snapshot has a longer name; it is deleted before sled opens.
        let position = position.filter(|hex| hex.len() == POSITION_LETTERS);
        let position = position.and_then(|hex| u64::from_str_radix(hex, 16).ok());
        newest = newest.max(position.unwrap_or(0));
    }
    Ok(newest)
}

impl Wanted<'_> {
    /// Searches a segment's messages, up to the first that does not verify.
    fn search(
        &self,
        file: &File,
        position: u64,
        offset: u64,
        bytes: &mut [u8],
    ) -> io::Result<(bool, End)> {
        let read = read_up_to(file, bytes, offset)?;
        let number = position / wide(bytes.len()).max(1);
        let room = bytes.len().saturating_sub(MESSAGE_HEADER_BYTES_MAX);
        let segment = bytes.get(..read).unwrap_or_default();
        let mut at = SEGMENT_HEADER_BYTES;
        while at <= room {
            let rest = segment.get(at..).unwrap_or_default();
            let Some(message) = Message::read(rest, number) else { return Ok((false, End::Torn)) };
            if message.kind == CAP {
                break;
            }
            if WITH_VALUES.contains(&message.kind) && self.is_in(message.body) {
                return Ok((true, End::Whole));
            }
            at = at.saturating_add(message.length);
        }
        Ok((false, End::Whole))
    }

    fn is_in(&self, body: &[u8]) -> bool {
        self.magic.find_iter(body).any(|at| {
            let rest = body.get(at..).unwrap_or_default();
            let span = block::span(rest).ok().filter(|(_, last, _)| *last == self.witness.last);
            let whole = span.and_then(|(_, _, length)| rest.get(..length));
            whole.is_some_and(|whole| block::hash(whole) == self.witness.hash)
        })
    }
}

/// A message that verifies.
struct Message<'a> {
    kind: u8,
    body: &'a [u8],
    /// Header included.
    length: usize,
}

impl Message<'_> {
    fn read(bytes: &[u8], segment: u64) -> Option<Message<'_>> {
        let (crc, rest) = bytes.split_first_chunk::<4>()?;
        let (kind, rest) = rest.split_first()?;
        if *kind == DAMAGED || *kind > KIND_MAX {
            return None;
        }
        let (body, rest) = number(rest)?;
        let (of_segment, rest) = number(rest)?;
        let (_page, rest) = number(rest)?;
        let body = rest.get(..usize::try_from(body).ok()?)?;
        let header = bytes.len().saturating_sub(rest.len());
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(body);
        hasher.update(bytes.get(crc.len()..header)?);
        let sound = hasher.finalize() == !u32::from_le_bytes(*crc) && of_segment == segment;
        let length = header.saturating_add(body.len());
        sound.then_some(Message { kind: *kind, body, length })
    }
}

/// A variable-length integer, and the bytes after it.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    match *first {
        small @ 0..=240 => Some((u64::from(small), rest)),
        high @ 241..=248 => {
            let (low, rest) = rest.split_first()?;
            let high = u64::from(high.saturating_sub(241)).saturating_mul(256);
            Some((high.saturating_add(u64::from(*low)).saturating_add(240), rest))
        }
        249 => {
            let ([high, low], rest) = rest.split_first_chunk::<2>()?;
            Some((u64::from(u16::from_be_bytes([*high, *low])).saturating_add(2288), rest))
        }
        wider => {
            let (taken, rest) = rest.split_at_checked(usize::from(wider.saturating_sub(247)))?;
            let mut whole = [0; 8];
            whole.get_mut(..taken.len())?.copy_from_slice(taken);
            Some((u64::from_le_bytes(whole), rest))
        }
    }
}

fn read_up_to(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut read = 0_usize;
    while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
        let got = file.read_at(rest, offset.saturating_add(wide(read)))?;
        if got == 0 {
            break;
        }
        read = read.saturating_add(got);
    }
    Ok(read)
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may stop

    use std::collections::BTreeSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::block::{Block, BlockBuilder, Head};
    use crate::scrape::scrape_file;
    use exchange::command::{Command, Record};
    use exchange::ids::UserNo;
    use exchange::results::Results;
    use exchange::units::{Money, Sequence, TimeMs};

    /// As small as pages of blocks allow, for many segments in a file.
    const SEGMENT: usize = 64 << 10;
    const BLOCKS: usize = 2000;
    const DAMAGED_BLOCKS: usize = 700;

    /// sled's directory, with a journal being written to it.
    struct Store {
        dir: tempfile::TempDir,
        db: Option<sled::Db>,
        head: Head,
    }

    impl Store {
        fn new() -> Store {
            let dir = tempfile::tempdir().unwrap();
            let db = Some(open(dir.path()).unwrap());
            Store { dir, db, head: Head::START }
        }

        fn append(&mut self) -> Witness {
            let block = block_after(&self.head);
            let db = self.db.as_ref().unwrap();
            db.insert(block.first().get().to_be_bytes(), block.bytes()).unwrap();
            db.flush().unwrap();
            self.head = block.head();
            witness_of(&block)
        }

        /// Offsets of the segments that may be torn.
        fn newest(&self) -> Vec<u64> {
            let file = File::open(self.dir.path().join("db")).unwrap();
            let snapshot = snapshot_position(self.dir.path()).unwrap();
            let log = Segments::find(&file, wide(SEGMENT), snapshot).unwrap();
            log.offsets.range(log.tail..).map(|(_, offset)| *offset).collect()
        }

        /// What a kill would leave.
        fn copy(&self) -> tempfile::TempDir {
            let copy = tempfile::tempdir().unwrap();
            for entry in fs::read_dir(self.dir.path()).unwrap().map(Result::unwrap) {
                if entry.file_type().unwrap().is_file() {
                    fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
                }
            }
            copy
        }

        fn reopen(&mut self) {
            self.db = None;
            self.db = Some(open(self.dir.path()).unwrap());
        }
    }

    fn open(dir: &Path) -> sled::Result<sled::Db> {
        let config = sled::Config::new().path(dir).segment_size(SEGMENT);
        let config = config.cache_capacity(1 << 20).flush_every_ms(None);
        // A database that was just dropped releases its lock a moment later.
        for _ in 0..500 {
            match config.open() {
                Err(sled::Error::Io(error)) if error.to_string().contains("acquire lock") => {
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                opened => return opened,
            }
        }
        config.open()
    }

    fn block_after(head: &Head) -> Block {
        let mut block = BlockBuilder::new(head);
        let count = 1 + head.sequence.get() % 7;
        for n in 1..=count {
            let sequence = Sequence::new(head.sequence.get() + n);
            let amount = Money::new(i64::try_from(sequence.get()).unwrap());
            let command = Command::Deposit { user: UserNo(1), amount };
            let time = TimeMs::new(1_700_000_000_000).unwrap();
            assert!(block.push(Record { sequence, time, once: None, command }).is_ok());
        }
        block.build(Results::NONE).unwrap()
    }

    fn witness_of(block: &Block) -> Witness {
        Witness { last: block.last(), hash: block.hash() }
    }

    fn known(dir: &Path, witness: Witness) -> bool {
        reaches(dir, SEGMENT, witness).unwrap()
    }

    /// Whether sled has these blocks.
    fn sled_has(dir: &Path, blocks: &[Block]) -> Vec<bool> {
        let has = |db: &sled::Db, block: &Block| {
            let found = db.get(block.first().get().to_be_bytes());
            matches!(found, Ok(Some(bytes)) if bytes == block.bytes())
        };
        let opened = AssertUnwindSafe(|| {
            let db = open(dir).ok()?;
            Some(blocks.iter().map(|block| has(&db, block)).collect())
        });
        catch_unwind(opened).ok().flatten().unwrap_or_else(|| vec![false; blocks.len()])
    }

    #[test]
    fn what_was_written_is_always_reached() {
        let mut store = Store::new();
        for count in 1..=BLOCKS {
            let witness = store.append();
            if count % 3 == 0 {
                assert!(known(store.dir.path(), witness), "block {count}");
            }
            if count % 97 == 0 {
                store.reopen();
                assert!(known(store.dir.path(), witness), "block {count}, opened anew");
                let copy = store.copy();
                for entry in fs::read_dir(copy.path()).unwrap().map(Result::unwrap) {
                    if entry.file_name().to_str().unwrap().starts_with("snap.") {
                        fs::remove_file(entry.path()).unwrap();
                    }
                }
                assert!(known(copy.path(), witness), "block {count}, without snapshots");
            }
        }
        let segments = fs::metadata(store.dir.path().join("db")).unwrap().len() / wide(SEGMENT);
        assert!(segments > 6, "{segments} segments say little");
    }

    /// The blocks that a search of the whole file finds.
    fn sound(dir: &Path) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        let database = dir.join("db");
        scrape_file(&database, |_, block| found.extend([block.last().get()])).unwrap();
        found
    }

    /// With any one byte changed: sled would not find what is refused; and where the newest
    /// segments are changed, sled finds what is accepted, and leaves all blocks in place.
    #[test]
    fn sled_finds_what_is_reached_and_not_what_is_refused() {
        let (mut store, mut blocks) = (Store::new(), Vec::new());
        let (mut reached, mut refused) = (0, 0);
        for count in 1..=DAMAGED_BLOCKS {
            blocks.push(block_after(&store.head));
            store.append();
            if count % 111 == 0 {
                store.reopen();
            }
            if count % 50 != 0 {
                continue;
            }
            // The last block, and one that a lagging witness may name.
            let asked = [&blocks[count - 1], &blocks[count - 20]].map(Block::clone);
            let bytes = fs::read(store.dir.path().join("db")).unwrap();
            let newest = store.newest();
            for place in places(&bytes) {
                let copy = store.copy();
                let file = fs::OpenOptions::new().write(true).open(copy.path().join("db")).unwrap();
                file.write_all_at(&[bytes[place] ^ 0x41], wide(place)).unwrap();
                let left = sound(copy.path());
                let says = asked.each_ref().map(|block| known(copy.path(), witness_of(block)));
                let has = sled_has(copy.path(), &asked);
                let kept = sound(copy.path()).is_superset(&left);
                let at_end = newest.contains(&first_of(wide(place), wide(SEGMENT)));
                let place = format!("block {count}, byte {place} of {}", bytes.len());
                assert!(says[0] || !has[0], "{place}: refused, and sled has it");
                for (says, has) in says.iter().zip(has) {
                    // Before the newest segments sled skips damage: a full read finds it.
                    assert!(has || !says || !at_end, "{place}: let through");
                    reached += u32::from(*says && at_end);
                    refused += u32::from(!says);
                }
                assert!(kept || !says[0] || !at_end, "{place}: let through, and written over");
            }
        }
        assert!(reached > 5 && refused > 5, "{reached} reached, {refused} refused: says little");
    }

    /// Bytes all over the file, and in the headers of its last segments.
    fn places(bytes: &[u8]) -> Vec<usize> {
        let written = (0..bytes.len()).rev().filter(|at| bytes[*at] != 0);
        let headers = (0..bytes.len()).step_by(SEGMENT).map(|at| at + 7).rev().take(3);
        written.step_by(bytes.len() / 9 + 1).chain(headers).collect()
    }
}
