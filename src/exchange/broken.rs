//! The invariants that can be broken, by name.

use super::units::Overflow;

/// A broken invariant: a defect of this program, or a journal that it did not write. The state
/// cannot be trusted; the holder must stop using it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A sum left its range.
    #[error("arithmetic left its range")]
    Arithmetic,
    /// A number or slot of something that does not exist.
    #[error("a number leads nowhere")]
    Dangling,
    /// More things than their number type can count.
    #[error("more things than can be numbered")]
    Capacity,
    /// Something would have become negative.
    #[error("a balance would have become negative")]
    Negative,
    /// A venue opened under rules that this program does not know, so it cannot apply the records
    /// that follow.
    #[error("the venue was opened under rules that this version does not know")]
    UnknownRules,
    /// A record that is not the next one, or earlier than the last.
    #[error("record out of order")]
    OutOfOrder,
    /// Contracts locked though no order rests.
    #[error("contracts are locked without an order")]
    LockedWithoutOrder,
    /// A refusal after the first effect.
    #[error("a command was refused after it had begun")]
    RefusedLate,
    /// The money in the venue does not equal deposits less withdrawals.
    #[error("money was made or lost")]
    MoneyNotConserved,
    /// Yes and no contracts of a market differ in number, or a user holds an unmerged pair.
    #[error("contracts were made or lost")]
    ContractsNotConserved,
    /// Reserved cash or locked contracts are not what the resting orders need.
    #[error("what is set aside is not what the orders need")]
    BackingMismatch,
    /// Best bid at or above best ask.
    #[error("a book is crossed")]
    CrossedBook,
    /// Sums at a price level differ from its orders.
    #[error("a price level differs from its orders")]
    LevelMismatch,
    /// An order's parts do not add up.
    #[error("an order's parts do not add up")]
    QuantityNotConserved,
    /// The markets of an event pay more than they can together.
    #[error("the markets of an event pay more than they can together")]
    EventOverpaid,
    /// Orders rest in a market whose status allows none.
    #[error("orders stand in a market that keeps none")]
    OrdersInClosedMarket,
}

impl From<Overflow> for Broken {
    fn from(Overflow: Overflow) -> Broken {
        Broken::Arithmetic
    }
}
