//! Unit tests of `src/views/equity.rs`.

use super::super::ReadModel;
use super::super::fixture::*;
use super::*;
use exchange::effect::Effect;
use exchange::market::MarketStatus;
use exchange::reject::Reject;
use exchange::units::Money;

/// Folds a record of this hour since 1970.
fn fold_at(model: &mut ReadModel, hour: i64, effects: &[Effect]) {
    let time = TimeMs::new(hour * HOUR_MS + 1).unwrap();
    model.fold(&Applied { sequence: model.watermark().next(), time, effects });
}

fn pays_in(user: UserNo, amount: i64, available: i64) -> [Effect; 2] {
    let (amount, available) = (Money::new(amount), Money::new(available));
    let after = Effect::AccountChanged { user, available, reserved: Money::ZERO };
    [Effect::Deposited { user, amount }, after]
}

const NOTHING: &[Effect] = &[Effect::Refused(Reject::InsufficientFunds)];

/// Hour, equity and what was paid in, oldest first.
fn points(model: &ReadModel, user: UserNo) -> Vec<(i64, i128, i128)> {
    let mut points: Vec<_> = model.equity.of(user).map(Result::unwrap).collect();
    points.reverse();
    let shown =
        |point: &EquityPoint| (point.time.get() / HOUR_MS, point.equity.get(), point.paid_in.get());
    points.iter().map(shown).collect()
}

#[test]
fn a_point_is_taken_after_an_hour_with_a_change_and_a_day_with_contracts() {
    let mut model = ReadModel::new();
    fold_at(&mut model, 0, &[user(ANN), user(BOB), market(RAIN, None)]);
    fold_at(&mut model, 0, &[moved(RAIN, MarketStatus::Draft, MarketStatus::Active)]);
    // The first record of an hour tells of itself; what follows in the hour is told after it.
    fold_at(&mut model, 1, &pays_in(ANN, 1000, 1000));
    assert_eq!(points(&model, ANN), [(1, 1000, 1000)]);
    fold_at(&mut model, 1, &pays_in(ANN, 50, 1050));
    assert_eq!(points(&model, ANN), [(1, 1000, 1000)]);
    fold_at(&mut model, 3, NOTHING);
    fold_at(&mut model, 4, NOTHING);
    assert_eq!(points(&model, ANN), [(1, 1000, 1000), (3, 1050, 1050)]);
    // 4 contracts at an even chance are worth 2, and no gain was paid in.
    fold_at(&mut model, 5, NOTHING);
    fold_at(&mut model, 5, &[holds(ANN, (4, 240), (0, 0), 0)]);
    for hour in [6, 7, 30, 31] {
        fold_at(&mut model, hour, NOTHING);
    }
    // Prices may have moved, so holders have a point each day, others have none.
    let all = [(1, 1000, 1000), (3, 1050, 1050), (6, 1250, 1050), (30, 1250, 1050)];
    assert_eq!((points(&model, ANN), points(&model, BOB)), (all.to_vec(), vec![]));
}

#[test]
fn many_users_take_several_records() {
    let mut model = ReadModel::new();
    let users = (0..100).map(UserNo);
    fold_at(&mut model, 0, &users.clone().map(user).collect::<Vec<_>>());
    for user in users.clone() {
        fold_at(&mut model, 0, &pays_in(user, 7, 7));
    }
    let with_points =
        |model: &ReadModel| users.clone().filter(|user| !points(model, *user).is_empty()).count();
    for counted in [64, 100, 100] {
        fold_at(&mut model, 1, NOTHING);
        assert_eq!(with_points(&model), counted);
    }
    assert_eq!(model.inconsistencies(), 0);
}
