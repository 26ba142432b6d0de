//! Boards: pages of the leaderboard, and how users are ranked on them.

use std::cmp::Reverse;

use super::page::Page;
use super::wire::Paging;
use exchange::ids::UserNo;
use views::performance::{Day, Score};

/// The ranking criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Realised profit and loss.
    Pnl,
    /// Contracts traded.
    Volume,
}

impl By {
    /// All, by their names.
    pub const ALL: [(&'static str, By); 2] = [("pnl", By::Pnl), ("volume", By::Volume)];
}

/// A page of a leaderboard; the key of its cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Board {
    /// The ranking criterion.
    pub by: By,
    /// The first day that counts.
    pub first: Day,
    /// The page.
    pub page: Page,
}

/// The users on a page with their ranks, and the paging echo.
#[derive(Debug)]
pub struct Ranked {
    /// With their ranks.
    pub places: Vec<(u64, (UserNo, Score))>,
    /// The echo.
    pub paging: Paging,
}

impl Board {
    /// The sort key: the better score first; of equal scores, the older user.
    fn rank(self, (user, score): &(UserNo, Score)) -> impl Ord + use<> {
        let rank = match self.by {
            By::Pnl => (Some(score.realised), None),
            By::Volume => (None, Some(score.volume)),
        };
        (Reverse(rank), *user)
    }

    /// The scores that may be on the page, and the count of all. It holds at most twice as many as
    /// the page reaches to.
    pub fn best(
        self,
        scores: impl Iterator<Item = (UserNo, Score)>,
    ) -> (Vec<(UserNo, Score)>, usize) {
        let (mut best, mut count, end) = (Vec::new(), 0_usize, self.page.indexes().end);
        for score in scores {
            count = count.saturating_add(1);
            best.push(score);
            if best.len() >= end.saturating_mul(2) {
                best.select_nth_unstable_by_key(end, |score| self.rank(score));
                best.truncate(end);
            }
        }
        (best, count)
    }

    /// Sorts the best scores and cuts the page.
    pub fn ranked(self, mut best: Vec<(UserNo, Score)>, count: usize) -> Ranked {
        best.sort_unstable_by_key(|score| self.rank(score));
        let (places, paging) = self.page.cut_known((1..).zip(best), count);
        Ranked { places, paging }
    }
}
