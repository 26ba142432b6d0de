//! Counts and sums of a venue, folded from effects alone: an independent check of the exchange's
//! state. Grows with users, positions and markets, not with history.

use std::collections::BTreeMap;

use exchange::Exchange;
use exchange::command::Record;
use exchange::effect::Effect;
use exchange::ids::{EventNo, MarketNo, UserNo};
use exchange::market::MarketStatus;
use exchange::units::{Lots, Money, MoneySum, Overflow, SettlementPrice};

use crate::answer::Failure;
use crate::pass::Listener;

/// Contracts of both outcomes.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    yes: Lots,
    no: Lots,
}

/// Sums over all effects.
#[derive(Debug, Default)]
pub struct Tally {
    /// Each user's available and reserved money.
    accounts: BTreeMap<UserNo, (Money, Money)>,
    /// Contracts held that are not yet paid out.
    holdings: BTreeMap<(MarketNo, UserNo), Held>,
    markets: BTreeMap<MarketNo, MarketStatus>,
    /// The event of each market that has one.
    events: BTreeMap<MarketNo, EventNo>,
    /// The payout of a yes contract of each market that is final or paying.
    paid: BTreeMap<MarketNo, SettlementPrice>,
    /// Converted sets of no contracts, while any market of their event is not final.
    sets: BTreeMap<EventNo, Lots>,
    net_deposits: MoneySum,
    fees: MoneySum,
    /// Users created.
    pub users: u64,
    /// Trades made.
    pub trades: u64,
    /// Contracts traded, each counted once.
    pub volume: Lots,
    /// Number of effects.
    pub effects: u64,
    /// Commands refused.
    pub refused: u64,
}

/// The proof that money in equals money out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof {
    /// Deposits less withdrawals.
    pub net_deposits: MoneySum,
    /// On all accounts, available.
    pub available: MoneySum,
    /// On all accounts, backing orders.
    pub reserved: MoneySum,
    /// Pairs of a yes and a no contract held by users, in all markets, at 1.00 each.
    pub pairs: MoneySum,
    /// The remaining value of the converted sets.
    pub sets: MoneySum,
    /// Fees of trades and leftovers of sets that the operator has not taken.
    pub fees: MoneySum,
    /// Accounts, pairs, sets and fees together; must equal the net deposits.
    pub accounted: MoneySum,
    /// Whether every market has as many yes as no contracts, counting those of converted sets.
    pub paired: bool,
}

impl Proof {
    /// Whether money in equals money out.
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
            Effect::FeesTaken { amount, .. } => self.fees = self.fees.minus(*amount)?,
            Effect::DisputeEnded { bond, right: false, .. } => self.fees = self.fees.plus(*bond)?,
            Effect::AccountChanged { user, available, reserved } => {
                self.accounts.insert(*user, (*available, *reserved));
            }
            Effect::MarketCreated { market, draft } => {
                self.markets.insert(*market, MarketStatus::Draft);
                self.events.extend(draft.event.map(|event| (*market, event)));
            }
            Effect::MarketMoved { market, to, settled_at, .. } => {
                self.markets.insert(*market, *to);
                self.paid.extend(settled_at.map(|price| (*market, price)));
            }
            Effect::MarketPays { market, price, .. } => {
                self.paid.insert(*market, *price);
            }
            Effect::Converted { event, quantity, .. } => {
                let sets = self.sets.entry(*event).or_default();
                *sets = sets.plus(*quantity)?;
            }
            Effect::SetsSettled { event, surplus, .. } => {
                self.sets.remove(event);
                self.fees = self.fees.plus(*surplus)?;
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

    /// Number of markets per status, in the order of a market's life, without statuses that no
    /// market has.
    pub fn markets_by_status(&self) -> Vec<(MarketStatus, usize)> {
        let count = |status| self.markets.values().filter(|one| **one == status).count();
        let counted = MarketStatus::ALL.into_iter().map(|status| (status, count(status)));
        counted.filter(|(_, count)| *count > 0).collect()
    }

    /// Sums up the money.
    ///
    /// # Errors
    /// A sum leaves its range.
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
        for (market, Held { yes, no }) in &by_market {
            // Where some are paid and others not, each contract counts as what it will be paid.
            pairs = match self.paid.get(market) {
                Some(price) => {
                    pairs.plus(price.times(*yes)?)?.plus(price.complement().times(*no)?)?
                }
                None => pairs.plus(SettlementPrice::ONE.times(*yes.min(no))?)?,
            };
        }
        let mut paired = true;
        for market in self.markets.keys().filter(|market| !self.paid.contains_key(market)) {
            let Held { yes, no } = by_market.get(market).copied().unwrap_or_default();
            paired &= yes == no.plus(self.sets_in(*market))?;
        }
        let (sets, fees) = (self.left_of_sets()?, self.fees);
        let sum = [available, reserved, pairs, sets, fees].map(MoneySum::get).into_iter().sum();
        let accounted = MoneySum::new(sum);
        let net_deposits = self.net_deposits;
        Ok(Proof { net_deposits, available, reserved, pairs, sets, fees, accounted, paired })
    }

    /// No contracts of a market that the venue holds for converted sets.
    fn sets_in(&self, market: MarketNo) -> Lots {
        let event = self.events.get(&market).filter(|_| !self.paid.contains_key(&market));
        event.and_then(|event| self.sets.get(event)).copied().unwrap_or_default()
    }

    /// The value of 1.00 per set, less what the markets of its event have paid or are paying.
    fn left_of_sets(&self) -> Result<MoneySum, Overflow> {
        let mut left = MoneySum::ZERO;
        for (event, sets) in &self.sets {
            left = left.plus(SettlementPrice::ONE.times(*sets)?)?;
            let of_event = self.events.iter().filter(|(_, own)| *own == event);
            for price in of_event.filter_map(|(market, _)| self.paid.get(market)) {
                left = left.minus(price.times(*sets)?)?;
            }
        }
        Ok(left)
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
