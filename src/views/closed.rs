//! What each user realised in markets where nothing is held any more: sold, merged or converted
//! away. In memory until the market ends, then on pages.

mod image;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::fault::{Fault, Faults};
use super::history::History;
use super::history::stream::{Newest, Streams};
use super::positions::Positions;
use exchange::catalogue::Outcome;
use exchange::effect::{Applied, Effect};
use exchange::ids::{MarketNo, UserNo};
use exchange::lifecycle::MarketStatus;
use exchange::units::{MoneySum, TimeMs};

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

/// All users' closed positions.
#[derive(Debug, Default)]
pub struct Closed {
    /// Those in markets that have not ended, and the same by market.
    live: BTreeMap<(UserNo, MarketNo), ClosedRow>,
    by_market: BTreeSet<(MarketNo, UserNo)>,
    ended: Streams<ClosedRow>,
}

impl Closed {
    /// None yet; pages of those in ended markets go to `history`.
    pub(super) fn on(history: History) -> Closed {
        Closed { ended: Streams::on(history), ..Closed::default() }
    }

    /// A user's, in markets that have not ended, in order of the markets. O(log n), plus O(1) each.
    pub fn live(&self, user: UserNo) -> impl Iterator<Item = &ClosedRow> {
        let all = (user, MarketNo(0))..=(user, MarketNo(u32::MAX));
        self.live.range(all).map(|(_, row)| row)
    }

    /// A user's, in markets that have ended: the last one ended first.
    pub fn ended(&self, user: UserNo) -> Newest<ClosedRow> {
        self.ended.pages(user.0).newest_first()
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
                faults.check(self.end(applied.time, *market));
            }
        }
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

    /// Moves the rows of a market that ended to pages.
    fn end(&mut self, time: TimeMs, market: MarketNo) -> Result<(), Fault> {
        let all = (market, UserNo(0))..=(market, UserNo(u32::MAX));
        let users: Vec<UserNo> = self.by_market.range(all).map(|(_, user)| *user).collect();
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

#[cfg(test)]
#[path = "../../tests/unit/views/closed.rs"]
mod tests;
