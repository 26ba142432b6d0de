//! Transfers that users ask for: money that is to come in or go out, until somebody of the venue
//! has confirmed or refused it, or the user has taken it back. What is to go out is set aside at
//! once.

use super::command::{Command, TransferEnd};
use super::effect::Effect;
use super::ids::{Token, UserNo};
use super::reject::Reject;
use super::rules::USER_TRANSFERS_MAX;
use super::units::Sequence;
use super::waiting::Transfer;
use super::{Exchange, Stamp, Stop};

impl Exchange {
    /// Executes a command about what waits for an answer.
    pub(super) fn dispatch_waiting(
        &mut self,
        command: &Command,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        match command {
            Command::AskDeposit { user, amount, reference } => {
                let asked = Transfer { out: false, amount: *amount };
                self.ask_transfer(*user, asked, reference.as_ref(), at, effects)
            }
            Command::AskWithdrawal { user, amount, reference } => {
                let asked = Transfer { out: true, amount: *amount };
                self.ask_transfer(*user, asked, reference.as_ref(), at, effects)
            }
            Command::EndTransfer { user, transfer, how } => {
                self.end_transfer((*user, *transfer), *how, effects)
            }
            Command::SetTwoPersons { above } => {
                self.set_two_persons(*above, effects);
                Ok(())
            }
            Command::ConfirmProposal { operator, proposal } => {
                self.confirm_proposal((*operator, *proposal), at, effects)
            }
            Command::DropProposal { operator, proposal } => {
                self.drop_proposal((*operator, *proposal), at, effects)
            }
            Command::FileDispute { user, market, bond, reason } => {
                self.file_dispute((*market, *user), (*bond, reason), at, effects)
            }
            // All others are of people who sign in.
            people => self.dispatch_sign_in(people, at, effects),
        }
    }

    /// Notes what a user asks for, and sets aside what is to go out.
    fn ask_transfer(
        &mut self,
        user: UserNo,
        asked: Transfer,
        reference: Option<&Token>,
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.known_user(user)?;
        if self.transfers.of(user).count() >= USER_TRANSFERS_MAX {
            return Err(Stop::Refused(Reject::TooManyTransfers));
        }
        let Transfer { out, amount } = asked;
        let mut account = self.ledger.account(user)?;
        if out && amount > account.available {
            return Err(Stop::Refused(Reject::InsufficientFunds));
        }
        self.transfers.0.insert((user, at.sequence), asked);
        let (transfer, reference) = (at.sequence, reference.copied());
        effects.push(Effect::TransferAsked { transfer, user, out, amount, reference });
        if out {
            account.available = account.available.take(amount)?;
            account.reserved = account.reserved.plus(amount)?;
            self.ledger.put_account(user, account)?;
            self.emit_account(user, effects)?;
        }
        Ok(())
    }

    /// Ends a transfer: moves the money, or gives back what was set aside.
    fn end_transfer(
        &mut self,
        (user, transfer): (UserNo, Sequence),
        how: TransferEnd,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        let waits = self.transfers.0.get(&(user, transfer)).ok_or(Reject::TransferNotFound)?;
        let Transfer { out, amount } = *waits;
        let confirmed = how == TransferEnd::Confirmed;
        if confirmed && !out {
            self.admit_deposit(amount)?;
        }
        self.transfers.0.remove(&(user, transfer));
        effects.push(Effect::TransferEnded { transfer, user, how });
        if out {
            let mut account = self.ledger.account(user)?;
            account.free(amount)?;
            self.ledger.put_account(user, account)?;
        }
        match (confirmed, out) {
            (true, true) => self.withdraw_money(user, amount, effects),
            (true, false) => self.deposit(user, amount, effects),
            (false, true) => Ok(self.emit_account(user, effects)?),
            (false, false) => Ok(()),
        }
    }
}
