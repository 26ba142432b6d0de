//! Money and contracts: accounts, the backing of orders, positions, settlement (semantics 5).
//!
//! The two things a user can lose, cash and contracts, are set aside when an order is accepted, so
//! every later fill can be paid. Contracts of the outcome that the order closes back it first; cash
//! at the price of the order's own side backs the rest.

mod settlement;

use rustc_hash::FxHashMap;

use super::catalogue::Outcome;
use super::command::Direction;
use super::effect::Holding;
use super::fees::{Charge, Fees};
use super::ids::{MarketNo, UserNo};
use super::image::coding::{
    BadImage, ImageSink, ImageSource, Imaged, read_count, room, write_count,
};
use super::invariant::Broken;
use super::orders::Backing;
use super::units::{Lots, Money, MoneySum, SettlementPrice, Tick};

/// A user's money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    /// Free to use; never negative.
    pub available: Money,
    /// Set aside for resting orders; never negative.
    pub reserved: Money,
}

impl Account {
    /// Makes reserved money available again.
    pub fn free(&mut self, cash: Money) -> Result<(), Broken> {
        self.reserved = self.reserved.take(cash)?;
        self.available = self.available.plus(cash)?;
        Ok(())
    }
}

/// What a user holds in one market.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// Yes contracts.
    pub yes: Holding,
    /// No contracts.
    pub no: Holding,
    /// Profit and loss: proceeds, merged pairs and pay-outs so far, less their cost and all fees.
    pub realised: MoneySum,
}

impl Position {
    /// The contracts of one outcome.
    pub const fn holding(&self, outcome: Outcome) -> &Holding {
        match outcome {
            Outcome::Yes => &self.yes,
            Outcome::No => &self.no,
        }
    }

    /// The costs of the yes and of the no contracts. Not summed: the sum may leave the range of
    /// [`Money`].
    pub const fn costs(&self) -> [Money; 2] {
        [self.yes.cost, self.no.cost]
    }

    const fn holding_mut(&mut self, outcome: Outcome) -> &mut Holding {
        match outcome {
            Outcome::Yes => &mut self.yes,
            Outcome::No => &mut self.no,
        }
    }
}

impl Holding {
    /// Contracts that back no order.
    pub fn free(&self) -> Result<Lots, Broken> {
        Ok(self.held.minus(self.locked)?)
    }

    /// Takes contracts out with their share of the cost, and returns that cost.
    fn give(&mut self, quantity: Lots) -> Result<Money, Broken> {
        let cost = self.cost.share(quantity, self.held)?;
        self.cost = self.cost.take(cost)?;
        self.held = self.held.minus(quantity)?;
        if self.held.is_zero() {
            self.copy_from = None;
        }
        Ok(cost)
    }

    /// Adds contracts at a cost. The copied trader is that of the order which opens the holding.
    fn receive(&mut self, lots: Lots, cost: Money, copies: Option<UserNo>) -> Result<(), Broken> {
        if self.held.is_zero() {
            self.copy_from = copies;
        }
        self.held = self.held.plus(lots)?;
        self.cost = self.cost.plus(cost)?;
        Ok(())
    }
}

/// A working copy of one user's account and position in one market.
///
/// Operations on a purse do not touch the ledger until [`Ledger::put`]. So an amend can be checked
/// before anything changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purse {
    /// Money.
    pub account: Account,
    /// Contracts.
    pub position: Position,
    /// The row of the position in its market; `None` if not known.
    row: Option<u32>,
}

impl Purse {
    /// The backing of an order with this limit, a price of yes, in a market with these fees: free
    /// contracts of the outcome it closes, then cash.
    pub fn backing_for(
        &self,
        (direction, limit): (Direction, Tick),
        quantity: Lots,
        fees: Fees,
    ) -> Result<Backing, Broken> {
        let contracts = quantity.min(self.position.holding(direction.closes()).free()?);
        let cash = quantity.minus(contracts)?;
        Ok(Backing { contracts, cash, fees: fees.reserve(direction, limit, cash)? })
    }

    /// Whether the available money covers the cash that backs the order.
    pub fn affords(&self, order: Terms, backing: Backing) -> Result<bool, Broken> {
        Ok(order.cash(backing)? <= self.account.available)
    }

    /// Sets the backing of an order aside.
    pub fn lock(&mut self, order: Terms, backing: Backing) -> Result<(), Broken> {
        let cash = order.cash(backing)?;
        self.account.available = self.account.available.take(cash)?;
        self.account.reserved = self.account.reserved.plus(cash)?;
        let closes = self.position.holding_mut(order.direction.closes());
        closes.locked = closes.locked.plus(backing.contracts)?;
        if closes.locked > closes.held { Err(Broken::Negative) } else { Ok(()) }
    }

    /// Frees the backing of an order, or of the part that will not be filled.
    pub fn release(&mut self, order: Terms, backing: Backing) -> Result<(), Broken> {
        self.unlock(order, backing)?;
        self.merge()
    }

    /// Frees the backing of an order that is to be backed anew. Its contracts must not merge in
    /// between, or the order could lose them.
    pub fn unlock(&mut self, order: Terms, backing: Backing) -> Result<(), Broken> {
        self.account.free(order.cash(backing)?)?;
        let closes = self.position.holding_mut(order.direction.closes());
        closes.locked = closes.locked.minus(backing.contracts)?;
        Ok(())
    }

    /// Settles this side of a trade at yes-price `price`, using the part of the order's backing
    /// that the trade takes, and pays its fee.
    pub fn fill(
        &mut self,
        order: Terms,
        price: Tick,
        part: Backing,
        charge: Charge,
    ) -> Result<(), Broken> {
        let direction = order.direction;
        let own_price = direction.own_price(price);

        // The contracts are of the other outcome, so they sell at the complement.
        let closes = self.position.holding_mut(direction.closes());
        closes.locked = closes.locked.minus(part.contracts)?;
        let cost = closes.give(part.contracts)?;
        let proceeds = own_price.complement().times(part.contracts)?;
        self.account.available = self.account.available.plus(proceeds)?;
        self.position.realised = self.position.realised.plus(proceeds)?.minus(cost)?;

        // Cash was reserved at the limit; at a better price the difference is freed at once.
        let set_aside = order.own_limit().times(part.cash)?;
        let paid = own_price.times(part.cash)?;
        self.account.reserved = self.account.reserved.take(set_aside)?;
        self.account.available = self.account.available.plus(set_aside.take(paid)?)?;
        let Charge { from_proceeds, from_reserve, released } = charge;
        self.account.available = self.account.available.take(from_proceeds)?.plus(released)?;
        self.account.reserved = self.account.reserved.take(from_reserve)?.take(released)?;
        self.position.realised = self.position.realised.minus(charge.fee()?)?;
        if !part.cash.is_zero() {
            let gains = self.position.holding_mut(direction.gains());
            gains.receive(part.cash, paid, order.copy_from)?;
        }
        self.merge()
    }

    /// Turns free yes and free no contracts into 1.00 a pair.
    pub fn merge(&mut self) -> Result<(), Broken> {
        let pairs = self.position.yes.free()?.min(self.position.no.free()?);
        if pairs.is_zero() {
            return Ok(());
        }
        let cost = self.position.yes.give(pairs)?.plus(self.position.no.give(pairs)?)?;
        let proceeds = SettlementPrice::ONE.times(pairs)?;
        self.account.available = self.account.available.plus(proceeds)?;
        self.position.realised = self.position.realised.plus(proceeds)?.minus(cost)?;
        Ok(())
    }
}

/// The terms of an order that the ledger needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Which way it bets.
    pub direction: Direction,
    /// Its limit, as a price of yes.
    pub limit: Tick,
    /// The trader it copies.
    pub copy_from: Option<UserNo>,
}

impl Terms {
    /// What one cash-backed contract costs at the limit.
    const fn own_limit(self) -> Tick {
        self.direction.own_price(self.limit)
    }

    /// The cash that backs an order, including the reserve for its fees.
    pub fn cash(self, backing: Backing) -> Result<Money, Broken> {
        Ok(self.own_limit().times(backing.cash)?.plus(backing.fees)?)
    }
}

/// The positions of one market.
#[derive(Debug, Clone, Default)]
struct Holders {
    /// User to row. Looked up, never iterated.
    rows_by_user: FxHashMap<UserNo, u32>,
    /// In the order in which users first held a position here.
    rows: Vec<(UserNo, Position)>,
}

impl Holders {
    fn add(&mut self, user: UserNo, position: Position) -> Result<(), Broken> {
        let row = u32::try_from(self.rows.len()).map_err(|_| Broken::Capacity)?;
        self.rows_by_user.insert(user, row);
        self.rows.push((user, position));
        Ok(())
    }
}

/// All accounts and positions.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    accounts: Vec<Account>,
    /// The cost of each user's contracts, in all markets.
    pub(super) costs: Vec<MoneySum>,
    /// `None` for a market without positions.
    markets: Vec<Option<Box<Holders>>>,
    net_deposits: MoneySum,
    /// The operator's money: trading fees and surplus of converted sets, until taken.
    fees: MoneySum,
}

impl Ledger {
    /// Opens an empty account; users are numbered in order.
    pub fn add_user(&mut self) {
        self.accounts.push(Account::default());
        self.costs.push(MoneySum::ZERO);
    }

    /// Makes room for a market's positions; markets are numbered in order.
    pub fn add_market(&mut self) {
        self.markets.push(None);
    }

    /// Users with an account.
    pub const fn users_count(&self) -> usize {
        self.accounts.len()
    }

    /// A user's money.
    pub fn account(&self, user: UserNo) -> Result<Account, Broken> {
        self.accounts.get(user.index()).copied().ok_or(Broken::Dangling)
    }

    fn account_mut(&mut self, user: UserNo) -> Result<&mut Account, Broken> {
        self.accounts.get_mut(user.index()).ok_or(Broken::Dangling)
    }

    /// Stores a user's money.
    pub fn put_account(&mut self, user: UserNo, account: Account) -> Result<(), Broken> {
        *self.account_mut(user)? = account;
        Ok(())
    }

    /// Adds to what a user has available.
    fn credit(&mut self, user: UserNo, amount: Money) -> Result<(), Broken> {
        let account = self.account_mut(user)?;
        account.available = account.available.plus(amount)?;
        Ok(())
    }

    /// The cost of a user's contracts, in all markets.
    pub fn costs_of(&self, user: UserNo) -> Result<MoneySum, Broken> {
        self.costs.get(user.index()).copied().ok_or(Broken::Dangling)
    }

    /// All deposits less all withdrawals.
    pub const fn net_deposits(&self) -> MoneySum {
        self.net_deposits
    }

    /// The operator's money: fees paid and surplus of converted sets, less what was taken.
    pub const fn fees(&self) -> MoneySum {
        self.fees
    }

    /// Adds to the operator's money.
    pub fn earn(&mut self, amount: Money) -> Result<(), Broken> {
        self.fees = self.fees.plus(amount)?;
        Ok(())
    }

    /// Adds money from outside.
    pub fn deposit(&mut self, user: UserNo, amount: Money) -> Result<(), Broken> {
        self.net_deposits = self.net_deposits.plus(amount)?;
        self.credit(user, amount)
    }

    /// Takes available money out.
    pub fn withdraw(&mut self, user: UserNo, amount: Money) -> Result<(), Broken> {
        self.net_deposits = self.net_deposits.minus(amount)?;
        let account = self.account_mut(user)?;
        account.available = account.available.take(amount)?;
        Ok(())
    }

    /// Moves fees to an account.
    pub fn take_fees(&mut self, user: UserNo, amount: Money) -> Result<(), Broken> {
        self.fees = self.fees.minus(amount)?;
        self.credit(user, amount)
    }

    /// A user's account and position in a market; empty where there was none.
    pub fn purse(&self, user: UserNo, market: MarketNo) -> Result<Purse, Broken> {
        let account = self.account(user)?;
        let holders = self.markets.get(market.index()).ok_or(Broken::Dangling)?;
        let Some(row) = holders.as_ref().and_then(|holders| holders.rows_by_user.get(&user)) else {
            return Ok(Purse { account, position: Position::default(), row: None });
        };
        let position = holders.as_ref().and_then(|holders| holders.rows.get(*row as usize));
        let position = position.ok_or(Broken::Dangling)?.1;
        Ok(Purse { account, position, row: Some(*row) })
    }

    /// Reads an account and its market's entry for the cache only; the result means nothing.
    pub(super) fn prefetch(&self, user: UserNo, market: MarketNo) -> i64 {
        let account = self.accounts.get(user.index()).map_or(0, |account| account.available.get());
        account ^ i64::from(self.markets.get(market.index()).is_some_and(Option::is_some))
    }

    /// Stores a purse.
    pub fn put(&mut self, user: UserNo, market: MarketNo, purse: &Purse) -> Result<(), Broken> {
        *self.account_mut(user)? = purse.account;
        let holders = self.markets.get_mut(market.index()).ok_or(Broken::Dangling)?;
        let known = holders.as_ref().and_then(|holders| holders.rows_by_user.get(&user));
        let before = if let Some(row) = purse.row.or(known.copied()) {
            let rows = holders.as_mut().map(|holders| &mut holders.rows);
            let entry = rows.and_then(|rows| rows.get_mut(row as usize)).ok_or(Broken::Dangling)?;
            std::mem::replace(&mut entry.1, purse.position).costs()
        } else if purse.position == Position::default() {
            return Ok(());
        } else {
            holders.get_or_insert_default().add(user, purse.position)?;
            Position::default().costs()
        };
        let after = purse.position.costs();
        if before != after {
            let costs = self.costs.get_mut(user.index()).ok_or(Broken::Dangling)?;
            for (was, is) in before.into_iter().zip(after) {
                *costs = costs.minus(was)?.plus(is)?;
            }
        }
        Ok(())
    }

    /// A market's positions by ascending user number.
    pub fn positions_sorted(&self, market: MarketNo) -> Result<Vec<(UserNo, Position)>, Broken> {
        let holders = self.markets.get(market.index()).ok_or(Broken::Dangling)?;
        let mut rows = holders.as_ref().map(|holders| holders.rows.clone()).unwrap_or_default();
        rows.sort_unstable_by_key(|(user, _)| *user);
        Ok(rows)
    }

    /// All accounts, by user number.
    pub fn accounts(&self) -> impl Iterator<Item = (UserNo, &Account)> {
        (0..).map(UserNo).zip(&self.accounts)
    }
}

// Accounts and positions in the state image; positions by ascending user number.

impl Imaged for Ledger {
    fn write(&self, sink: &mut impl ImageSink) {
        // The costs are the sums over the positions.
        let Ledger { accounts, costs: _, markets, net_deposits, fees } = self;
        accounts.write(sink);
        write_count(markets.len(), sink);
        for holders in markets {
            // No holders left and no holders ever must give the same image.
            match holders {
                Some(holders) => holders.write(sink),
                None => write_count(0, sink),
            }
        }
        net_deposits.write(sink);
        fees.write(sink);
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let accounts: Vec<Account> = Imaged::read(source)?;
        let markets_count = read_count(source)?;
        let mut markets = Vec::with_capacity(room::<u64>(markets_count, source));
        for _ in 0..markets_count {
            let holders = Holders::read(source)?;
            markets.push((!holders.rows.is_empty()).then(|| Box::new(holders)));
        }
        let mut costs = vec![MoneySum::ZERO; accounts.len()];
        for (user, position) in markets.iter().flatten().flat_map(|holders| &holders.rows) {
            let sum = costs.get_mut(user.index());
            let sum = sum.ok_or(BadImage::Contradiction("a position of nobody"))?;
            for cost in position.costs() {
                *sum = sum.plus(cost).map_err(Broken::from)?;
            }
        }
        let (net_deposits, fees) = (Imaged::read(source)?, Imaged::read(source)?);
        Ok(Ledger { accounts, costs, markets, net_deposits, fees })
    }
}

impl Imaged for Holders {
    fn write(&self, sink: &mut impl ImageSink) {
        // The order of the rows depends on history and shapes no outcome.
        let Holders { rows_by_user: _, rows } = self;
        let mut sorted: Vec<&(UserNo, Position)> = rows.iter().collect();
        sorted.sort_unstable_by_key(|(user, _)| *user);
        write_count(sorted.len(), sink);
        for (user, position) in sorted {
            user.write(sink);
            position.write(sink);
        }
    }

    fn read(source: &mut impl ImageSource) -> Result<Self, BadImage> {
        let count = read_count(source)?;
        let mut rows = Vec::with_capacity(room::<(UserNo, Position)>(count, source));
        let mut holders = Holders::default();
        for row in 0..count {
            let user = UserNo::read(source)?;
            if rows.last().is_some_and(|(before, _)| *before >= user) {
                return Err(BadImage::Contradiction("positions out of order"));
            }
            let row = u32::try_from(row).map_err(|_| BadImage::Contradiction("too many rows"))?;
            rows.push((user, Position::read(source)?));
            holders.rows_by_user.insert(user, row);
        }
        holders.rows = rows;
        Ok(holders)
    }
}

impl Ledger {
    /// Markets known to the ledger.
    pub(crate) const fn markets_count(&self) -> usize {
        self.markets.len()
    }
}
