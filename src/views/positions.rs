//! Each user's position per outcome: open ones, and those held when their market ended (semantics
//! 6).

mod ended;
mod image;

use std::num::NonZeroU32;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Projection;
use super::catalogue::MarketRow;
use super::closed::ClosedRow;
use super::fault::{Fault, Faults, is_next};
use super::history::History;
use super::history::chain::length;
use super::history::stream::Streams;
use exchange::catalogue::Outcome;
use exchange::effect::{Applied, Effect, Holding};
use exchange::ids::{MarketNo, UserNo};
use exchange::lifecycle::MarketStatus;
use exchange::units::{Lots, Money, MoneySum, SettlementPrice, TimeMs};

use ended::Ended;
pub use ended::PositionList;

/// The result of a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resolution {
    /// Its outcome won.
    Won,
    /// The other outcome won.
    Lost,
    /// The market was voided.
    Void,
}

impl Resolution {
    /// The result of holding this outcome of a market; `None` until the market ends.
    pub fn of(market: &MarketRow, outcome: Outcome) -> Option<Resolution> {
        match (market.status, market.winner) {
            (MarketStatus::Voided, _) => Some(Resolution::Void),
            (MarketStatus::Settled, Some(winner)) => {
                Some(if winner == outcome { Resolution::Won } else { Resolution::Lost })
            }
            _ => None,
        }
    }

    /// The interface's name.
    pub const fn name(self) -> &'static str {
        match self {
            Resolution::Won => "WON",
            Resolution::Lost => "LOST",
            Resolution::Void => "VOID",
        }
    }
}

/// A user's contracts of one outcome. The row exists while contracts are held, and forever if they
/// were held to the market's end: then it keeps the quantity and cost from before the payout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PositionRow {
    /// User.
    pub user: UserNo,
    /// Market.
    pub market: MarketNo,
    /// Outcome.
    pub outcome: Outcome,
    /// Contracts, free and locked; more than zero.
    pub quantity: Lots,
    /// Cost basis.
    pub cost: Money,
    /// Profit and loss that the user realised in this market, over both outcomes.
    pub realised: MoneySum,
    /// The result; `None` until the market is SETTLED or VOIDED.
    pub resolution: Option<Resolution>,
    /// The trader whose order the opening order copied.
    pub copy_from: Option<UserNo>,
    /// When the row last changed.
    pub updated_at: TimeMs,
    /// Grows with every change of any row, and so orders rows with the same `updated_at`.
    change: u64,
}

impl PositionRow {
    /// The row of a position that is closed.
    pub const fn closed(user: UserNo, closed: ClosedRow, resolution: Option<Resolution>) -> Self {
        let ClosedRow { market, outcome, realised, updated_at } = closed;
        PositionRow {
            user,
            market,
            outcome,
            quantity: Lots::ZERO,
            cost: Money::ZERO,
            realised,
            resolution,
            copy_from: None,
            updated_at,
            change: 0,
        }
    }
}

/// How a market ended.
#[derive(Debug, Clone, Copy)]
enum End {
    Settled(Outcome),
    Voided,
}

impl End {
    fn resolution(self, outcome: Outcome) -> Resolution {
        match self {
            End::Settled(winner) if winner == outcome => Resolution::Won,
            End::Settled(_) => Resolution::Lost,
            End::Voided => Resolution::Void,
        }
    }
}

type Key = (UserNo, MarketNo, Outcome);

/// Indexes of a user's rows of one market in the user's rows, plus 1.
#[derive(Debug, Clone, Copy, Default)]
struct RowIndexes {
    yes: Option<NonZeroU32>,
    no: Option<NonZeroU32>,
}

impl RowIndexes {
    fn of(self, outcome: Outcome) -> Option<usize> {
        let index = match outcome {
            Outcome::Yes => self.yes,
            Outcome::No => self.no,
        };
        index.map(|index| index.get().saturating_sub(1) as usize)
    }

    /// Sets or clears one of the two; returns what was there.
    fn set(&mut self, outcome: Outcome, index: Option<usize>) -> Option<usize> {
        let before = self.of(outcome);
        let index = index.and_then(|index| u32::try_from(index).ok()?.checked_add(1));
        let index = index.and_then(NonZeroU32::new);
        match outcome {
            Outcome::Yes => self.yes = index,
            Outcome::No => self.no = index,
        }
        before
    }
}

/// All positions. A change finds its row in O(1); rows are sorted only when a user's list is read.
#[derive(Debug, Default)]
pub struct Positions {
    /// Each user's open positions, in no particular order.
    users: Vec<Vec<PositionRow>>,
    /// Where the rows of each user's open positions in a market are.
    index: FxHashMap<(UserNo, MarketNo), RowIndexes>,
    /// Each user's positions held to the market's end.
    ended: Streams<Ended>,
    /// Rows that the current record settles.
    settled: Vec<Key>,
    /// The results of markets that have ended, or begun to pay.
    ends: FxHashMap<MarketNo, End>,
    /// Open interest of each market: yes contracts held. At the end of each record there are as
    /// many no contracts, including those that the venue holds for converted sets.
    interest: Vec<Lots>,
    changes: u64,
}

impl Positions {
    /// No positions yet; pages of ended ones go to `history`.
    pub(super) fn on(history: History) -> Positions {
        Positions { ended: Streams::on(history), ..Positions::default() }
    }

    /// A user's positions, latest change first. Sorts the k open rows in O(k log k); k is at most
    /// two per market in which the user holds contracts.
    pub fn of(&self, user: UserNo) -> PositionList {
        self.newest(user, usize::MAX)
    }

    /// The newest `wanted` positions, without sorting all of them. O(rows), plus O(n log n) for the
    /// n wanted.
    pub fn newest(&self, user: UserNo, wanted: usize) -> PositionList {
        let mut held: Vec<&PositionRow> = self.held(user).collect();
        if let Some(older) = held.len().checked_sub(wanted).filter(|older| *older > 0) {
            held.select_nth_unstable_by_key(older - 1, |row| row.change);
            held.drain(..older);
        }
        held.sort_unstable_by_key(|row| row.change);
        let ended = self.ended.pages(user.0);
        let left = ended.count();
        PositionList { held: held.into_iter().copied().collect(), ended, left, wanted }
    }

    /// Number of a user's positions, including those held to a market's end. O(1).
    pub fn count(&self, user: UserNo) -> usize {
        let held = self.users.get(user.index()).map_or(0, Vec::len);
        held.saturating_add(length(self.ended.count(user.0)))
    }

    /// A user's positions in markets that are not final, in no particular order. O(rows).
    pub fn held(&self, user: UserNo) -> impl Iterator<Item = &PositionRow> {
        self.users.get(user.index()).into_iter().flatten()
    }

    /// Contracts of each outcome held in a market, including no contracts that the venue took in
    /// conversions; zero once the market is final. O(1).
    pub fn open_interest(&self, market: MarketNo) -> Lots {
        self.interest.get(market.index()).copied().unwrap_or_default()
    }

    /// One open position. O(1).
    pub fn position(
        &self,
        user: UserNo,
        market: MarketNo,
        outcome: Outcome,
    ) -> Option<&PositionRow> {
        self.row((user, market, outcome))
    }

    fn fold_effect(
        &mut self,
        time: TimeMs,
        paid: &FxHashSet<(UserNo, MarketNo)>,
        effect: &Effect,
    ) -> Result<(), Fault> {
        match effect {
            Effect::UserCreated { user, .. } => {
                is_next(user.index(), self.users.len())?;
                self.users.push(Vec::new());
                self.ended.add_owner(user.index())
            }
            Effect::MarketCreated { market, .. } => {
                is_next(market.index(), self.interest.len())?;
                self.interest.push(Lots::ZERO);
                Ok(())
            }
            Effect::PositionChanged { user, market, yes, no, realised } => {
                if self.users.get(user.index()).is_none() {
                    return Err(Fault::UnknownUser(*user));
                }
                // If the record pays the user out, a change to nothing held is the payout itself.
                let nothing = yes.held.is_zero() && no.held.is_zero();
                let paid_out = nothing && paid.contains(&(*user, *market));
                let mut indexes = self.indexes(*user, *market);
                for (outcome, holding) in [(Outcome::Yes, yes), (Outcome::No, no)] {
                    let key = (*user, *market, outcome);
                    let holding = if paid_out { None } else { Some(holding) };
                    if self.change(time, (key, indexes), holding, *realised)? {
                        indexes = self.indexes(*user, *market);
                    }
                }
                Ok(())
            }
            Effect::PositionSettled { user, market, yes, no, realised, .. } => {
                let end = self.ends.get(market).copied().ok_or(Fault::PaidBeforeEnd(*market))?;
                for (outcome, lots) in [(Outcome::Yes, *yes), (Outcome::No, *no)] {
                    self.settle(time, (*user, *market, outcome), lots, end, *realised)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Sets, adds or removes a row as the holding requires; `None` keeps quantity and cost. A
    /// settled row only updates `realised`. Returns whether a row was added or removed.
    fn change(
        &mut self,
        time: TimeMs,
        (key, indexes): (Key, RowIndexes),
        holding: Option<&Holding>,
        realised: MoneySum,
    ) -> Result<bool, Fault> {
        let (user, _, outcome) = key;
        let next = self.changes.saturating_add(1);
        let row = indexes.of(outcome).zip(self.users.get_mut(user.index()));
        let Some(row) = row.and_then(|(index, rows)| rows.get_mut(index)) else {
            let Some(holding) = holding.filter(|holding| !holding.held.is_zero()) else {
                return Ok(false);
            };
            self.add(time, key, holding, realised);
            self.note_interest(key, Lots::ZERO, holding.held)?;
            return Ok(true);
        };
        let before = (row.quantity, row.cost, row.copy_from, row.realised);
        row.realised = realised;
        if let (Some(holding), None) = (holding, row.resolution) {
            row.quantity = holding.held;
            row.cost = holding.cost;
            row.copy_from = holding.copy_from;
        }
        let after = (row.quantity, row.cost, row.copy_from, row.realised);
        let gone = row.quantity.is_zero();
        if gone {
            self.remove(key);
        } else if before != after {
            (row.updated_at, row.change) = (time, next);
            self.changes = next;
        }
        self.note_interest(key, before.0, after.0)?;
        Ok(gone)
    }

    fn indexes(&self, user: UserNo, market: MarketNo) -> RowIndexes {
        self.index.get(&(user, market)).copied().unwrap_or_default()
    }

    /// Sets or clears the index of a row; returns the index before.
    fn set_index(&mut self, key: Key, index: Option<usize>) -> Option<usize> {
        let (user, market, outcome) = key;
        let indexes = self.index.entry((user, market)).or_default();
        let before = indexes.set(outcome, index);
        if indexes.yes.is_none() && indexes.no.is_none() {
            self.index.remove(&(user, market));
        }
        before
    }

    /// Updates the open interest; counts one outcome only, since both have the same.
    fn note_interest(&mut self, key: Key, before: Lots, after: Lots) -> Result<(), Fault> {
        let (_, market, outcome) = key;
        // A settled row keeps its quantity but left the open interest before.
        if before == after {
            return Ok(());
        }
        if let (Outcome::Yes, Some(held)) = (outcome, self.interest.get_mut(market.index())) {
            *held = held.minus(before)?.plus(after)?;
        }
        Ok(())
    }

    fn settle(
        &mut self,
        time: TimeMs,
        key: Key,
        lots: Lots,
        end: End,
        realised: MoneySum,
    ) -> Result<(), Fault> {
        let (user, market, outcome) = key;
        let held = self.row_mut(key).map_or(Lots::ZERO, |row| row.quantity);
        if held != lots {
            return Err(Fault::PaidWithoutContracts { user, market });
        }
        if let Some(row) = self.row_mut(key) {
            let first = row.resolution.replace(end.resolution(outcome)).is_none();
            row.realised = realised;
            self.touch(time, key);
            if first {
                self.settled.push(key);
                self.note_interest(key, lots, Lots::ZERO)?;
            }
        }
        Ok(())
    }

    fn row_mut(&mut self, key: Key) -> Option<&mut PositionRow> {
        let index = self.indexes(key.0, key.1).of(key.2)?;
        self.users.get_mut(key.0.index())?.get_mut(index)
    }

    fn touch(&mut self, time: TimeMs, key: Key) {
        self.changes = self.changes.saturating_add(1);
        let change = self.changes;
        if let Some(row) = self.row_mut(key) {
            row.updated_at = time;
            row.change = change;
        }
    }

    fn add(&mut self, time: TimeMs, key: Key, holding: &Holding, realised: MoneySum) {
        let (user, market, outcome) = key;
        self.changes = self.changes.saturating_add(1);
        let Some(rows) = self.users.get_mut(user.index()) else { return };
        let index = rows.len();
        rows.push(PositionRow {
            user,
            market,
            outcome,
            quantity: holding.held,
            cost: holding.cost,
            realised,
            resolution: None,
            copy_from: holding.copy_from,
            updated_at: time,
            change: self.changes,
        });
        self.set_index(key, Some(index));
    }

    /// Moves the rows that the record settled to the ended ones: they never change again.
    fn store_settled(&mut self) -> Result<(), Fault> {
        let mut keys = std::mem::take(&mut self.settled);
        let change = |key: &Key| self.row(*key).map(|row| row.change);
        keys.sort_by_cached_key(change);
        let mut put = Ok(());
        for key in keys.drain(..) {
            if let Some(row) = self.row(key).copied() {
                let unknown = Fault::UnknownUser(row.user);
                put = put.and(self.ended.push(row.user.0, &Ended(row), unknown).map(drop));
                self.remove(key);
            }
        }
        self.settled = keys;
        put
    }

    fn row(&self, key: Key) -> Option<&PositionRow> {
        let index = self.indexes(key.0, key.1).of(key.2)?;
        self.users.get(key.0.index())?.get(index)
    }

    /// Removes a row; the user's last row moves to its index.
    fn remove(&mut self, key: Key) {
        let Some(index) = self.set_index(key, None) else { return };
        let Some(rows) = self.users.get_mut(key.0.index()) else { return };
        if index < rows.len() {
            rows.swap_remove(index);
        }
        let moved = rows.get(index).map(|moved| (moved.user, moved.market, moved.outcome));
        if let Some(moved) = moved {
            self.set_index(moved, Some(index));
        }
    }
}

impl Projection for Positions {
    /// Reads the record twice: a payout may come before or after the status change that ends its
    /// market, and before or after the position change to zero.
    fn fold(&mut self, applied: &Applied<'_>, faults: &mut Faults) {
        let mut paid = FxHashSet::default();
        for effect in applied.effects {
            match effect {
                Effect::MarketMoved { market, to: MarketStatus::Voided, .. } => {
                    self.ends.insert(*market, End::Voided);
                }
                Effect::MarketMoved {
                    market,
                    to: MarketStatus::Settled,
                    winner: Some(winner),
                    ..
                } => {
                    self.ends.insert(*market, End::Settled(*winner));
                }
                Effect::MarketPays { market, price, voided } => {
                    let yes_wins = *price == SettlementPrice::ONE;
                    let winner = if yes_wins { Outcome::Yes } else { Outcome::No };
                    let end = if *voided { End::Voided } else { End::Settled(winner) };
                    self.ends.insert(*market, end);
                }
                Effect::PositionSettled { user, market, yes, no, .. }
                    if !(yes.is_zero() && no.is_zero()) =>
                {
                    paid.insert((*user, *market));
                }
                _ => {}
            }
        }
        for effect in applied.effects {
            faults.check(self.fold_effect(applied.time, &paid, effect));
        }
        faults.check(self.store_settled());
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/positions.rs"]
mod tests;
