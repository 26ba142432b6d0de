//! The twin's disputes: one list, of all markets that are not final.

use exchange::catalogue::Outcome;
use exchange::effect::Effect;
use exchange::ids::{MarketNo, UserNo};
use exchange::market::{MarketStatus, Trigger};
use exchange::reject::Reject;
use exchange::units::Money;

use super::Naive;

/// A dispute.
#[derive(Debug, Clone)]
pub struct Dispute {
    pub market: MarketNo,
    pub user: UserNo,
    pub bond: Money,
    /// Whether it was right; `None` while nobody knows.
    pub right: Option<bool>,
}

impl Naive {
    pub(super) fn file_dispute(
        &mut self,
        (market, user): (MarketNo, UserNo),
        bond: Money,
        reason: &str,
    ) -> Result<(), Reject> {
        self.known_user(user)?;
        let drafted = |market: &super::markets::Market| market.status == MarketStatus::Draft;
        if self.markets.get(market.index()).is_none_or(drafted) {
            return Err(Reject::MarketNotFound);
        }
        let to = self.leads(market, Trigger::Dispute)?;
        if self.disputes.iter().any(|it| (it.market, it.user) == (market, user)) {
            return Err(Reject::AlreadyDisputed);
        }
        let held = self.ledger.position(user.0, market.0);
        if held.yes.held() + held.no.held() == 0 {
            return Err(Reject::NoContracts);
        }
        let units = i128::from(bond.get());
        if self.ledger.account(user.0).available < units {
            return Err(Reject::InsufficientFunds);
        }
        let account = self.ledger.account_mut(user.0);
        account.available -= units;
        account.reserved += units;
        *self.ledger.withdrawing.entry(user.0).or_default() += units;
        self.disputes.push(Dispute { market, user, bond, right: None });
        self.emit(Effect::DisputeFiled { market, user, bond, reason: reason.to_owned() });
        self.market_mut(market).settles_at = None;
        self.move_to(market, to);
        Ok(())
    }

    /// What becomes of a market's bond when this is announced; `None` voids it.
    pub(super) fn judge(&mut self, market: MarketNo, announced: Option<Outcome>) {
        let before = self.markets[market.index()].winner;
        let waits = |it: &&mut Dispute| it.market == market && it.right.is_none();
        let Some(dispute) = self.disputes.iter_mut().find(waits) else { return };
        let right = announced.is_none_or(|announced| Some(announced) != before);
        dispute.right = Some(right);
        let Dispute { user, bond, .. } = *dispute;
        let units = i128::from(bond.get());
        *self.ledger.withdrawing.entry(user.0).or_default() -= units;
        self.ledger.account_mut(user.0).reserved -= units;
        if right {
            self.ledger.account_mut(user.0).available += units;
        } else {
            self.ledger.position_mut(user.0, market.0).realised -= units;
            self.ledger.fees += units;
        }
        self.emit(Effect::DisputeEnded { market, user, bond, right });
    }
}
