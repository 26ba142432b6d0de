//! The disputes of markets that are not final: who filed them, why, and what became of the bonds.
//! When a market is final its disputes are history: in the journal, and in the holders' statements.

use std::collections::BTreeMap;

use super::fault::{Fault, View};
use super::saved::{Sizes, saved};
use exchange::effect::{Applied, Effect};
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::BadImage;
use exchange::market::MarketStatus;
use exchange::units::{Money, Sequence, TimeMs};

/// A dispute of an announced outcome.
#[derive(Debug, Clone)]
pub struct DisputeRow {
    /// The record that filed it.
    pub filed: Sequence,
    /// Its market.
    pub market: MarketNo,
    /// Who filed it.
    pub user: UserNo,
    /// What was set aside.
    pub bond: Money,
    /// Why.
    pub reason: String,
    /// When it was filed.
    pub filed_at: TimeMs,
    /// Whether it was right, and when that was known; `None` while it waits.
    pub ended: Option<(bool, TimeMs)>,
}

saved!(DisputeRow { filed, market, user, bond, reason, filed_at, ended });

/// The disputes.
#[derive(Debug, Default)]
pub struct Disputes {
    /// By the record that filed it.
    rows: BTreeMap<Sequence, DisputeRow>,
    /// The record of each holder's.
    filed: BTreeMap<(MarketNo, UserNo), Sequence>,
}

saved!(Disputes { rows } made { filed } by with_index);

impl Disputes {
    /// All that are known, the newest first.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &DisputeRow> + ExactSizeIterator {
        self.rows.values().rev()
    }

    /// A holder's.
    pub fn one(&self, market: MarketNo, user: UserNo) -> Option<&DisputeRow> {
        self.rows.get(self.filed.get(&(market, user))?)
    }

    /// What is set aside for a user's bonds.
    pub fn held(&self, user: UserNo) -> i128 {
        let waiting = self.all().filter(|row| row.user == user && row.ended.is_none());
        waiting.map(|row| i128::from(row.bond.get())).sum()
    }

    fn with_index(mut self, sizes: Sizes) -> Result<Disputes, BadImage> {
        for row in self.rows.values() {
            sizes.has_user(row.user)?;
            sizes.has_market(row.market)?;
            self.filed.insert((row.market, row.user), row.filed);
        }
        Ok(self)
    }
}

impl View for Disputes {
    fn see(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match effect {
            Effect::DisputeFiled { market, user, bond, reason } => {
                let row = DisputeRow {
                    filed: at.sequence,
                    market: *market,
                    user: *user,
                    bond: *bond,
                    reason: reason.clone(),
                    filed_at: at.time,
                    ended: None,
                };
                self.rows.insert(at.sequence, row);
                self.filed.insert((*market, *user), at.sequence);
            }
            Effect::DisputeEnded { market, user, right, .. } => {
                let filed = self.filed.get(&(*market, *user));
                let row = filed.and_then(|filed| self.rows.get_mut(filed));
                row.ok_or(Fault::UnknownDispute(*market))?.ended = Some((*right, at.time));
            }
            Effect::MarketMoved {
                market,
                to: MarketStatus::Settled | MarketStatus::Voided,
                ..
            } => {
                let of_market = (*market, UserNo(0))..=(*market, UserNo(u32::MAX));
                let over: Vec<_> = self.filed.range(of_market).map(|(whose, _)| *whose).collect();
                for whose in over {
                    if let Some(filed) = self.filed.remove(&whose) {
                        self.rows.remove(&filed);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
