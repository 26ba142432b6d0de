//! Unit tests of `src/journal/tree.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::*;
use crate::block::Head;
use crate::wal::tests::block_of;

/// What may happen to blocks.
#[derive(Debug, Clone)]
enum Happens {
    /// A block with a text of so many bytes is put.
    Put(usize),
    /// sled is given so many groups.
    Give(usize),
    /// sled is given a single block, as by earlier versions.
    Insert,
    /// sled is closed after it was given everything, and opened again.
    Reopen,
    /// The last so many blocks are removed, after sled was given everything.
    Cut(usize),
}

fn happens() -> impl Strategy<Value = Happens> {
    let text_bytes = prop_oneof![8 => 10_usize..900, 1 => 900_usize..7_000];
    prop_oneof![
        20 => text_bytes.prop_map(Happens::Put),
        3 => (1_usize..4).prop_map(Happens::Give),
        2 => Just(Happens::Insert),
        1 => Just(Happens::Reopen),
        1 => (1_usize..8).prop_map(Happens::Cut),
    ]
}

/// sled, and its expected contents.
struct Case {
    dir: tempfile::TempDir,
    sled: Option<Sled>,
    heads: Vec<Head>,
    expected: BTreeMap<Sequence, Vec<u8>>,
}

impl Case {
    fn new() -> Case {
        let dir = tempfile::tempdir().unwrap();
        let sled = Some(Sled::open(dir.path()).unwrap());
        Case { dir, sled, heads: vec![Head::START], expected: BTreeMap::new() }
    }

    fn blocks(&self) -> &SledBlocks {
        &self.sled.as_ref().unwrap().blocks
    }

    fn next(&mut self, text_bytes: usize) -> Block {
        let records = 1 + text_bytes as u64 % 3;
        let block = block_of(records, self.heads.last().unwrap(), text_bytes);
        self.heads.push(block.head());
        self.expected.insert(block.first(), block.bytes().to_vec());
        block
    }

    fn insert_buffered(&self) {
        self.blocks().insert_buffered().unwrap();
    }

    fn happens(&mut self, what: &Happens) {
        match what {
            Happens::Put(text_bytes) => {
                let block = self.next(*text_bytes);
                self.blocks().put(block.first(), block.bytes());
            }
            Happens::Give(count) => {
                let groups = self.blocks().buffered();
                self.blocks().insert_oldest(&groups[..groups.len().min(*count)]).unwrap();
            }
            Happens::Insert => {
                self.insert_buffered();
                let block = self.next(10);
                self.blocks().insert(block.first(), block.bytes()).unwrap();
            }
            Happens::Reopen => {
                self.insert_buffered();
                self.sled = None;
                self.sled = Some(Sled::open(self.dir.path()).unwrap());
            }
            Happens::Cut(count) => {
                self.insert_buffered();
                let kept = self.heads.len().saturating_sub(*count).max(1);
                self.heads.truncate(kept);
                let from = self.heads.last().unwrap().sequence.next();
                self.sled.as_ref().unwrap().cut(from).unwrap();
                drop(self.expected.split_off(&from));
            }
        }
    }

    /// Compares every lookup with the expected contents.
    fn check(&self) {
        for record in 0..=self.heads.last().unwrap().sequence.get() + 1 {
            let record = Sequence::new(record);
            let own = |(first, block): (&Sequence, &Vec<u8>)| (*first, block.clone());
            let after = self.expected.range(record..).next().map(own);
            assert!(self.blocks().at_or_after(record).unwrap() == after, "{record}");
            let before = self.expected.range(..=record).next_back().map(own);
            assert!(self.blocks().at_or_before(record).unwrap() == before, "{record}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 24,
        ..ProptestConfig::default()
    })]

    /// Blocks are found as in a map, however they are grouped, in sled or not yet.
    #[test]
    fn blocks_are_found_wherever_they_stand(
        all in proptest::collection::vec(happens(), 1..120),
    ) {
        let mut case = Case::new();
        for (number, what) in all.iter().enumerate() {
            case.happens(what);
            if number % 8 == 0 || matches!(what, Happens::Cut(_)) {
                case.check();
            }
        }
        case.check();
    }
}

#[test]
fn blocks_that_sled_is_being_given_are_always_found() {
    // Two to a group.
    const TEXT_BYTES: usize = 1_500;
    const BLOCKS: usize = 3_000;
    let dir = tempfile::tempdir().unwrap();
    let sled = Sled::open(dir.path()).unwrap();
    let (blocks, mut head) = (sled.blocks.clone(), Head::START);
    for _ in 0..BLOCKS {
        let block = block_of(2, &head, TEXT_BYTES);
        blocks.put(block.first(), block.bytes());
        head = block.head();
    }
    let first_newest = || blocks.buffer().first();
    let first_of = |found: Result<Option<Stored>, StoreError>| found.unwrap().unwrap().0;
    std::thread::scope(|threads| {
        threads.spawn(|| blocks.insert_buffered().unwrap());
        threads.spawn(|| {
            while let Some(first) = first_newest() {
                assert_eq!(first_of(blocks.at_or_after(first)), first);
                assert_eq!(first_of(blocks.at_or_before(first)), first);
            }
        });
        threads.spawn(|| {
            // The second record of the last block in sled.
            while let Some(first) = first_newest() {
                let before = Sequence::new(first.get() - 1);
                assert_eq!(first_of(blocks.at_or_after(before)), first);
            }
        });
    });
}

#[test]
fn a_reader_of_what_is_being_closed_is_told_so_or_finds_its_block() {
    const ROUNDS: usize = 2_000;
    let dir = tempfile::tempdir().unwrap();
    let sled = Sled::open(dir.path()).unwrap();
    let tree = sled.blocks.on_blocks(Step::Read, |tree| Ok(tree.clone())).unwrap();
    let block = block_of(1, &Head::START, 10);
    for _ in 0..ROUNDS {
        let blocks = SledBlocks::of(tree.clone());
        blocks.put(block.first(), block.bytes());
        let reads = AtomicBool::new(false);
        std::thread::scope(|threads| {
            let reader = threads.spawn(|| {
                while let Ok(found) = blocks.at_or_after(block.first()) {
                    assert!(found.is_some());
                    reads.store(true, Ordering::Relaxed);
                }
            });
            while !reads.load(Ordering::Relaxed) && !reader.is_finished() {
                std::hint::spin_loop();
            }
            drop(blocks.close());
        });
    }
}

#[test]
fn the_log_is_taken_over_where_sled_lacks_it_and_nowhere_else() {
    for has in [0..5, 0..30, 10..20, 0..0] {
        let mut case = Case::new();
        let log: Vec<Block> = (0..30).map(|_| case.next(300)).collect();
        for block in &log[has] {
            case.blocks().put(block.first(), block.bytes());
        }
        case.insert_buffered();
        let sled = case.sled.as_ref().unwrap();
        sled.take_over(&log, Witness::NONE).unwrap();
        case.check();
        // Taking over again changes nothing, and a different block at the same record is
        // refused.
        sled.take_over(&log, Witness::NONE).unwrap();
        let other = [block_of(2, &case.heads[14], 7)];
        let refused = sled.take_over(&other, Witness::NONE).unwrap_err();
        assert_eq!(refused, exists(other[0].first()).into());
        case.check();
    }
}
