//! Unit tests of `src/views/settlements.rs`.

use super::super::fixture::*;
use super::*;

#[test]
fn each_holder_has_what_was_held_and_paid() {
    let mut settlements: Settlements = opened();
    let effects = [settled(RAIN, Outcome::Yes), paid(ANN, 5, 0, 20), paid(BOB, 0, 5, -20)];
    assert_eq!(fold(&mut settlements, 2, &effects), 0);
    for (user, outcome, realised) in [(ANN, Outcome::Yes, 20), (BOB, Outcome::No, -20)] {
        let rows: Vec<SettlementRow> = settlements.of(user).map(Result::unwrap).collect();
        let [row] = rows[..] else { panic!("one settlement") };
        assert_eq!((row.market, row.outcome, row.quantity), (RAIN, outcome, Lots::new(5)));
        assert_eq!((row.realised, row.sequence), (MoneySum::new(realised), Sequence::new(2)));
    }
    assert_eq!(fold(&mut settlements, 3, &[paid(UserNo(9), 1, 0, 0)]), 1);
}
