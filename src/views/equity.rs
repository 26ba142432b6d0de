//! Each user's equity as time passes: a point at the turn of an hour for who had a change of money
//! or contracts in it, and at the turn of a day for who holds contracts, since prices move too.
//!
//! Few users are looked at with each record, so no record takes long, and a point says when it was
//! taken.

use super::fault::{Fault, View};
use super::history::chain::RowIndex;
use super::history::onward::Made;
use super::history::stream::{Newest, Row, Streams};
use super::history::{Coder, History, Kind, Refers};
use super::saved::saved;
use super::table::Table;
use exchange::effect::{Applied, Effect};
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::BadImage;
use exchange::units::{MoneySum, Sequence, TimeMs};

const HOUR_MS: i64 = 60 * 60 * 1000;
const DAY_HOURS: u64 = 24;

/// A user's equity at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EquityPoint {
    /// The record after which it was so.
    pub sequence: Sequence,
    /// When.
    pub time: TimeMs,
    /// Money plus the displayed value of open positions.
    pub equity: MoneySum,
    /// Deposits and venue fees taken, less withdrawals, until then: what is no gain.
    pub paid_in: MoneySum,
}

/// All users' points.
#[derive(Debug, Default)]
pub struct Equity {
    points: Streams<EquityPoint>,
    /// Whose money or contracts changed since their last point.
    changed: Table<UserNo, bool>,
    /// The hour, since 1970, whose turn the users are looked at for.
    hour: u64,
    /// Whether a day began with it.
    daily: bool,
    /// The next user to be looked at; past the last one until the next hour.
    next: u32,
}

saved!(Equity { points, changed, hour, daily, next });

impl Equity {
    /// No points yet; pages go to `history`.
    pub(super) fn on(history: History) -> Equity {
        Equity { points: Streams::on(history), ..Equity::default() }
    }

    /// A user's points, newest first.
    pub fn of(&self, user: UserNo) -> Newest<EquityPoint> {
        self.points.pages(user.0).newest_first()
    }

    /// Begins to look at the users if an hour is over at this time; an hour that began meanwhile
    /// waits until all were looked at.
    pub(super) fn turn(&mut self, now: TimeMs) {
        let hours = now.get().div_euclid(HOUR_MS);
        let hour = u64::try_from(hours).unwrap_or_default();
        if hour > self.hour && self.next as usize >= self.changed.len() {
            let day = |hour: u64| hour / DAY_HOURS;
            self.daily = day(hour) > day(self.hour);
            (self.hour, self.next) = (hour, 0);
        }
    }

    /// The next user to be looked at in this turn.
    pub(super) fn next(&mut self) -> Option<UserNo> {
        let user = Some(UserNo(self.next)).filter(|user| user.index() < self.changed.len())?;
        self.next = self.next.saturating_add(1);
        Some(user)
    }

    /// Whether a user who is looked at gets a point; `holds` says whether contracts are held.
    pub(super) fn wants(&self, user: UserNo, holds: bool) -> bool {
        self.changed.at(user) || (self.daily && holds)
    }

    /// Adds a user's next point.
    pub(super) fn add(&mut self, user: UserNo, point: &EquityPoint) -> Result<(), Fault> {
        *self.changed.row(user)? = false;
        self.points.push(user.0, point, Fault::UnknownUser(user)).map(drop)
    }
}

impl View for Equity {
    fn see(&mut self, _: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match *effect {
            Effect::UserCreated { user, .. } => {
                self.changed.add(user, false)?;
                self.points.add_owner(user.index())?;
            }
            Effect::AccountChanged { user, .. }
            | Effect::PositionChanged { user, .. }
            | Effect::PositionSettled { user, .. } => *self.changed.row(user)? = true,
            _ => {}
        }
        Ok(())
    }
}

// Packing of points.

impl Row for EquityPoint {
    type Base = (Sequence, TimeMs);

    const KIND: Kind = Kind::Equity;

    fn base(&self) -> Self::Base {
        (self.sequence, self.time)
    }

    fn code(
        row: Option<&Self>,
        _: RowIndex,
        before: &Self::Base,
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage> {
        Ok(EquityPoint {
            sequence: coder.sequence(before.0, row.map(|row| row.sequence))?,
            time: coder.time(before.1, row.map(|row| row.time))?,
            equity: coder.sum(row.map(|row| row.equity))?,
            paid_in: coder.sum(row.map(|row| row.paid_in))?,
        })
    }
}

impl Made for EquityPoint {
    fn made(&self) -> (Sequence, TimeMs) {
        (self.sequence, self.time)
    }
}

impl Refers for EquityPoint {
    type Owner = UserNo;

    fn refers(&self) -> (Option<UserNo>, Option<MarketNo>) {
        (None, None)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/equity.rs"]
mod tests;
