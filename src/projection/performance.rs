//! How each user has done: money in and out, profit and loss realised, contracts traded, in all
//! and day by day.

mod image;

use rustc_hash::FxHashMap;

use super::Projection;
use super::fault::{Fault, Faults, is_next};
use crate::exchange::effect::{Applied, Effect};
use crate::exchange::ids::{MarketNo, UserNo};
use crate::exchange::lifecycle::MarketStatus;
use crate::exchange::units::{Lots, LotsSum, Money, MoneySum, Overflow, TimeMs};

/// Days before a user's last active one whose scores are kept: as long as the longest period that
/// anybody is compared over, and some. Of the time before, only the sum is kept.
const DAYS_KEPT: u32 = 32;
/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A day, in UTC: whole days since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(u32);

impl Day {
    /// The day of a moment.
    pub fn of(time: TimeMs) -> Day {
        Day(u32::try_from(time.get().div_euclid(DAY_MS)).unwrap_or(u32::MAX))
    }

    /// Whole days since 1970.
    pub const fn number(self) -> usize {
        self.0 as usize
    }

    /// The day so many days before; the first one where there is none.
    #[must_use]
    pub const fn earlier(self, days: u32) -> Day {
        Day(self.0.saturating_sub(days))
    }
}

/// What a user did and came to, up to some moment or within some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Score {
    /// Profit and loss realised, over all markets.
    pub realised: MoneySum,
    /// Contracts traded.
    pub volume: LotsSum,
}

impl Score {
    fn since(self, before: Score) -> Result<Score, Overflow> {
        let realised = self.realised.less(before.realised)?;
        Ok(Score { realised, volume: self.volume.less(before.volume)? })
    }
}

/// A day on which something changed, and the score at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DayRow {
    day: Day,
    score: Score,
}

/// One user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct UserRow {
    deposited: MoneySum,
    withdrawn: MoneySum,
    fees_taken: MoneySum,
    /// Oldest first.
    days: Vec<DayRow>,
}

impl UserRow {
    /// The score at the end of the last day before this one.
    fn before(&self, day: Day) -> Score {
        let later = self.days.partition_point(|row| row.day < day);
        later
            .checked_sub(1)
            .and_then(|last| self.days.get(last))
            .map_or_else(Score::default, |r| r.score)
    }

    fn total(&self) -> Score {
        self.days.last().map_or_else(Score::default, |row| row.score)
    }

    /// The score of today, to be changed.
    fn today(&mut self, day: Day) -> Option<&mut Score> {
        if self.days.last().is_none_or(|last| last.day < day) {
            self.days.push(DayRow { day, score: self.total() });
            // The last day before those that are kept is what they are counted from.
            let first = day.earlier(DAYS_KEPT);
            let gone = self.days.partition_point(|row| row.day < first).saturating_sub(1);
            self.days.drain(..gone);
        }
        self.days.last_mut().map(|row| &mut row.score)
    }
}

/// Everybody's figures. Each of the last days on which anything changed costs a user 48 bytes.
#[derive(Debug, Default)]
pub struct Performance {
    users: Vec<UserRow>,
    /// What each user realised so far in each market that is not final.
    realised: FxHashMap<MarketNo, FxHashMap<UserNo, MoneySum>>,
}

impl Performance {
    /// All that a user ever paid in. O(1).
    pub fn deposited(&self, user: UserNo) -> MoneySum {
        self.users.get(user.index()).map_or(MoneySum::ZERO, |row| row.deposited)
    }

    /// All that a user ever took out. O(1).
    pub fn withdrawn(&self, user: UserNo) -> MoneySum {
        self.users.get(user.index()).map_or(MoneySum::ZERO, |row| row.withdrawn)
    }

    /// All that a user ever took of the venue's fees. O(1).
    pub fn fees_taken(&self, user: UserNo) -> MoneySum {
        self.users.get(user.index()).map_or(MoneySum::ZERO, |row| row.fees_taken)
    }

    /// A user's score from the beginning. O(1).
    pub fn total(&self, user: UserNo) -> Score {
        self.users.get(user.index()).map_or_else(Score::default, UserRow::total)
    }

    /// The scores since the beginning of a day, one of the last [`DAYS_KEPT`] or the first of all,
    /// of all users for whom anything changed since. O(1)
    /// for each user, and a bisection of the days of those who are told of.
    pub fn since(&self, day: Day) -> impl Iterator<Item = (UserNo, Score)> {
        let numbered = (0..).map(UserNo).zip(&self.users);
        let active = numbered.filter(move |(_, row)| row.days.last().is_some_and(|d| d.day >= day));
        active.filter_map(move |(user, row)| {
            row.total().since(row.before(day)).ok().map(|score| (user, score))
        })
    }

    fn fold_effect(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match *effect {
            Effect::UserCreated { user, .. } => {
                is_next(user.index(), self.users.len())?;
                self.users.push(UserRow::default());
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
                let of_market = self.realised.get_mut(&market);
                let before = of_market.and_then(|users| users.remove(&user)).unwrap_or_default();
                self.gained(at.time, user, realised.less(before)?)
            }
            _ => Ok(()),
        }
    }

    fn traded(&mut self, time: TimeMs, user: UserNo, quantity: Lots) -> Result<(), Fault> {
        if let Some(score) = self.row(user)?.today(Day::of(time)) {
            score.volume = score.volume.plus(quantity)?;
        }
        Ok(())
    }

    fn gained(&mut self, time: TimeMs, user: UserNo, gain: MoneySum) -> Result<(), Fault> {
        if gain == MoneySum::ZERO {
            return Ok(());
        }
        if let Some(score) = self.row(user)?.today(Day::of(time)) {
            score.realised = score.realised.and(gain)?;
        }
        Ok(())
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
            // Those who hold nothing at the end are not told of.
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

/// An account's profit and loss, and the money that it is to be held against: what was paid in,
/// less what was taken out, and what was realised, is on the account or was paid for contracts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pnl {
    /// Paid in.
    pub deposited: MoneySum,
    /// Taken out.
    pub withdrawn: MoneySum,
    /// Fees of the venue's taken, by an operator.
    pub fees_taken: MoneySum,
    /// Realised, over all markets.
    pub realised: MoneySum,
    /// What the contracts held cost.
    pub cost: MoneySum,
    /// What they are worth at the displayed probabilities.
    pub value: MoneySum,
    /// On the account, free to use.
    pub available: Money,
    /// On the account, backing orders.
    pub reserved: Money,
}

impl Pnl {
    /// What would be realised on top if the contracts held were worth what is displayed.
    pub fn unrealised(&self) -> Result<MoneySum, Overflow> {
        self.value.less(self.cost)
    }

    /// What the account would then be worth.
    pub fn equity(&self) -> Result<MoneySum, Overflow> {
        self.value.plus(self.available)?.plus(self.reserved)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::exchange::catalogue::Outcome;
    use crate::exchange::units::Sequence;

    const BID: Placed = Placed { record: 2, user: ANN, wording: BUY_YES, price: 60, quantity: 10 };
    const ASK: Placed = Placed { record: 3, user: BOB, wording: SELL_YES, price: 55, quantity: 4 };

    fn fold_at(performance: &mut Performance, days: i64, effects: &[Effect]) {
        let time = TimeMs::new(days * DAY_MS).unwrap();
        let mut faults = Faults::default();
        let sequence = Sequence::new(9);
        performance.fold(&Applied { sequence, time, effects }, &mut faults);
        assert_eq!(faults.count(), 0);
    }

    fn since(performance: &Performance, day: u32) -> Vec<(u32, i128, u128)> {
        let scores = performance.since(Day(day));
        scores.map(|(user, s)| (user.0, s.realised.get(), s.volume.get())).collect()
    }

    #[test]
    fn scores_are_of_the_days_asked_for() {
        let mut performance: Performance = opened();
        let trade = ASK.took(0, BID, 6, 4);
        fold_at(&mut performance, 3, &[trade.clone(), holds(BOB, (0, 0), (4, 1), -5)]);
        fold_at(&mut performance, 5, &[trade.clone(), trade]);
        fold_at(&mut performance, 6, &[holds(BOB, (0, 0), (2, 1), 7)]);
        // Ann holds nothing at the end, but realised something before.
        fold_at(&mut performance, 6, &[holds(ANN, (0, 0), (0, 0), 3)]);
        fold_at(&mut performance, 6, &[settled(RAIN, Outcome::No), paid(BOB, 0, 2, 9)]);
        assert_eq!(since(&performance, 0), [(0, 3, 12), (1, 9, 12)]);
        assert_eq!(since(&performance, 4), [(0, 3, 8), (1, 14, 8)]);
        assert_eq!(since(&performance, 6), [(0, 3, 0), (1, 14, 0)]);
        assert_eq!(since(&performance, 7), []);
        assert!(performance.realised.is_empty());
        assert_eq!(Day::of(TimeMs::new(DAY_MS * 6 + 5).unwrap()).earlier(2), Day(4));
        assert_eq!(Day(1).earlier(2), Day(0));
    }

    #[test]
    fn the_days_of_a_month_are_kept_and_the_sum_of_all() {
        let mut performance: Performance = opened();
        let maker = Placed { record: 2, user: ANN, wording: BUY_YES, price: 50, quantity: 1 };
        let taker = Placed { record: 3, user: BOB, wording: SELL_YES, ..maker };
        let mut faults = Faults::default();
        for day in 0..400_i64 {
            let time = TimeMs::new(day * DAY_MS).unwrap();
            let effects = [taker.took(0, maker, 0, 1)];
            performance.fold(
                &Applied { sequence: Sequence::new(9), time, effects: &effects },
                &mut faults,
            );
            let today = Day::of(time);
            for days in [0, 1, 6, 29, u32::MAX] {
                let since = performance.since(today.earlier(days));
                let volumes: Vec<u128> = since.map(|(_, score)| score.volume.get()).collect();
                let expected =
                    u128::from(days.saturating_add(1)).min(u128::try_from(day).unwrap() + 1);
                assert_eq!(volumes, [expected; 2], "{days} days before day {day}");
            }
        }
        assert_eq!(faults.count(), 0);
        assert!(performance.users.iter().all(|row| row.days.len() <= DAYS_KEPT as usize + 2));
    }
}
