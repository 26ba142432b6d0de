//! The leaderboard: users ranked by realised profit and loss, or by contracts traded.

use std::sync::Arc;

use super::board::{Board, By};
use super::call::Call;
use super::page::{Above, Page, PageRule};
use super::parse::{Fault, Read};
use super::problem::{FieldCode, Problem};
use super::reply::Reply;
use super::wire::leaderboard::{LeaderboardJson, PlaceJson};
use exchange::ids::UserNo;
use exchange::units::{Sequence, TimeMs};
use views::ReadModel;
use views::performance::{Baseline, Day, Score};

/// Pages of the leaderboard.
const ENTRIES_PAGE: PageRule = PageRule { standard: 20, max: 100, above: Above::Refused };

/// The period that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// Today, in UTC.
    Day,
    /// Today and the six days before.
    Week,
    /// Today and the 29 days before.
    Month,
    /// Ever.
    All,
}

impl Period {
    /// All of them, by name, the shortest first.
    pub const ALL: [(&'static str, Period); 4] = [
        ("day", Period::Day),
        ("week", Period::Week),
        ("month", Period::Month),
        ("all", Period::All),
    ];

    /// The first day of the period.
    pub fn first(self, now: TimeMs) -> Day {
        let today = Day::of(now);
        match self {
            Period::Day => today,
            Period::Week => today.earlier(6),
            Period::Month => today.earlier(29),
            Period::All => today.earlier(u32::MAX),
        }
    }
}

/// A reader of one of several values by name; the answer echoes the name.
fn named<T: Copy>(
    all: &[(&'static str, T)],
    detail: &'static str,
) -> impl Fn(&str) -> Read<(&'static str, T)> {
    move |text| {
        let known = all.iter().find(|(name, _)| *name == text).copied();
        known.ok_or_else(|| Fault::new(FieldCode::InvalidValue, detail))
    }
}

/// The scores of all users at the start of a day.
fn baseline(call: &Call, view: &ReadModel, day: Day) -> Arc<Baseline> {
    // Before the first record of that day, nothing has been scored in it.
    if day == Day::FIRST || Day::of(view.time()) < day {
        return Arc::new(Baseline::of_nothing(day));
    }
    // Past scores never change, so the cached entry has no version.
    let baselines = &call.shared.caches.baselines;
    baselines.find(day, &Sequence::ZERO).unwrap_or_else(|| {
        let baseline = Arc::new(view.performance.before(day));
        baselines.keep(day, Sequence::ZERO, Arc::clone(&baseline));
        baseline
    })
}

/// `GET /leaderboard`: the users who traded or realised something in the period.
pub fn list(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let by = form.query("by", named(&By::ALL, "must be pnl or volume"));
    let periods = named(&Period::ALL, "must be day, week, month or all");
    let period = form.query("period", periods);
    let page = Page::read(&mut form, ENTRIES_PAGE);
    let ((by, period), page) = form.finish(by.zip(period).zip(page))?;
    let (by_name, by) = by.unwrap_or(("pnl", By::Pnl));
    let (period_name, period) = period.unwrap_or(("all", Period::All));
    let (sequence, (board, changed, found)) = call.look(|view| {
        let now = call.engine.now().max(view.time());
        let board = Board { by, first: period.first(now), page };
        let changed = view.changes.of_scores();
        let kept = call.shared.caches.boards.find(board, &changed);
        let scores = || board.best(view.performance.since(&baseline(call, view, board.first)));
        Ok((board, changed, kept.ok_or_else(scores)))
    })?;
    // Sorting takes a while, so it happens outside the lock.
    let ranked = found.unwrap_or_else(|(best, count)| {
        let ranked = Arc::new(board.ranked(best, count));
        call.shared.caches.boards.keep(board, changed, Arc::clone(&ranked));
        ranked
    });
    let (_, places) = call.look(|view| {
        let place = |(rank, (user, score)): &(u64, (UserNo, Score))| {
            view.accounts.user(*user).map(|user| PlaceJson::of(*rank, user, score))
        };
        Ok(ranked.places.iter().filter_map(place).collect())
    })?;
    let paging = ranked.paging;
    let board = LeaderboardJson { by: by_name, period: period_name, places, paging };
    Reply::list(sequence, board, "places", |all| &mut all.places)
}

#[cfg(test)]
#[path = "../../tests/unit/http/leaderboard.rs"]
mod tests;
