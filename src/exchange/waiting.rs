//! What waits for somebody's answer: transfers that users asked for, and acts that operators
//! proposed.

use std::collections::BTreeMap;

use super::ids::{Token, UserNo};
use super::reject::Reject;
use super::units::{Money, Overflow, Sequence, TimeMs};

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

    /// How much is to go out by a transfer that waits; `None` if it is no withdrawal.
    pub fn out(&self, whose: (UserNo, Sequence)) -> Option<Money> {
        self.0.get(&whose).filter(|transfer| transfer.out).map(|transfer| transfer.amount)
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

/// An act that waits for another operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal<C> {
    /// Who proposed it.
    pub operator: UserNo,
    /// First moment at which it is over.
    pub until: TimeMs,
    /// What a transfer is called elsewhere.
    pub reference: Option<Token>,
    /// What would be done.
    pub command: C,
}

/// Which acts take two persons, and those that wait.
#[derive(Debug, Clone)]
pub struct Proposals<C> {
    /// Withdrawals of more than this take two, and resolving and voiding do; `None`: nothing does.
    pub above: Option<Money>,
    /// By the record that proposed it. Those that are over leave when the next one comes.
    pub waiting: BTreeMap<Sequence, Proposal<C>>,
}

impl<C> Default for Proposals<C> {
    fn default() -> Proposals<C> {
        Proposals { above: None, waiting: BTreeMap::new() }
    }
}

impl<C> Proposals<C> {
    /// Whether it is as in a new venue.
    pub fn is_empty(&self) -> bool {
        self.above.is_none() && self.waiting.is_empty()
    }

    /// One that waits and is not over.
    ///
    /// # Errors
    /// There is none.
    pub fn live(&self, proposal: Sequence, now: TimeMs) -> Result<&Proposal<C>, Reject> {
        let found = self.waiting.get(&proposal).filter(|found| now < found.until);
        found.ok_or(Reject::ProposalNotFound)
    }
}
