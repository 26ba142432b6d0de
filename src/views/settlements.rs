//! What each user was paid by settled and voided markets.

mod image;

use super::fault::Fault;
use super::history::History;
use super::history::stream::{Newest, Streams};
use super::saved::saved;
use super::view::View;
use exchange::catalogue::Outcome;
use exchange::effect::{Applied, Effect};
use exchange::ids::{MarketNo, UserNo};
use exchange::units::{Lots, Money, MoneySum, Sequence, TimeMs};

/// A user's payout in a market that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettlementRow {
    /// Market.
    pub market: MarketNo,
    /// The outcome held: opposite free contracts are merged, and at a market's end none are locked.
    pub outcome: Outcome,
    /// Quantity in lots.
    pub quantity: Lots,
    /// Money paid for them.
    pub payout: Money,
    /// The user's profit and loss in this market, including the payout.
    pub realised: MoneySum,
    /// When.
    pub time: TimeMs,
    /// The record that paid.
    pub sequence: Sequence,
}

impl SettlementRow {
    /// The pay-out that an effect tells of, and to whom.
    pub const fn told(at: &Applied<'_>, effect: &Effect) -> Option<(UserNo, SettlementRow)> {
        let Effect::PositionSettled { user, market, yes, no, payout, realised } = *effect else {
            return None;
        };
        let (outcome, quantity) =
            if yes.get() >= no.get() { (Outcome::Yes, yes) } else { (Outcome::No, no) };
        let (time, sequence) = (at.time, at.sequence);
        Some((user, SettlementRow { market, outcome, quantity, payout, realised, time, sequence }))
    }
}

/// Every user's settlements.
#[derive(Debug, Default)]
pub struct Settlements {
    users: Streams<SettlementRow>,
}

saved!(Settlements { users });

impl Settlements {
    /// No settlements yet; pages go to `history`.
    pub(super) const fn on(history: History) -> Settlements {
        Settlements { users: Streams::on(history) }
    }

    /// A user's settlements, newest first.
    pub fn of(&self, user: UserNo) -> Newest<SettlementRow> {
        self.users.pages(user.0).newest_first()
    }
}

impl View for Settlements {
    fn see(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match *effect {
            Effect::UserCreated { user, .. } => self.users.add_owner(user.index()),
            _ => match SettlementRow::told(at, effect) {
                Some((user, row)) => {
                    self.users.push(user.0, &row, Fault::UnknownUser(user)).map(drop)
                }
                None => Ok(()),
            },
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/settlements.rs"]
mod tests;
