//! What waits for somebody's answer: transfers that users asked for.

use std::collections::BTreeMap;

use super::ids::UserNo;
use super::units::{Money, Overflow, Sequence};

/// A transfer that waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Whether money goes out.
    pub out: bool,
    /// More than zero.
    pub amount: Money,
}

/// All transfers that wait, by user and the record that asked.
#[derive(Debug, Clone, Default)]
pub struct Transfers(pub(super) BTreeMap<(UserNo, Sequence), Transfer>);

impl Transfers {
    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A user's.
    pub fn of(&self, user: UserNo) -> impl Iterator<Item = &Transfer> {
        let first = (user, Sequence::ZERO);
        self.0.range(first..).take_while(move |((of, _), _)| *of == user).map(|(_, it)| it)
    }

    /// What a user's reserved money has for withdrawals.
    ///
    /// # Errors
    /// The sum leaves its range.
    pub fn held(&self, user: UserNo) -> Result<Money, Overflow> {
        let mut out = self.of(user).filter(|transfer| transfer.out);
        out.try_fold(Money::ZERO, |sum, transfer| sum.plus(transfer.amount))
    }
}
