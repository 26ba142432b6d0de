//! Unit tests of `src/views/positions.rs`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use proptest::prelude::*;

use super::super::fixture::*;
use super::*;
use Outcome::{No, Yes};

/// Outcome, contracts, cost, realised and resolution, latest change first.
type Shown = (Outcome, u64, i64, i128, Option<Resolution>);

fn shown(positions: &Positions, user: UserNo) -> Vec<Shown> {
    let rows = positions.of(user).map(Result::unwrap);
    rows.map(|row| {
        let (lots, cost) = (row.quantity.get(), row.cost.get());
        (row.outcome, lots, cost, row.realised.get(), row.resolution)
    })
    .collect()
}

#[test]
fn there_is_a_row_for_each_outcome_held() {
    let mut positions: Positions = opened();
    assert_eq!(fold(&mut positions, 2, &[holds(ANN, (5, 300), (0, 0), 0)]), 0);
    assert_eq!(shown(&positions, ANN), [(Yes, 5, 300, 0, None)]);
    // The no row is new and comes first; both rows show the realised amount.
    assert_eq!(fold(&mut positions, 3, &[holds(ANN, (5, 300), (2, 90), 7)]), 0);
    assert_eq!(shown(&positions, ANN), [(No, 2, 90, 7, None), (Yes, 5, 300, 7, None)]);
    assert_eq!(fold(&mut positions, 4, &[holds(ANN, (0, 0), (2, 90), 9)]), 0);
    assert_eq!(shown(&positions, ANN), [(No, 2, 90, 9, None)]);
    assert!(positions.position(ANN, RAIN, Yes).is_none());
    assert_eq!(positions.count(BOB), 0);
}

/// Whoever holds both outcomes, since contracts back orders, is counted once.
#[test]
fn holders_are_counted_once_each() {
    let mut positions: Positions = opened();
    let changes = [
        (holds(ANN, (5, 300), (0, 0), 0), 1),
        (holds(ANN, (5, 300), (2, 90), 0), 1),
        (holds(BOB, (0, 0), (3, 90), 0), 2),
        (holds(ANN, (0, 0), (2, 90), 0), 2),
        (holds(ANN, (6, 300), (0, 0), 0), 2),
        (holds(BOB, (0, 0), (0, 0), 0), 1),
    ];
    for (sequence, (change, holders)) in (2..).zip(changes) {
        assert_eq!(fold(&mut positions, sequence, &[change]), 0);
        assert_eq!(positions.holders(RAIN), holders);
        let sizes = Sizes { users: 2, markets: 1, ..Sizes::default() };
        let held = positions.held.clone();
        let counted = Positions { held, ..Positions::default() }.counted(sizes).unwrap();
        assert_eq!(counted.holders(RAIN), holders);
    }
    assert_eq!(fold(&mut positions, 9, &[settled(RAIN, Yes), paid(ANN, 6, 0, 200)]), 0);
    assert_eq!(positions.holders(RAIN), 0);
}

#[test]
fn a_change_of_what_is_not_shown_is_no_change() {
    let mut positions: Positions = opened();
    let held = holds(ANN, (5, 300), (0, 0), 0);
    assert_eq!(fold(&mut positions, 2, std::slice::from_ref(&held)), 0);
    let Effect::PositionChanged { user, market, yes, no, realised } = held else { unreachable!() };
    let yes = Holding { locked: Lots::new(5), ..yes };
    let locked = Effect::PositionChanged { user, market, yes, no, realised };
    assert_eq!(fold(&mut positions, 3, &[locked]), 0);
    assert_eq!(positions.position(ANN, RAIN, Yes).map(|row| row.updated_at), Some(at(2)));
}

#[test]
fn a_settled_row_stays_as_it_was_before_the_pay_out() {
    let mut positions: Positions = opened();
    assert_eq!(fold(&mut positions, 2, &[holds(ANN, (5, 300), (0, 0), 0)]), 0);
    assert_eq!(fold(&mut positions, 3, &[settled(RAIN, Yes), paid(ANN, 5, 0, 200)]), 0);
    assert_eq!(shown(&positions, ANN), [(Yes, 5, 300, 200, Some(Resolution::Won))]);
    let row = positions.of(ANN).next().unwrap().unwrap();
    assert_eq!((row.updated_at, positions.position(ANN, RAIN, Yes)), (at(3), None));
    assert_eq!(positions.open_interest(RAIN), Lots::ZERO);
}

#[test]
fn the_loser_lost_and_a_void_is_neither() {
    for (end, expected) in [
        (settled(RAIN, Yes), Resolution::Lost),
        (settled(RAIN, No), Resolution::Won),
        (voided(RAIN, 50), Resolution::Void),
    ] {
        let mut positions: Positions = opened();
        assert_eq!(fold(&mut positions, 2, &[holds(BOB, (0, 0), (5, 200), 0)]), 0);
        assert_eq!(fold(&mut positions, 3, &[end, paid(BOB, 0, 5, -200)]), 0);
        assert_eq!(shown(&positions, BOB), [(No, 5, 200, -200, Some(expected))]);
    }
}

#[test]
fn what_a_void_releases_merges_before_it_pays() {
    let mut positions: Positions = opened();
    assert_eq!(fold(&mut positions, 2, &[holds(ANN, (5, 300), (3, 90), 0)]), 0);
    let effects = [voided(RAIN, 50), holds(ANN, (2, 120), (0, 0), 30), paid(ANN, 2, 0, 10)];
    assert_eq!(fold(&mut positions, 3, &effects), 0);
    assert_eq!(shown(&positions, ANN), [(Yes, 2, 120, 10, Some(Resolution::Void))]);
    // Everything merged, nothing left to pay: no position was held to the end.
    let mut positions: Positions = opened();
    assert_eq!(fold(&mut positions, 2, &[holds(ANN, (3, 180), (3, 90), 0)]), 0);
    let effects = [voided(RAIN, 50), holds(ANN, (0, 0), (0, 0), 30), paid(ANN, 0, 0, 30)];
    assert_eq!(fold(&mut positions, 3, &effects), 0);
    assert_eq!(positions.count(ANN), 0);
}

#[test]
fn a_pay_out_without_an_end_or_without_contracts_is_a_fault() {
    let mut positions: Positions = opened();
    assert_eq!(fold(&mut positions, 2, &[holds(ANN, (5, 300), (0, 0), 0)]), 0);
    assert_eq!(fold(&mut positions, 3, &[paid(ANN, 5, 0, 0)]), 1);
    assert_eq!(fold(&mut positions, 4, &[settled(RAIN, Yes), paid(ANN, 6, 0, 0)]), 1);
    assert_eq!(fold(&mut positions, 5, &[holds(UserNo(7), (1, 1), (0, 0), 0)]), 1);
    assert_eq!(shown(&positions, ANN), [(Yes, 5, 300, 0, None)]);
}

/// With pages of two rows, most ended positions are on pages.
#[test]
fn the_latest_change_comes_first_among_held_and_ended_ones() {
    let rows = NonZeroU32::new(2).unwrap();
    let mut positions = Positions::on(History::default().paged(rows));
    let markets = (0..30).map(MarketNo);
    let opening: Vec<Effect> =
        [user(ANN), user(BOB)].into_iter().chain(markets.map(|no| market(no, None))).collect();
    assert_eq!(fold(&mut positions, 1, &opening), 0);
    // Every market is entered; of each three, the second ends soon and the third late.
    let mut expected: Vec<u32> = Vec::new();
    let mut record = 2;
    let mut touch = |positions: &mut Positions, market: u32, effects: &[Effect]| {
        assert_eq!(fold(positions, record, effects), 0);
        record += 1;
        expected.retain(|other| *other != market);
        expected.insert(0, market);
        let list = || positions.of(ANN);
        assert_eq!((list().len(), positions.count(ANN)), (expected.len(), expected.len()));
        for passed in 0..=expected.len() + 1 {
            let rest = list().skip(passed).map(|row| row.unwrap().market.0);
            assert!(rest.eq(expected.iter().copied().skip(passed)), "{passed}");
            for length in [1, 4] {
                let page = list().skip(passed).take(length).map(Result::unwrap);
                let (list, indexes) = (list(), passed..passed + length);
                let within: Vec<_> = list.held_within(indexes).collect();
                let mut held = page.filter(|row| row.resolution.is_none());
                assert!(held.all(|row| within.contains(&&row)), "{passed}");
                assert!(within.len() <= length + usize::try_from(list.left).unwrap(), "{passed}");
            }
        }
    };
    let enter = |no: u32| {
        let Effect::PositionChanged { user, yes, no: other, realised, .. } =
            holds(ANN, (5, 300), (0, 0), 0)
        else {
            unreachable!()
        };
        [Effect::PositionChanged { user, market: MarketNo(no), yes, no: other, realised }]
    };
    let end = |no: u32| {
        let Effect::PositionSettled { user, yes, no: other, payout, realised, .. } =
            paid(ANN, 5, 0, 200)
        else {
            unreachable!()
        };
        let market = MarketNo(no);
        let paid = Effect::PositionSettled { user, market, yes, no: other, payout, realised };
        [settled(market, Yes), paid]
    };
    for no in 0..30 {
        touch(&mut positions, no, &enter(no));
        if no % 3 == 1 {
            touch(&mut positions, no, &end(no));
        }
    }
    for no in (0..30).filter(|no| no % 3 == 2) {
        touch(&mut positions, no, &end(no));
    }
    assert_eq!(positions.held(ANN).count(), 10);
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn rows_come_and_go_like_entries_of_a_map(
        steps in prop::collection::vec((0..2_u32, 0..4_u32, 0..3_u64, 0..3_u64), 1..100),
    ) {
        let mut positions: Positions = opened();
        let others: Vec<Effect> = (1..4).map(|other| market(MarketNo(other), None)).collect();
        prop_assert_eq!(fold(&mut positions, 1, &others), 0);
        let mut naive = BTreeMap::new();
        for (sequence, (user, market, yes, no)) in (2..).zip(steps) {
            let (user, market) = (UserNo(user), MarketNo(market));
            let effect = Effect::PositionChanged {
                user,
                market,
                yes: holding(yes, 0),
                no: holding(no, 0),
                realised: MoneySum::ZERO,
            };
            prop_assert_eq!(fold(&mut positions, sequence, &[effect]), 0);
            for (outcome, held) in [(Yes, yes), (No, no)] {
                let entry = naive.entry((user, market, outcome)).or_insert((0, 0));
                if entry.0 != held {
                    *entry = (held, sequence);
                }
            }
            naive.retain(|_, entry| entry.0 > 0);
            for user in [ANN, BOB] {
                let rows: Vec<_> = positions.of(user).map(Result::unwrap).collect();
                let updates: Vec<_> = rows.iter().map(|row| row.updated_at).collect();
                prop_assert!(updates.is_sorted_by(|a, b| a >= b));
                let mut seen: Vec<_> = rows
                    .iter()
                    .map(|row| (row.market, row.outcome, row.quantity.get(), row.updated_at))
                    .collect();
                seen.sort_unstable();
                let expected: Vec<_> = naive
                    .iter()
                    .filter(|(key, _)| key.0 == user)
                    .map(|(key, entry)| (key.1, key.2, entry.0, at(entry.1)))
                    .collect();
                prop_assert_eq!(seen, expected);
            }
            for (key, entry) in &naive {
                let row = positions.position(key.0, key.1, key.2);
                prop_assert_eq!(row.map(|row| row.quantity.get()), Some(entry.0));
            }
        }
    }
}
