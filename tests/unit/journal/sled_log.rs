//! Unit tests of `src/journal/sled_log.rs`.

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
