//! Each user's position per outcome: open ones, and those held when their market ended (semantics
//! 6).

mod ended;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::catalogue::MarketRow;
use super::closed::ClosedRow;
use super::fault::{Fault, View};
use super::history::History;
use super::history::chain::length;
use super::history::stream::Streams;
use super::saved::{Sizes, saved, saved_enum};
use super::table::Table;
use exchange::catalogue::Outcome;
use exchange::effect::{Applied, Effect, Holding};
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::BadImage;
use exchange::market::MarketStatus;
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

saved_enum!(Resolution { 1 = Won, 2 = Lost, 3 = Void });

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

saved!(PositionRow {
    user,
    market,
    outcome,
    quantity,
    cost,
    realised,
    resolution,
    copy_from,
    updated_at,
    change,
});

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

/// How a market ends.
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

/// All positions.
#[derive(Debug, Default)]
pub struct Positions {
    /// The open ones.
    held: BTreeMap<Key, PositionRow>,
    /// Each user's positions held to the market's end.
    ended: Streams<Ended>,
    /// Open interest of each market: yes contracts held. At the end of each record there are as
    /// many no contracts, including those that the venue holds for converted sets.
    interest: Table<MarketNo, Lots>,
    /// How many users hold contracts of each market, of either outcome.
    holders: Table<MarketNo, u32>,
    changes: u64,
    /// The market that the current record pays out.
    paying: Option<(MarketNo, End)>,
}

saved!(Positions { held, ended, interest, changes } made { holders, paying } by counted);

impl Positions {
    /// No positions yet; pages of ended ones go to `history`.
    pub(super) fn on(history: History) -> Positions {
        Positions { ended: Streams::on(history), ..Positions::default() }
    }

    /// With the holders of each market counted again.
    fn counted(mut self, sizes: Sizes) -> Result<Positions, BadImage> {
        self.holders = Table::of_empty(sizes.markets);
        let mut before = None;
        for (user, market, _) in self.held.keys() {
            if before.replace((*user, *market)) != Some((*user, *market)) {
                let unknown = |_| BadImage::Contradiction("a position in no market");
                let holders = self.holders.row(*market).map_err(unknown)?;
                *holders = holders.saturating_add(1);
            }
        }
        Ok(self)
    }

    /// A user's positions, latest change first. O(k log k) for k open ones; k is at most two per
    /// market in which the user holds contracts.
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

    /// Number of a user's positions, including those held to a market's end. O(open ones).
    pub fn count(&self, user: UserNo) -> usize {
        self.held(user).count().saturating_add(length(self.ended.count(user.0)))
    }

    /// A user's positions in markets that are not final, by market. O(log n), plus O(1) each.
    pub fn held(&self, user: UserNo) -> impl Iterator<Item = &PositionRow> {
        let first = (user, MarketNo(0), Outcome::Yes);
        self.held.range(first..=(user, MarketNo(u32::MAX), Outcome::No)).map(|(_, row)| row)
    }

    /// Contracts of each outcome held in a market, including no contracts that the venue took in
    /// conversions; zero once the market is final. O(1).
    pub fn open_interest(&self, market: MarketNo) -> Lots {
        self.interest.at(market)
    }

    /// How many users hold contracts of a market, of either outcome; 0 once it is final. O(1).
    pub fn holders(&self, market: MarketNo) -> u32 {
        self.holders.at(market)
    }

    /// One open position. O(log n).
    pub fn position(
        &self,
        user: UserNo,
        market: MarketNo,
        outcome: Outcome,
    ) -> Option<&PositionRow> {
        self.held.get(&(user, market, outcome))
    }

    /// Sets, adds or removes a row as the holding requires.
    fn change(
        &mut self,
        time: TimeMs,
        key: Key,
        holding: &Holding,
        realised: MoneySum,
    ) -> Result<(), Fault> {
        let (user, market, outcome) = key;
        let quantity = holding.held;
        let mut row = PositionRow {
            user,
            market,
            outcome,
            quantity,
            cost: holding.cost,
            realised,
            resolution: None,
            copy_from: holding.copy_from,
            updated_at: time,
            change: self.changes.saturating_add(1),
        };
        let before = match self.held.entry(key) {
            Entry::Vacant(_) if quantity.is_zero() => return Ok(()),
            Entry::Occupied(held) if quantity.is_zero() => {
                let gone = held.remove();
                self.count_holder(key, false)?;
                return self.count_interest(key, gone.quantity, Lots::ZERO);
            }
            Entry::Vacant(place) => {
                place.insert(row);
                Lots::ZERO
            }
            Entry::Occupied(mut held) => {
                let before = *held.get();
                (row.updated_at, row.change) = (before.updated_at, before.change);
                if row == before {
                    return Ok(());
                }
                (row.updated_at, row.change) = (time, self.changes.saturating_add(1));
                held.insert(row).quantity
            }
        };
        self.changes = row.change;
        if before.is_zero() {
            self.count_holder(key, true)?;
        }
        self.count_interest(key, before, quantity)
    }

    /// Counts a user whose first contracts of a market came, or whose last ones went: while those
    /// of the other outcome are held, neither is so.
    fn count_holder(&mut self, (user, market, outcome): Key, came: bool) -> Result<(), Fault> {
        if !self.held.contains_key(&(user, market, outcome.other())) {
            let holders = self.holders.row(market)?;
            *holders = if came { holders.saturating_add(1) } else { holders.saturating_sub(1) };
        }
        Ok(())
    }

    /// Updates the open interest; counts one outcome only, since both have the same.
    fn count_interest(&mut self, key: Key, before: Lots, after: Lots) -> Result<(), Fault> {
        if let (_, market, Outcome::Yes) = key {
            let held = self.interest.row(market)?;
            *held = held.minus(before)?.plus(after)?;
        }
        Ok(())
    }

    /// Moves a position that is paid out to the ended ones: it never changes again, and keeps what
    /// it was before the payout.
    fn settle(
        &mut self,
        time: TimeMs,
        key: Key,
        lots: Lots,
        realised: MoneySum,
    ) -> Result<(), Fault> {
        let (user, market, outcome) = key;
        let paying = self.paying.filter(|(paying, _)| *paying == market);
        let (_, end) = paying.ok_or(Fault::PaidBeforeEnd(market))?;
        if self.held.get(&key).map_or(Lots::ZERO, |row| row.quantity) != lots {
            return Err(Fault::PaidWithoutContracts { user, market });
        }
        let Some(held) = self.held.remove(&key) else { return Ok(()) };
        self.count_holder(key, false)?;
        self.changes = self.changes.saturating_add(1);
        let resolution = Some(end.resolution(outcome));
        let row =
            PositionRow { realised, resolution, updated_at: time, change: self.changes, ..held };
        self.ended.push(user.0, &Ended(row), Fault::UnknownUser(user))?;
        self.count_interest(key, lots, Lots::ZERO)
    }
}

impl View for Positions {
    fn see(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        use Outcome::{No, Yes};
        match effect {
            Effect::UserCreated { user, .. } => self.ended.add_owner(user.index())?,
            Effect::MarketCreated { market, .. } => {
                self.interest.add(*market, Lots::ZERO)?;
                self.holders.add(*market, 0)?;
            }
            Effect::PositionChanged { user, market, yes, no, realised } => {
                self.ended.base(user.0).ok_or(Fault::UnknownUser(*user))?;
                self.change(at.time, (*user, *market, Yes), yes, *realised)?;
                self.change(at.time, (*user, *market, No), no, *realised)?;
            }
            // A market says that it ends, or pays, before what it pays.
            Effect::MarketMoved { market, to: MarketStatus::Voided, .. } => {
                self.paying = Some((*market, End::Voided));
            }
            Effect::MarketMoved {
                market, to: MarketStatus::Settled, winner: Some(winner), ..
            } => {
                self.paying = Some((*market, End::Settled(*winner)));
            }
            Effect::MarketPays { market, price, voided } => {
                let winner = if *price == SettlementPrice::ONE { Yes } else { No };
                self.paying =
                    Some((*market, if *voided { End::Voided } else { End::Settled(winner) }));
            }
            Effect::PositionSettled { user, market, yes, no, realised, .. } => {
                self.settle(at.time, (*user, *market, Yes), *yes, *realised)?;
                self.settle(at.time, (*user, *market, No), *no, *realised)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn conclude(&mut self, _: &Applied<'_>) -> Result<(), Fault> {
        self.paying = None;
        Ok(())
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/positions.rs"]
mod tests;
