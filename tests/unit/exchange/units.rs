//! Unit tests of `src/exchange/units.rs`.

use super::*;
use proptest::prelude::*;

#[test]
fn prices_follow_the_interface_pattern() {
    assert_eq!(Tick::parse("0.6"), Tick::parse("0.60"));
    assert_eq!(Tick::parse("0.05").map(Tick::get), Ok(5));
    for bad in ["0", "1", "0.00", "0.0", "1.00", ".5", "0.600", "0.6 ", "+0.6", "0,6", "", "0."] {
        assert!(Tick::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn decimals_are_refused_never_rounded() {
    assert_eq!(Lots::parse("0.0000001"), Err(UnitError::Precision));
    assert_eq!(Lots::parse("100000000.000001"), Err(UnitError::Range));
    assert_eq!(Lots::parse("0.000000"), Err(UnitError::Range));
    assert_eq!(Money::parse("92233720368.54775808"), Err(UnitError::Range));
    for bad in ["-1", "1e3", " 1", "1.", ".1", "", "1_000", "١"] {
        assert_eq!(Lots::parse(bad), Err(UnitError::Form), "{bad}");
    }
}

#[test]
fn text_forms() {
    assert_eq!(Lots::new(2_500_000).to_string(), "2.5");
    assert_eq!(Lots::new(1).to_string(), "0.000001");
    assert_eq!(Lots::contracts(10).to_string(), "10");
    assert_eq!(LotsSum::new(u128::from(u64::MAX) + 85).to_string(), "18446744073709.5517");
    assert_eq!(Money::new(500_000_000).to_string(), "5.00");
    assert_eq!(Money::new(-1_230_000).to_string(), "-0.0123");
    assert_eq!(Tick::MIN.to_string(), "0.01");
    assert_eq!(SettlementPrice::ONE.to_string(), "1.00");
    let nothing = AveragePrice { notional: Money::ZERO, quantity: Lots::ZERO };
    assert_eq!(nothing.to_string(), "0.00");
    // 2 lots at 0.60 and 1 at 0.61: 0.603333 recurring.
    let third = AveragePrice { notional: Money::new(181), quantity: Lots::new(3) };
    assert_eq!(third.to_string(), "0.603333");
}

#[test]
fn odds_of_every_midpoint_equal_the_exact_rational() {
    for bid in 1..=99 {
        for ask in bid..=99 {
            let mid = Ratio::midpoint(Tick(bid), Tick(ask));
            let half_ticks = u128::from(bid) + u128::from(ask);
            let exact = div_half_even(half_ticks * 10_000, 200);
            assert_eq!(Some(u128::from(mid.ten_thousandths())), exact);
            let odds = div_half_even(200 * 10_000, half_ticks);
            assert_eq!(Some(u128::from(mid.odds().ten_thousandths())), odds, "{half_ticks}");
            let other = div_half_even(200 * 10_000, 200 - half_ticks);
            let complement = mid.complement().odds().ten_thousandths();
            assert_eq!(Some(u128::from(complement)), other, "{half_ticks}");
        }
    }
    assert_eq!(Ratio::ZERO.odds(), Ratio::ZERO);
    assert_eq!(Ratio::ONE.odds().to_string(), "1");
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn quantities_survive_print_and_parse(lots in 1..=ORDER_LOTS_MAX) {
        prop_assert_eq!(Lots::parse(&Lots(lots).to_string()), Ok(Lots(lots)));
    }

    #[test]
    fn money_survives_print_and_parse(units in 1..=i64::MAX) {
        prop_assert_eq!(Money::parse(&Money(units).to_string()), Ok(Money(units)));
    }

    #[test]
    fn a_price_and_its_complement_cost_one(tick in 1..=99_u8, lots in 0..=ORDER_LOTS_MAX) {
        let tick = Tick(tick);
        let both = tick.times(Lots(lots))
            .and_then(|m| m.plus(tick.complement().times(Lots(lots))?));
        prop_assert_eq!(both, SettlementPrice::ONE.times(Lots(lots)));
    }

    #[test]
    fn shares_never_lose_the_last_unit(
        cost in 0..i64::MAX, a in 0..u64::MAX / 2, b in 1..u64::MAX / 2,
    ) {
        let (part, whole) = (Lots(a.min(b)), Lots(b));
        let taken = Money(cost).share(part, whole).unwrap();
        let left = Money(cost).take(taken).unwrap();
        prop_assert!(!left.is_negative());
        let rest = whole.minus(part).unwrap();
        if !rest.is_zero() {
            prop_assert_eq!(left.share(rest, rest), Ok(left));
        }
    }

    #[test]
    fn text_that_is_no_number_is_never_a_panic(text in "\\PC{0,12}") {
        for result in [Lots::parse(&text).is_ok(), Money::parse(&text).is_ok()] {
            prop_assert!(!result || text.bytes().all(|b| b.is_ascii_digit() || b == b'.'));
        }
    }
}
