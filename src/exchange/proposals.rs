//! Acts that take two persons: what one operator asks for is proposed, and done when another
//! confirms it. A proposal that nobody confirms ends by itself.

use super::command::{Act, Command, TransferEnd};
use super::effect::{Effect, Proposed};
use super::ids::UserNo;
use super::reject::Reject;
use super::rules::{PROPOSAL_SECONDS, PROPOSALS_MAX};
use super::units::{Money, Sequence};
use super::waiting::Proposal;
use super::{Exchange, Stamp, Stop};

impl Exchange {
    /// Sets which withdrawals take two persons, and whether anything does.
    pub(super) fn set_two_persons(&mut self, above: Option<Money>, effects: &mut Vec<Effect>) {
        self.proposals.above = above;
        effects.push(Effect::TwoPersonsSet { above });
    }

    /// Whether an operator's command is only proposed.
    pub(super) fn takes_two(&self, command: &Command) -> bool {
        let Some(above) = self.proposals.above else { return false };
        match command {
            Command::ResolveMarket { .. } | Command::VoidMarket { .. } => true,
            Command::Withdraw { amount, .. } => *amount > above,
            Command::EndTransfer { user, transfer, how: TransferEnd::Confirmed } => {
                self.transfers.out((*user, *transfer)).is_some_and(|amount| amount > above)
            }
            _ => false,
        }
    }

    /// Keeps an act that could be done now, for another operator to confirm.
    pub(super) fn propose(
        &mut self,
        act: &Act,
        command: &Command,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        let operator = act.actor;
        self.known_user(operator)?;
        self.admit_act(command, at)?;
        let proposals = &mut self.proposals.waiting;
        if proposals.values().filter(|other| at.time < other.until).count() >= PROPOSALS_MAX {
            return Err(Stop::Refused(Reject::TooManyProposals));
        }
        proposals.retain(|_, other| at.time < other.until);
        let until = at.time.after_seconds(PROPOSAL_SECONDS);
        let (reference, command) = (act.reference, command.clone());
        let mut proposed = Proposed::of(at.sequence, operator, until);
        match &command {
            Command::ResolveMarket { market, winner } => {
                (proposed.market, proposed.winner) = (Some(*market), Some(*winner));
            }
            Command::VoidMarket { market, price } => {
                (proposed.market, proposed.price) = (Some(*market), Some(*price));
            }
            Command::Withdraw { user, amount } => {
                (proposed.user, proposed.amount) = (Some(*user), Some(*amount));
            }
            Command::EndTransfer { user, transfer, .. } => {
                proposed.user = Some(*user);
                proposed.amount = self.transfers.out((*user, *transfer));
                proposed.transfer = Some(*transfer);
            }
            _ => {}
        }
        self.proposals
            .waiting
            .insert(at.sequence, Proposal { operator, until, reference, command });
        effects.push(Effect::Proposed(Box::new(proposed)));
        Ok(())
    }

    /// Does what another operator proposed.
    pub(super) fn confirm_proposal(
        &mut self,
        (operator, proposal): (UserNo, Sequence),
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.known_user(operator)?;
        let found = self.proposals.live(proposal, at.time)?;
        if found.operator == operator {
            return Err(Stop::Refused(Reject::ProposalOfOwn));
        }
        let (command, reference) = (found.command.clone(), found.reference);
        if reference.is_some_and(|reference| self.references.has(&reference)) {
            return Err(Stop::Refused(Reject::ReferenceUsed));
        }
        self.dispatch_any(&command, at, effects)?;
        if let Some(reference) = &reference {
            self.references.keep(reference);
        }
        self.proposals.waiting.remove(&proposal);
        effects.push(Effect::ProposalEnded { proposal, operator, confirmed: true });
        Ok(())
    }

    /// Ends a proposal that nobody is to confirm.
    pub(super) fn drop_proposal(
        &mut self,
        (operator, proposal): (UserNo, Sequence),
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.known_user(operator)?;
        self.proposals.live(proposal, at.time)?;
        self.proposals.waiting.remove(&proposal);
        effects.push(Effect::ProposalEnded { proposal, operator, confirmed: false });
        Ok(())
    }
}

#[cfg(test)]
#[path = "../../tests/unit/exchange/proposals.rs"]
mod tests;
