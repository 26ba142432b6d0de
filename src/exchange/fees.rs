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
use super::rules::ROUND_UPS_COVERED;
use super::table::part;
use super::units::{Lots, Money, Overflow, TICKS_PER_UNIT, Tick, UnitError};

/// The rate 1 in its unit of 0.0001.
pub const FEE_RATE_ONE: u16 = 10_000;
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

part! {
    /// The rates of one market.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct Fees {
        /// Rate of the resting order.
        pub maker: FeeRate = "maker_fee",
        /// Rate of the incoming order.
        pub taker: FeeRate = "taker_fee",
    }
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
#[path = "../../tests/unit/exchange/fees.rs"]
mod tests;
