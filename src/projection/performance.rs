//! How each user has done: money in and out, profit and loss realised, contracts traded, in all
//! and day by day.

mod image;

use std::iter;

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
    /// Before all days on which anything happens.
    pub const FIRST: Day = Day(0);

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

/// One user, but for the last day on which anything changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct UserRow {
    deposited: MoneySum,
    withdrawn: MoneySum,
    fees_taken: MoneySum,
    /// Those before the last one, oldest first.
    days: Vec<DayRow>,
}

/// The last day on which anything changed for a user, if there was one, and the score so far.
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

/// What everybody had come to when a day began. Nothing that comes later changes it, once a record
/// of that day or after it was folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    day: Day,
    /// By user; of those who are not here, nothing.
    scores: Vec<Score>,
}

impl Baseline {
    /// Of a day before which nothing happened, or since which nothing did.
    pub const fn of_nothing(day: Day) -> Baseline {
        Baseline { day, scores: Vec::new() }
    }
}

/// Everybody's figures. Each of the last days on which anything changed costs a user 48 bytes.
#[derive(Debug, Default)]
pub struct Performance {
    users: Vec<UserRow>,
    /// By user. They stand together, since whoever compares users goes through all of them.
    latest: Vec<Latest>,
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
        self.latest.get(user.index()).copied().unwrap_or_default().score
    }

    /// What everybody had come to when a day began, one of the last [`DAYS_KEPT`] or the first of
    /// all. O(users), and a bisection of the days of those for whom anything changed since.
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

    /// The scores since that day began, of all users for whom anything changed since. O(users).
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
                let of_market = self.realised.get_mut(&market);
                let before = of_market.and_then(|users| users.remove(&user)).unwrap_or_default();
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

    /// A user's score of today, to be changed.
    fn today(&mut self, user: UserNo, day: Day) -> Result<&mut Score, Fault> {
        let latest = self.latest.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
        if latest.day.is_none_or(|last| last < day) {
            let row = self.users.get_mut(user.index()).ok_or(Fault::UnknownUser(user))?;
            row.days.extend(latest.row());
            // The last day before those that are kept is what they are counted from.
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
    use std::collections::BTreeMap;

    use proptest::prelude::*;

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
        let baseline = performance.before(Day(day));
        let scores = performance.since(&baseline);
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

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// However early it was taken on its day, and whoever came after that.
        #[test]
        fn what_everybody_had_come_to_stays_as_it_was(
            trades in prop::collection::vec((0..6_u32, 0..4_usize, 1..9_u64), 1..60),
        ) {
            let mut performance: Performance = opened();
            let (mut users, mut day) = (2, 40);
            let mut taken: BTreeMap<u32, Baseline> = BTreeMap::new();
            let mut made: Vec<(u32, u32, u64)> = Vec::new();
            for (user, pause, quantity) in trades {
                day += [0, 1, 5, 30][pause];
                let time = i64::from(day);
                while user >= users {
                    fold_at(&mut performance, time, &[super::super::fixture::user(UserNo(users))]);
                    users += 1;
                }
                let [maker, taker] = [ANN, UserNo(user)].map(|user| Placed { user, ..BID });
                let trade = Placed { record: 3, ..taker }.took(0, maker, 0, quantity);
                fold_at(&mut performance, time, &[trade]);
                made.extend([(day, ANN.0, quantity), (day, user, quantity)]);
                let today = Day::of(TimeMs::new(time * DAY_MS).unwrap());
                let later = Baseline::of_nothing(Day(day + 1));
                let before = performance.before(later.day);
                prop_assert!(performance.since(&later).eq(performance.since(&before)));
                for days in [0, 6, 29, u32::MAX] {
                    let first = today.earlier(days);
                    let early = taken.entry(first.0).or_insert_with(|| match first {
                        Day::FIRST => Baseline::of_nothing(first),
                        _ => performance.before(first),
                    });
                    let mut expected: BTreeMap<u32, u128> = BTreeMap::new();
                    for (_, user, quantity) in made.iter().filter(|(day, ..)| *day >= first.0) {
                        *expected.entry(*user).or_default() += u128::from(*quantity);
                    }
                    let told = performance.since(early);
                    let told: BTreeMap<u32, u128> =
                        told.map(|(user, score)| (user.0, score.volume.get())).collect();
                    prop_assert_eq!(told, expected, "{} days before {}", days, day);
                }
            }
        }
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
                let baseline = performance.before(today.earlier(days));
                let since = performance.since(&baseline);
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
