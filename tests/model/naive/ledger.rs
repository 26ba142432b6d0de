//! The twin's money: accounts and positions as plain numbers in maps (semantics 5).
//!
//! Every amount is an `i128` of the smallest unit, so that nothing here can round or overflow by
//! accident: one tick times one lot is one unit of money, and a pair is worth 100 units per lot.

use std::collections::{BTreeMap, BTreeSet};

use exchange::catalogue::Outcome;
use exchange::command::Direction;
use exchange::effect::Holding;
use exchange::ids::UserNo;
use exchange::units::{Lots, Money};

/// Worth of a pair of one yes and one no lot, in money units.
pub const PAIR: i128 = 100;

/// A user's money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    pub available: i128,
    pub reserved: i128,
}

/// A user's contracts of one outcome of one market.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Contracts {
    pub free: i128,
    pub locked: i128,
    pub cost: i128,
    pub copy_from: Option<UserNo>,
}

impl Contracts {
    pub const fn held(&self) -> i128 {
        self.free + self.locked
    }

    /// Removes `lots`, which the caller has already taken off free or locked, and returns their
    /// share of the cost: the average cost, rounded down; the last lot takes the rest.
    fn cost_leaving(&mut self, lots: i128, held_before: i128) -> i128 {
        assert!(lots > 0 && lots <= held_before);
        let share = if lots == held_before { self.cost } else { self.cost * lots / held_before };
        self.cost -= share;
        if lots == held_before {
            self.copy_from = None;
        }
        share
    }

    /// The holding in the form of the effects.
    pub fn as_holding(&self) -> Holding {
        Holding {
            held: lots(self.held()),
            locked: lots(self.locked),
            cost: money(self.cost),
            copy_from: self.copy_from,
        }
    }
}

/// A user's holdings in one market.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    pub yes: Contracts,
    pub no: Contracts,
    pub realised: i128,
}

impl Position {
    pub fn of(&self, outcome: Outcome) -> &Contracts {
        match outcome {
            Outcome::Yes => &self.yes,
            Outcome::No => &self.no,
        }
    }

    fn of_mut(&mut self, outcome: Outcome) -> &mut Contracts {
        match outcome {
            Outcome::Yes => &mut self.yes,
            Outcome::No => &mut self.no,
        }
    }
}

/// The collateral of an order: contracts to deliver, and cash at the limit price for the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backing {
    pub contracts: i128,
    pub cash_lots: i128,
    /// Cash set aside for fees.
    pub fees: i128,
}

/// Fee rates of a market, in ten-thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rates {
    pub maker: i128,
    pub taker: i128,
}

/// rate x price x (1 - price) x quantity in money units, rounded up: rate / 10,000, each price /
/// 100 ticks, and 100 units per lot.
pub const fn fee(rate: i128, own: i128, lots: i128) -> i128 {
    let parts = rate * own * (PAIR - own) * lots;
    parts / 1_000_000 + if parts % 1_000_000 > 0 { 1 } else { 0 }
}

/// Fills whose rounding up the reserved fees cover.
const ROUND_UPS: i128 = 10_000;

/// Why an order cannot be backed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unbacked {
    NotByContractsAlone,
    NotEnoughMoney,
}

/// The part of an order that the ledger needs.
#[derive(Debug, Clone, Copy)]
pub struct Bet {
    pub user: u32,
    pub market: u32,
    pub direction: Direction,
    /// Limit in ticks of the owner's side.
    pub own_limit: i128,
    pub rates: Rates,
    pub reduce_only: bool,
    pub copy_from: Option<UserNo>,
}

impl Bet {
    /// The most that may be due in fees for this many lots backed by cash: the worst over all
    /// prices within the limit.
    fn fees_of(&self, cash_lots: i128) -> i128 {
        let rate = self.rates.maker.max(self.rates.taker);
        if rate == 0 {
            return 0;
        }
        let worst = (1..=self.own_limit).map(|own| fee(rate, own, cash_lots)).max();
        worst.unwrap_or(0) + cash_lots.min(ROUND_UPS)
    }
}

/// Accounts and positions, and what the current record changed of them.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    pub accounts: BTreeMap<u32, Account>,
    /// By user and market.
    pub positions: BTreeMap<(u32, u32), Position>,
    /// What of users' reserved money waits to be withdrawn.
    pub withdrawing: BTreeMap<u32, i128>,
    /// All fees paid, less those withdrawn.
    pub fees: i128,
    /// All deposits less all withdrawals.
    pub supply: i128,
    /// Changed accounts as they were before the record.
    pub accounts_before: BTreeMap<u32, Account>,
    pub positions_before: BTreeMap<(u32, u32), Position>,
    /// Who has ever held something in a market.
    pub held: BTreeSet<(u32, u32)>,
    /// Whose turn at a market's pay-out has been.
    pub paid: BTreeSet<(u32, u32)>,
}

impl Ledger {
    /// Begins a record: forgets the changes of the one before.
    pub fn begin(&mut self) {
        self.accounts_before.clear();
        self.positions_before.clear();
    }

    /// A copy of one user's account and position, to try changes on.
    pub fn copy_of(&self, user: u32, market: u32) -> Ledger {
        let mut copy = Ledger::default();
        copy.accounts.insert(user, self.account(user));
        copy.positions.insert((user, market), self.position(user, market));
        copy
    }

    /// Takes over a copy's changes.
    pub fn adopt(&mut self, copy: Ledger) {
        for (user, account) in copy.accounts {
            *self.account_mut(user) = account;
        }
        for ((user, market), position) in copy.positions {
            *self.position_mut(user, market) = position;
        }
    }

    pub fn account(&self, user: u32) -> Account {
        self.accounts.get(&user).copied().unwrap_or_default()
    }

    pub fn position(&self, user: u32, market: u32) -> Position {
        self.positions.get(&(user, market)).copied().unwrap_or_default()
    }

    pub fn account_mut(&mut self, user: u32) -> &mut Account {
        let account = self.accounts.entry(user).or_default();
        self.accounts_before.entry(user).or_insert(*account);
        account
    }

    pub(super) fn position_mut(&mut self, user: u32, market: u32) -> &mut Position {
        let position = self.positions.entry((user, market)).or_default();
        self.positions_before.entry((user, market)).or_insert(*position);
        position
    }

    /// Backs `quantity` of a bet: free contracts of the other outcome first, then cash at the limit
    /// price. On failure nothing changes.
    pub fn back(&mut self, bet: &Bet, quantity: i128) -> Result<Backing, Unbacked> {
        let free = self.position(bet.user, bet.market).of(bet.direction.closes()).free;
        let contracts = free.min(quantity);
        let cash_lots = quantity - contracts;
        if bet.reduce_only && cash_lots > 0 {
            return Err(Unbacked::NotByContractsAlone);
        }
        let fees = bet.fees_of(cash_lots);
        let cash = cash_lots * bet.own_limit + fees;
        if cash > self.account(bet.user).available {
            return Err(Unbacked::NotEnoughMoney);
        }
        if contracts > 0 {
            let closes = self.position_mut(bet.user, bet.market).of_mut(bet.direction.closes());
            closes.free -= contracts;
            closes.locked += contracts;
        }
        let account = self.account_mut(bet.user);
        account.available -= cash;
        account.reserved += cash;
        Ok(Backing { contracts, cash_lots, fees })
    }

    /// Backs a resting order anew. The contracts in its backing stay as far as they are still
    /// needed; the rest of them is free once all is backed, and only then meets its opposites. On
    /// failure the copy that this is done on is thrown away.
    pub fn back_anew(
        &mut self,
        (before, backing): (&Bet, Backing),
        bet: &Bet,
        quantity: i128,
    ) -> Result<Backing, Unbacked> {
        let kept = backing.contracts.min(quantity);
        self.give_back_cash(before, backing);
        let mut anew = self.back(bet, quantity - kept)?;
        anew.contracts += kept;
        let spare = backing.contracts - kept;
        if spare > 0 {
            let closes = self.position_mut(bet.user, bet.market).of_mut(bet.direction.closes());
            closes.locked -= spare;
            closes.free += spare;
            self.merge(bet.user, bet.market);
        }
        Ok(anew)
    }

    fn give_back_cash(&mut self, bet: &Bet, backing: Backing) {
        let cash = backing.cash_lots * bet.own_limit + backing.fees;
        let account = self.account_mut(bet.user);
        account.reserved -= cash;
        account.available += cash;
    }

    /// Releases all collateral of an order.
    pub fn release(&mut self, bet: &Bet, backing: Backing) {
        if backing.contracts > 0 {
            let closes = self.position_mut(bet.user, bet.market).of_mut(bet.direction.closes());
            closes.locked -= backing.contracts;
            closes.free += backing.contracts;
        }
        self.give_back_cash(bet, backing);
        self.merge(bet.user, bet.market);
    }

    /// One party's side of a trade: `quantity` at `own` ticks of its side, from contracts first.
    /// Returns the fee.
    pub fn fill(
        &mut self,
        bet: &Bet,
        backing: &mut Backing,
        (quantity, own): (i128, i128),
        rate: i128,
    ) -> i128 {
        assert!(own <= bet.own_limit, "a fill beyond the limit");
        let handed_over = quantity.min(backing.contracts);
        let bought = quantity - handed_over;
        backing.contracts -= handed_over;
        backing.cash_lots -= bought;
        assert!(backing.cash_lots >= 0, "a fill beyond the backing");
        if handed_over > 0 {
            let paid = handed_over * (PAIR - own);
            let position = self.position_mut(bet.user, bet.market);
            let closes = position.of_mut(bet.direction.closes());
            let held = closes.held();
            closes.locked -= handed_over;
            let cost = closes.cost_leaving(handed_over, held);
            position.realised += paid - cost;
            self.account_mut(bet.user).available += paid;
        }
        if bought > 0 {
            let gains = self.position_mut(bet.user, bet.market).of_mut(bet.direction.gains());
            if gains.held() == 0 {
                gains.copy_from = bet.copy_from;
            }
            gains.free += bought;
            gains.cost += bought * own;
            let account = self.account_mut(bet.user);
            account.reserved -= bought * bet.own_limit;
            account.available += bought * (bet.own_limit - own);
        }
        let fee = fee(rate, own, quantity);
        self.pay_fee(bet, backing, fee, handed_over * (PAIR - own));
        self.merge(bet.user, bet.market);
        fee
    }

    /// A fee is paid first from the proceeds of contracts, then from the reserved fees; of those,
    /// only what the rest of the order may need stays reserved.
    fn pay_fee(&mut self, bet: &Bet, backing: &mut Backing, fee: i128, got: i128) {
        let of_got = fee.min(got);
        let of_set_aside = fee - of_got;
        // No order in these tests has more fills than the reserved rounding covers.
        assert!(of_set_aside <= backing.fees, "too little was set aside: {backing:?} for {fee}");
        let kept = (backing.fees - of_set_aside).min(bet.fees_of(backing.cash_lots));
        let account = self.account_mut(bet.user);
        account.available -= of_got;
        account.reserved -= backing.fees - kept;
        account.available += backing.fees - of_set_aside - kept;
        backing.fees = kept;
        self.fees += fee;
        if fee > 0 {
            self.position_mut(bet.user, bet.market).realised -= fee;
        }
    }

    /// Redeems every free pair for 1.00.
    fn merge(&mut self, user: u32, market: u32) {
        let position = self.position(user, market);
        let pairs = position.yes.free.min(position.no.free);
        if pairs == 0 {
            return;
        }
        let position = self.position_mut(user, market);
        let mut cost = 0;
        for side in [&mut position.yes, &mut position.no] {
            let held = side.held();
            side.free -= pairs;
            cost += side.cost_leaving(pairs, held);
        }
        position.realised += pairs * PAIR - cost;
        self.account_mut(user).available += pairs * PAIR;
    }

    /// Takes `lots` free no contracts of each market in `given`; in return gives as many yes
    /// contracts of each market in `received`, and 1.00 per set for all but one of the given.
    /// Returns the cash.
    ///
    /// The cash offsets the given contracts' cost, market by market; an excess is realised in equal
    /// parts. Remaining cost moves to the contracts received in equal parts, or is realised as a
    /// loss if there are none.
    pub fn convert(&mut self, user: u32, given: &[u32], received: &[u32], lots: i128) -> i128 {
        let cash = (parts(given) - 1) * lots * PAIR;
        let mut costs = Vec::new();
        for market in given {
            let no = &mut self.position_mut(user, *market).no;
            let held = no.held();
            no.free -= lots;
            costs.push(no.cost_leaving(lots, held));
        }
        let mut cash_over = cash;
        for cost in &mut costs {
            let covered = cash_over.min(*cost);
            cash_over -= covered;
            *cost -= covered;
        }
        for (place, (market, uncovered)) in (0..).zip(given.iter().zip(&costs)) {
            let lost = if received.is_empty() { *uncovered } else { 0 };
            let gained = part(cash_over, parts(given), place);
            self.position_mut(user, *market).realised += gained - lost;
        }
        let moved: i128 = costs.iter().sum();
        self.account_mut(user).available += cash;
        for (place, market) in (0..).zip(received) {
            let yes = &mut self.position_mut(user, *market).yes;
            if yes.held() == 0 {
                yes.copy_from = None;
            }
            yes.free += lots;
            yes.cost += part(moved, parts(received), place);
            self.merge(user, *market);
        }
        cash
    }

    /// Ends a record: notes who has held something.
    pub fn end(&mut self) {
        let nothing = Position::default();
        for key in self.positions_before.keys() {
            if self.positions[key] != nothing {
                self.held.insert(*key);
            }
        }
    }

    /// Whether the user has ever held something in a market and its turn to be paid is to come.
    pub fn holds(&self, user: u32, market: u32) -> bool {
        self.held.contains(&(user, market)) && !self.paid.contains(&(user, market))
    }

    /// How many such users there are.
    pub fn holders(&self, market: u32) -> usize {
        self.held.iter().filter(|(user, held)| *held == market && self.holds(*user, market)).count()
    }

    /// Pays out a user's contracts at a yes-price of `yes_ticks`; `None` if there are none.
    pub fn settle(&mut self, user: u32, market: u32, yes_ticks: i128) -> Option<Paid> {
        let position = self.position(user, market);
        let (yes, no) = (position.yes.held(), position.no.held());
        assert!(position.yes.locked == 0 && position.no.locked == 0, "orders still rest");
        self.paid.insert((user, market));
        if yes + no == 0 {
            return None;
        }
        let payout = yes * yes_ticks + no * (PAIR - yes_ticks);
        let realised = position.realised + payout - position.yes.cost - position.no.cost;
        *self.position_mut(user, market) = Position { realised, ..Position::default() };
        self.account_mut(user).available += payout;
        Some(Paid { yes, no, payout, realised })
    }
}

/// A settled position.
#[derive(Debug, Clone, Copy)]
pub struct Paid {
    pub yes: i128,
    pub no: i128,
    pub payout: i128,
    pub realised: i128,
}

fn parts(markets: &[u32]) -> i128 {
    i128::try_from(markets.len()).expect("few markets")
}

/// One of `parts` equal parts; the remainder goes out by ones, from the first part on.
fn part(amount: i128, parts: i128, place: i128) -> i128 {
    amount / parts + i128::from(place < amount % parts)
}

pub fn lots(lots: i128) -> Lots {
    Lots::new(u64::try_from(lots).expect("lots are never negative"))
}

pub fn money(units: i128) -> Money {
    Money::new(i64::try_from(units).expect("an account is within its range"))
}
