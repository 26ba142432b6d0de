//! A conversion in the ledger: no contracts are given for cash and yes contracts, which take over
//! their cost (see `exchange/conversion.rs` for what is exchanged).

use super::Ledger;
use crate::ids::{MarketNo, UserNo};
use crate::invariant::Broken;
use crate::units::{Lots, Money, SettlementPrice};

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
