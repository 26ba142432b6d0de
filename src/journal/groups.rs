//! Groups: several blocks in one sled value, which costs sled little more than one block; and the
//! newest blocks, buffered until sled is given them.

use std::collections::VecDeque;
use std::sync::Arc;

use super::block;
use super::store::Stored;
use exchange::units::Sequence;

/// Size limit of a group; a larger block is a group alone. Sled rewrites a whole leaf at every
/// eighth insert, so larger groups would mean larger bursts of writes.
const GROUP_BYTES: usize = 8 << 10;

/// A group that is not in sled yet: its first record, and its blocks.
pub(super) type Group = (Sequence, Arc<Vec<u8>>);

/// The blocks of a group, each with the record expected to be its first. Bytes that cannot be
/// split, because a block begins with another record, come as one item: decoding them reports why.
#[derive(Debug)]
pub(super) struct Members<'a> {
    first: Sequence,
    rest: Option<&'a [u8]>,
}

impl<'a> Members<'a> {
    pub(super) const fn of(first: Sequence, group: &'a [u8]) -> Members<'a> {
        Members { first, rest: Some(group) }
    }

    /// The last block that begins at or before a record.
    pub(super) fn at_or_before(self, until: Sequence) -> Option<(Sequence, &'a [u8])> {
        self.take_while(|(first, _)| *first <= until).last()
    }

    /// The first block that begins at or after a record.
    pub(super) fn at_or_after(mut self, from: Sequence) -> Option<(Sequence, &'a [u8])> {
        self.find(|(first, _)| *first >= from)
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (Sequence, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (first, rest) = (self.first, self.rest.take()?);
        let span = block::span(rest).ok().filter(|(begins, ..)| *begins == first);
        let split = span
            .and_then(|(_, last, length)| rest.split_at_checked(length).map(|parts| (last, parts)));
        let (last, (block, after)) = split.unwrap_or((first, (rest, &[])));
        self.first = last.next();
        self.rest = (!after.is_empty()).then_some(after);
        Some((first, block))
    }
}

/// The newest blocks, in groups, which sled was not given yet.
#[derive(Debug, Default)]
pub(super) struct UnflushedBlocks {
    groups: VecDeque<Group>,
}

impl UnflushedBlocks {
    /// Adds the next block: to the last group if it fits and the group is not shared with a flush.
    pub(super) fn put(&mut self, first: Sequence, block: &[u8]) {
        if let Some((_, group)) = self.groups.back_mut()
            && let Some(group) = Arc::get_mut(group)
            && group.len().saturating_add(block.len()) <= GROUP_BYTES
            && !(group.is_empty() || block.is_empty())
        {
            group.extend_from_slice(block);
            return;
        }
        let mut group = Vec::with_capacity(GROUP_BYTES.max(block.len()));
        group.extend_from_slice(block);
        self.groups.push_back((first, Arc::new(group)));
    }

    /// All groups. While a caller holds them they do not change: new blocks start other groups.
    pub(super) fn all(&self) -> Vec<Group> {
        self.groups.iter().cloned().collect()
    }

    /// Drops the oldest group if it begins with this record.
    pub(super) fn forget(&mut self, first: Sequence) {
        self.groups.pop_front_if(|(oldest, _)| *oldest == first);
    }

    pub(super) fn clear(&mut self) {
        self.groups.clear();
    }

    /// The first record that is not in sled.
    pub(super) fn first(&self) -> Option<Sequence> {
        self.groups.front().map(|(first, _)| *first)
    }

    /// The last block that begins at or before a record.
    pub(super) fn at_or_before(&self, until: Sequence) -> Option<Stored> {
        let after = self.groups.partition_point(|(first, _)| *first <= until);
        let (first, group) = self.groups.get(after.checked_sub(1)?)?;
        Members::of(*first, group).at_or_before(until).map(owned)
    }

    /// The first block that begins at or after a record.
    pub(super) fn at_or_after(&self, from: Sequence) -> Option<Stored> {
        let after = self.groups.partition_point(|(first, _)| *first <= from);
        let mut groups = self.groups.range(after.saturating_sub(1)..);
        groups.find_map(|(first, group)| Members::of(*first, group).at_or_after(from)).map(owned)
    }
}

pub(super) fn owned((first, block): (Sequence, &[u8])) -> Stored {
    (first, block.to_vec())
}

#[cfg(test)]
#[path = "../../tests/unit/journal/groups.rs"]
mod tests;
