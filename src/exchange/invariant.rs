//! What is always true (semantics 5), as functions over the whole state; and what a broken truth
//! is called.

use std::collections::BTreeMap;

use super::Exchange;
use super::catalogue::Outcome;
use super::command::Direction;
use super::ids::{MarketNo, UserNo};
use super::orders::Order;
use super::units::{Lots, Money, MoneySum, Overflow, SettlementPrice};

/// Something that can never happen has happened: a defect of this program, or a journal that it
/// did not write. The state is not to be trusted; whoever holds it stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A sum left its range.
    #[error("arithmetic left its range")]
    Arithmetic,
    /// A number that leads nowhere.
    #[error("a number leads nowhere")]
    Dangling,
    /// More things than numbers.
    #[error("more things than can be numbered")]
    Capacity,
    /// Something would have become negative.
    #[error("a balance would have become negative")]
    Negative,
    /// A venue opened under rules that this program does not know. Whatever it did with the
    /// records that follow would be a guess.
    #[error("the venue was opened under rules that this version does not know")]
    UnknownRules,
    /// A record that does not follow on the last one.
    #[error("record out of order")]
    OutOfOrder,
    /// Contracts locked though no order stands.
    #[error("contracts are locked without an order")]
    LockedWithoutOrder,
    /// A refusal after the first change.
    #[error("a command was refused after it had begun")]
    RefusedLate,
    /// Money in is not money out.
    #[error("money was made or lost")]
    MoneyNotConserved,
    /// Yes contracts and no contracts differ in number.
    #[error("contracts were made or lost")]
    ContractsNotConserved,
    /// What is set aside is not what the orders need.
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
    /// Results that were to be hashed were not.
    #[error("results were not hashed")]
    Unhashed,
    /// The markets of an event pay more than they can together.
    #[error("the markets of an event pay more than they can together")]
    EventOverpaid,
    /// Orders stand in a market that keeps none.
    #[error("orders stand in a market that keeps none")]
    OrdersInClosedMarket,
}

impl From<Overflow> for Broken {
    fn from(Overflow: Overflow) -> Broken {
        Broken::Arithmetic
    }
}

impl Exchange {
    /// Checks everything that is always true. Takes time in proportion to the whole state.
    pub fn check(&self) -> Result<(), Broken> {
        self.check_money()?;
        self.check_events()?;
        self.check_backing()?;
        self.repeats.check()?;
        for (market, _) in self.markets_numbered() {
            self.check_book(market)?;
        }
        Ok(())
    }

    /// Accounts, plus 1.00 a no contract that a user holds, plus what is left of the 1.00 of each
    /// converted set, plus the fees, equal deposits less withdrawals; yes contracts equal no
    /// contracts in every market, those of the sets counted in.
    fn check_money(&self) -> Result<(), Broken> {
        let mut total = self.ledger.fees();
        if total < MoneySum::ZERO {
            return Err(Broken::Negative);
        }
        let mut costs: BTreeMap<UserNo, MoneySum> = BTreeMap::new();
        for (_, account) in self.ledger.accounts() {
            if account.available.is_negative() || account.reserved.is_negative() {
                return Err(Broken::Negative);
            }
            total = total.plus(account.available)?.plus(account.reserved)?;
        }
        for (market, _) in self.markets_numbered() {
            let (mut yes, mut no) = (Lots::ZERO, Lots::ZERO);
            for (user, position) in self.ledger.positions_sorted(market)? {
                let cost = costs.entry(user).or_insert(MoneySum::ZERO);
                *cost = cost.plus(position.yes.cost)?.plus(position.no.cost)?;
                yes = yes.plus(position.yes.held)?;
                no = no.plus(position.no.held)?;
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
            }
            if yes != no.plus(self.sets_in(market)?)? {
                return Err(Broken::ContractsNotConserved);
            }
            total = total.plus(SettlementPrice::ONE.times(no)?)?;
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

    /// Cash and contracts set aside equal what the resting orders need.
    fn check_backing(&self) -> Result<(), Broken> {
        let mut cash: BTreeMap<UserNo, Money> = BTreeMap::new();
        let mut contracts: BTreeMap<(MarketNo, UserNo, Outcome), Lots> = BTreeMap::new();
        for order in self.orders.all() {
            if order.quantity.minus(order.filled)? != order.backing.remaining()? {
                return Err(Broken::QuantityNotConserved);
            }
            let direction = order.direction();
            self.check_fees(&order)?;
            let needed = cash.entry(order.user).or_default();
            *needed = needed.plus(order.terms().cash(order.backing)?)?;
            let holding = (order.market, order.user, direction.closes());
            let needed = contracts.entry(holding).or_default();
            *needed = needed.plus(order.backing.contracts)?;
        }
        for (user, account) in self.ledger.accounts() {
            if account.reserved != cash.remove(&user).unwrap_or_default() {
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

    /// For fees is set aside at most what those of the order's cash-backed part can come to.
    fn check_fees(&self, order: &Order) -> Result<(), Broken> {
        let fees = self.market(order.market).ok_or(Broken::Dangling)?.fees;
        let most = fees.reserve(order.direction(), order.price, order.backing.cash)?;
        let set_aside = order.backing.fees;
        let within = !set_aside.is_negative() && set_aside <= most;
        if within { Ok(()) } else { Err(Broken::BackingMismatch) }
    }

    /// A book is never crossed, its levels add up, and only a live market has one.
    fn check_book(&self, market: MarketNo) -> Result<(), Broken> {
        let state = self.market(market).ok_or(Broken::Dangling)?;
        let book = &state.book;
        let (bid, ask) = (book.best(Direction::Up), book.best(Direction::Down));
        if bid.zip(ask).is_some_and(|(bid, ask)| bid >= ask) {
            return Err(Broken::CrossedBook);
        }
        for side in [Direction::Up, Direction::Down] {
            for (tick, level) in book.levels(side) {
                if !state.status.keeps_orders() {
                    return Err(Broken::OrdersInClosedMarket);
                }
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
