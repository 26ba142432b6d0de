//! Each user's performance: money in and out, realised profit and loss, volume, in total and per
//! day.

mod image;

use std::iter;

use rustc_hash::FxHashMap;

use super::Projection;
use super::fault::{Fault, Faults, is_next};
use exchange::effect::{Applied, Effect};
use exchange::ids::{MarketNo, UserNo};
use exchange::lifecycle::MarketStatus;
use exchange::units::{Lots, LotsSum, Money, MoneySum, Overflow, TimeMs};

/// Days of scores kept before a user's last active day: the longest ranking period and some more.
/// Earlier days are kept only as a sum.
const DAYS_KEPT: u32 = 32;
/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A day, in UTC: whole days since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(u32);

impl Day {
    /// Earlier than any day on which something happens.
    pub const FIRST: Day = Day(0);

    /// The day of a time.
    pub fn of(time: TimeMs) -> Day {
        Day(u32::try_from(time.get().div_euclid(DAY_MS)).unwrap_or(u32::MAX))
    }

    /// Whole days since 1970.
    pub const fn number(self) -> usize {
        self.0 as usize
    }

    /// The day this many days before, or [`Day::FIRST`].
    #[must_use]
    pub const fn earlier(self, days: u32) -> Day {
        Day(self.0.saturating_sub(days))
    }
}

/// A user's result up to some moment or within a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Score {
    /// Profit and loss realised, over all markets.
    pub realised: MoneySum,
    /// Volume in lots.
    pub volume: LotsSum,
}

impl Score {
    fn since(self, before: Score) -> Result<Score, Overflow> {
        let realised = self.realised.less(before.realised)?;
        Ok(Score { realised, volume: self.volume.less(before.volume)? })
    }
}

/// A day with a change, and the score at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DayRow {
    day: Day,
    score: Score,
}

/// One user's figures, without the last day with a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct UserRow {
    deposited: MoneySum,
    withdrawn: MoneySum,
    fees_taken: MoneySum,
    /// Days before the last one, oldest first.
    days: Vec<DayRow>,
}

/// The last day with a change for a user, if any, and the score so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Latest {
    day: Option<Day>,
    score: Score,
}

impl Latest {
    fn row(self) -> Option<DayRow> {
        self.day.map(|day| DayRow { day, score: self.score })
    }
}

/// All users' scores at the start of a day. Final once a record of that day or a later one was
/// folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    day: Day,
    /// By user; zero for users beyond the end.
    scores: Vec<Score>,
}

impl Baseline {
    /// The baseline of a day before which nothing happened, or since which nothing did.
    pub const fn of_nothing(day: Day) -> Baseline {
        Baseline { day, scores: Vec::new() }
    }
}

/// All users' figures. Each kept day costs a user 48 bytes.
#[derive(Debug, Default)]
pub struct Performance {
    users: Vec<UserRow>,
    /// By user. Contiguous, since rankings scan all of it.
    latest: Vec<Latest>,
    /// What each user has realised so far in each market that is not final.
    realised: FxHashMap<MarketNo, FxHashMap<UserNo, MoneySum>>,
}

impl Performance {
    /// Total deposits of a user. O(1).
    pub fn deposited(&self, user: UserNo) -> MoneySum {
        self.users.get(user.index()).map_or(MoneySum::ZERO, |row| row.deposited)
    }

    /// Total withdrawals of a user. O(1).
    pub fn withdrawn(&self, user: UserNo) -> MoneySum {
        self.users.get(user.index()).map_or(MoneySum::ZERO, |row| row.withdrawn)
    }

    /// Total venue fees that a user took. O(1).
    pub fn fees_taken(&self, user: UserNo) -> MoneySum {
        self.users.get(user.index()).map_or(MoneySum::ZERO, |row| row.fees_taken)
    }

    /// A user's total score. O(1).
    pub fn total(&self, user: UserNo) -> Score {
        self.latest.get(user.index()).copied().unwrap_or_default().score
    }

    /// What a user has realised so far in a market that is not final. O(1).
    pub fn realised_in(&self, user: UserNo, market: MarketNo) -> MoneySum {
        let users = self.realised.get(&market);
        users.and_then(|users| users.get(&user)).copied().unwrap_or_default()
    }

    /// All users' scores at the start of a day, which must be one of the last [`DAYS_KEPT`] or
    /// [`Day::FIRST`]. O(users), plus a binary search of the days of each user with a later change.
    pub fn before(&self, day: Day) -> Baseline {
        let before = |(row, latest): (&UserRow, &Latest)| {
            if latest.day.is_some_and(|last| last < day) {
                return latest.score;
            }
            let later = row.days.partition_point(|row| row.day < day);
            let last = later.checked_sub(1).and_then(|last| row.days.get(last));
            last.map_or_else(Score::default, |row| row.score)
        };
        Baseline { day, scores: self.users.iter().zip(&self.latest).map(before).collect() }
    }

    /// The scores since the start of that day, of all users with a change since then. O(users).
    pub fn since(&self, baseline: &Baseline) -> impl Iterator<Item = (UserNo, Score)> {
        let before = baseline.scores.iter().copied().chain(iter::repeat(Score::default()));
        let all = (0..).map(UserNo).zip(&self.latest).zip(before);
        let day = baseline.day;
        all.filter_map(move |((user, latest), before)| {
            let active = latest.day.is_some_and(|last| last >= day);
            let score = active.then(|| latest.score.since(before))?;
            score.ok().map(|score| (user, score))
        })
    }

    fn fold_effect(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match *effect {
            Effect::UserCreated { user, .. } => {
                is_next(user.index(), self.users.len())?;
                self.users.push(UserRow::default());
                self.latest.push(Latest::default());
                Ok(())
            }
            Effect::Deposited { user, amount } => {
                let row = self.row(user)?;
                row.deposited = row.deposited.plus(amount)?;
                Ok(())
            }
            Effect::Withdrawn { user, amount } => {
                let row = self.row(user)?;
                row.withdrawn = row.withdrawn.plus(amount)?;
                Ok(())
            }
            Effect::FeesTaken { user, amount } => {
                let row = self.row(user)?;
                row.fees_taken = row.fees_taken.plus(amount)?;
                Ok(())
            }
            Effect::TradeMade(trade) => {
                self.traded(at.time, trade.taker.user, trade.quantity)?;
                self.traded(at.time, trade.maker.user, trade.quantity)
            }
            Effect::PositionChanged { user, market, realised, .. } => {
                let of_market = self.realised.get(&market);
                let before = of_market.and_then(|users| users.get(&user)).copied();
                let before = before.unwrap_or_default();
                if before != realised {
                    self.realised.entry(market).or_default().insert(user, realised);
                    self.gained(at.time, user, realised.less(before)?)?;
                }
                Ok(())
            }
            Effect::PositionSettled { user, market, realised, .. } => {
                // Kept until the market is final: it may pay others in later records.
                let users = self.realised.entry(market).or_default();
                let before = users.insert(user, realised).unwrap_or_default();
                self.gained(at.time, user, realised.less(before)?)
            }
            _ => Ok(()),
        }
    }

    fn traded(&mut self, time: TimeMs, user: UserNo, quantity: Lots) -> Result<(), Fault> {
        let score = self.today(user, Day::of(time))?;
        score.volume = score.volume.plus(quantity)?;
        Ok(())
    }

    fn gained(&mut self, time: TimeMs, user: UserNo, gain: MoneySum) -> Result<(), Fault> {
        if gain == MoneySum::ZERO {
            return Ok(());
        }
        let score = self.today(user, Day::of(time))?;
        score.realised = score.realised.and(gain)?;
        Ok(())
    }

    /// A user's current score, to be changed.
    fn today(&mut self, user: UserNo, day: Day) -> Result<&mut Score, Fault> {
        let latest = self.latest.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
        if latest.day.is_none_or(|last| last < day) {
            let row = self.users.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
            row.days.extend(latest.row());
            // The last day before those kept stays as the base of differences.
            let first = day.earlier(DAYS_KEPT);
            let gone = row.days.partition_point(|row| row.day < first).saturating_sub(1);
            row.days.drain(..gone);
            latest.day = Some(day);
        }
        Ok(&mut latest.score)
    }

    fn row(&mut self, user: UserNo) -> Result<&mut UserRow, Fault> {
        self.users.get_mut(user.index()).ok_or(Fault::UnknownUser(user))
    }
}

impl Projection for Performance {
    fn fold(&mut self, applied: &Applied<'_>, faults: &mut Faults) {
        for effect in applied.effects {
            faults.check(self.fold_effect(applied, effect));
        }
        for effect in applied.effects {
            // A user who holds nothing at the end has no `PositionSettled` effect.
            if let Effect::MarketMoved {
                market,
                to: MarketStatus::Settled | MarketStatus::Voided,
                ..
            } = effect
            {
                self.realised.remove(market);
            }
        }
    }
}

/// An account's profit and loss and its money. Deposits less withdrawals plus realised profit equal
/// the money on the account plus the cost of open positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pnl {
    /// Total deposits.
    pub deposited: MoneySum,
    /// Total withdrawals.
    pub withdrawn: MoneySum,
    /// Venue fees taken by an operator.
    pub fees_taken: MoneySum,
    /// Realised, over all markets.
    pub realised: MoneySum,
    /// Cost of open positions.
    pub cost: MoneySum,
    /// Value of open positions at the displayed probabilities.
    pub value: MoneySum,
    /// Available money.
    pub available: Money,
    /// Money reserved for orders.
    pub reserved: Money,
}

/// A user's profit and loss in one market.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MarketPnl {
    /// Realised.
    pub realised: MoneySum,
    /// Cost of the contracts held.
    pub cost: MoneySum,
    /// Their value at the displayed probabilities.
    pub value: MoneySum,
}

impl Pnl {
    /// Unrealised profit and loss at the displayed probabilities.
    pub fn unrealised(&self) -> Result<MoneySum, Overflow> {
        self.value.less(self.cost)
    }

    /// Equity: money plus the displayed value of open positions.
    pub fn equity(&self) -> Result<MoneySum, Overflow> {
        self.value.plus(self.available)?.plus(self.reserved)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/performance.rs"]
mod tests;
