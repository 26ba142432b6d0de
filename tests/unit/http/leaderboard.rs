//! Unit tests of `src/http/leaderboard.rs`.

use std::cmp::Reverse;

use super::super::response_cache::DAYS;
use super::*;
use crate::page::Page;
use exchange::units::{LotsSum, MoneySum};
use proptest::prelude::*;

#[test]
fn baselines_of_all_periods_have_different_slots() {
    let now = TimeMs::new(1_800_000_000_000).unwrap();
    let firsts = Period::ALL.map(|(_, period)| period.first(now));
    let mut places: Vec<usize> =
        firsts.iter().filter(|day| **day != Day::FIRST).map(|day| day.number() % DAYS).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    /// Whatever the bound on scores held, the page is that of the sorted whole.
    #[test]
    fn a_page_is_cut_out_of_all(
        gains in proptest::collection::vec((-3..3_i128, 0..3_u128), 0..60),
        (limit, offset) in (1..9_u8, 0..70_u8),
        by in prop::sample::select(vec![By::Pnl, By::Volume]),
    ) {
        let score = |(realised, volume)| Score {
            realised: MoneySum::new(realised),
            volume: LotsSum::new(volume),
        };
        let scores: Vec<_> = (0..).map(UserNo).zip(gains.into_iter().map(score)).collect();
        let page = Page { limit: limit.into(), offset: offset.into() };
        let board = Board { by, first: Day::of(TimeMs::default()), page };
        let (best, count) = board.best(scores.iter().copied());
        prop_assert!(best.len() < 2 * board.page.indexes().end);
        let mut all = scores;
        match by {
            By::Pnl => all.sort_by_key(|(_, score)| Reverse(score.realised)),
            By::Volume => all.sort_by_key(|(_, score)| Reverse(score.volume)),
        }
        let wanted: Vec<_> =
            (1..).zip(all).skip(offset.into()).take(limit.into()).collect();
        let ranked = board.ranked(best, count);
        prop_assert_eq!(ranked.places, wanted);
    }
}
