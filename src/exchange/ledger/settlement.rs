//! What holders are paid when their market ends: all of them at once, or some after the others.

use super::{Holders, Ledger, Position};
use crate::ending::Work;
use crate::ids::{MarketNo, UserNo};
use crate::invariant::Broken;
use crate::units::{Lots, Money, MoneySum, SettlementPrice};

/// Users who may be looked up in place of one payment.
const LOOKS_A_PAYMENT: usize = 16;

/// What one holder was paid at settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settlement {
    /// Holder.
    pub user: UserNo,
    /// Yes contracts paid.
    pub yes: Lots,
    /// No contracts paid.
    pub no: Lots,
    /// Money paid.
    pub payout: Money,
    /// Profit and loss realised in the market, the pay-out included.
    pub realised: MoneySum,
}

impl Holders {
    /// Removes a user's position; the last row takes its place.
    fn take(&mut self, user: UserNo) -> Result<Option<Position>, Broken> {
        let Some(row) = self.rows_by_user.remove(&user) else { return Ok(None) };
        if row as usize >= self.rows.len() {
            return Err(Broken::Dangling);
        }
        let (_, position) = self.rows.swap_remove(row as usize);
        if let Some((moved, _)) = self.rows.get(row as usize) {
            self.rows_by_user.insert(*moved, row);
        }
        Ok(Some(position))
    }
}

impl Ledger {
    /// Users with a position in a market, even if they hold nothing any more.
    pub fn holders_in(&self, market: MarketNo) -> usize {
        let holders = self.markets.get(market.index()).and_then(Option::as_ref);
        holders.map_or(0, |holders| holders.rows.len())
    }

    /// Pays every contract of a market, yes at `price` and no at its complement, by ascending
    /// user number, and drops the market's positions.
    pub fn settle(
        &mut self,
        market: MarketNo,
        price: SettlementPrice,
    ) -> Result<Vec<Settlement>, Broken> {
        let mut settlements = Vec::new();
        for (user, position) in self.positions_sorted(market)? {
            settlements.extend(self.settle_one(user, &position, price)?);
        }
        *self.markets.get_mut(market.index()).ok_or(Broken::Dangling)? = None;
        Ok(settlements)
    }

    /// Pays holders from user `from` on as [`Ledger::settle`] does, until the work is done; there
    /// must be more holders than that. Returns the user to go on from. Looking for the next holder
    /// is work, too, where few users are holders.
    pub(crate) fn settle_some(
        &mut self,
        market: MarketNo,
        price: SettlementPrice,
        from: UserNo,
        work: &mut Work,
    ) -> Result<(Vec<Settlement>, Option<UserNo>), Broken> {
        let mut settlements = Vec::new();
        let mut looked = 0_usize;
        for user in from.0.. {
            if work.is_done() {
                return Ok((settlements, Some(UserNo(user))));
            }
            let holders = self.markets.get_mut(market.index()).ok_or(Broken::Dangling)?;
            match holders.as_mut().map(|holders| holders.take(UserNo(user))).transpose()?.flatten()
            {
                Some(position) => {
                    work.spend(1);
                    settlements.extend(self.settle_one(UserNo(user), &position, price)?);
                }
                None if user as usize >= self.accounts.len() => break,
                None => {
                    looked = looked.saturating_add(1);
                    work.spend(usize::from(looked.is_multiple_of(LOOKS_A_PAYMENT)));
                }
            }
        }
        Err(Broken::Dangling)
    }

    /// Pays a position that was taken out of its market; `None` if it holds nothing.
    fn settle_one(
        &mut self,
        user: UserNo,
        position: &Position,
        price: SettlementPrice,
    ) -> Result<Option<Settlement>, Broken> {
        let (yes, no) = (position.yes, position.no);
        if yes.held.is_zero() && no.held.is_zero() {
            return Ok(None);
        }
        if !yes.locked.is_zero() || !no.locked.is_zero() {
            return Err(Broken::LockedWithoutOrder);
        }
        let payout = price.times(yes.held)?.plus(price.complement().times(no.held)?)?;
        let realised = position.realised.plus(payout)?.minus(yes.cost)?.minus(no.cost)?;
        self.credit(user, payout)?;
        let costs = self.costs.get_mut(user.index()).ok_or(Broken::Dangling)?;
        *costs = costs.minus(yes.cost)?.minus(no.cost)?;
        Ok(Some(Settlement { user, yes: yes.held, no: no.held, payout, realised }))
    }
}

// A conversion in the ledger: no contracts are given for cash and yes contracts, which take over
// their cost (see `exchange/conversion.rs` for what is exchanged).

impl Ledger {
    /// Takes `quantity` free no contracts of each market in `given`, of which there is at least
    /// one, and gives 1.00 for all but one of each such set, and as many yes contracts of each
    /// market in `received`. Returns the cash.
    ///
    /// The cash first repays the cost of the given contracts, market by market as they are listed.
    /// Cash that is left is realised profit, spread evenly over the given markets. Cost that is
    /// left passes to the contracts received, spread evenly; if none are received, it is a loss in
    /// its own market. So only the difference of cash and cost is realised, a loss only if nothing
    /// can carry it on, and no contract gets a cost below zero.
    pub(crate) fn convert(
        &mut self,
        user: UserNo,
        given: &[MarketNo],
        received: &[MarketNo],
        quantity: Lots,
    ) -> Result<Money, Broken> {
        let paid = given.len().checked_sub(1).and_then(|count| u64::try_from(count).ok());
        let paid = paid.and_then(|count| quantity.get().checked_mul(count));
        let cash = SettlementPrice::ONE.times(Lots::new(paid.ok_or(Broken::Arithmetic)?))?;
        let (mut cash_left, mut cost_left) = (cash, Money::ZERO);
        for market in given {
            let mut purse = self.purse(user, *market)?;
            if purse.position.no.free()? < quantity {
                return Err(Broken::Negative);
            }
            let cost = purse.position.no.give(quantity)?;
            let repaid = cost.min(cash_left);
            cash_left = cash_left.take(repaid)?;
            let beyond = cost.take(repaid)?;
            if received.is_empty() {
                purse.position.realised = purse.position.realised.minus(beyond)?;
            } else {
                cost_left = cost_left.plus(beyond)?;
            }
            purse.account.available = purse.account.available.plus(repaid)?;
            self.put(user, *market, &purse)?;
        }
        for (market, profit) in given.iter().zip(spread(cash_left, given.len())?) {
            let mut purse = self.purse(user, *market)?;
            purse.position.realised = purse.position.realised.plus(profit)?;
            purse.account.available = purse.account.available.plus(profit)?;
            self.put(user, *market, &purse)?;
        }
        for (market, cost) in received.iter().zip(spread(cost_left, received.len())?) {
            let mut purse = self.purse(user, *market)?;
            purse.position.yes.receive(quantity, cost, None)?;
            purse.merge()?;
            self.put(user, *market, &purse)?;
        }
        Ok(cash)
    }
}

/// Splits an amount into `parts` nearly equal parts; the first ones are larger by one money unit
/// where it does not divide.
fn spread(amount: Money, parts: usize) -> Result<impl Iterator<Item = Money>, Broken> {
    let count = i64::try_from(parts).map_err(|_| Broken::Capacity)?.max(1);
    let each = amount.get().checked_div(count).ok_or(Broken::Arithmetic)?;
    let greater = amount.get().checked_rem(count).ok_or(Broken::Arithmetic)?;
    let one_more = each.checked_add(1).ok_or(Broken::Arithmetic)?;
    Ok((0..count).map(move |part| Money::new(if part < greater { one_more } else { each })))
}
