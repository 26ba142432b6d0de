//! The twin's transfers: what users asked for and nobody has answered.

use exchange::command::TransferEnd;
use exchange::effect::Effect;
use exchange::ids::{Token, UserNo};
use exchange::reject::Reject;
use exchange::units::{Money, Sequence};

use super::Naive;

/// A transfer that waits.
#[derive(Debug, Clone)]
pub struct Waiting {
    pub number: u64,
    pub user: UserNo,
    pub out: bool,
    pub amount: Money,
}

impl Naive {
    pub(super) fn ask_transfer(
        &mut self,
        user: UserNo,
        out: bool,
        amount: Money,
        reference: Option<Token>,
    ) -> Result<(), Reject> {
        self.known_user(user)?;
        if self.transfers.iter().filter(|waiting| waiting.user == user).count() >= 10 {
            return Err(Reject::TooManyTransfers);
        }
        let units = i128::from(amount.get());
        if out {
            if units > self.ledger.account(user.0).available {
                return Err(Reject::InsufficientFunds);
            }
            let account = self.ledger.account_mut(user.0);
            account.available -= units;
            account.reserved += units;
            *self.ledger.withdrawing.entry(user.0).or_default() += units;
        }
        let number = self.sequence;
        self.transfers.push(Waiting { number, user, out, amount });
        let transfer = Sequence::new(number);
        self.emit(Effect::TransferAsked { transfer, user, out, amount, reference });
        Ok(())
    }

    pub(super) fn end_transfer(
        &mut self,
        user: UserNo,
        number: u64,
        how: TransferEnd,
    ) -> Result<(), Reject> {
        let its = |waiting: &Waiting| waiting.user == user && waiting.number == number;
        let place = self.transfers.iter().position(its).ok_or(Reject::TransferNotFound)?;
        let Waiting { out, amount, .. } = self.transfers[place];
        let units = i128::from(amount.get());
        let most = self.rules.as_ref().expect("an open venue").money_supply_max.get();
        let comes = how == TransferEnd::Confirmed && !out;
        if comes && self.ledger.supply + units > i128::from(most) {
            return Err(Reject::DepositLimit);
        }
        self.transfers.remove(place);
        self.emit(Effect::TransferEnded { transfer: Sequence::new(number), user, how });
        if out {
            let account = self.ledger.account_mut(user.0);
            account.reserved -= units;
            account.available += units;
            *self.ledger.withdrawing.entry(user.0).or_default() -= units;
        }
        match (how, out) {
            (TransferEnd::Confirmed, true) => self.withdraw(user, amount),
            (TransferEnd::Confirmed, false) => self.deposit(user, amount),
            (TransferEnd::Refused | TransferEnd::Cancelled, _) => Ok(()),
        }
    }
}
