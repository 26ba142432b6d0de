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
#[path = "../../../tests/unit/journal/salvage/in_file.rs"]
mod tests;
