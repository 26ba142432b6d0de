//! Unit tests of `src/views/performance.rs`.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::fixture::*;
use super::*;
use crate::fault::{Faults, Projection};
use exchange::catalogue::Outcome;
use exchange::units::Sequence;

const BID: Placed = Placed { record: 2, user: ANN, wording: BUY_YES, price: 60, quantity: 10 };
const ASK: Placed = Placed { record: 3, user: BOB, wording: SELL_YES, price: 55, quantity: 4 };

fn fold_at(performance: &mut Performance, days: i64, effects: &[Effect]) {
    let time = TimeMs::new(days * DAY_MS).unwrap();
    let mut faults = Faults::default();
    let sequence = Sequence::new(9);
    performance.fold(&Applied { sequence, time, effects }, &mut faults);
    assert_eq!(faults.count(), 0);
}

fn since(performance: &Performance, day: u32) -> Vec<(u32, i128, u128)> {
    let baseline = performance.before(Day(day));
    let scores = performance.since(&baseline);
    scores.map(|(user, s)| (user.0, s.realised.get(), s.volume.get())).collect()
}

/// A market with many holders pays them in several records.
#[test]
fn what_was_paid_is_told_while_others_are_not_paid_yet() {
    let mut performance: Performance = opened();
    fold_at(&mut performance, 3, &[holds(BOB, (0, 0), (4, 1), -5)]);
    fold_at(&mut performance, 4, &[paid(BOB, 0, 2, 9)]);
    assert_eq!(performance.realised_in(BOB, RAIN).get(), 9);
    fold_at(&mut performance, 5, &[settled(RAIN, Outcome::No)]);
    assert!(performance.realised.is_empty());
}

#[test]
fn scores_are_of_the_days_asked_for() {
    let mut performance: Performance = opened();
    let trade = ASK.took(0, BID, 6, 4);
    fold_at(&mut performance, 3, &[trade.clone(), holds(BOB, (0, 0), (4, 1), -5)]);
    fold_at(&mut performance, 5, &[trade.clone(), trade]);
    fold_at(&mut performance, 6, &[holds(BOB, (0, 0), (2, 1), 7)]);
    // Ann holds nothing at the end, but realised something before.
    fold_at(&mut performance, 6, &[holds(ANN, (0, 0), (0, 0), 3)]);
    fold_at(&mut performance, 6, &[settled(RAIN, Outcome::No), paid(BOB, 0, 2, 9)]);
    assert_eq!(since(&performance, 0), [(0, 3, 12), (1, 9, 12)]);
    assert_eq!(since(&performance, 4), [(0, 3, 8), (1, 14, 8)]);
    assert_eq!(since(&performance, 6), [(0, 3, 0), (1, 14, 0)]);
    assert_eq!(since(&performance, 7), []);
    assert!(performance.realised.is_empty());
    assert_eq!(Day::of(TimeMs::new(DAY_MS * 6 + 5).unwrap()).earlier(2), Day(4));
    assert_eq!(Day(1).earlier(2), Day(0));
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// It does not matter when on its day a baseline is taken, or which users come later.
    #[test]
    fn what_everybody_had_come_to_stays_as_it_was(
        trades in prop::collection::vec((0..6_u32, 0..4_usize, 1..9_u64), 1..60),
    ) {
        let mut performance: Performance = opened();
        let (mut users, mut day) = (2, 40);
        let mut taken: BTreeMap<u32, Baseline> = BTreeMap::new();
        let mut made: Vec<(u32, u32, u64)> = Vec::new();
        for (user, pause, quantity) in trades {
            day += [0, 1, 5, 30][pause];
            let time = i64::from(day);
            while user >= users {
                fold_at(&mut performance, time, &[super::super::fixture::user(UserNo(users))]);
                users += 1;
            }
            let [maker, taker] = [ANN, UserNo(user)].map(|user| Placed { user, ..BID });
            let trade = Placed { record: 3, ..taker }.took(0, maker, 0, quantity);
            fold_at(&mut performance, time, &[trade]);
            made.extend([(day, ANN.0, quantity), (day, user, quantity)]);
            let today = Day::of(TimeMs::new(time * DAY_MS).unwrap());
            let later = Baseline::of_nothing(Day(day + 1));
            let before = performance.before(later.day);
            prop_assert!(performance.since(&later).eq(performance.since(&before)));
            for days in [0, 6, 29, u32::MAX] {
                let first = today.earlier(days);
                let early = taken.entry(first.0).or_insert_with(|| match first {
                    Day::FIRST => Baseline::of_nothing(first),
                    _ => performance.before(first),
                });
                let mut expected: BTreeMap<u32, u128> = BTreeMap::new();
                for (_, user, quantity) in made.iter().filter(|(day, ..)| *day >= first.0) {
                    *expected.entry(*user).or_default() += u128::from(*quantity);
                }
                let found = performance.since(early);
                let found: BTreeMap<u32, u128> =
                    found.map(|(user, score)| (user.0, score.volume.get())).collect();
                prop_assert_eq!(found, expected, "{} days before {}", days, day);
            }
        }
    }
}

#[test]
fn the_days_of_a_month_are_kept_and_the_sum_of_all() {
    let mut performance: Performance = opened();
    let maker = Placed { record: 2, user: ANN, wording: BUY_YES, price: 50, quantity: 1 };
    let taker = Placed { record: 3, user: BOB, wording: SELL_YES, ..maker };
    let mut faults = Faults::default();
    for day in 0..400_i64 {
        let time = TimeMs::new(day * DAY_MS).unwrap();
        let effects = [taker.took(0, maker, 0, 1)];
        performance
            .fold(&Applied { sequence: Sequence::new(9), time, effects: &effects }, &mut faults);
        let today = Day::of(time);
        for days in [0, 1, 6, 29, u32::MAX] {
            let baseline = performance.before(today.earlier(days));
            let since = performance.since(&baseline);
            let volumes: Vec<u128> = since.map(|(_, score)| score.volume.get()).collect();
            let expected = u128::from(days.saturating_add(1)).min(u128::try_from(day).unwrap() + 1);
            assert_eq!(volumes, [expected; 2], "{days} days before day {day}");
        }
    }
    assert_eq!(faults.count(), 0);
    assert!(performance.users.rows().iter().all(|row| row.days.len() <= DAYS_KEPT as usize + 2));
}
