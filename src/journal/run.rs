//! Consecutive blocks in memory, as they stand in a segment or a member of one: where each begins.

use super::block;
use super::sound;
use super::store::Stored;
use exchange::units::Sequence;

/// Whole blocks, one after the other, each of which follows the one before it by number.
#[derive(Debug)]
pub(super) struct Run {
    bytes: Vec<u8>,
    /// First record and offset of each block.
    starts: Vec<(Sequence, usize)>,
    /// The record after the last.
    next: Sequence,
}

impl Run {
    /// The sound blocks at the beginning of `bytes`, from record `first` on, and the bytes after
    /// them.
    pub(super) fn read(mut bytes: Vec<u8>, first: Sequence) -> (Run, Vec<u8>) {
        let (mut starts, mut next, mut used) = (Vec::new(), first, 0_usize);
        while let Some((begins, last, length)) =
            sound::sound_span(bytes.get(used..).unwrap_or_default())
            && begins == next
        {
            starts.push((begins, used));
            (next, used) = (last.next(), used.saturating_add(length));
        }
        let rest = bytes.split_off(used.min(bytes.len()));
        (Run { bytes, starts, next }, rest)
    }

    /// Adds the next block.
    pub(super) fn push(&mut self, first: Sequence, block: &[u8]) {
        self.starts.push((first, self.bytes.len()));
        self.bytes.extend_from_slice(block);
        self.next = block::span(block).map_or(first, |(_, last, _)| last).next();
    }

    /// Drops the blocks from a record on; returns how many bytes are left.
    pub(super) fn cut(&mut self, from: Sequence) -> usize {
        let kept = self.starts.partition_point(|(first, _)| *first < from);
        if let Some((first, offset)) = self.starts.get(kept).copied() {
            self.bytes.truncate(offset);
            self.starts.truncate(kept);
            self.next = first;
        }
        self.bytes.len()
    }

    /// The bytes of all blocks.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The record after the last.
    pub(super) const fn next(&self) -> Sequence {
        self.next
    }

    /// Whether one of the blocks holds a record.
    pub(super) fn holds(&self, record: Sequence) -> bool {
        self.starts.first().is_some_and(|(first, _)| *first <= record) && record < self.next
    }

    /// The blocks, each with its first record.
    pub(super) fn blocks(&self) -> impl DoubleEndedIterator<Item = (Sequence, &[u8])> {
        let ends = self.starts.iter().skip(1).map(|(_, offset)| *offset);
        let ends = ends.chain([self.bytes.len()]).collect::<Vec<_>>();
        let starts = self.starts.iter().zip(ends);
        let blocks = starts.map(|((first, from), to)| (*first, self.bytes.get(*from..to)));
        blocks
            .map(|(first, block)| (first, block.unwrap_or_default()))
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// The last block that begins at or before a record.
    pub(super) fn at_or_before(&self, record: Sequence) -> Option<Stored> {
        let after = self.starts.partition_point(|(first, _)| *first <= record);
        self.block(after.checked_sub(1)?)
    }

    /// The first block that begins at or after a record.
    pub(super) fn at_or_after(&self, record: Sequence) -> Option<Stored> {
        self.block(self.starts.partition_point(|(first, _)| *first < record))
    }

    fn block(&self, index: usize) -> Option<Stored> {
        let (first, from) = self.starts.get(index).copied()?;
        let to = self.starts.get(index.saturating_add(1)).map_or(self.bytes.len(), |next| next.1);
        self.bytes.get(from..to).map(|block| (first, block.to_vec()))
    }
}
