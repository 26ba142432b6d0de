//! Unit tests of `src/cli/demo/walk.rs`.

use super::*;

const STEP_MS: i64 = HOUR_MS;

#[test]
fn a_walk_begins_at_every_price_that_there_is() {
    for cents in 1..=99 {
        let price = Tick::new(cents).unwrap();
        assert_eq!(Walk::from(price, 0, &mut Chance::seeded(1)).fair(), price);
    }
}

#[test]
fn beliefs_move_and_stay_away_from_certainty() {
    let mut chance = Chance::seeded(7);
    for seed in 0..40 {
        let mut walk = Walk::from(Tick::new(50).unwrap(), 30, &mut Chance::seeded(seed));
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..24 * 60 {
            walk.pass(STEP_MS, &mut chance);
            seen.insert(walk.fair());
        }
        assert!(seen.len() > 5, "{seed}: {seen:?}");
        assert!(*seen.first().unwrap() > Tick::MIN && *seen.last().unwrap() < Tick::MAX);
    }
}

#[test]
fn what_happened_is_known_at_the_end() {
    let mut chance = Chance::seeded(9);
    for (outcome, end) in [(Outcome::Yes, 95..=99), (Outcome::No, 1..=5)] {
        let mut walk = Walk::from(Tick::new(50).unwrap(), 30, &mut chance);
        for left in (1..=100).rev() {
            walk.learn(outcome, STEP_MS, left * STEP_MS);
        }
        assert!(end.contains(&walk.fair().get()), "{:?}", walk.fair());
        assert_eq!(walk.is_underrated(), outcome == Outcome::Yes && walk.at < KNOWN);
    }
}
