//! The exchange's units: ticks, lots, money, ratios. Integers inside, decimals at the edge.
//!
//! Raw arithmetic on these integers lives here, and on their digits in `decimal.rs`, and nowhere
//! else in `exchange`; every other file calls the checked operations below. Units and text forms:
//! semantics 1.

#![allow(
    clippy::arithmetic_side_effects,
    reason = "raw arithmetic lives here alone, within the bounds of each type or checked"
)]

use std::fmt;
use std::num::NonZeroI64;

use fixed::types::U64F64;

use super::decimal::{Decimal, DecimalText, displayed, parse_scaled};

/// Lots in one contract: a lot is 0.000001 contract.
pub const LOTS_PER_CONTRACT: u64 = 1_000_000;
/// Ticks in 1.00: a tick is 0.01.
pub const TICKS_PER_UNIT: u8 = 100;
/// Money units in 1.00 of the currency: one tick times one lot, so price x quantity is exact.
pub const MONEY_PER_UNIT: i64 = 100_000_000;
/// Largest quantity of one order: 100,000,000 contracts.
pub const ORDER_LOTS_MAX: u64 = 100_000_000 * LOTS_PER_CONTRACT;

/// A checked operation left the range of its type. Bounds elsewhere (the money supply, the size
/// of an order) make this impossible; if it happens, the state can no longer be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("arithmetic left its range")]
pub struct Overflow;

/// Why a decimal text is not the unit it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// Not in the form of the unit.
    #[error("is not of the expected form")]
    Form,
    /// More decimals than the unit has; refused, never rounded.
    #[error("has more decimals than the unit allows")]
    Precision,
    /// Outside the range of the unit.
    #[error("is out of range")]
    Range,
}

// ---------------------------------------------------------------------------------------------
// Tick

/// A price of 0.01 to 0.99, in ticks of 0.01. Always inside 1..=99.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(u8);

impl Tick {
    /// The lowest price, 0.01.
    pub const MIN: Tick = Tick(1);
    /// The highest price, 0.99.
    pub const MAX: Tick = Tick(TICKS_PER_UNIT - 1);

    /// A price of `ticks` x 0.01; `None` outside 1..=99.
    pub const fn new(ticks: u8) -> Option<Tick> {
        if ticks >= 1 && ticks < TICKS_PER_UNIT { Some(Tick(ticks)) } else { None }
    }

    /// The number of ticks, 1..=99.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The price of the other outcome: 1.00 minus this one.
    #[must_use]
    pub const fn complement(self) -> Tick {
        Tick(TICKS_PER_UNIT - self.0)
    }

    /// Price x quantity, exactly.
    pub fn times(self, quantity: Lots) -> Result<Money, Overflow> {
        SettlementPrice::from(self).times(quantity)
    }

    /// Reads the interface's form `^0\.(0[1-9]|[1-9][0-9]?)$` (interface 4.5).
    pub fn parse(text: &str) -> Result<Tick, UnitError> {
        let ticks = match text.as_bytes() {
            [b'0', b'.', b'0', d @ b'1'..=b'9'] => d - b'0',
            [b'0', b'.', d @ b'1'..=b'9'] => (d - b'0') * 10,
            [b'0', b'.', d @ b'1'..=b'9', u @ b'0'..=b'9'] => (d - b'0') * 10 + (u - b'0'),
            _ => return Err(UnitError::Form),
        };
        Tick::new(ticks).ok_or(UnitError::Range)
    }
}

impl Decimal for Tick {
    fn decimal(&self) -> DecimalText {
        SettlementPrice::from(*self).decimal()
    }
}

/// The yes-price at which a market is settled, 0.00 to 1.00 in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SettlementPrice(u8);

impl SettlementPrice {
    /// Yes contracts pay nothing.
    pub const ZERO: SettlementPrice = SettlementPrice(0);
    /// The default of a voided market, 0.50 (semantics 5).
    pub const HALF: SettlementPrice = SettlementPrice(TICKS_PER_UNIT / 2);
    /// Yes contracts pay 1.00.
    pub const ONE: SettlementPrice = SettlementPrice(TICKS_PER_UNIT);

    /// A price of `ticks` x 0.01; `None` above 100.
    pub const fn new(ticks: u8) -> Option<SettlementPrice> {
        if ticks <= TICKS_PER_UNIT { Some(SettlementPrice(ticks)) } else { None }
    }

    /// The number of ticks, 0..=100.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// What the other outcome pays: 1.00 minus this.
    #[must_use]
    pub const fn complement(self) -> SettlementPrice {
        SettlementPrice(TICKS_PER_UNIT - self.0)
    }

    /// Price x quantity, exactly.
    pub fn times(self, quantity: Lots) -> Result<Money, Overflow> {
        let lots = i64::try_from(quantity.0).map_err(|_| Overflow)?;
        lots.checked_mul(i64::from(self.0)).map(Money).ok_or(Overflow)
    }

    /// Reads `0`, `1`, or either with one or two decimals, between 0.00 and 1.00.
    pub fn parse(text: &str) -> Result<SettlementPrice, UnitError> {
        let ticks = parse_scaled(text, 2)?;
        u8::try_from(ticks).ok().and_then(SettlementPrice::new).ok_or(UnitError::Range)
    }
}

impl From<Tick> for SettlementPrice {
    fn from(tick: Tick) -> Self {
        SettlementPrice(tick.0)
    }
}

impl Decimal for SettlementPrice {
    fn decimal(&self) -> DecimalText {
        DecimalText::new(u128::from(self.0), 2, 2)
    }
}

// ---------------------------------------------------------------------------------------------
// Lots

/// A quantity of contracts, in lots of 0.000001 contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lots(u64);

impl Lots {
    /// Nothing.
    pub const ZERO: Lots = Lots(0);

    /// A quantity of `lots` x 0.000001 contract.
    pub const fn new(lots: u64) -> Lots {
        Lots(lots)
    }

    /// A quantity of whole contracts; saturates far beyond what any account can hold.
    pub const fn contracts(contracts: u64) -> Lots {
        Lots(contracts.saturating_mul(LOTS_PER_CONTRACT))
    }

    /// The number of lots.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whether the quantity is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Sum.
    pub fn plus(self, other: Lots) -> Result<Lots, Overflow> {
        self.0.checked_add(other.0).map(Lots).ok_or(Overflow)
    }

    /// Difference; an error below zero.
    pub fn minus(self, other: Lots) -> Result<Lots, Overflow> {
        self.0.checked_sub(other.0).map(Lots).ok_or(Overflow)
    }

    /// Difference, zero where it would be negative.
    #[must_use]
    pub const fn saturating_minus(self, other: Lots) -> Lots {
        Lots(self.0.saturating_sub(other.0))
    }

    /// Reads an order quantity: digits, optionally `.` and 1 to 6 digits; more than zero, at most
    /// 100,000,000 contracts (semantics 1).
    pub fn parse(text: &str) -> Result<Lots, UnitError> {
        let lots = u64::try_from(parse_scaled(text, 6)?).map_err(|_| UnitError::Range)?;
        if lots == 0 || lots > ORDER_LOTS_MAX { Err(UnitError::Range) } else { Ok(Lots(lots)) }
    }
}

impl Decimal for Lots {
    fn decimal(&self) -> DecimalText {
        DecimalText::new(u128::from(self.0), 6, 0)
    }
}

// ---------------------------------------------------------------------------------------------
// Money

/// An amount of the currency, in units of 0.00000001. Signed; accounts never go below zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Money(i64);

impl Money {
    /// Nothing.
    pub const ZERO: Money = Money(0);

    /// An amount of `units` x 0.00000001.
    pub const fn new(units: i64) -> Money {
        Money(units)
    }

    /// The number of money units.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Whether the amount is below zero.
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }

    /// Sum.
    pub fn plus(self, other: Money) -> Result<Money, Overflow> {
        self.0.checked_add(other.0).map(Money).ok_or(Overflow)
    }

    /// Difference; may be negative.
    pub fn minus(self, other: Money) -> Result<Money, Overflow> {
        self.0.checked_sub(other.0).map(Money).ok_or(Overflow)
    }

    /// Difference; an error if `other` or the result is negative.
    pub fn take(self, other: Money) -> Result<Money, Overflow> {
        let left = self.minus(other)?;
        if left.is_negative() || other.is_negative() { Err(Overflow) } else { Ok(left) }
    }

    /// The share of this cost for `part` of `whole` contracts, rounded down; the last part takes
    /// all that is left, so that no cost remains without contracts (semantics 5).
    pub fn share(self, part: Lots, whole: Lots) -> Result<Money, Overflow> {
        if part == whole {
            return Ok(self);
        }
        if part > whole || self.is_negative() {
            return Err(Overflow);
        }
        let product = i128::from(self.0) * i128::from(part.0);
        let share = product.checked_div_euclid(i128::from(whole.0)).ok_or(Overflow)?;
        i64::try_from(share).map(Money).map_err(|_| Overflow)
    }

    /// Reads an amount: digits, optionally `.` and 1 to 8 digits; more than zero.
    pub fn parse(text: &str) -> Result<Money, UnitError> {
        let amount = Money::parse_limit(text)?;
        if amount == Money::ZERO { Err(UnitError::Range) } else { Ok(amount) }
    }

    /// Reads a limit on an amount: as [`Money::parse`], but zero is allowed.
    pub fn parse_limit(text: &str) -> Result<Money, UnitError> {
        let units = i64::try_from(parse_scaled(text, 8)?).map_err(|_| UnitError::Range)?;
        Ok(Money(units))
    }
}

impl Decimal for Money {
    fn decimal(&self) -> DecimalText {
        DecimalText::new(u128::from(self.0.unsigned_abs()), 8, 2).negative(self.0 < 0)
    }
}

/// A running sum of money that may exceed one account's range: profit and loss over time, sums
/// over accounts. Same unit as [`Money`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MoneySum(i128);

impl MoneySum {
    /// Nothing.
    pub const ZERO: MoneySum = MoneySum(0);

    /// A sum of `units` x 0.00000001.
    pub const fn new(units: i128) -> MoneySum {
        MoneySum(units)
    }

    /// The number of money units.
    pub const fn get(self) -> i128 {
        self.0
    }

    /// Sum with one amount.
    pub fn plus(self, amount: Money) -> Result<MoneySum, Overflow> {
        self.0.checked_add(i128::from(amount.0)).map(MoneySum).ok_or(Overflow)
    }

    /// Difference with one amount.
    pub fn minus(self, amount: Money) -> Result<MoneySum, Overflow> {
        self.0.checked_sub(i128::from(amount.0)).map(MoneySum).ok_or(Overflow)
    }

    /// Sum with another sum.
    pub fn and(self, other: MoneySum) -> Result<MoneySum, Overflow> {
        self.0.checked_add(other.0).map(MoneySum).ok_or(Overflow)
    }

    /// Difference with another sum.
    pub fn less(self, other: MoneySum) -> Result<MoneySum, Overflow> {
        self.0.checked_sub(other.0).map(MoneySum).ok_or(Overflow)
    }
}

impl Decimal for MoneySum {
    fn decimal(&self) -> DecimalText {
        DecimalText::new(self.0.unsigned_abs(), 8, 2).negative(self.0 < 0)
    }
}

/// A running sum of quantities, such as traded volume: contracts traded back and forth may take it
/// past the range of [`Lots`]. Same unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LotsSum(u128);

impl LotsSum {
    /// Nothing.
    pub const ZERO: LotsSum = LotsSum(0);

    /// A sum of `lots` x 0.000001 contract.
    pub const fn new(lots: u128) -> LotsSum {
        LotsSum(lots)
    }

    /// The number of lots.
    pub const fn get(self) -> u128 {
        self.0
    }

    /// Sum with one quantity.
    pub fn plus(self, quantity: Lots) -> Result<LotsSum, Overflow> {
        self.0.checked_add(u128::from(quantity.0)).map(LotsSum).ok_or(Overflow)
    }

    /// Difference with another sum; an error below zero.
    pub fn less(self, other: LotsSum) -> Result<LotsSum, Overflow> {
        self.0.checked_sub(other.0).map(LotsSum).ok_or(Overflow)
    }
}

impl Decimal for LotsSum {
    fn decimal(&self) -> DecimalText {
        DecimalText::new(self.0, 6, 0)
    }
}

/// Notional over quantity: an average fill price, printed with two to six decimals, half to even.
/// Zero quantity prints `0.00` (semantics 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AveragePrice {
    /// Sum of price x quantity.
    pub notional: Money,
    /// Sum of quantities.
    pub quantity: Lots,
}

impl Decimal for AveragePrice {
    fn decimal(&self) -> DecimalText {
        // One money unit over one lot is one tick, so the ratio in millionths is x 10_000.
        let numerator = u128::from(self.notional.0.unsigned_abs()) * 10_000;
        let millionths = div_half_even(numerator, u128::from(self.quantity.0)).unwrap_or(0);
        DecimalText::new(millionths, 6, 2)
    }
}

// ---------------------------------------------------------------------------------------------
// Ratio

/// A probability or decimal odds, in binary fixed point: the same on every machine and never NaN.
/// Never money: binary digits cannot hold 0.01 exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ratio(U64F64);

impl Ratio {
    /// 0, the probability of an outcome that lost.
    pub const ZERO: Ratio = Ratio(U64F64::ZERO);
    /// 1, the probability of an outcome that won.
    pub const ONE: Ratio = Ratio(U64F64::ONE);

    /// Its binary digits, little-endian.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_bits().to_le_bytes()
    }

    /// The ratio of these binary digits.
    pub const fn from_bytes(bytes: [u8; 16]) -> Ratio {
        Ratio(U64F64::from_bits(u128::from_le_bytes(bytes)))
    }

    /// The probability that a settlement price states.
    pub fn of_price(price: SettlementPrice) -> Ratio {
        Ratio(U64F64::from_num(price.0) / U64F64::from_num(TICKS_PER_UNIT))
    }

    /// The midpoint of two prices, as a probability.
    pub fn midpoint(bid: Tick, ask: Tick) -> Ratio {
        let ticks = U64F64::from_num(bid.0) + U64F64::from_num(ask.0);
        Ratio(ticks / U64F64::from_num(2 * u16::from(TICKS_PER_UNIT)))
    }

    /// 1 minus this; zero where it would be negative.
    #[must_use]
    pub fn complement(self) -> Ratio {
        Ratio(U64F64::ONE.saturating_sub(self.0))
    }

    /// 1 over this, the decimal odds of a probability; zero for zero (semantics 3: the losing
    /// outcome has odds 0).
    #[must_use]
    pub fn odds(self) -> Ratio {
        Ratio(U64F64::ONE.checked_div(self.0).unwrap_or(U64F64::ZERO))
    }

    /// The ratio in ten-thousandths, half to even. Ratios of ticks have at most 200 different
    /// denominators, and none gives a decimal tie that binary digits would round wrongly (a test
    /// covers all of them).
    pub fn ten_thousandths(self) -> u64 {
        let whole = self.0.int().to_num::<u64>().saturating_mul(10_000);
        let scaled = self.0.frac().saturating_mul(U64F64::from_num(10_000));
        whole.saturating_add(scaled.round_ties_even().to_num::<u64>())
    }
}

impl Decimal for Ratio {
    fn decimal(&self) -> DecimalText {
        DecimalText::new(u128::from(self.ten_thousandths()), 4, 0)
    }
}

/// Decimal odds of a whole position, pay-out over stake, in ten-thousandths half to even. From
/// exact integers: both can be any amounts, so binary digits could round a tie wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockedOdds(u128);

impl LockedOdds {
    /// `payout` over `stake`; zero where nothing was staked.
    pub fn of(payout: Money, stake: Money) -> LockedOdds {
        let numerator = u128::from(payout.0.unsigned_abs()) * 10_000;
        let stake = u128::from(stake.0.unsigned_abs());
        LockedOdds(div_half_even(numerator, stake).unwrap_or(0))
    }
}

impl Decimal for LockedOdds {
    fn decimal(&self) -> DecimalText {
        DecimalText::new(self.0, 4, 0)
    }
}

displayed!(Tick, SettlementPrice, Lots, Money, MoneySum, LotsSum, AveragePrice, Ratio, LockedOdds);

// ---------------------------------------------------------------------------------------------
// Time and sequence

/// A moment, in milliseconds since 1970-01-01T00:00:00Z. Inside 0..=[`TimeMs::MAX`].
///
/// Stored plus one, so that zero is free and `Option<TimeMs>` is no larger than `TimeMs`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeMs(NonZeroI64);

impl TimeMs {
    /// 9999-12-31T23:59:59.999Z: the last moment with a four-digit year, and inside the 48 bits
    /// that an id has for its time.
    pub const MAX: TimeMs = TimeMs::within(253_402_300_799_999);

    /// A moment; `None` before 1970 or after 9999.
    pub const fn new(ms: i64) -> Option<TimeMs> {
        if ms >= 0 && ms <= TimeMs::MAX.get() { Some(TimeMs::within(ms)) } else { None }
    }

    /// A moment of `ms` in range.
    const fn within(ms: i64) -> TimeMs {
        match NonZeroI64::new(ms.wrapping_add(1)) {
            Some(kept) => TimeMs(kept),
            None => TimeMs(NonZeroI64::MIN),
        }
    }

    /// Milliseconds since 1970.
    pub const fn get(self) -> i64 {
        self.0.get().wrapping_sub(1)
    }

    /// This moment and `seconds` more; stops at [`TimeMs::MAX`].
    #[must_use]
    pub fn after_seconds(self, seconds: u32) -> TimeMs {
        let ms = self.get().saturating_add(i64::from(seconds) * 1000);
        TimeMs::within(ms.min(TimeMs::MAX.get()))
    }
}

impl Default for TimeMs {
    fn default() -> TimeMs {
        TimeMs::within(0)
    }
}

impl fmt::Debug for TimeMs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TimeMs").field(&self.get()).finish()
    }
}

/// A position in the journal: dense, from 1. Zero is the position before the first record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sequence(u64);

impl Sequence {
    /// The position before the first record.
    pub const ZERO: Sequence = Sequence(0);

    /// The position `sequence`.
    pub const fn new(sequence: u64) -> Sequence {
        Sequence(sequence)
    }

    /// The number itself.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The position after this one.
    #[must_use]
    pub const fn next(self) -> Sequence {
        Sequence(self.0.saturating_add(1))
    }

    /// The position `count` further on.
    #[must_use]
    pub const fn advanced(self, count: u64) -> Sequence {
        Sequence(self.0.saturating_add(count))
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// ---------------------------------------------------------------------------------------------
// Decimals

/// Quotient rounded half to even; `None` by zero.
fn div_half_even(numerator: u128, denominator: u128) -> Option<u128> {
    let quotient = numerator.checked_div(denominator)?;
    let twice = (numerator % denominator).checked_mul(2)?;
    let up = twice > denominator || (twice == denominator && quotient % 2 == 1);
    quotient.checked_add(u128::from(up))
}

#[cfg(test)]
#[path = "../../tests/unit/exchange/units.rs"]
mod tests;
