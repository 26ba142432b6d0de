//! Kinds of records by number, and ranges of fields. The same check runs before a record is written
//! and after it is read.

use exchange::command::{Command, Conversion, PlaceOrder, SeenTerms};
use exchange::rules::Rules;
use exchange::units::{Lots, Money, ORDER_LOTS_MAX};

/// The name of a field whose value is out of range; as in journal-format.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadField(pub &'static str);

/// Shortest and longest currency code.
const CURRENCY_LETTERS: std::ops::RangeInclusive<usize> = 3..=8;

/// Whether a kind has a body of this version; kinds themselves have version 1.
pub fn has_version(kind: u16, version: u8) -> bool {
    version == 1 || Command::LATER.contains(&(kind, version))
}

/// Whether a kind has this number. Numbers are dense.
pub fn known(kind: u16) -> bool {
    (1..=Command::KINDS.len()).contains(&usize::from(kind))
}

/// The name of a kind's number; `unknown` for others.
pub fn kind_name(kind: u16) -> &'static str {
    Command::KINDS.iter().find(|(number, _)| *number == kind).map_or("unknown", |(_, name)| name)
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
        Command::ReplaceOrder { terms, .. } => order_quantity(terms.quantity).map(drop),
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
fn order_quantity(quantity: Lots) -> Result<Lots, BadField> {
    let fits = !quantity.is_zero() && quantity.get() <= ORDER_LOTS_MAX;
    if fits { Ok(quantity) } else { Err(BadField("quantity")) }
}

#[cfg(test)]
#[path = "../../tests/unit/journal/fields.rs"]
mod tests;
