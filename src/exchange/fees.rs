//! Trading fees: a market's two rates, the fee of a fill, and the reserve for it.
//!
//! The fee of one party's fill is rate x price x (1 - price) x quantity, rounded up to the money
//! unit. It is taken first from the proceeds of contracts handed over, then from a reserve that was
//! set aside when the order was accepted. Each fill releases what the reserve no longer needs.
//!
//! # Why the reserve is enough
//! Let `a` be the higher rate times the greatest price x (1 - price) that the order may reach, in
//! money units a lot. [`Fees::reserve`] of `c` lots is `a c` rounded up, and `min(c, S)` units
//! more, with `S` = [`ROUND_UPS_COVERED`]. A fill of `f` lots costs less than `a f + 1`, so one
//! fill uses up less than one unit of the margin above `a c`, and an order of `c` lots has at most
//! `c` fills. By induction the margin before the `k`-th fill is at least `min(c, S - k + 1)`,
//! which covers it for the first `S` fills: for all of them if the order began with no more than
//! `S` lots. Past those, a fill costs what the formula says or what is left, if that is less.

use super::command::Direction;
use super::decimal::{Decimal, DecimalText, displayed, parse_scaled};
use super::invariant::Broken;
use super::orders::Backing;
use super::units::{Lots, Money, Overflow, TICKS_PER_UNIT, Tick, UnitError};

/// The rate 1 in its unit of 0.0001.
pub const FEE_RATE_ONE: u16 = 10_000;
/// Fills of one order whose rounding up the reserve covers: 0.0001 of the currency at most.
pub const ROUND_UPS_COVERED: u64 = 10_000;
/// The product of rate, price, (1 - price) and lots, as integers, counts this many to a money unit:
/// ten-thousandths of the rate times hundredths of the second price.
const PARTS_PER_UNIT: u128 = 1_000_000;

/// A share of price x (1 - price) x quantity, in units of 0.0001. Inside 0..=[`FEE_RATE_ONE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FeeRate(u16);

impl FeeRate {
    /// No fee.
    pub const ZERO: FeeRate = FeeRate(0);

    /// A rate of `rate` x 0.0001; `None` above 1.
    pub const fn new(rate: u16) -> Option<FeeRate> {
        if rate <= FEE_RATE_ONE { Some(FeeRate(rate)) } else { None }
    }

    /// The number of ten-thousandths, 0..=10,000.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// The fee of a fill at `price`, rounded up. The same for the price of either outcome.
    pub fn of_fill(self, price: Tick, quantity: Lots) -> Result<Money, Overflow> {
        if self.0 == 0 {
            return Ok(Money::ZERO);
        }
        self.times(spread(price), quantity)
    }

    fn times(self, spread: u32, quantity: Lots) -> Result<Money, Overflow> {
        let product = u128::from(self.0).checked_mul(u128::from(spread)).ok_or(Overflow)?;
        let parts = product.checked_mul(u128::from(quantity.get())).ok_or(Overflow)?;
        let units = i64::try_from(parts.div_ceil(PARTS_PER_UNIT)).map_err(|_| Overflow)?;
        Ok(Money::new(units))
    }

    /// Reads digits, optionally `.` and 1 to 4 digits, between 0 and 1.
    pub fn parse(text: &str) -> Result<FeeRate, UnitError> {
        let rate = u16::try_from(parse_scaled(text, 4)?).map_err(|_| UnitError::Range)?;
        FeeRate::new(rate).ok_or(UnitError::Range)
    }
}

impl Decimal for FeeRate {
    fn decimal(&self) -> DecimalText {
        DecimalText::new(u128::from(self.0), 4, 4)
    }
}

displayed!(FeeRate);

/// Price x (1 - price), in square ticks: 99..=2500.
const fn spread(price: Tick) -> u32 {
    let ticks = price.get();
    // Both factors are at most 99.
    (ticks as u32).saturating_mul(TICKS_PER_UNIT.saturating_sub(ticks) as u32)
}

/// The rates of one market.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Fees {
    /// Rate of the resting order.
    pub maker: FeeRate,
    /// Rate of the incoming order.
    pub taker: FeeRate,
}

impl Fees {
    /// No fees: the default of a market.
    pub const NONE: Fees = Fees { maker: FeeRate::ZERO, taker: FeeRate::ZERO };

    /// The reserve for the fees of `cash` lots of an order with this limit, a price of yes.
    pub fn reserve(self, direction: Direction, limit: Tick, cash: Lots) -> Result<Money, Overflow> {
        let rate = self.maker.max(self.taker);
        if rate == FeeRate::ZERO || cash.is_zero() {
            return Ok(Money::ZERO);
        }
        // The owner's side may fill at any price from the limit down, and price x (1 - price) is
        // greatest at one half.
        let half = TICKS_PER_UNIT / 2;
        let own_price = direction.own_price(limit);
        let reached = Tick::new(own_price.get().min(half)).unwrap_or(own_price);
        let margin = i64::try_from(cash.get().min(ROUND_UPS_COVERED)).map_err(|_| Overflow)?;
        rate.times(spread(reached), cash)?.plus(Money::new(margin))
    }
}

/// The fee of one party of a fill, and what is released of its reserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Charge {
    /// Taken from the proceeds of contracts handed over.
    pub from_proceeds: Money,
    /// Taken from the reserve.
    pub from_reserve: Money,
    /// Part of the reserve that is no longer needed.
    pub released: Money,
}

impl Charge {
    /// The fee.
    pub fn fee(self) -> Result<Money, Overflow> {
        self.from_proceeds.plus(self.from_reserve)
    }
}

impl Backing {
    /// Charges a fill at yes-price `price` that used `part` of an order's backing; `self` is the
    /// backing left. `rate` is the maker's or taker's of the market's `fees`; `limit` is the
    /// order's, a price of yes.
    pub fn charge(
        &mut self,
        (direction, limit): (Direction, Tick),
        part: Backing,
        price: Tick,
        (rate, fees): (FeeRate, Fees),
    ) -> Result<Charge, Broken> {
        if fees == Fees::NONE {
            return Ok(Charge::default());
        }
        let due = rate.of_fill(price, part.remaining()?)?;
        let proceeds = direction.own_price(price).complement().times(part.contracts)?;
        let from_proceeds = due.min(proceeds);
        let from_reserve = due.take(from_proceeds)?.min(self.fees);
        let left = self.fees.take(from_reserve)?;
        let needed = fees.reserve(direction, limit, self.cash)?;
        self.fees = left.min(needed);
        let released = left.take(self.fees)?;
        Ok(Charge { from_proceeds, from_reserve, released })
    }
}

#[cfg(test)]
mod tests {
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
}
