//! Unit tests of `src/cli/demo/chance.rs`.

use super::*;

#[test]
fn a_seed_gives_the_same_numbers_and_another_seed_others() {
    let of = |seed: u64| {
        let mut chance = Chance::seeded(seed);
        (0..50).map(|_| chance.below(1_000_000)).collect::<Vec<u64>>()
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn numbers_stay_within_their_ends_and_are_spread() {
    let mut chance = Chance::seeded(3);
    assert_eq!((chance.below(0), chance.within(-4), chance.pick::<u8>(&[])), (0, 0, None));
    let hits = (0..10_000).filter(|_| chance.percent(30)).count();
    assert!((2_700..3_300).contains(&hits), "{hits}");
    let bells: Vec<i64> = (0..10_000).map(|_| chance.bell(100)).collect();
    assert!(bells.iter().all(|bell| bell.abs() <= 300));
    let variance = bells.iter().map(|bell| bell * bell).sum::<i64>() / 10_000;
    assert!((9_000..11_000).contains(&variance), "{variance}");
    assert!((0..1_000).all(|_| chance.taken(1) >= 1));
}
