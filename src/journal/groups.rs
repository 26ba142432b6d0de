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
mod tests {
    #![allow(clippy::unwrap_used)] // a test may stop

    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::block::Head;
    use crate::wal::tests::block_of;

    /// What may happen to the newest blocks.
    #[derive(Debug, Clone)]
    enum Step {
        /// A block with a text of so many bytes is put.
        Put(usize),
        /// A flush takes all there are.
        Take,
        /// The flush has given sled so many groups.
        Give(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let text_bytes = prop_oneof![4 => 10_usize..900, 1 => 900_usize..7_000];
        prop_oneof![
            6 => text_bytes.prop_map(Step::Put),
            1 => Just(Step::Take),
            1 => (1_usize..4).prop_map(Step::Give),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// After any sequence of steps each block is found, and the groups of a flush are
        /// unchanged.
        #[test]
        fn the_newest_are_found_as_in_a_map(steps in proptest::collection::vec(step(), 1..60)) {
            let (mut newest, mut head) = (UnflushedBlocks::default(), Head::START);
            let mut expected: BTreeMap<Sequence, Vec<u8>> = BTreeMap::new();
            let mut taken: VecDeque<(Group, Vec<u8>)> = VecDeque::new();
            for step in steps {
                match step {
                    Step::Put(text_bytes) => {
                        let block = block_of(1 + text_bytes as u64 % 3, &head, text_bytes);
                        newest.put(block.first(), block.bytes());
                        expected.insert(block.first(), block.bytes().to_vec());
                        head = block.head();
                    }
                    Step::Take if taken.is_empty() => {
                        let all = newest.all().into_iter();
                        taken = all.map(|group| (group.clone(), group.1.to_vec())).collect();
                    }
                    Step::Take => {}
                    Step::Give(count) => {
                        for ((first, group), was) in taken.drain(..count.min(taken.len())) {
                            prop_assert_eq!(&*group, &was);
                            prop_assert_eq!(newest.first(), Some(first));
                            newest.forget(first);
                            Members::of(first, &group).for_each(|(first, block)| {
                                assert_eq!(expected.remove(&first).as_deref(), Some(block));
                            });
                        }
                    }
                }
                prop_assert_eq!(newest.first(), expected.keys().next().copied());
                for record in 0..=head.sequence.get() + 1 {
                    let record = Sequence::new(record);
                    let own = |(first, block): (&Sequence, &Vec<u8>)| (*first, block.clone());
                    let after = expected.range(record..).next().map(own);
                    prop_assert_eq!(newest.at_or_after(record), after);
                    let before = expected.range(..=record).next_back().map(own);
                    prop_assert_eq!(newest.at_or_before(record), before);
                }
            }
        }
    }

    #[test]
    fn small_blocks_stand_together_and_large_ones_alone() {
        let (mut newest, mut head) = (UnflushedBlocks::default(), Head::START);
        for text_bytes in [100, 100, 100, GROUP_BYTES, 100, 100] {
            let block = block_of(1, &head, text_bytes);
            newest.put(block.first(), block.bytes());
            head = block.head();
        }
        let all = newest.all();
        let firsts: Vec<_> = all.iter().map(|(first, _)| first.get()).collect();
        assert_eq!(firsts, [1, 4, 5]);
    }

    #[test]
    fn what_cannot_be_told_apart_comes_as_it_is() {
        let one = block_of(1, &Head::START, 10);
        let mut group = one.bytes().to_vec();
        group.extend_from_slice(b"no block begins so");
        let members: Vec<_> = Members::of(one.first(), &group).collect();
        let rest = (one.head().sequence.next(), &group[one.bytes().len()..]);
        assert_eq!(members, [(one.first(), one.bytes()), rest]);
        assert_eq!(Members::of(one.first(), &[]).collect::<Vec<_>>(), [(one.first(), &[][..])]);
        // A block that begins with another record, and a length beyond the end.
        let other = Sequence::new(7);
        assert_eq!(Members::of(other, &group).collect::<Vec<_>>(), [(other, group.as_slice())]);
        let cut = &one.bytes()[..one.bytes().len() - 1];
        assert_eq!(Members::of(one.first(), cut).collect::<Vec<_>>(), [(one.first(), cut)]);
    }
}
