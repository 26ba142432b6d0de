//! A chain links the rows of a stream that belong together, each row to the one before it. A link
//! costs a few bytes in the row itself; a list per key would cost an allocation for each of
//! millions of keys. Every 64th and 4096th row of a chain also has a long link, so that skipping
//! far back reads few pages.

use super::{Coder, HistoryError};
use exchange::image::coding::BadImage;

/// The index of a row in its stream, or a number of rows.
pub(crate) type RowIndex = u64;

/// This many rows as a length in memory.
pub(crate) fn length(rows: RowIndex) -> usize {
    usize::try_from(rows).unwrap_or(usize::MAX)
}

/// How many rows back the links lead: each row links to the row before it, each 64th and 4096th row
/// also to the previous row of the same step.
const STEPS: [RowIndex; 3] = [1, 64, 4096];

/// The newest row of a chain for each step, and the number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RowChain {
    newest: [RowIndex; STEPS.len()],
    count: RowIndex,
}

/// The links of a row, one for each step; `None` if there is no earlier row or the row's ordinal is
/// not a multiple of the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Links([Option<RowIndex>; STEPS.len()]);

impl RowChain {
    /// Adds a row as the newest of the chain. Returns the links to store in it.
    pub(crate) fn push(&mut self, index: RowIndex) -> Links {
        let ordinal = self.count;
        let mut links = Links::default();
        let (Links([near, far @ ..]), [newest, rounder @ ..]) = (&mut links, &mut self.newest);
        *near = (ordinal > 0).then_some(*newest);
        *newest = index;
        let [_, steps @ ..] = STEPS;
        for ((link, newest), step) in far.iter_mut().zip(rounder).zip(steps) {
            // Each step is a multiple of the one before it.
            if !ordinal.is_multiple_of(step) {
                break;
            }
            *link = (ordinal > 0).then_some(*newest);
            *newest = index;
        }
        self.count = self.count.saturating_add(1);
        links
    }

    /// The newest row, the oldest row and the count, if these describe the whole chain: only its
    /// first row may have an ordinal that is a multiple of a long step.
    pub(crate) fn short(self) -> Option<(RowIndex, RowIndex, RowIndex)> {
        let ([newest, oldest, first], [_, round, _]) = (self.newest, STEPS);
        (self.count <= round && oldest == first).then_some((newest, oldest, self.count))
    }

    /// The inverse of [`short`](RowChain::short).
    pub(crate) const fn of_short(newest: RowIndex, oldest: RowIndex, count: RowIndex) -> RowChain {
        RowChain { newest: [newest, oldest, oldest], count }
    }

    /// The rows, newest first.
    pub(crate) const fn walk(self) -> Walk {
        let [newest, ..] = self.newest;
        Walk {
            next: if self.count > 0 { Some((self.count - 1, newest)) } else { None },
            chain: self,
        }
    }

    /// Packs or reads it.
    pub(crate) fn code(chain: Option<Self>, coder: &mut impl Coder) -> Result<Self, BadImage> {
        let count = coder.number(chain.map(|chain| chain.count))?;
        let mut newest = chain.map_or_else(<[RowIndex; STEPS.len()]>::default, |it| it.newest);
        if count > 0 {
            let mut before = None;
            for index in &mut newest {
                // Rows with longer steps are never newer, so the differences are not negative.
                let given = chain.map(|_| {
                    before.map_or(*index, |before: RowIndex| before.saturating_sub(*index))
                });
                let packed = coder.number(given)?;
                let read = before.map_or(Some(packed), |before| before.checked_sub(packed));
                *index = read.ok_or(BadImage::Value("chain"))?;
                before = Some(*index);
            }
        }
        Ok(RowChain { newest, count })
    }
}

impl Links {
    /// Packs or reads the links of the row at `index`. If a row has any link, it has the near one;
    /// the lowest bit says whether long links follow.
    pub(crate) fn code(
        links: Option<Links>,
        index: RowIndex,
        coder: &mut impl Coder,
    ) -> Result<Links, BadImage> {
        let distance = |link: Option<RowIndex>| link.map_or(0, |link| index.saturating_sub(link));
        let link = |distance: RowIndex| match distance {
            0 => Ok(None),
            _ => index.checked_sub(distance).map(Some).ok_or(BadImage::Value("link")),
        };
        let near = coder.number(links.map(|Links([near, far @ ..])| {
            distance(near) << 1 | u64::from(far.iter().any(Option::is_some))
        }))?;
        let mut read = Links::default();
        let [to, far @ ..] = &mut read.0;
        *to = link(near >> 1)?;
        if near & 1 == 1 {
            let given = links.map_or([None; 2], |Links([_, far @ ..])| far);
            for (to, given) in far.iter_mut().zip(given) {
                *to = link(coder.number(links.map(|_| distance(given)))?)?;
            }
            // The bit promised long links, but there are none: not the canonical form.
            if far.iter().all(Option::is_none) {
                return Err(BadImage::Value("link"));
            }
        }
        Ok(read)
    }
}

/// A walk over a chain's rows, newest first.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Walk {
    /// The next row: its ordinal in the chain and its index.
    next: Option<(RowIndex, RowIndex)>,
    chain: RowChain,
}

impl Walk {
    /// How many rows are left.
    pub(crate) fn left(&self) -> usize {
        self.next.map_or(0, |(ordinal, _)| length(ordinal) + 1)
    }

    /// The next row's index.
    pub(crate) fn index(&self) -> Option<RowIndex> {
        self.next.map(|(_, index)| index)
    }

    /// The next row's index; moves on by that row's links.
    pub(crate) fn advance(
        &mut self,
        links: impl FnOnce(RowIndex) -> Result<Links, HistoryError>,
    ) -> Result<Option<RowIndex>, HistoryError> {
        let Some((ordinal, index)) = self.next.take() else { return Ok(None) };
        if let Some(before) = ordinal.checked_sub(1) {
            let Links([near, ..]) = links(index)?;
            self.next = near.map(|near| (before, near));
        }
        Ok(Some(index))
    }

    /// Skips rows as long as `pass` is true for the row's ordinal and index. `pass` must be
    /// monotonic: once false, it stays false for all older rows. Reads few rows, however many it
    /// skips.
    pub(crate) fn pass_while(
        &mut self,
        pass: impl Fn(RowIndex, RowIndex) -> bool,
        mut links: impl FnMut(RowIndex) -> Result<Links, HistoryError>,
    ) -> Result<(), HistoryError> {
        let Some((mut ordinal, mut index)) = self.next.take() else { return Ok(()) };
        if !pass(ordinal, index) {
            self.next = Some((ordinal, index));
            return Ok(());
        }
        // Start from the oldest of the chain's heads that is to be skipped.
        for (newest, step) in self.chain.newest.into_iter().zip(STEPS).rev() {
            let round = (self.chain.count - 1) / step * step;
            if round < ordinal && pass(round, newest) {
                (ordinal, index) = (round, newest);
                break;
            }
        }
        loop {
            let Links(to) = links(index)?;
            let leads = to.into_iter().zip(STEPS).rev().find_map(|(link, step)| {
                let before = ordinal.checked_sub(step)?;
                Some((before, link?)).filter(|(before, link)| pass(*before, *link))
            });
            let Some(leads) = leads else {
                let [near, ..] = to;
                self.next = ordinal.checked_sub(1).zip(near);
                return Ok(());
            };
            (ordinal, index) = leads;
        }
    }

    /// Moves to the newest of the `most` oldest rows from the index `first` on. Returns how many
    /// of these there are, and how many rows are newer.
    pub(crate) fn onward(
        &mut self,
        first: RowIndex,
        most: usize,
        mut links: impl FnMut(RowIndex) -> Result<Links, HistoryError>,
    ) -> Result<(usize, usize), HistoryError> {
        let (all, mut older) = (self.left(), *self);
        older.pass_while(|_, index| index >= first, &mut links)?;
        let from_first = all.saturating_sub(older.left());
        let count = most.min(from_first);
        let newer = from_first.saturating_sub(count);
        self.pass(newer, links)?;
        Ok((count, newer))
    }

    /// Skips this many rows.
    pub(crate) fn pass(
        &mut self,
        rows: usize,
        links: impl FnMut(RowIndex) -> Result<Links, HistoryError>,
    ) -> Result<(), HistoryError> {
        let left = self.left().saturating_sub(rows) as RowIndex;
        self.pass_while(|ordinal, _| ordinal >= left, links)
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/views/history/chain.rs"]
mod tests;
