//! Reading a list oldest first, from where its reader left off: whoever knows what there was up to
//! a record asks for what came after it. Finding the place reads O(log n) pages, and only the
//! newest, which is in memory, if little came since.

use super::HistoryError;
use super::chain::{RowIndex, length};
use super::stream::{Newest, Pages, Row};
use exchange::units::{Sequence, TimeMs};

/// Where reading starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// After the rows of this record.
    After(Sequence),
    /// With the rows of this time.
    At(TimeMs),
    /// After so many rows, as [`Onward::next`] says.
    Place(u64),
}

/// A page of a list that is read oldest first.
#[derive(Debug)]
pub struct Onward<L> {
    /// Its rows, the newest first; older ones follow.
    pub list: L,
    /// How many rows are on the page.
    pub count: usize,
    /// How many of the list are newer.
    pub newer: usize,
    /// The place at which the next page starts; no row before it is missing.
    pub next: u64,
}

/// A row that says which record made it. Rows of a stream are in the order of records.
pub trait Made: Row {
    /// The record, and its time.
    fn made(&self) -> (Sequence, TimeMs);
}

impl<R: Made> Pages<R> {
    /// How many rows come before the start.
    pub(crate) fn place(&mut self, start: Start) -> Result<RowIndex, HistoryError> {
        match start {
            Start::Place(place) => Ok(place.min(self.count())),
            Start::After(record) => self.before(|row| row.made().0 <= record),
            Start::At(time) => self.before(|row| row.made().1 < time),
        }
    }
}

/// A list, newest first, that can be read oldest first.
pub trait OldestFirst: Sized {
    /// The page of at most `most` rows from this start on.
    ///
    /// # Errors
    /// History cannot be read.
    fn onward(self, start: Start, most: usize) -> Result<Onward<Self>, HistoryError>;
}

impl<R: Made> OldestFirst for Newest<R> {
    fn onward(mut self, start: Start, most: usize) -> Result<Onward<Self>, HistoryError> {
        let (first, all) = (self.pages.place(start)?, self.pages.count());
        let next = first.saturating_add(most as RowIndex).min(all);
        self.left = next;
        Ok(Onward {
            list: self,
            count: length(next.saturating_sub(first)),
            newer: length(all.saturating_sub(next)),
            next,
        })
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/views/history/onward.rs"]
mod tests;
