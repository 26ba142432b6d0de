//! The twin's rule of two persons.

use exchange::command::{Act, Command, TransferEnd};
use exchange::effect::{Effect, Proposed};
use exchange::ids::{MarketNo, UserNo};
use exchange::reject::Reject;
use exchange::units::{Money, Sequence, TimeMs};

use super::Naive;

/// What an operator proposed.
#[derive(Debug, Clone)]
pub struct Proposal {
    pub number: u64,
    pub operator: UserNo,
    pub until: TimeMs,
    pub reference: Option<String>,
    pub command: Command,
}

impl Naive {
    /// What a withdrawal that waits is about.
    fn asked_out(&self, user: UserNo, number: u64) -> Option<Money> {
        let its = |waiting: &&super::transfers::Waiting| {
            waiting.user == user && waiting.number == number && waiting.out
        };
        self.transfers.iter().find(its).map(|waiting| waiting.amount)
    }

    pub(super) fn takes_two(&self, command: &Command) -> bool {
        let Some(above) = self.two_persons else { return false };
        match command {
            Command::ResolveMarket { .. } | Command::VoidMarket { .. } => true,
            Command::Withdraw { amount, .. } => *amount > above,
            Command::EndTransfer { user, transfer, how: TransferEnd::Confirmed } => {
                self.asked_out(*user, transfer.get()).is_some_and(|amount| amount > above)
            }
            _ => false,
        }
    }

    /// Whether it would be done now: it is, on a copy.
    pub(super) fn propose(&mut self, act: &Act, command: &Command) -> Result<(), Reject> {
        let operator = act.actor;
        self.known_user(operator)?;
        let mut copy = self.clone();
        copy.two_persons = None;
        copy.decide(command)?;
        let until = TimeMs::new(self.now.get() + 86_400_000).expect("not that late");
        let proposal = Sequence::new(self.sequence);
        let mut said = Proposed {
            proposal,
            operator,
            until,
            market: None,
            winner: None,
            price: None,
            user: None,
            amount: None,
            transfer: None,
        };
        let market = |market: &MarketNo| Some(*market);
        match command {
            Command::ResolveMarket { market: of, winner } => {
                (said.market, said.winner) = (market(of), Some(*winner));
            }
            Command::VoidMarket { market: of, price } => {
                (said.market, said.price) = (market(of), Some(*price));
            }
            Command::Withdraw { user, amount } => {
                (said.user, said.amount) = (Some(*user), Some(*amount));
            }
            Command::EndTransfer { user, transfer, .. } => {
                said.user = Some(*user);
                said.amount = self.asked_out(*user, transfer.get());
                said.transfer = Some(*transfer);
            }
            other => unreachable!("{other:?} takes one"),
        }
        let reference = act.reference.map(|reference| reference.to_string());
        let (number, command) = (self.sequence, command.clone());
        self.proposals.push(Proposal { number, operator, until, reference, command });
        self.emit(Effect::Proposed(Box::new(said)));
        Ok(())
    }

    pub(super) fn confirm(&mut self, operator: UserNo, proposal: Sequence) -> Result<(), Reject> {
        let place = self.waits(operator, proposal)?;
        let Proposal { operator: by, reference, command, .. } = self.proposals[place].clone();
        if by == operator {
            return Err(Reject::ProposalOfOwn);
        }
        self.is_new(reference.as_ref())?;
        self.decide(&command)?;
        self.references.extend(reference);
        self.proposals.remove(place);
        self.emit(Effect::ProposalEnded { proposal, operator, confirmed: true });
        Ok(())
    }

    pub(super) fn drop_proposal(
        &mut self,
        operator: UserNo,
        proposal: Sequence,
    ) -> Result<(), Reject> {
        let place = self.waits(operator, proposal)?;
        self.proposals.remove(place);
        self.emit(Effect::ProposalEnded { proposal, operator, confirmed: false });
        Ok(())
    }

    fn waits(&self, operator: UserNo, proposal: Sequence) -> Result<usize, Reject> {
        self.known_user(operator)?;
        let live = |it: &Proposal| it.number == proposal.get() && self.now < it.until;
        self.proposals.iter().position(live).ok_or(Reject::ProposalNotFound)
    }
}
