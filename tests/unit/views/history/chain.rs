//! Unit tests of `src/views/history/chain.rs`.

use super::super::{Packing, Unpacking};
use super::*;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(64)
    })]

    #[test]
    fn a_chain_is_what_a_walk_over_the_table_finds(
        owners in prop::collection::vec(0..3_usize, 0..500),
        first in prop::sample::select(vec![0, 1 << 34]),
        skipped in prop::collection::vec(0..500_usize, 5),
    ) {
        let (mut chains, mut links) = ([RowChain::default(); 4], Vec::new());
        for (index, owner) in (first..).zip(&owners) {
            let added = chains[*owner].push(index);
            let mut bytes = Vec::new();
            Links::code(Some(added), index, &mut Packing(&mut bytes)).unwrap();
            let read = Links::code(None, index, &mut Unpacking(&mut bytes.as_slice()));
            prop_assert_eq!(read, Ok(added));
            links.push(added);
        }
        for (owner, chain) in chains.iter().enumerate() {
            let mut bytes = Vec::new();
            RowChain::code(Some(*chain), &mut Packing(&mut bytes)).unwrap();
            let read = RowChain::code(None, &mut Unpacking(&mut bytes.as_slice()));
            prop_assert_eq!(read, Ok(*chain));
            let all = (first..).zip(&owners).filter(|(_, other)| **other == owner);
            let mut all: Vec<RowIndex> = all.map(|(index, _)| index).collect();
            all.reverse();
            prop_assert_eq!(chain.walk().left(), all.len());
            for skip in skipped.iter().copied().chain([0, all.len()]) {
                let mut walk = chain.walk();
                walk.pass(skip, |index| Ok(links[length(index - first)])).unwrap();
                let mut walked = Vec::new();
                let link = |index| Ok(links[length(index - first)]);
                while let Some(index) = walk.advance(link).unwrap() {
                    walked.push(index);
                }
                prop_assert_eq!(&walked[..], all.get(skip..).unwrap_or_default());
            }
        }
    }
}

#[test]
fn a_long_way_is_few_steps() {
    let (mut chain, mut links) = (RowChain::default(), Vec::new());
    for index in 0..1_000_000 {
        links.push(chain.push(index));
    }
    let (mut walk, mut read) = (chain.walk(), 0);
    let mut link = |index: RowIndex| {
        read += 1;
        Ok(links[length(index)])
    };
    walk.pass(999_990, &mut link).unwrap();
    assert_eq!(walk.advance(&mut link).unwrap(), Some(9));
    assert!(read <= 250 + 2 * 64 + 2, "{read}");
}
