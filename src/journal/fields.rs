//! Encodings of enums as numbers on disk, and ranges of fields. The same check runs before a record
//! is written and after it is read.

use exchange::catalogue::Outcome;
use exchange::command::{
    Command, Condition, Conversion, PlaceOrder, Role, SeenTerms, SelfTradePrevention, Side,
    TimeInForce, TradingMode,
};
use exchange::fees::FeeRate;
use exchange::ids::{MarketNo, MarketSet, Token};
use exchange::rules::Rules;
use exchange::units::{Lots, Money, ORDER_LOTS_MAX, Tick, TimeMs};

/// The name of a field whose value is out of range; as in journal-format.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadField(pub &'static str);

/// Shortest and longest currency code.
const CURRENCY_LETTERS: std::ops::RangeInclusive<usize> = 3..=8;

/// The record kinds of format version 1: number, version of the body, name. Numbers are never
/// reused.
pub const KINDS: [(u16, u16, &str); 29] = [
    (1, 1, "open_venue"),
    (2, 1, "create_user"),
    (3, 1, "add_key"),
    (4, 1, "revoke_key"),
    (5, 1, "deposit"),
    (6, 1, "withdraw"),
    (7, 1, "create_category"),
    (8, 1, "create_event"),
    (9, 1, "create_market"),
    (10, 1, "revise_event"),
    (11, 1, "revise_market"),
    (12, 1, "publish_market"),
    (13, 1, "suspend_market"),
    (14, 1, "reopen_market"),
    (15, 1, "close_market"),
    (16, 1, "resolve_market"),
    (17, 1, "dispute_market"),
    (18, 1, "void_market"),
    (19, 1, "place_order"),
    (20, 1, "amend_order"),
    (21, 1, "cancel_order"),
    (22, 1, "cancel_orders"),
    (23, 1, "advance_clock"),
    (24, 1, "heartbeat"),
    (25, 1, "set_venue_mode"),
    (26, 1, "set_user_mode"),
    (27, 1, "set_exposure_limit"),
    (28, 1, "convert"),
    (29, 1, "take_fees"),
];

/// Bodies that a kind has besides that of its version in [`KINDS`], for commands which that one
/// cannot say.
pub const FURTHER: [(u16, u16, &str); 1] = [(20, 2, "amend_order")];

/// The version of a command's body: the first that can say it, so that a reader of the first
/// version reads all that it could ever read.
pub const fn version_of(command: &Command) -> u8 {
    match command {
        Command::AmendOrder { seen: Some(_), .. } => 2,
        _ => 1,
    }
}

/// Whether a kind has a body of this version; kinds themselves have version 1.
pub fn has_version(kind: u16, version: u8) -> bool {
    let further = |(number, own, _): &(u16, u16, &str)| (*number, *own) == (kind, version.into());
    version == 1 || FURTHER.iter().any(further)
}

/// Whether a kind has this number. Numbers are dense.
pub fn known(kind: u16) -> bool {
    (1..=KINDS.len()).contains(&usize::from(kind))
}

/// The number of a command's kind.
pub const fn kind_of(command: &Command) -> u16 {
    match command {
        Command::OpenVenue(_) => 1,
        Command::CreateUser { .. } => 2,
        Command::AddKey { .. } => 3,
        Command::RevokeKey { .. } => 4,
        Command::Deposit { .. } => 5,
        Command::Withdraw { .. } => 6,
        Command::CreateCategory(_) => 7,
        Command::CreateEvent(_) => 8,
        Command::CreateMarket(_) => 9,
        Command::ReviseEvent { .. } => 10,
        Command::ReviseMarket { .. } => 11,
        Command::PublishMarket { .. } => 12,
        Command::SuspendMarket { .. } => 13,
        Command::ReopenMarket { .. } => 14,
        Command::CloseMarket { .. } => 15,
        Command::ResolveMarket { .. } => 16,
        Command::DisputeMarket { .. } => 17,
        Command::VoidMarket { .. } => 18,
        Command::PlaceOrder(_) => 19,
        Command::AmendOrder { .. } => 20,
        Command::CancelOrder { .. } => 21,
        Command::CancelOrders { .. } => 22,
        Command::AdvanceClock => 23,
        Command::Heartbeat { .. } => 24,
        Command::SetVenueMode { .. } => 25,
        Command::SetUserMode { .. } => 26,
        Command::SetExposureLimit { .. } => 27,
        Command::Convert(_) => 28,
        Command::TakeFees { .. } => 29,
    }
}

/// The name of a kind's number; `unknown` for others.
pub fn kind_name(kind: u16) -> &'static str {
    KINDS.iter().find(|(number, _, _)| *number == kind).map_or("unknown", |(_, _, name)| name)
}

/// Checks what the types of a command leave open: amounts, quantities, the currency's form, the
/// venue's limits.
pub fn check(command: &Command) -> Result<(), BadField> {
    match command {
        Command::OpenVenue(rules) => venue(rules),
        Command::AmendOrder { seen: Some(seen), quantity, .. } => {
            quantity.map_or(Ok(()), |quantity| order_quantity(quantity).map(drop))?;
            seen_quantities(seen)
        }
        Command::Deposit { amount, .. }
        | Command::Withdraw { amount, .. }
        | Command::TakeFees { amount, .. } => positive(*amount),
        Command::PlaceOrder(PlaceOrder { quantity, .. })
        | Command::Convert(Conversion { quantity, .. })
        | Command::AmendOrder { quantity: Some(quantity), .. } => {
            order_quantity(*quantity).map(drop)
        }
        Command::SetExposureLimit { limit: Some(limit), .. } if limit.is_negative() => {
            Err(BadField("limit"))
        }
        _ => Ok(()),
    }
}

fn venue(rules: &Rules) -> Result<(), BadField> {
    let letters = rules.currency.bytes().all(|b| b.is_ascii_uppercase());
    let fits = CURRENCY_LETTERS.contains(&rules.currency.len());
    if !(letters && fits) {
        return Err(BadField("currency"));
    }
    rules.within_ceilings().map_err(BadField)
}

fn seen_quantities(seen: &SeenTerms) -> Result<(), BadField> {
    order_quantity(seen.quantity).map_err(|_| BadField("seen_quantity"))?;
    if seen.filled < seen.quantity { Ok(()) } else { Err(BadField("seen_filled")) }
}

fn positive(amount: Money) -> Result<(), BadField> {
    if amount > Money::ZERO { Ok(()) } else { Err(BadField("amount")) }
}

/// Checks the quantity of an order or a conversion.
#[inline]
pub fn order_quantity(quantity: Lots) -> Result<Lots, BadField> {
    let fits = !quantity.is_zero() && quantity.get() <= ORDER_LOTS_MAX;
    if fits { Ok(quantity) } else { Err(BadField("quantity")) }
}

/// Decodes a time.
#[inline]
pub fn time(ms: i64, field: &'static str) -> Result<TimeMs, BadField> {
    TimeMs::new(ms).ok_or(BadField(field))
}

/// Decodes an optional time.
#[inline]
pub fn time_option(ms: Option<i64>, field: &'static str) -> Result<Option<TimeMs>, BadField> {
    ms.map(|ms| time(ms, field)).transpose()
}

/// Decodes a fee rate.
pub fn fee_rate(rate: u16, field: &'static str) -> Result<FeeRate, BadField> {
    FeeRate::new(rate).ok_or(BadField(field))
}

/// Decodes an optional fee rate.
pub fn fee_rate_option(
    rate: Option<u16>,
    field: &'static str,
) -> Result<Option<FeeRate>, BadField> {
    rate.map(|rate| fee_rate(rate, field)).transpose()
}

/// A price of an order, in ticks.
#[inline]
pub fn price(ticks: u8) -> Result<Tick, BadField> {
    Tick::new(ticks).ok_or(BadField("price"))
}

/// The numbers of what the owner of an amended order saw of it.
pub const fn seen_numbers(seen: SeenTerms) -> (u8, u64, u64) {
    (seen.price.get(), seen.quantity.get(), seen.filled.get())
}

/// What the owner of an amended order saw of it.
pub fn seen((price, quantity, filled): (u8, u64, u64)) -> Result<SeenTerms, BadField> {
    let price = Tick::new(price).ok_or(BadField("seen_price"))?;
    Ok(SeenTerms { price, quantity: Lots::new(quantity), filled: Lots::new(filled) })
}

/// Markets by their numbers, which must ascend: a set has only one encoding.
pub fn market_set(numbers: Vec<u32>) -> Result<MarketSet, BadField> {
    let ascending = numbers.is_sorted();
    let markets = numbers.into_iter().map(MarketNo).collect();
    MarketSet::new(markets).filter(|_| ascending).ok_or(BadField("markets"))
}

/// Decodes a client order id.
pub fn client_order_id(text: &str) -> Result<Token, BadField> {
    Token::new(text).ok_or(BadField("client_order_id"))
}

// Enum numbers start at 1, so that a zero byte is never a valid value.

/// The number of an outcome.
pub const fn outcome_number(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Yes => 1,
        Outcome::No => 2,
    }
}

/// The outcome of a number.
#[inline]
pub const fn outcome(number: u8, field: &'static str) -> Result<Outcome, BadField> {
    match number {
        1 => Ok(Outcome::Yes),
        2 => Ok(Outcome::No),
        _ => Err(BadField(field)),
    }
}

/// The number of a side.
pub const fn side_number(side: Side) -> u8 {
    match side {
        Side::Buy => 1,
        Side::Sell => 2,
    }
}

/// The side of a number.
#[inline]
pub const fn side(number: u8) -> Result<Side, BadField> {
    match number {
        1 => Ok(Side::Buy),
        2 => Ok(Side::Sell),
        _ => Err(BadField("side")),
    }
}

/// The number of a time in force, and its expiry, which only good-till-cancelled may have.
pub fn time_in_force_number(time_in_force: TimeInForce) -> (u8, Option<i64>) {
    match time_in_force {
        TimeInForce::GoodTillCancelled { expires_at } => (1, expires_at.map(TimeMs::get)),
        TimeInForce::ImmediateOrCancel => (2, None),
        TimeInForce::FillOrKill => (3, None),
    }
}

/// The time in force of a number and an expiry.
#[inline]
pub fn time_in_force(number: u8, expires_at: Option<i64>) -> Result<TimeInForce, BadField> {
    match (number, time_option(expires_at, "expires_at")?) {
        (1, expires_at) => Ok(TimeInForce::GoodTillCancelled { expires_at }),
        (2, None) => Ok(TimeInForce::ImmediateOrCancel),
        (3, None) => Ok(TimeInForce::FillOrKill),
        (2 | 3, Some(_)) => Err(BadField("expires_at")),
        _ => Err(BadField("time_in_force")),
    }
}

/// The number of a self-trade mode.
pub const fn self_trade_number(mode: SelfTradePrevention) -> u8 {
    match mode {
        SelfTradePrevention::CancelTaker => 1,
        SelfTradePrevention::CancelMaker => 2,
        SelfTradePrevention::CancelBoth => 3,
    }
}

/// The self-trade mode of a number.
#[inline]
pub const fn self_trade(number: u8) -> Result<SelfTradePrevention, BadField> {
    match number {
        1 => Ok(SelfTradePrevention::CancelTaker),
        2 => Ok(SelfTradePrevention::CancelMaker),
        3 => Ok(SelfTradePrevention::CancelBoth),
        _ => Err(BadField("self_trade")),
    }
}

/// The number of a condition.
pub const fn condition_number(condition: Condition) -> u8 {
    match condition {
        Condition::Unconditional => 1,
        Condition::PostOnly => 2,
        Condition::ReduceOnly => 3,
        Condition::PostOnlyReduceOnly => 4,
    }
}

/// The condition of a number.
#[inline]
pub const fn condition(number: u8) -> Result<Condition, BadField> {
    match number {
        1 => Ok(Condition::Unconditional),
        2 => Ok(Condition::PostOnly),
        3 => Ok(Condition::ReduceOnly),
        4 => Ok(Condition::PostOnlyReduceOnly),
        _ => Err(BadField("condition")),
    }
}

/// The number of a role.
pub const fn role_number(role: Role) -> u8 {
    match role {
        Role::Trader => 1,
        Role::Operator => 2,
        Role::Reader => 3,
    }
}

/// The role of a number.
pub const fn role(number: u8) -> Result<Role, BadField> {
    match number {
        1 => Ok(Role::Trader),
        2 => Ok(Role::Operator),
        3 => Ok(Role::Reader),
        _ => Err(BadField("role")),
    }
}

/// The number of a mode.
pub const fn mode_number(mode: TradingMode) -> u8 {
    match mode {
        TradingMode::Normal => 1,
        TradingMode::CancelOnly => 2,
        TradingMode::ReadOnly => 3,
    }
}

/// The mode of a number.
pub const fn mode(number: u8) -> Result<TradingMode, BadField> {
    match number {
        1 => Ok(TradingMode::Normal),
        2 => Ok(TradingMode::CancelOnly),
        3 => Ok(TradingMode::ReadOnly),
        _ => Err(BadField("mode")),
    }
}

#[cfg(test)]
#[path = "../../tests/unit/journal/fields.rs"]
mod tests;
