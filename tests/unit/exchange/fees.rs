//! Unit tests of `src/exchange/fees.rs`.

use super::*;
use proptest::prelude::*;

fn tick(ticks: u8) -> Tick {
    Tick::new(ticks).unwrap()
}

#[test]
fn rates_read_as_they_print_and_nothing_else_does() {
    for (text, rate, printed) in [
        ("0", 0, "0.0000"),
        ("0.07", 700, "0.0700"),
        ("0.0001", 1, "0.0001"),
        ("1", 10_000, "1.0000"),
        ("1.0000", 10_000, "1.0000"),
    ] {
        let read = FeeRate::parse(text).unwrap();
        assert_eq!((read.get(), read.to_string().as_str()), (rate, printed));
        assert_eq!(FeeRate::parse(printed), Ok(read));
    }
    assert_eq!(FeeRate::parse("1.0001"), Err(UnitError::Range));
    assert_eq!(FeeRate::parse("0.00001"), Err(UnitError::Precision));
    for text in ["", "-0.1", "7%", ".07", "0.", "1e-2"] {
        assert_eq!(FeeRate::parse(text), Err(UnitError::Form), "{text}");
    }
}

#[test]
fn a_fee_is_exact_and_rounded_up() {
    let rate = FeeRate::new(700).unwrap();
    // 0.07 x 0.50 x 0.50 x 100 = 1.75.
    assert_eq!(rate.of_fill(tick(50), Lots::contracts(100)), Ok(Money::new(175_000_000)));
    // 0.07 x 0.01 x 0.99 = 0.000693 a contract; of a lot, less than a unit.
    assert_eq!(rate.of_fill(tick(99), Lots::contracts(1)), Ok(Money::new(69_300)));
    assert_eq!(rate.of_fill(tick(1), Lots::new(1)), Ok(Money::new(1)));
    assert_eq!(FeeRate::ZERO.of_fill(tick(50), Lots::new(1)), Ok(Money::ZERO));
}

#[test]
fn a_reserve_covers_the_dearest_price_within_the_limit() {
    let fees = Fees { maker: FeeRate::ZERO, taker: FeeRate::new(700).unwrap() };
    let lots = Lots::contracts(100);
    for (direction, limit, dearest) in [
        (Direction::Up, 20, 20),
        (Direction::Up, 80, 50),
        (Direction::Down, 80, 80),
        (Direction::Down, 20, 50),
    ] {
        let fee = fees.taker.of_fill(tick(dearest), lots).unwrap();
        let margin = Money::new(i64::try_from(ROUND_UPS_COVERED).unwrap());
        let reserve = fees.reserve(direction, tick(limit), lots);
        assert_eq!(reserve, Ok(fee.plus(margin).unwrap()), "{direction:?} {limit}");
    }
    assert_eq!(Fees::NONE.reserve(Direction::Up, tick(50), lots), Ok(Money::ZERO));
}

/// Fills of one lot, each fee a fraction of a unit rounded up, of an order with more fills than
/// the reserve covers: they pay in full for as long as the proof says, and then what is left,
/// never more.
#[test]
fn past_the_round_ups_covered_a_fill_pays_what_is_left() {
    let fees = Fees { maker: FeeRate::ZERO, taker: FeeRate::new(1).unwrap() };
    let (lots, at) = (ROUND_UPS_COVERED + 2_000, (Direction::Up, tick(50)));
    let set_aside = fees.reserve(at.0, at.1, Lots::new(lots)).unwrap();
    // 0.0001 x 0.50 x 0.50 of 12,000 lots is 30 units.
    assert_eq!(set_aside, Money::new(10_030));
    let mut backing = Backing { cash: Lots::new(lots), contracts: Lots::ZERO, fees: set_aside };
    let part = Backing { cash: Lots::new(1), contracts: Lots::ZERO, fees: Money::ZERO };
    for fill in 1..=lots {
        backing.cash = backing.cash.minus(part.cash).unwrap();
        let charge = backing.charge(at, part, tick(50), (fees.taker, fees)).unwrap();
        let due = Money::new(i64::from(fill <= 10_030));
        assert_eq!((charge.fee().unwrap(), charge.released), (due, Money::ZERO), "{fill}");
    }
    assert_eq!((backing.cash, backing.fees), (Lots::ZERO, Money::ZERO));
}

proptest! {
    /// Tests the proof above: whatever the fills, each costs what the formula says, and the
    /// reserve pays all of them.
    #[test]
    fn the_reserve_pays_every_fill_in_full(
        // At a low rate, rounding up is nearly all of a small fill's fee.
        highest in prop_oneof![Just(FEE_RATE_ONE), Just(3)],
        (maker, taker) in (0_u16..=FEE_RATE_ONE, 0_u16..=FEE_RATE_ONE),
        up in any::<bool>(),
        limit in 1_u8..=99,
        // Mostly no contracts: their proceeds would pay the fees instead of the reserve.
        fills in prop::collection::vec(
            (1_u64..40, 1_u8..=99, any::<bool>(), prop_oneof![3 => Just(0), 1 => 1_u64..20]),
            1..60,
        ),
        unfilled in prop_oneof![Just(0), 0_u64..5_000_000],
    ) {
        let rate = |rate: u16| FeeRate::new(rate.min(highest)).unwrap();
        let fees = Fees { maker: rate(maker), taker: rate(taker) };
        let direction = if up { Direction::Up } else { Direction::Down };
        let cash = unfilled + fills.iter().map(|(cash, ..)| cash).sum::<u64>();
        let set_aside = fees.reserve(direction, tick(limit), Lots::new(cash)).unwrap();
        let mut backing =
            Backing { contracts: Lots::ZERO, cash: Lots::new(cash), fees: set_aside };
        let mut gone = 0;
        for (cash, price, maker, contracts) in fills {
            let reached = if up { price.min(limit) } else { price.max(limit) };
            let part = Backing {
                contracts: Lots::new(contracts),
                cash: Lots::new(cash),
                fees: Money::ZERO,
            };
            backing.cash = backing.cash.minus(part.cash).unwrap();
            let rate = if maker { fees.maker } else { fees.taker };
            let at = (direction, tick(limit));
            let charge = backing.charge(at, part, tick(reached), (rate, fees)).unwrap();
            let due = rate.of_fill(tick(reached), part.remaining().unwrap()).unwrap();
            prop_assert_eq!(charge.fee().unwrap(), due);
            gone += charge.from_reserve.get() + charge.released.get();
            let needed = fees.reserve(direction, tick(limit), backing.cash).unwrap();
            prop_assert!(backing.fees <= needed);
        }
        prop_assert_eq!(set_aside.get() - gone, backing.fees.get());
        let done = backing.cash.is_zero();
        prop_assert!(!done || backing.fees == Money::ZERO, "something stays set aside");
    }
}
