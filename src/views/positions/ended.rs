//! Positions held to their market's end: they never change again and go to pages. A user's list
//! merges them with the open ones.

use std::ops::Range;

use super::{PositionRow, Resolution};
use crate::history::chain::{RowIndex, length};
use crate::history::stream::{Pages, Row};
use crate::history::{Coder, HistoryError, Kind, Refers};
use exchange::catalogue::Outcome;
use exchange::ids::{MarketNo, UserNo};
use exchange::image::coding::BadImage;
use exchange::units::TimeMs;

/// A user's position that was held to the market's end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended(pub(super) PositionRow);

/// Bits of the byte that holds outcome, copied flag and resolution.
const NO: u8 = 1;
const COPIED: u8 = 1 << 1;
const LOST: u8 = 1 << 2;
const VOID: u8 = 2 << 2;

impl Row for Ended {
    type Base = (u64, TimeMs, u32);

    const KIND: Kind = Kind::Positions;

    fn base(&self) -> Self::Base {
        (self.0.change, self.0.updated_at, self.0.user.0)
    }

    fn code(
        ended: Option<&Self>,
        _: RowIndex,
        before: &Self::Base,
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage> {
        let row = ended.map(|ended| &ended.0);
        let change = coder.from(before.0, row.map(|row| row.change))?;
        let updated_at = coder.time(before.1, row.map(|row| row.updated_at))?;
        let user = coder.from(u64::from(before.2), row.map(|row| u64::from(row.user.0)))?;
        let user = UserNo(u32::try_from(user).map_err(|_| BadImage::Value("UserNo"))?);
        let market = coder.market(row.map(|row| row.market))?;
        let bits = coder.imaged(row.map(bits_of))?;
        let resolution = match bits & !(NO | COPIED) {
            0 => Resolution::Won,
            LOST => Resolution::Lost,
            VOID => Resolution::Void,
            _ => return Err(BadImage::Value("position")),
        };
        let copied = row.and_then(|row| row.copy_from).map(|copied| copied.0);
        let copied = (bits & COPIED != 0).then(|| coder.short(copied)).transpose()?;
        Ok(Ended(PositionRow {
            user,
            market,
            outcome: if bits & NO == 0 { Outcome::Yes } else { Outcome::No },
            quantity: coder.lots(row.map(|row| row.quantity))?,
            cost: coder.money(row.map(|row| row.cost))?,
            realised: coder.sum(row.map(|row| row.realised))?,
            resolution: Some(resolution),
            copy_from: copied.map(UserNo),
            updated_at,
            change,
        }))
    }
}

impl Refers for Ended {
    type Owner = UserNo;

    fn refers(&self) -> (Option<UserNo>, Option<MarketNo>) {
        (Some(self.0.user), Some(self.0.market))
    }
}

fn bits_of(row: &PositionRow) -> u8 {
    let resolution = match row.resolution {
        Some(Resolution::Lost) => LOST,
        Some(Resolution::Void) => VOID,
        Some(Resolution::Won) | None => 0,
    };
    let outcome = if row.outcome == Outcome::No { NO } else { 0 };
    resolution | outcome | if row.copy_from.is_some() { COPIED } else { 0 }
}

/// A user's positions as of one moment, or the newest of them, latest change first, to be read
/// later. The length is known, and skipping rows is cheap. Ends after the first error.
#[derive(Debug, Clone)]
pub struct PositionList {
    /// Open positions, latest change last.
    pub(super) held: Vec<PositionRow>,
    pub(super) ended: Pages<Ended>,
    /// Number of ended positions left; these are the oldest.
    pub(super) left: RowIndex,
    /// At most this many rows are returned.
    pub(super) wanted: usize,
}

impl PositionList {
    /// The open positions that may appear in this range of the list, found without reading ended
    /// ones. The result may include more, but never misses one.
    pub fn held_within(&self, range: Range<usize>) -> impl Iterator<Item = &PositionRow> {
        let before = range.start.saturating_sub(length(self.left));
        self.held.iter().rev().take(range.end).skip(before)
    }

    /// The ended position that is `passed` rows after the newest one left.
    fn ended(&mut self, passed: RowIndex) -> Result<Option<PositionRow>, HistoryError> {
        let index = self.left.checked_sub(passed).and_then(|left| left.checked_sub(1));
        Ok(index.map_or(Ok(None), |index| self.ended.row(index))?.map(|ended| ended.0))
    }

    fn advance(&mut self) -> Result<Option<PositionRow>, HistoryError> {
        let Some(wanted) = self.wanted.checked_sub(1) else { return Ok(None) };
        self.wanted = wanted;
        let ended = self.ended(0)?;
        let later = |held: &PositionRow| ended.is_none_or(|ended| held.change > ended.change);
        if let Some(held) = self.held.pop_if(|held| later(held)) {
            return Ok(Some(held));
        }
        self.left = self.left.saturating_sub(1);
        Ok(ended)
    }

    /// Skips this many rows, by binary search; reads a page at each step.
    fn pass(&mut self, rows: usize) -> Result<(), HistoryError> {
        let rows = rows.min(self.len());
        self.wanted -= rows;
        let all = self.held.len();
        // How many of the skipped rows are ended positions.
        let (mut low, mut high) = (rows.saturating_sub(all), rows.min(length(self.left)));
        while low < high {
            let middle = low + (high - low) / 2;
            let ended = self.ended(RowIndex::try_from(middle).unwrap_or(RowIndex::MAX))?;
            let held = all.checked_sub(rows - middle).and_then(|index| self.held.get(index));
            if ended.zip(held).is_some_and(|(ended, held)| ended.change > held.change) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.left = self.left.saturating_sub(RowIndex::try_from(low).unwrap_or(RowIndex::MAX));
        self.held.truncate(all - (rows - low));
        Ok(())
    }

    fn end(&mut self, error: HistoryError) -> HistoryError {
        self.left = 0;
        self.held.clear();
        error
    }
}

impl Iterator for PositionList {
    type Item = Result<PositionRow, HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().map_err(|error| self.end(error)).transpose()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.held.len() + length(self.left)).min(self.wanted);
        (left, Some(left))
    }

    fn nth(&mut self, passed: usize) -> Option<Self::Item> {
        match self.pass(passed) {
            Ok(()) => self.next(),
            Err(error) => Some(Err(self.end(error))),
        }
    }
}

impl ExactSizeIterator for PositionList {}
