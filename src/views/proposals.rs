//! What operators have proposed and nobody has confirmed or rejected.

use std::collections::BTreeMap;

use super::fault::{Fault, View};
use super::saved::saved;
use exchange::effect::{Applied, Effect, Proposed};
use exchange::units::{Money, Sequence, TimeMs};

/// A proposal.
#[derive(Debug, Clone)]
pub struct ProposalRow {
    /// What is proposed.
    pub proposed: Proposed,
    /// When it was proposed.
    pub proposed_at: TimeMs,
}

saved!(ProposalRow { proposed, proposed_at });

/// The rule, and the proposals that wait.
#[derive(Debug, Default)]
pub struct Proposals {
    above: Option<Money>,
    waiting: BTreeMap<Sequence, ProposalRow>,
}

saved!(Proposals { above, waiting });

impl Proposals {
    /// Withdrawals of more than this take two persons, and resolving and voiding do; `None`:
    /// nothing does.
    pub const fn above(&self) -> Option<Money> {
        self.above
    }

    /// Those that are not over at `now`, the newest first.
    pub fn live(&self, now: TimeMs) -> impl Iterator<Item = &ProposalRow> {
        self.waiting.values().rev().filter(move |row| now < row.proposed.until)
    }

    /// One that waits, even if it is over.
    pub fn one(&self, proposal: Sequence) -> Option<&ProposalRow> {
        self.waiting.get(&proposal)
    }
}

impl View for Proposals {
    fn see(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match effect {
            Effect::TwoPersonsSet { above } => self.above = *above,
            Effect::Proposed(proposed) => {
                self.waiting.retain(|_, row| at.time < row.proposed.until);
                let row = ProposalRow { proposed: (**proposed).clone(), proposed_at: at.time };
                self.waiting.insert(proposed.proposal, row);
            }
            Effect::ProposalEnded { proposal, .. } => {
                self.waiting.remove(proposal);
            }
            _ => {}
        }
        Ok(())
    }
}
