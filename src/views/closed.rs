//! What each user realised in markets where nothing is held any more: sold, merged or converted
//! away. In memory until the market ends; then they move to pages by and by.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rustc_hash::FxHashSet;

use super::fault::{Fault, Faults};
use super::history::chain::RowIndex;
use super::history::stream::{Newest, Row, Streams};
use super::history::{Coder, History, Kind, Refers};
use super::positions::Positions;
use super::saved::{Sizes, hold, saved};
use exchange::catalogue::Outcome;
use exchange::effect::{Applied, Effect};
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::BadImage;
use exchange::market::MarketStatus;
use exchange::units::{MoneySum, TimeMs};

/// Rows of an ended market that move after a record: there may be as many as users.
const MOVED_PER_RECORD: usize = 64;

/// A market in which a user holds nothing any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedRow {
    /// Market.
    pub market: MarketNo,
    /// The outcome held last.
    pub outcome: Outcome,
    /// Profit and loss that the user realised in it.
    pub realised: MoneySum,
    /// When the last contract went, or when the market ended.
    pub updated_at: TimeMs,
}

saved!(ClosedRow { market, outcome, realised, updated_at });

/// All users' closed positions.
#[derive(Debug, Default)]
pub struct Closed {
    /// Those in markets that have not ended, or are ending, and the same by market.
    live: BTreeMap<(UserNo, MarketNo), ClosedRow>,
    by_market: BTreeSet<(MarketNo, UserNo)>,
    /// Markets that ended, and when, whose rows are being moved.
    ending: VecDeque<(MarketNo, TimeMs)>,
    ended: Streams<ClosedRow>,
}

saved!(Closed { live, ending, ended } made { by_market } by indexed);

impl Closed {
    /// With the same by market.
    fn indexed(mut self, _: Sizes) -> Result<Closed, BadImage> {
        let own = self.live.iter().all(|((_, market), row)| *market == row.market);
        hold(own, "a closed position under another market")?;
        self.by_market = self.live.keys().map(|(user, market)| (*market, *user)).collect();
        Ok(self)
    }

    /// None yet; pages of those in ended markets go to `history`.
    pub(super) fn on(history: History) -> Closed {
        Closed { ended: Streams::on(history), ..Closed::default() }
    }

    /// A user's, in markets that have not ended, in order of the markets. O(log n), plus O(1) each.
    pub fn live(&self, user: UserNo) -> impl Iterator<Item = &ClosedRow> {
        let all = (user, MarketNo(0))..=(user, MarketNo(u32::MAX));
        let ends = |row: &ClosedRow| self.ending.iter().any(|(market, _)| *market == row.market);
        self.live.range(all).map(|(_, row)| row).filter(move |row| !ends(row))
    }

    /// A user's, in markets that have ended: the last one ended first.
    pub fn ended(&self, user: UserNo) -> Newest<ClosedRow> {
        let waiting = self.ending.iter().filter_map(|(market, time)| {
            let row = self.live.get(&(user, *market))?;
            Some(ClosedRow { updated_at: *time, ..*row })
        });
        self.ended.pages(user.0).newest_first().after(waiting.collect())
    }

    /// Folds a record that `positions` has not folded yet.
    pub(super) fn fold(
        &mut self,
        applied: &Applied<'_>,
        positions: &Positions,
        faults: &mut Faults,
    ) {
        let paid = applied.effects.iter().filter_map(|effect| match effect {
            Effect::PositionSettled { user, market, .. } => Some((*user, *market)),
            _ => None,
        });
        // Empty, and without an allocation, in nearly all records.
        let paid: FxHashSet<_> = paid.collect();
        for effect in applied.effects {
            match effect {
                Effect::UserCreated { user, .. } => {
                    faults.check(self.ended.add_owner(user.index()));
                }
                Effect::PositionChanged { user, market, yes, no, realised } => {
                    let key = (*user, *market);
                    if !yes.held.is_zero() || !no.held.is_zero() {
                        self.forget(key);
                    } else if !paid.contains(&key) {
                        self.close(applied.time, key, positions, *realised);
                    }
                }
                _ => {}
            }
        }
        for effect in applied.effects {
            if let Effect::MarketMoved {
                market,
                to: MarketStatus::Settled | MarketStatus::Voided,
                ..
            } = effect
            {
                self.ending.push_back((*market, applied.time));
            }
        }
        faults.check(self.move_ended());
    }

    fn close(
        &mut self,
        time: TimeMs,
        key @ (user, market): (UserNo, MarketNo),
        positions: &Positions,
        realised: MoneySum,
    ) {
        let held = |outcome| positions.position(user, market, outcome).is_some();
        let outcome = match (held(Outcome::Yes), held(Outcome::No)) {
            (false, true) => Outcome::No,
            (false, false) if realised == MoneySum::ZERO => return,
            _ => Outcome::Yes,
        };
        self.live.insert(key, ClosedRow { market, outcome, realised, updated_at: time });
        self.by_market.insert((market, user));
    }

    fn forget(&mut self, (user, market): (UserNo, MarketNo)) {
        if self.live.remove(&(user, market)).is_some() {
            self.by_market.remove(&(market, user));
        }
    }

    /// Moves rows of the market that ended first to pages.
    fn move_ended(&mut self) -> Result<(), Fault> {
        let Some((market, time)) = self.ending.front().copied() else { return Ok(()) };
        let all = (market, UserNo(0))..=(market, UserNo(u32::MAX));
        let users = self.by_market.range(all).take(MOVED_PER_RECORD);
        let users: Vec<UserNo> = users.map(|(_, user)| *user).collect();
        if users.len() < MOVED_PER_RECORD {
            self.ending.pop_front();
        }
        for user in users {
            self.by_market.remove(&(market, user));
            if let Some(row) = self.live.remove(&(user, market)) {
                let row = ClosedRow { updated_at: time, ..row };
                self.ended.push(user.0, &row, Fault::UnknownUser(user))?;
            }
        }
        Ok(())
    }
}

// Packing of closed positions.

impl Row for ClosedRow {
    type Base = TimeMs;

    const KIND: Kind = Kind::Closed;

    fn base(&self) -> TimeMs {
        self.updated_at
    }

    fn code(
        row: Option<&Self>,
        _: RowIndex,
        before: &TimeMs,
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage> {
        Ok(ClosedRow {
            updated_at: coder.time(*before, row.map(|row| row.updated_at))?,
            market: coder.market(row.map(|row| row.market))?,
            outcome: coder.imaged(row.map(|row| row.outcome))?,
            realised: coder.sum(row.map(|row| row.realised))?,
        })
    }
}

impl Refers for ClosedRow {
    type Owner = UserNo;

    fn refers(&self) -> (Option<UserNo>, Option<MarketNo>) {
        (None, Some(self.market))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/closed.rs"]
mod tests;
