//! The invariants (semantics 5), as checks over the whole state.
//! Snapshots, image readers, audits and tests run them; `apply` does not: they take time in
//! proportion to the whole state. `invariant/running.rs` checks what records touch.

pub mod running;

use std::collections::BTreeMap;

use super::Exchange;
use super::catalogue::Outcome;
use super::command::Direction;
use super::ids::{MarketNo, UserNo};
use super::ledger::{Account, Position};
use super::orders::Order;
use super::units::{Lots, Money, MoneySum, Overflow, SettlementPrice};

impl Exchange {
    /// Checks all invariants. Takes time in proportion to the whole state.
    ///
    /// # Errors
    /// The first invariant that is broken.
    pub fn check(&self) -> Result<(), Broken> {
        self.check_money()?;
        self.check_events()?;
        self.check_backing()?;
        self.idempotency.check()?;
        for (market, _) in self.markets_numbered() {
            self.check_book(market)?;
        }
        Ok(())
    }

    /// Conservation. All accounts, 1.00 for each no contract held by a user, the money kept for
    /// converted sets, and the operator's fees sum to deposits less withdrawals. In every market
    /// yes contracts equal no contracts, including those of converted sets. In a market that is
    /// paying, where some are paid and others not, each contract counts as what it will be paid.
    fn check_money(&self) -> Result<(), Broken> {
        let mut total = self.ledger.fees();
        if total < MoneySum::ZERO {
            return Err(Broken::Negative);
        }
        let mut costs: BTreeMap<UserNo, MoneySum> = BTreeMap::new();
        for (_, account) in self.ledger.accounts() {
            check_account(*account)?;
            total = total.plus(account.available)?.plus(account.reserved)?;
        }
        for (market, _) in self.markets_numbered() {
            let (mut yes, mut no) = (Lots::ZERO, Lots::ZERO);
            for (user, position) in self.ledger.positions_sorted(market)? {
                let cost = costs.entry(user).or_insert(MoneySum::ZERO);
                *cost = cost.plus(position.yes.cost)?.plus(position.no.cost)?;
                yes = yes.plus(position.yes.held)?;
                no = no.plus(position.no.held)?;
                check_position(&position)?;
            }
            self.check_contracts(market, (yes, no))?;
            total = total.and(self.worth_of_contracts(market, (yes, no))?)?;
        }
        for event in self.catalogue.events() {
            total = total.plus(self.kept_for_sets(event)?)?;
        }
        for (user, _) in self.ledger.accounts() {
            if self.ledger.costs_of(user)? != costs.remove(&user).unwrap_or(MoneySum::ZERO) {
                return Err(Broken::MoneyNotConserved);
            }
        }
        if total == self.ledger.net_deposits() { Ok(()) } else { Err(Broken::MoneyNotConserved) }
    }

    /// Whether a market's users hold as many yes as no contracts, with those of converted sets. Not
    /// while the market is paying.
    fn check_contracts(&self, market: MarketNo, (yes, no): (Lots, Lots)) -> Result<(), Broken> {
        let paying = self.market(market).ok_or(Broken::Dangling)?.paying().is_some();
        let same = paying || yes == no.plus(self.sets_in(market)?)?;
        if same { Ok(()) } else { Err(Broken::ContractsNotConserved) }
    }

    /// What the venue owes for a market's contracts, besides that for converted sets: 1.00 for each
    /// no contract; while the market is paying, for each what it will be paid.
    fn worth_of_contracts(
        &self,
        market: MarketNo,
        (yes, no): (Lots, Lots),
    ) -> Result<MoneySum, Broken> {
        match self.market(market).ok_or(Broken::Dangling)?.paying() {
            Some(price) => {
                let (yes, no) = (price.times(yes)?, price.complement().times(no)?);
                Ok(MoneySum::ZERO.plus(yes)?.plus(no)?)
            }
            None => Ok(MoneySum::ZERO.plus(SettlementPrice::ONE.times(no)?)?),
        }
    }

    /// Reserved cash and locked contracts equal what the resting orders need.
    fn check_backing(&self) -> Result<(), Broken> {
        let mut cash: BTreeMap<UserNo, Money> = BTreeMap::new();
        let mut contracts: BTreeMap<(MarketNo, UserNo, Outcome), Lots> = BTreeMap::new();
        for order in self.orders.all() {
            let direction = order.direction();
            self.check_order(&order)?;
            let needed = cash.entry(order.user).or_default();
            *needed = needed.plus(order.terms().cash(order.backing)?)?;
            let holding = (order.market, order.user, direction.closes());
            let needed = contracts.entry(holding).or_default();
            *needed = needed.plus(order.backing.contracts)?;
        }
        for (user, account) in self.ledger.accounts() {
            let needed = cash.remove(&user).unwrap_or_default();
            if account.reserved != needed.plus(self.set_aside(user)?)? {
                return Err(Broken::BackingMismatch);
            }
        }
        for (market, _) in self.markets_numbered() {
            for (user, position) in self.ledger.positions_sorted(market)? {
                for outcome in [Outcome::Yes, Outcome::No] {
                    let holding = position.holding(outcome);
                    let needed = contracts.remove(&(market, user, outcome)).unwrap_or_default();
                    if holding.locked != needed || holding.locked > holding.held {
                        return Err(Broken::BackingMismatch);
                    }
                }
            }
        }
        let unmet = contracts.into_values().any(|lots| !lots.is_zero());
        if unmet { Err(Broken::BackingMismatch) } else { Ok(()) }
    }

    /// An order's parts add up, and its fee reserve is at most what its cash-backed part can need.
    fn check_order(&self, order: &Order) -> Result<(), Broken> {
        if order.quantity.minus(order.filled)? != order.backing.remaining()? {
            return Err(Broken::QuantityNotConserved);
        }
        let fees = self.market(order.market).ok_or(Broken::Dangling)?.fees;
        let most = fees.reserve(order.direction(), order.price, order.backing.cash)?;
        let set_aside = order.backing.fees;
        let within = !set_aside.is_negative() && set_aside <= most;
        if within { Ok(()) } else { Err(Broken::BackingMismatch) }
    }

    /// A book is never crossed, and only a market that is ACTIVE or SUSPENDED, or whose end is not
    /// finished and does not pay yet, has orders.
    fn check_sides(&self, market: MarketNo) -> Result<(), Broken> {
        let state = self.market(market).ok_or(Broken::Dangling)?;
        let (bid, ask) = (state.book.best(Direction::Up), state.book.best(Direction::Down));
        if bid.zip(ask).is_some_and(|(bid, ask)| bid >= ask) {
            return Err(Broken::CrossedBook);
        }
        let ends = state.ending.is_some() && state.paying().is_none();
        if bid.or(ask).is_some() && !state.status.keeps_orders() && !ends {
            return Err(Broken::OrdersInClosedMarket);
        }
        Ok(())
    }

    /// A book's levels equal their orders.
    fn check_book(&self, market: MarketNo) -> Result<(), Broken> {
        self.check_sides(market)?;
        let book = &self.market(market).ok_or(Broken::Dangling)?.book;
        for side in [Direction::Up, Direction::Down] {
            for (tick, level) in book.levels(side) {
                let (mut quantity, mut orders) = (Lots::ZERO, 0_u32);
                for slot in book.queue(&self.orders, side, tick) {
                    let order = self.orders.get(slot)?;
                    let here = (order.market, order.direction(), order.price);
                    let remaining = order.backing.remaining()?;
                    if here != (market, side, tick) || remaining.is_zero() {
                        return Err(Broken::LevelMismatch);
                    }
                    quantity = quantity.plus(remaining)?;
                    orders = orders.checked_add(1).ok_or(Broken::Capacity)?;
                }
                if (quantity, orders) != (level.quantity, level.orders) || orders == 0 {
                    return Err(Broken::LevelMismatch);
                }
            }
        }
        Ok(())
    }
}

/// Nothing in an account is negative.
const fn check_account(account: Account) -> Result<(), Broken> {
    if account.available.is_negative() || account.reserved.is_negative() {
        return Err(Broken::Negative);
    }
    Ok(())
}

/// No free pair is left unmerged, and only contracts have a cost.
fn check_position(position: &Position) -> Result<(), Broken> {
    if !position.yes.free()?.min(position.no.free()?).is_zero() {
        return Err(Broken::ContractsNotConserved);
    }
    for holding in [position.yes, position.no] {
        if holding.cost.is_negative() {
            return Err(Broken::Negative);
        }
        if holding.held.is_zero() && holding.cost != Money::ZERO {
            return Err(Broken::MoneyNotConserved);
        }
    }
    Ok(())
}

// The invariants that can be broken, by name.

/// A broken invariant: a defect of this program, or a journal that it did not write. The state
/// cannot be trusted; the holder must stop using it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A sum left its range.
    #[error("arithmetic left its range")]
    Arithmetic,
    /// A number or slot of something that does not exist.
    #[error("a number leads nowhere")]
    Dangling,
    /// More things than their number type can count.
    #[error("more things than can be numbered")]
    Capacity,
    /// Something would have become negative.
    #[error("a balance would have become negative")]
    Negative,
    /// A venue opened under rules that this program does not know, so it cannot apply the records
    /// that follow.
    #[error("the venue was opened under rules that this version does not know")]
    UnknownRules,
    /// A record that is not the next one, or earlier than the last.
    #[error("record out of order")]
    OutOfOrder,
    /// Contracts locked though no order rests.
    #[error("contracts are locked without an order")]
    LockedWithoutOrder,
    /// A refusal after the first effect.
    #[error("a command was refused after it had begun")]
    RefusedLate,
    /// The money in the venue does not equal deposits less withdrawals.
    #[error("money was made or lost")]
    MoneyNotConserved,
    /// Yes and no contracts of a market differ in number, or a user holds an unmerged pair.
    #[error("contracts were made or lost")]
    ContractsNotConserved,
    /// Reserved cash or locked contracts are not what the resting orders need.
    #[error("what is set aside is not what the orders need")]
    BackingMismatch,
    /// Best bid at or above best ask.
    #[error("a book is crossed")]
    CrossedBook,
    /// Sums at a price level differ from its orders.
    #[error("a price level differs from its orders")]
    LevelMismatch,
    /// An order's parts do not add up.
    #[error("an order's parts do not add up")]
    QuantityNotConserved,
    /// The markets of an event pay more than they can together.
    #[error("the markets of an event pay more than they can together")]
    EventOverpaid,
    /// Orders rest in a market whose status allows none.
    #[error("orders stand in a market that keeps none")]
    OrdersInClosedMarket,
}

impl From<Overflow> for Broken {
    fn from(Overflow: Overflow) -> Broken {
        Broken::Arithmetic
    }
}
