//! Where the byte search found blocks: one entry for each block of a file, so entries are small.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::RangeFrom;

use crate::block::{Block, ChainHash};
use exchange::units::Sequence;

/// Position of a block in sled's file or the log's, and its links in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InFile {
    /// Which of the files.
    pub(super) file: usize,
    pub(super) offset: u64,
    pub(super) bytes: usize,
    pub(super) last: Sequence,
    pub(super) hash: ChainHash,
    pub(super) previous: ChainHash,
}

/// All blocks found, by their first record. Nearly every record begins one block only; a vector
/// for each would take several times the memory.
#[derive(Debug, Default)]
pub(super) struct FoundBlocks {
    one: BTreeMap<Sequence, InFile>,
    /// Other blocks with the same first record.
    others: BTreeMap<Sequence, Vec<InFile>>,
}

impl FoundBlocks {
    /// Adds a block, unless a copy of it was found before.
    pub(super) fn add(&mut self, file: usize, offset: u64, block: &Block) {
        let (first, bytes, last) = (block.first(), block.bytes().len(), block.last());
        let (hash, previous) = (block.hash(), block.previous());
        self.insert(first, InFile { file, offset, bytes, last, hash, previous });
    }

    fn insert(&mut self, first: Sequence, found: InFile) {
        if let Entry::Vacant(vacant) = self.one.entry(first) {
            vacant.insert(found);
        } else if self.beginning(first).all(|known| known.hash != found.hash) {
            self.others.entry(first).or_default().push(found);
        }
    }

    /// The blocks that begin with a record, in the order in which they were found.
    pub(super) fn beginning(&self, first: Sequence) -> impl Iterator<Item = &InFile> {
        self.one.get(&first).into_iter().chain(self.others.get(&first).into_iter().flatten())
    }

    /// Each record from which on a block was found, with the first such block.
    pub(super) fn range(
        &self,
        firsts: RangeFrom<Sequence>,
    ) -> impl Iterator<Item = (Sequence, &InFile)> {
        self.one.range(firsts).map(|(first, found)| (*first, found))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test may stop

    use super::*;

    fn found(offset: u64, hash: u8) -> InFile {
        let (hash, previous) = (ChainHash([hash; 32]), ChainHash::ZERO);
        InFile { file: 0, offset, bytes: 200, last: Sequence::new(offset), hash, previous }
    }

    #[test]
    fn copies_count_once_and_others_come_in_the_order_found() {
        let mut blocks = FoundBlocks::default();
        for (first, offset, hash) in
            [(2, 1, 1), (2, 2, 2), (1, 3, 1), (2, 4, 1), (2, 5, 2), (2, 6, 3)]
        {
            blocks.insert(Sequence::new(first), found(offset, hash));
        }
        let beginning = |first| {
            blocks.beginning(Sequence::new(first)).map(|found| found.offset).collect::<Vec<_>>()
        };
        assert_eq!([beginning(0), beginning(1), beginning(2)], [vec![], vec![3], vec![1, 2, 6]]);
        let from = |first| {
            let range = blocks.range(Sequence::new(first)..);
            range.map(|(first, found)| (first.get(), found.offset)).collect::<Vec<_>>()
        };
        assert_eq!([from(1), from(2), from(3)], [vec![(1, 3), (2, 1)], vec![(2, 1)], vec![]]);
    }

    /// The figure in OPERATING.md. Measured in a process of its own, where no other test allocates.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_block_takes_a_fifth_of_a_kilobyte() {
        const ALONE: &str = "OPENOUTCRY_TEST_ALONE";
        const NAME: &str = "salvage::in_file::tests::a_block_takes_a_fifth_of_a_kilobyte";
        const BLOCKS: u64 = 300_000;
        if std::env::var_os(ALONE).is_none() {
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            let child = child.args(["--exact", NAME, "--nocapture"]).env(ALONE, "").output();
            let child = child.unwrap();
            let said = String::from_utf8_lossy(&child.stdout);
            assert!(child.status.success() && said.contains("bytes a block"), "{said}");
            return;
        }
        let resident = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
        };
        let (before, mut blocks) = (resident(), FoundBlocks::default());
        for number in 1..=BLOCKS {
            blocks.insert(Sequence::new(number), found(number, 1));
        }
        let each = (resident() - before) / BLOCKS;
        println!("{each} bytes a block");
        assert_eq!(blocks.one.len() as u64, BLOCKS);
        assert!((100..300).contains(&each), "{each}");
    }
}
