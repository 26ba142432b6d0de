//! The transfers that users asked for: all that wait for an answer, and the last of each user that
//! had one.

use std::collections::{BTreeMap, BTreeSet};

use super::fault::{Fault, View};
use super::saved::{Sizes, saved};
use exchange::command::TransferEnd;
use exchange::effect::{Applied, Effect};
use exchange::ids::{Token, UserNo};
use exchange::image::coding::BadImage;
use exchange::units::{Money, MoneySum, Sequence, TimeMs};

/// Answered transfers that are kept of each user; the account's statement has all that moved.
pub const ANSWERED_KEPT: usize = 20;

/// A transfer that a user asked for.
#[derive(Debug, Clone)]
pub struct TransferRow {
    /// The record that asked for it.
    pub asked: Sequence,
    /// Who asked.
    pub user: UserNo,
    /// Whether money goes out.
    pub out: bool,
    /// How much.
    pub amount: Money,
    /// What the user calls it.
    pub reference: Option<Token>,
    /// When it was asked for.
    pub asked_at: TimeMs,
    /// What became of it, and when; `None` while it waits.
    pub ended: Option<(TransferEnd, TimeMs)>,
}

saved!(TransferRow { asked, user, out, amount, reference, asked_at, ended });

/// The transfers.
#[derive(Debug, Default)]
pub struct Transfers {
    /// By the record that asked.
    rows: BTreeMap<Sequence, TransferRow>,
    by_user: BTreeSet<(UserNo, Sequence)>,
    waiting: BTreeSet<Sequence>,
}

saved!(Transfers { rows } made { by_user, waiting } by with_indexes);

impl Transfers {
    /// The transfer that a record asked for. O(log n).
    pub fn one(&self, asked: Sequence) -> Option<&TransferRow> {
        self.rows.get(&asked)
    }

    /// A user's, the newest first.
    pub fn of(&self, user: UserNo) -> impl Iterator<Item = &TransferRow> {
        let own = self.by_user.range((user, Sequence::ZERO)..).take_while(move |it| it.0 == user);
        let own: Vec<_> = own.filter_map(|(_, asked)| self.one(*asked)).collect();
        own.into_iter().rev()
    }

    /// Those that wait, the oldest first.
    pub fn waiting(&self) -> impl DoubleEndedIterator<Item = Sequence> + ExactSizeIterator {
        self.waiting.iter().copied()
    }

    /// All that are known, the newest first.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &TransferRow> + ExactSizeIterator {
        self.rows.values().rev()
    }

    /// What is set aside for a user's withdrawals.
    pub fn held(&self, user: UserNo) -> MoneySum {
        let waiting = self.of(user).filter(|row| row.out && row.ended.is_none());
        MoneySum::new(waiting.map(|row| i128::from(row.amount.get())).sum())
    }

    fn with_indexes(mut self, sizes: Sizes) -> Result<Transfers, BadImage> {
        for row in self.rows.values() {
            sizes.has_user(row.user)?;
            self.by_user.insert((row.user, row.asked));
        }
        let waiting = self.rows.values().filter(|row| row.ended.is_none());
        self.waiting = waiting.map(|row| row.asked).collect();
        Ok(self)
    }

    /// Forgets the oldest of a user's answered ones beyond those that are kept.
    fn forget(&mut self, user: UserNo) {
        let mut answered = self.of(user).filter(|row| row.ended.is_some());
        let oldest = answered.nth(ANSWERED_KEPT).map(|row| row.asked);
        drop(answered);
        if let Some(asked) = oldest {
            self.rows.remove(&asked);
            self.by_user.remove(&(user, asked));
        }
    }
}

impl View for Transfers {
    fn see(&mut self, at: &Applied<'_>, effect: &Effect) -> Result<(), Fault> {
        match effect {
            Effect::TransferAsked { transfer, user, out, amount, reference } => {
                let row = TransferRow {
                    asked: *transfer,
                    user: *user,
                    out: *out,
                    amount: *amount,
                    reference: *reference,
                    asked_at: at.time,
                    ended: None,
                };
                self.rows.insert(*transfer, row);
                self.by_user.insert((*user, *transfer));
                self.waiting.insert(*transfer);
            }
            Effect::TransferEnded { transfer, user, how } => {
                let row = self.rows.get_mut(transfer).ok_or(Fault::UnknownTransfer(*transfer))?;
                row.ended = Some((*how, at.time));
                self.waiting.remove(transfer);
                self.forget(*user);
            }
            _ => {}
        }
        Ok(())
    }
}
