//! What each user was paid by settled and voided markets.

use super::fault::{Fault, View};
use super::history::chain::RowIndex;
use super::history::stream::{Newest, Row, Streams};
use super::history::{Coder, History, Kind, Refers};
use super::saved::saved;
use exchange::catalogue::Outcome;
use exchange::effect::{Applied, Effect};
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::BadImage;
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

// Packing of settlements.

impl Row for SettlementRow {
    type Base = (Sequence, TimeMs);

    const KIND: Kind = Kind::Settlements;

    fn base(&self) -> Self::Base {
        (self.sequence, self.time)
    }

    fn code(
        row: Option<&Self>,
        _: RowIndex,
        before: &Self::Base,
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage> {
        Ok(SettlementRow {
            sequence: coder.sequence(before.0, row.map(|row| row.sequence))?,
            time: coder.time(before.1, row.map(|row| row.time))?,
            market: coder.market(row.map(|row| row.market))?,
            outcome: coder.imaged(row.map(|row| row.outcome))?,
            quantity: coder.lots(row.map(|row| row.quantity))?,
            payout: coder.money(row.map(|row| row.payout))?,
            realised: coder.sum(row.map(|row| row.realised))?,
        })
    }
}

impl Refers for SettlementRow {
    type Owner = UserNo;

    fn refers(&self) -> (Option<UserNo>, Option<MarketNo>) {
        (None, Some(self.market))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/views/settlements.rs"]
mod tests;
