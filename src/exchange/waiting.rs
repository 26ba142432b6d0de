//! What waits for somebody's answer: transfers that users asked for, acts that operators proposed,
//! and disputes of announced outcomes.

use std::collections::BTreeMap;

use super::ids::{MarketNo, Token, UserNo};
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

/// The disputes of markets that are not final: each holder's one.
#[derive(Debug, Clone, Default)]
pub struct Disputes {
    /// The bond, until it is answered; at most one of a market is not.
    filed: BTreeMap<(MarketNo, UserNo), Option<Money>>,
    /// Each user's bonds that are not answered; none of zero.
    held: BTreeMap<UserNo, Money>,
}

impl Disputes {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.filed.is_empty()
    }

    /// All, with their bonds until they are answered.
    pub fn all(&self) -> impl ExactSizeIterator<Item = ((MarketNo, UserNo), Option<Money>)> {
        self.filed.iter().map(|(whose, bond)| (*whose, *bond))
    }

    /// Whether a user has disputed a market.
    pub fn has(&self, whose: (MarketNo, UserNo)) -> bool {
        self.filed.contains_key(&whose)
    }

    /// The dispute of a market that waits for its answer.
    pub fn open(&self, market: MarketNo) -> Option<(UserNo, Money)> {
        let mut all = self.of(market);
        all.find_map(|((_, user), bond)| bond.map(|bond| (*user, bond)))
    }

    /// What a user's reserved money has for bonds.
    pub fn held(&self, user: UserNo) -> Money {
        self.held.get(&user).copied().unwrap_or_default()
    }

    /// Adds one; answered already if it has no bond.
    ///
    /// # Errors
    /// The user's bonds leave their range.
    pub(super) fn add(
        &mut self,
        whose: (MarketNo, UserNo),
        bond: Option<Money>,
    ) -> Result<(), Overflow> {
        if let Some(bond) = bond.filter(|bond| *bond > Money::ZERO) {
            let held = self.held.entry(whose.1).or_default();
            *held = held.plus(bond)?;
        }
        self.filed.insert(whose, bond);
        Ok(())
    }

    /// Notes that a dispute is answered.
    ///
    /// # Errors
    /// The user's bonds leave their range.
    pub(super) fn answer(&mut self, whose: (MarketNo, UserNo)) -> Result<(), Overflow> {
        let bond = self.filed.insert(whose, None).flatten().unwrap_or_default();
        if let Some(held) = self.held.get_mut(&whose.1) {
            *held = held.take(bond)?;
            if *held == Money::ZERO {
                self.held.remove(&whose.1);
            }
        }
        Ok(())
    }

    /// Forgets the disputes of a market that is final.
    pub(super) fn forget(&mut self, market: MarketNo) {
        let users: Vec<_> = self.of(market).map(|(whose, _)| *whose).collect();
        for whose in users {
            self.filed.remove(&whose);
        }
    }

    fn of(&self, market: MarketNo) -> impl Iterator<Item = (&(MarketNo, UserNo), &Option<Money>)> {
        let first = (market, UserNo(0));
        self.filed.range(first..).take_while(move |((of, _), _)| *of == market)
    }
}
