//! Each user's performance: money in and out, realised profit and loss, volume, in total and per
//! day.

use std::iter;

use rustc_hash::FxHashMap;

use super::fault::{Fault, View};
use super::saved::{Saved, Sink, Source, saved};
use super::table::Table;
use exchange::effect::{Applied, Effect};
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::BadImage;
use exchange::market::MarketStatus;
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

impl Saved for Day {
    fn save(&self, sink: &mut Sink<'_>) {
        self.0.save(sink);
    }

    fn load(source: &mut Source<'_>) -> Result<Self, BadImage> {
        u32::load(source).map(Day)
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

saved!(Score { realised, volume });

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

saved!(DayRow { day, score });

/// One user's figures, without the last day with a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct UserRow {
    deposited: MoneySum,
    withdrawn: MoneySum,
    fees_taken: MoneySum,
    /// Days before the last one, oldest first.
    days: Vec<DayRow>,
}

saved!(UserRow { deposited, withdrawn, fees_taken, days });

/// The last day with a change for a user, if any, and the score so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Latest {
    day: Option<Day>,
    score: Score,
}

saved!(Latest { day, score });

impl Latest {
    /// The user's score at the start of a day.
    fn before(&self, row: &UserRow, day: Day) -> Score {
        if self.day.is_some_and(|last| last < day) {
            return self.score;
        }
        let later = row.days.partition_point(|row| row.day < day);
        let last = later.checked_sub(1).and_then(|last| row.days.get(last));
        last.map_or_else(Score::default, |row| row.score)
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
    users: Table<UserNo, UserRow>,
    /// Contiguous, since rankings scan all of it.
    latest: Table<UserNo, Latest>,
    /// What each user has realised so far in each market that is not final.
    realised: FxHashMap<MarketNo, FxHashMap<UserNo, MoneySum>>,
    /// The markets that the current record makes final.
    ended: Vec<MarketNo>,
}

saved!(Performance { users, latest, realised } made { ended });

impl Performance {
    /// Total deposits of a user. O(1).
    pub fn deposited(&self, user: UserNo) -> MoneySum {
        self.users.get(user).map_or(MoneySum::ZERO, |row| row.deposited)
    }

    /// Total withdrawals of a user. O(1).
    pub fn withdrawn(&self, user: UserNo) -> MoneySum {
        self.users.get(user).map_or(MoneySum::ZERO, |row| row.withdrawn)
    }

    /// Total venue fees that a user took. O(1).
    pub fn fees_taken(&self, user: UserNo) -> MoneySum {
        self.users.get(user).map_or(MoneySum::ZERO, |row| row.fees_taken)
    }

    /// A user's total score. O(1).
    pub fn total(&self, user: UserNo) -> Score {
        self.latest.at(user).score
    }

    /// What a user has realised so far in a market that is not final. O(1).
    pub fn realised_in(&self, user: UserNo, market: MarketNo) -> MoneySum {
        let users = self.realised.get(&market);
        users.and_then(|users| users.get(&user)).copied().unwrap_or_default()
    }

    /// All users' scores at the start of a day, which must be one of the last [`DAYS_KEPT`] or
    /// [`Day::FIRST`]. O(users), plus a binary search of the days of each user with a later change.
    pub fn before(&self, day: Day) -> Baseline {
        let all = self.users.rows().iter().zip(self.latest.rows());
        let scores = all.map(|(row, latest)| latest.before(row, day)).collect();
        Baseline { day, scores }
    }

    /// A user's score since the start of a day, which must be as in [`Performance::before`]; zero
    /// for a user who does not exist. O(log n) for n days kept.
    pub fn of(&self, user: UserNo, day: Day) -> Score {
        let (Some(row), Some(latest)) = (self.users.get(user), self.latest.get(user)) else {
            return Score::default();
        };
        latest.score.since(latest.before(row, day)).unwrap_or_default()
    }

    /// The scores since the start of that day, of all users with a change since then. O(users).
    pub fn since(&self, baseline: &Baseline) -> impl Iterator<Item = (UserNo, Score)> {
        let before = baseline.scores.iter().copied().chain(iter::repeat(Score::default()));
        let all = (0..).map(UserNo).zip(self.latest.rows()).zip(before);
        let day = baseline.day;
        all.filter_map(move |((user, latest), before)| {
            let active = latest.day.is_some_and(|last| last >= day);
            let score = active.then(|| latest.score.since(before))?;
            score.ok().map(|score| (user, score))
        })
    }

    fn traded(&mut self, time: TimeMs, user: UserNo, quantity: Lots) -> Result<(), Fault> {
        let score = self.today(user, Day::of(time))?;
        score.volume = score.volume.plus(quantity)?;
        Ok(())
    }

    /// Notes what a user has realised in a market by now.
    fn realise(
        &mut self,
        time: TimeMs,
        (user, market): (UserNo, MarketNo),
        realised: MoneySum,
    ) -> Result<(), Fault> {
        let before = self.realised_in(user, market);
        if realised == before {
            return Ok(());
        }
        self.realised.entry(market).or_default().insert(user, realised);
        let score = self.today(user, Day::of(time))?;
        score.realised = score.realised.and(realised.less(before)?)?;
        Ok(())
    }

    /// A user's current score, to be changed.
    fn today(&mut self, user: UserNo, day: Day) -> Result<&mut Score, Fault> {
        let latest = self.latest.row(user)?;
        if latest.day.is_none_or(|last| last < day) {
            let days = &mut self.users.row(user)?.days;
            days.extend(latest.day.map(|day| DayRow { day, score: latest.score }));
            // The last day before those kept stays as the base of differences.
            let first = day.earlier(DAYS_KEPT);
            let gone = days.partition_point(|row| row.day < first).saturating_sub(1);
            days.drain(..gone);
            latest.day = Some(day);
        }
        Ok(&mut latest.score)
    }
}

impl View for Performance {
    fn see(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match *effect {
            Effect::UserCreated { user, .. } => {
                self.users.add(user, UserRow::default())?;
                self.latest.add(user, Latest::default())?;
            }
            Effect::Deposited { user, amount } => {
                let row = self.users.row(user)?;
                row.deposited = row.deposited.plus(amount)?;
            }
            Effect::Withdrawn { user, amount } => {
                let row = self.users.row(user)?;
                row.withdrawn = row.withdrawn.plus(amount)?;
            }
            Effect::FeesTaken { user, amount } => {
                let row = self.users.row(user)?;
                row.fees_taken = row.fees_taken.plus(amount)?;
            }
            Effect::TradeMade(trade) => {
                self.traded(at.time, trade.taker.user, trade.quantity)?;
                self.traded(at.time, trade.maker.user, trade.quantity)?;
            }
            // What was paid is kept until the market is final: it may pay others in later records.
            Effect::PositionChanged { user, market, realised, .. }
            | Effect::PositionSettled { user, market, realised, .. } => {
                self.realise(at.time, (user, market), realised)?;
            }
            // What it pays may follow in the same record.
            Effect::MarketMoved {
                market,
                to: MarketStatus::Settled | MarketStatus::Voided,
                ..
            } => self.ended.push(market),
            _ => {}
        }
        Ok(())
    }

    fn conclude(&mut self, _: &Applied<'_>) -> Result<(), Fault> {
        for market in self.ended.drain(..) {
            self.realised.remove(&market);
        }
        Ok(())
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
