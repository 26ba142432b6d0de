//! Counts and sums of a venue, folded from effects alone: a second opinion on the exchange's own
//! state. Grows with users, holdings and markets, not with history.

use std::collections::BTreeMap;

use openoutcry::exchange::Exchange;
use openoutcry::exchange::command::Record;
use openoutcry::exchange::effect::Effect;
use openoutcry::exchange::ids::{MarketNo, UserNo};
use openoutcry::exchange::lifecycle::MarketStatus;
use openoutcry::exchange::units::{Lots, Money, MoneySum, Overflow, SettlementPrice};

use crate::answer::Failure;
use crate::pass::Listener;

/// Contracts of both outcomes.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    yes: Lots,
    no: Lots,
}

/// What the effects add up to.
#[derive(Debug, Default)]
pub struct Tally {
    /// Each user's available and reserved money.
    accounts: BTreeMap<UserNo, (Money, Money)>,
    /// Contracts held that are not yet paid out.
    holdings: BTreeMap<(MarketNo, UserNo), Held>,
    markets: BTreeMap<MarketNo, MarketStatus>,
    net_deposits: MoneySum,
    fees: MoneySum,
    /// Users created.
    pub users: u64,
    /// Trades made.
    pub trades: u64,
    /// Contracts traded, each counted once.
    pub volume: Lots,
    /// Effects in all.
    pub effects: u64,
    /// Commands refused.
    pub refused: u64,
}

/// Money that came in, and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof {
    /// Deposits less withdrawals.
    pub net_deposits: MoneySum,
    /// On all accounts, available.
    pub available: MoneySum,
    /// On all accounts, backing orders.
    pub reserved: MoneySum,
    /// Pairs of a yes and a no contract outstanding, in all markets, at 1.00 each.
    pub pairs: MoneySum,
    /// Fees of all trades, the operator's.
    pub fees: MoneySum,
    /// Accounts, pairs and fees together: what must be equal to the net deposits.
    pub accounted: MoneySum,
    /// Whether every market has as many yes as no contracts.
    pub paired: bool,
}

impl Proof {
    /// Whether money in is money out.
    pub fn holds(&self) -> bool {
        self.net_deposits == self.accounted && self.paired
    }
}

impl Tally {
    fn fold(&mut self, effect: &Effect) -> Result<(), Overflow> {
        self.effects = self.effects.saturating_add(1);
        match effect {
            Effect::Refused(_) => self.refused = self.refused.saturating_add(1),
            Effect::UserCreated { .. } => self.users = self.users.saturating_add(1),
            Effect::Deposited { amount, .. } => {
                self.net_deposits = self.net_deposits.plus(*amount)?;
            }
            Effect::Withdrawn { amount, .. } => {
                self.net_deposits = self.net_deposits.minus(*amount)?;
            }
            Effect::AccountChanged { user, available, reserved } => {
                self.accounts.insert(*user, (*available, *reserved));
            }
            Effect::MarketCreated { market, .. } => {
                self.markets.insert(*market, MarketStatus::Draft);
            }
            Effect::MarketMoved { market, to, .. } => {
                self.markets.insert(*market, *to);
            }
            Effect::TradeMade(trade) => {
                self.trades = self.trades.saturating_add(1);
                self.volume = self.volume.plus(trade.quantity)?;
                self.fees = self.fees.plus(trade.maker.fee)?.plus(trade.taker.fee)?;
            }
            Effect::PositionChanged { user, market, yes, no, .. } => {
                let held = Held { yes: yes.held, no: no.held };
                if held.yes.is_zero() && held.no.is_zero() {
                    self.holdings.remove(&(*market, *user));
                } else {
                    self.holdings.insert((*market, *user), held);
                }
            }
            Effect::PositionSettled { user, market, .. } => {
                self.holdings.remove(&(*market, *user));
            }
            _ => {}
        }
        Ok(())
    }

    /// How many markets have each status, in the order of a market's life; statuses that no market
    /// has are left out.
    pub fn markets_by_status(&self) -> Vec<(MarketStatus, usize)> {
        let count = |status| self.markets.values().filter(|one| **one == status).count();
        let counted = MarketStatus::ALL.into_iter().map(|status| (status, count(status)));
        counted.filter(|(_, count)| *count > 0).collect()
    }

    /// Adds up where the money is.
    ///
    /// # Errors
    /// A sum left its range.
    pub fn proof(&self) -> Result<Proof, Overflow> {
        let (mut available, mut reserved) = (MoneySum::ZERO, MoneySum::ZERO);
        for (free, set_aside) in self.accounts.values() {
            available = available.plus(*free)?;
            reserved = reserved.plus(*set_aside)?;
        }
        let mut by_market: BTreeMap<MarketNo, Held> = BTreeMap::new();
        for ((market, _), held) in &self.holdings {
            let sum = by_market.entry(*market).or_default();
            *sum = Held { yes: sum.yes.plus(held.yes)?, no: sum.no.plus(held.no)? };
        }
        let mut pairs = MoneySum::ZERO;
        for held in by_market.values() {
            pairs = pairs.plus(SettlementPrice::ONE.times(held.yes.min(held.no))?)?;
        }
        let paired = by_market.values().all(|held| held.yes == held.no);
        let fees = self.fees;
        let sum = [available, reserved, pairs, fees].map(MoneySum::get).into_iter().sum();
        let accounted = MoneySum::new(sum);
        let net_deposits = self.net_deposits;
        Ok(Proof { net_deposits, available, reserved, pairs, fees, accounted, paired })
    }
}

impl Listener for Tally {
    fn after(
        &mut self,
        _exchange: &Exchange,
        _record: &Record,
        effects: &[Effect],
    ) -> Result<(), Failure> {
        Ok(effects.iter().try_for_each(|effect| self.fold(effect))?)
    }
}
