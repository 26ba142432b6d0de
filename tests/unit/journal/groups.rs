//! Unit tests of `src/journal/groups.rs`.

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
