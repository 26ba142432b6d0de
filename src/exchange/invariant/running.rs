//! The invariants, checked in proportion to what records touched: an audit runs them after every
//! block. [`Exchange::check`] looks at everything and trusts none of the sums kept here.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::{Broken, check_account, check_position};
use crate::Exchange;
use crate::catalogue::Outcome;
use crate::command::Direction;
use crate::effect::{Effect, Trade};
use crate::ids::{EventNo, MarketNo, OrderNo, UserNo};
use crate::orders::Order;
use crate::units::{Lots, Money, MoneySum, Overflow, Tick};

/// Something that effects name. Checked in this order: an order changes what its owner needs, a
/// position changes its owner's costs and its market's contracts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Touched {
    Order(OrderNo),
    Position(MarketNo, UserNo),
    Account(UserNo),
    Level(MarketNo, Direction, Tick),
    Market(MarketNo),
    Event(EventNo),
}

/// What a resting order needs, and where it rests.
#[derive(Debug, Clone, Copy)]
struct Needs {
    user: UserNo,
    market: MarketNo,
    side: Direction,
    price: Tick,
    remaining: Lots,
    cash: Money,
    contracts: Lots,
}

impl Needs {
    fn of(order: &Order) -> Result<Needs, Broken> {
        Ok(Needs {
            user: order.user,
            market: order.market,
            side: order.direction(),
            price: order.price,
            remaining: order.backing.remaining()?,
            cash: order.terms().cash(order.backing)?,
            contracts: order.backing.contracts,
        })
    }
}

/// A user's money when last seen, the cash that the orders need, and the cost of all contracts.
#[derive(Debug, Clone, Copy, Default)]
struct Owner {
    money: MoneySum,
    needed: Money,
    costs: MoneySum,
}

/// A user's yes and no contracts in a market when last seen, and those that the orders need.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Contracts {
    held: [Lots; 2],
    costs: [Money; 2],
    needed: [Lots; 2],
}

/// The sums over the whole state that the invariants are about. Knows a state from its first record
/// on, by the effects of every record.
#[derive(Debug, Clone, Default)]
pub struct Running {
    touched: BTreeSet<Touched>,
    /// By order; looked up, never iterated, like the next two.
    orders: FxHashMap<OrderNo, Needs>,
    positions: FxHashMap<(MarketNo, UserNo), Contracts>,
    /// Contracts and orders at each price.
    levels: FxHashMap<(MarketNo, Direction, Tick), (Lots, u32)>,
    owners: Vec<Owner>,
    /// Yes and no contracts of each market, and what the venue owes for them.
    markets: Vec<(Lots, Lots, MoneySum)>,
    /// Money kept for the converted sets of each event.
    events: Vec<Money>,
    /// All accounts, what is owed for contracts, and the money kept for sets.
    money: MoneySum,
}

impl Running {
    /// Notes what a record touched, by its effects and the state after it.
    pub fn follow(&mut self, exchange: &Exchange, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::OrderAccepted { order, .. }
                | Effect::OrderAmended { order, .. }
                | Effect::OrderRested { order, .. }
                | Effect::OrderCancelled { order, .. } => {
                    self.touched.insert(Touched::Order(*order));
                }
                Effect::TradeMade(Trade { taker, maker, .. }) => {
                    self.touched.insert(Touched::Order(taker.order));
                    self.touched.insert(Touched::Order(maker.order));
                }
                Effect::PositionChanged { user, market, .. }
                | Effect::PositionSettled { user, market, .. } => {
                    self.touched.insert(Touched::Position(*market, *user));
                }
                Effect::UserCreated { user, .. } | Effect::AccountChanged { user, .. } => {
                    self.touched.insert(Touched::Account(*user));
                }
                Effect::MarketCreated { market, .. }
                | Effect::MarketMoved { market, .. }
                | Effect::MarketPays { market, .. } => {
                    self.touched.insert(Touched::Market(*market));
                    let event = exchange.market(*market).and_then(|market| market.event);
                    self.touched.extend(event.map(Touched::Event));
                }
                Effect::Converted { event, .. } | Effect::SetsSettled { event, .. } => {
                    self.touched.insert(Touched::Event(*event));
                    let markets = exchange.event(*event).map(|event| &event.markets);
                    self.touched
                        .extend(markets.into_iter().flatten().map(|no| Touched::Market(*no)));
                }
                _ => {}
            }
        }
    }

    /// Checks what was touched since the last check, and the sums over everything.
    ///
    /// # Errors
    /// The first invariant found broken.
    pub fn check(&mut self, exchange: &Exchange) -> Result<(), Broken> {
        while let Some(touched) = self.touched.pop_first() {
            match touched {
                Touched::Order(order) => self.order(exchange, order)?,
                Touched::Position(market, user) => self.position(exchange, (market, user))?,
                Touched::Account(user) => self.account(exchange, user)?,
                Touched::Level(market, side, price) => {
                    let level =
                        exchange.market(market).ok_or(Broken::Dangling)?.book.level(side, price);
                    let known =
                        self.levels.get(&(market, side, price)).copied().unwrap_or_default();
                    if (level.quantity, level.orders) != known {
                        return Err(Broken::LevelMismatch);
                    }
                }
                Touched::Market(market) => {
                    let (yes, no, _) = *at(&mut self.markets, market.index())?;
                    exchange.check_contracts(market, (yes, no))?;
                    exchange.check_sides(market)?;
                    self.owed(exchange, market)?;
                    let state = exchange.market(market).filter(|state| state.paying().is_some());
                    self.touched.extend(state.and_then(|state| state.event).map(Touched::Event));
                }
                Touched::Event(event) => self.event(exchange, event)?,
            }
        }
        let fees = exchange.fees();
        if fees < MoneySum::ZERO {
            return Err(Broken::Negative);
        }
        let all = self.money.and(fees)?;
        if all == exchange.ledger.net_deposits() { Ok(()) } else { Err(Broken::MoneyNotConserved) }
    }

    fn order(&mut self, exchange: &Exchange, no: OrderNo) -> Result<(), Broken> {
        let needs = match exchange.order(no) {
            Some(order) => {
                exchange.check_order(&order)?;
                Some(Needs::of(&order)?)
            }
            None => None,
        };
        let before = match needs {
            Some(needs) => self.orders.insert(no, needs),
            None => self.orders.remove(&no),
        };
        if let Some(needs) = before {
            self.needs(needs, Lots::minus, Money::minus, u32::checked_sub)?;
        }
        if let Some(needs) = needs {
            self.needs(needs, Lots::plus, Money::plus, u32::checked_add)?;
        }
        Ok(())
    }

    /// Adds what an order needs to the sums, or takes it away.
    fn needs(
        &mut self,
        needs: Needs,
        lots: fn(Lots, Lots) -> Result<Lots, Overflow>,
        money: fn(Money, Money) -> Result<Money, Overflow>,
        count: fn(u32, u32) -> Option<u32>,
    ) -> Result<(), Broken> {
        let Needs { user, market, side, price, remaining, cash, contracts } = needs;
        let place = (market, side, price);
        let level = self.levels.entry(place).or_default();
        *level = (lots(level.0, remaining)?, count(level.1, 1).ok_or(Broken::Capacity)?);
        if level.1 == 0 {
            self.levels.remove(&place);
        }
        let owner = at(&mut self.owners, user.index())?;
        owner.needed = money(owner.needed, cash)?;
        if !contracts.is_zero() {
            let held = self.positions.entry((market, user)).or_default();
            let [yes, no] = &mut held.needed;
            let needed = match side.closes() {
                Outcome::Yes => yes,
                Outcome::No => no,
            };
            *needed = lots(*needed, contracts)?;
            self.touched.insert(Touched::Position(market, user));
        }
        self.touched.extend([
            Touched::Account(user),
            Touched::Level(market, side, price),
            Touched::Market(market),
        ]);
        Ok(())
    }

    fn position(
        &mut self,
        exchange: &Exchange,
        (market, user): (MarketNo, UserNo),
    ) -> Result<(), Broken> {
        let now = exchange.purse(user, market)?.position;
        check_position(&now)?;
        let (held, costs) = ([now.yes.held, now.no.held], now.costs());
        let key = (market, user);
        let before = self.positions.get(&key).copied().unwrap_or_default();
        if [now.yes.locked, now.no.locked] != before.needed
            || now.yes.locked > now.yes.held
            || now.no.locked > now.no.held
        {
            return Err(Broken::BackingMismatch);
        }
        let after = Contracts { held, costs, needed: before.needed };
        if after == Contracts::default() {
            self.positions.remove(&key);
        } else {
            self.positions.insert(key, after);
        }
        let ([yes_before, no_before], [yes_now, no_now]) = (before.held, held);
        let (yes, no, _) = at(&mut self.markets, market.index())?;
        *yes = yes.minus(yes_before)?.plus(yes_now)?;
        *no = no.minus(no_before)?.plus(no_now)?;
        let all = &mut at(&mut self.owners, user.index())?.costs;
        for (was, is) in before.costs.into_iter().zip(costs) {
            *all = all.minus(was)?.plus(is)?;
        }
        self.touched.extend([Touched::Account(user), Touched::Market(market)]);
        Ok(())
    }

    fn account(&mut self, exchange: &Exchange, user: UserNo) -> Result<(), Broken> {
        let account = exchange.ledger.account(user)?;
        check_account(account)?;
        let owner = at(&mut self.owners, user.index())?;
        if account.reserved != owner.needed.plus(exchange.set_aside(user)?)? {
            return Err(Broken::BackingMismatch);
        }
        if exchange.ledger.costs_of(user)? != owner.costs {
            return Err(Broken::MoneyNotConserved);
        }
        let money = MoneySum::ZERO.plus(account.available)?.plus(account.reserved)?;
        let before = std::mem::replace(&mut owner.money, money);
        self.money = self.money.less(before)?.and(money)?;
        Ok(())
    }

    /// Counts anew what is owed for a market's contracts.
    fn owed(&mut self, exchange: &Exchange, market: MarketNo) -> Result<(), Broken> {
        let (yes, no, owed) = at(&mut self.markets, market.index())?;
        let now = exchange.worth_of_contracts(market, (*yes, *no))?;
        let before = std::mem::replace(owed, now);
        self.money = self.money.less(before)?.and(now)?;
        Ok(())
    }

    /// A market begins to pay without an effect if those it looked at first hold nothing: what is
    /// kept for sets goes down then, and what is owed in that market changes with it.
    fn event(&mut self, exchange: &Exchange, no: EventNo) -> Result<(), Broken> {
        let event = exchange.event(no).ok_or(Broken::Dangling)?;
        exchange.check_event(event)?;
        for market in &event.markets {
            self.owed(exchange, *market)?;
        }
        let now = exchange.kept_for_sets(event)?;
        let before = std::mem::replace(at(&mut self.events, no.index())?, now);
        self.money = self.money.minus(before)?.plus(now)?;
        Ok(())
    }
}

/// The entry of a number, made at its first use.
fn at<T: Clone + Default>(entries: &mut Vec<T>, index: usize) -> Result<&mut T, Broken> {
    if entries.len() <= index {
        entries.resize(index.saturating_add(1), T::default());
    }
    entries.get_mut(index).ok_or(Broken::Dangling)
}

#[cfg(test)]
#[path = "../../../tests/unit/exchange/invariant/running.rs"]
mod tests;
