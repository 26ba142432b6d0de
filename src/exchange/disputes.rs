//! Disputes by those who hold contracts: an announced outcome is in doubt until it is announced
//! again. The bond goes back to who was right, and to the venue from who was not.

use super::catalogue::Outcome;
use super::effect::Effect;
use super::ids::{MarketNo, UserNo};
use super::market::Trigger;
use super::reject::Reject;
use super::units::{Money, Overflow};
use super::{Exchange, Stamp, Stop};

impl Exchange {
    /// Disputes a market's announced outcome for a user.
    pub(super) fn file_dispute(
        &mut self,
        (market, user): (MarketNo, UserNo),
        (bond, reason): (Money, &str),
        at: Stamp,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        self.known_user(user)?;
        let state = self.market(market).filter(|state| state.status.public());
        let status = state.ok_or(Reject::MarketNotFound)?.status_at(at.time);
        if status.after(Trigger::Dispute).is_none() {
            return Err(Stop::Refused(Reject::InvalidTransition));
        }
        if self.disputes.has((market, user)) {
            return Err(Stop::Refused(Reject::AlreadyDisputed));
        }
        let mut purse = self.ledger.purse(user, market)?;
        if [purse.position.yes, purse.position.no].iter().all(|holding| holding.held.is_zero()) {
            return Err(Stop::Refused(Reject::NoContracts));
        }
        if bond > purse.account.available {
            return Err(Stop::Refused(Reject::InsufficientFunds));
        }
        self.disputes.add((market, user), Some(bond))?;
        effects.push(Effect::DisputeFiled { market, user, bond, reason: reason.to_owned() });
        purse.account.available = purse.account.available.take(bond)?;
        purse.account.reserved = purse.account.reserved.plus(bond)?;
        self.ledger.put(user, market, &purse)?;
        self.emit_account(user, effects)?;
        self.move_market(market, Trigger::Dispute, at, effects)
    }

    /// Answers a market's dispute, if one waits, by the outcome that is announced next; a void
    /// gives the bond back.
    pub(super) fn answer_dispute(
        &mut self,
        market: MarketNo,
        announced: Option<Outcome>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Stop> {
        let Some((user, bond)) = self.disputes.open(market) else { return Ok(()) };
        let right = announced.is_none() || announced != self.market_state(market)?.winner;
        self.disputes.answer((market, user))?;
        effects.push(Effect::DisputeEnded { market, user, bond, right });
        let mut purse = self.ledger.purse(user, market)?;
        if right {
            purse.account.free(bond)?;
        } else {
            // A cost of holding these contracts, as fees are.
            purse.account.reserved = purse.account.reserved.take(bond)?;
            purse.position.realised = purse.position.realised.minus(bond)?;
            self.ledger.earn(bond)?;
        }
        self.ledger.put(user, market, &purse)?;
        if !right {
            effects.push(purse.position_changed(user, market));
        }
        Ok(self.emit_account(user, effects)?)
    }

    /// Reserved money of a user that backs no order: for withdrawals that wait, and bonds.
    ///
    /// # Errors
    /// The sum leaves its range.
    pub fn set_aside(&self, user: UserNo) -> Result<Money, Overflow> {
        self.transfers.held(user)?.plus(self.disputes.held(user))
    }
}
