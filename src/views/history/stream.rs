//! Streams: each owner's rows of one kind, the newest packed in memory, the rest in page storage.

use std::fmt;
use std::ops::RangeInclusive;

use super::chain::{RowIndex, length};
use super::{Coder, History, HistoryError, Kind, Packing, PageKey, Unpacking};
use crate::fault::{Fault, is_next};
use crate::saved::hold;
use exchange::image::coding::{BadImage, ImageSink, ImageSource, Imaged, read_bytes, write_bytes};
use exchange::units::TimeMs;

/// Most rows of a stream. At a million rows a second they last nine years.
pub(crate) const ROWS_MAX: RowIndex = 1 << 48;
/// Bytes by which a stream's buffer grows at least: a row or two.
const ROOM_STEP: usize = 48;

/// A row of a stream, packed as differences to the row before it on its page.
pub trait Row: Copy + fmt::Debug {
    /// What the next row needs of this one to be packed; the default is the base of a page's first
    /// row.
    type Base: Copy + fmt::Debug + Default;

    /// The kind of the stream's pages.
    const KIND: Kind;

    /// The base for packing the next row.
    fn base(&self) -> Self::Base;

    /// Packs the row at `index`, or reads it.
    fn code(
        row: Option<&Self>,
        index: RowIndex,
        base: &Self::Base,
        coder: &mut impl Coder,
    ) -> Result<Self, BadImage>;
}

/// Reads `count` consecutive packed rows, the first of them at `index`.
pub(crate) fn unpack_rows<R: Row>(
    index: RowIndex,
    count: RowIndex,
    source: &mut &[u8],
) -> Result<Vec<R>, BadImage> {
    let (mut rows, mut base) = (Vec::with_capacity(length(count.min(1024))), R::Base::default());
    for index in (index..).take(length(count)) {
        let row = R::code(None, index, &base, &mut Unpacking(source))?;
        base = row.base();
        rows.push(row);
    }
    Ok(rows)
}

/// The newest rows of one stream, and its total count. If the stream has any rows, at least one and
/// at most a page of them is here.
#[derive(Debug, Clone)]
pub(crate) struct Tail<R: Row> {
    count: RowIndex,
    base: R::Base,
    bytes: Vec<u8>,
}

impl<R: Row> Default for Tail<R> {
    fn default() -> Self {
        Tail { count: 0, base: R::Base::default(), bytes: Vec::new() }
    }
}

impl<R: Row> Tail<R> {
    /// Total number of rows.
    pub(crate) const fn count(&self) -> RowIndex {
        self.count
    }

    /// The base for packing the next row, unless it starts a page.
    pub(crate) const fn base(&self) -> &R::Base {
        &self.base
    }

    /// The page of the newest row; 0 if there is none.
    pub(crate) const fn page(&self, rows: RowIndex) -> u64 {
        self.count.saturating_sub(1) / rows
    }

    /// Index of the first row in memory.
    pub(crate) const fn first(&self, rows: RowIndex) -> RowIndex {
        self.page(rows).saturating_mul(rows)
    }

    /// Adds a row; returns its index. If the page before it is full, `page_full` gets that page
    /// first.
    pub(crate) fn push(
        &mut self,
        rows: RowIndex,
        row: &R,
        page_full: impl FnOnce(u64, Vec<u8>),
    ) -> Result<RowIndex, Fault> {
        let index = self.count;
        let count = Some(index + 1).filter(|count| *count <= ROWS_MAX).ok_or(Fault::StreamFull)?;
        if index > 0 && index.is_multiple_of(rows) {
            // Half as long as this page: allocating all at once would waste memory, growing from
            // nothing takes time.
            let next = Vec::with_capacity(self.bytes.len() / 2);
            page_full(self.page(rows), std::mem::replace(&mut self.bytes, next));
            self.base = R::Base::default();
        }
        // Grown only little: there are hundreds of thousands of streams, and larger steps would
        // fragment the heap.
        if self.bytes.capacity().saturating_sub(self.bytes.len()) < ROOM_STEP {
            self.bytes.reserve_exact((self.bytes.len() / 4).max(ROOM_STEP));
        }
        let packed = R::code(Some(row), index, &self.base, &mut Packing(&mut self.bytes));
        packed.map_err(|_| Fault::StreamFull)?;
        self.base = row.base();
        self.count = count;
        Ok(index)
    }

    /// Adds a row to this owner's stream; returns its index.
    pub(crate) fn push_on(
        &mut self,
        history: &History,
        owner: u32,
        row: &R,
    ) -> Result<RowIndex, Fault> {
        self.push(history.rows_per_page(), row, |page, bytes| {
            history.put(PageKey { kind: R::KIND, owner, page }, bytes);
        })
    }

    /// The rows in memory, and the index of the first.
    pub(crate) fn rows(&self, rows: RowIndex) -> Result<(RowIndex, Vec<R>), BadImage> {
        let (first, mut source) = (self.first(rows), self.bytes.as_slice());
        let unpacked = unpack_rows(first, self.count - first, &mut source)?;
        if source.is_empty() { Ok((first, unpacked)) } else { Err(BadImage::Trailing) }
    }

    pub(crate) fn write(&self, sink: &mut impl ImageSink) {
        let Tail { count, base: _, bytes } = self;
        count.write(sink);
        write_bytes(bytes, sink);
    }

    /// Reads what `write` wrote. Also returns the rows in memory.
    pub(crate) fn read(
        rows: RowIndex,
        source: &mut impl ImageSource,
    ) -> Result<(Self, Vec<R>), BadImage> {
        let (count, bytes) = (RowIndex::read(source)?, read_bytes(source)?);
        let mut tail = Tail::<R> { count, base: R::Base::default(), bytes };
        let (first, read) = tail.rows(rows)?;
        let (mut again, mut base) = (Vec::new(), R::Base::default());
        for (index, row) in (first..).zip(&read) {
            R::code(Some(row), index, &base, &mut Packing(&mut again))?;
            base = row.base();
        }
        hold(again == tail.bytes, "rows that are not packed as they would be")?;
        tail.base = base;
        Ok((tail, read))
    }
}

/// The streams of one kind, by the numbers of their owners.
#[derive(Debug)]
pub(crate) struct Streams<R: Row> {
    history: History,
    owners: Vec<Tail<R>>,
}

impl<R: Row> Default for Streams<R> {
    fn default() -> Self {
        Streams::on(History::default())
    }
}

impl<R: Row> Streams<R> {
    /// No streams yet; pages go to `history`.
    pub(crate) const fn on(history: History) -> Self {
        Streams { history, owners: Vec::new() }
    }

    /// Adds the next owner, which must have this number.
    pub(crate) fn add_owner(&mut self, number: usize) -> Result<(), Fault> {
        is_next(number, self.owners.len())?;
        self.owners.push(Tail::default());
        Ok(())
    }

    /// Adds a row to an owner's stream; returns its index, or `unknown` if there is no such owner.
    pub(crate) fn push(&mut self, owner: u32, row: &R, unknown: Fault) -> Result<RowIndex, Fault> {
        let tail = self.owners.get_mut(owner as usize).ok_or(unknown)?;
        tail.push_on(&self.history, owner, row)
    }

    /// How many rows an owner has.
    pub(crate) fn count(&self, owner: u32) -> RowIndex {
        self.owners.get(owner as usize).map_or(0, Tail::count)
    }

    /// The base for packing an owner's next row.
    pub(crate) fn base(&self, owner: u32) -> Option<&R::Base> {
        self.owners.get(owner as usize).map(Tail::base)
    }

    /// A copy of an owner's rows as they are now.
    pub(crate) fn pages(&self, owner: u32) -> Pages<R> {
        let tail = self.owners.get(owner as usize).cloned().unwrap_or_default();
        Pages::of(self.history.clone(), owner, tail)
    }

    /// Writes all owners' newest rows, without the number of owners, which the caller knows.
    pub(crate) fn write(&self, sink: &mut impl ImageSink) {
        for tail in &self.owners {
            tail.write(sink);
        }
    }

    /// Reads what `write` wrote; `check` validates each owner's rows.
    pub(crate) fn read(
        history: History,
        owners: usize,
        source: &mut impl ImageSource,
        mut check: impl FnMut(&[R]) -> Result<(), BadImage>,
    ) -> Result<Self, BadImage> {
        let mut streams = Streams::on(history);
        for _ in 0..owners {
            let (tail, rows) = Tail::read(streams.history.rows_per_page(), source)?;
            check(&rows)?;
            streams.owners.push(tail);
        }
        Ok(streams)
    }
}

/// The rows of one owner as of one moment, to be read later. The page read last is cached.
#[derive(Debug, Clone)]
pub(crate) struct Pages<R: Row> {
    history: History,
    owner: u32,
    tail: Tail<R>,
    /// The page read last: index of its first row, and its rows.
    cached: Option<(RowIndex, Vec<R>)>,
}

impl<R: Row> Pages<R> {
    /// The rows of this owner, of which `tail` holds the newest.
    pub(crate) const fn of(history: History, owner: u32, tail: Tail<R>) -> Self {
        Pages { history, owner, tail, cached: None }
    }

    /// How many rows there are.
    pub(crate) const fn count(&self) -> RowIndex {
        self.tail.count
    }

    /// The row at `index`; `None` past the last one.
    pub(crate) fn row(&mut self, index: RowIndex) -> Result<Option<R>, HistoryError> {
        if index >= self.tail.count {
            return Ok(None);
        }
        let rows = self.history.rows_per_page();
        let first = index / rows * rows;
        let held = self.cached.take().filter(|(held, _)| *held == first);
        let held = held.map_or_else(|| self.load(first), Ok)?;
        let row = held.1.get(length(index - first)).copied();
        self.cached = Some(held);
        let key = self.key(first);
        row.map(Some).ok_or(HistoryError::Damaged { key, cause: BadImage::Truncated })
    }

    /// How many rows `passed` is true for: all up to some row, and none after it. Looks first at
    /// the newest rows, which are in memory, then for it by binary search.
    pub(crate) fn before(&mut self, passed: impl Fn(&R) -> bool) -> Result<RowIndex, HistoryError> {
        let (mut low, mut high) = (0, self.tail.count);
        let first = self.tail.first(self.history.rows_per_page());
        if self.row(first)?.as_ref().is_some_and(&passed) {
            low = first;
        } else {
            high = high.min(first);
        }
        while low < high {
            let middle = low.midpoint(high);
            if self.row(middle)?.as_ref().is_some_and(&passed) {
                low = middle.saturating_add(1);
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    fn key(&self, first: RowIndex) -> PageKey {
        let page = first / self.history.rows_per_page();
        PageKey { kind: R::KIND, owner: self.owner, page }
    }

    fn load(&self, first: RowIndex) -> Result<(RowIndex, Vec<R>), HistoryError> {
        let (rows, key) = (self.history.rows_per_page(), self.key(first));
        let damaged = |cause| HistoryError::Damaged { key, cause };
        if first == self.tail.first(rows) {
            return self.tail.rows(rows).map_err(damaged);
        }
        let bytes = self.history.get(key)?;
        let mut source = bytes.as_slice();
        let unpacked = unpack_rows(first, rows, &mut source).map_err(damaged)?;
        if source.is_empty() { Ok((first, unpacked)) } else { Err(damaged(BadImage::Trailing)) }
    }

    /// The rows, newest first.
    pub(crate) const fn newest_first(self) -> Newest<R> {
        let left = self.tail.count;
        Newest { newer: Vec::new(), pages: self, left }
    }
}

/// The rows of one owner, newest first. The length is known, and skipping rows costs nothing. Ends
/// after the first error.
#[derive(Debug, Clone)]
pub struct Newest<R: Row> {
    /// Rows that are newer than those of the stream, oldest first.
    newer: Vec<R>,
    pub(super) pages: Pages<R>,
    /// Number of rows left; these are the oldest.
    pub(super) left: RowIndex,
}

impl<R: Row> Newest<R> {
    /// With these rows, oldest first, as the newest.
    pub(crate) fn after(self, newer: Vec<R>) -> Newest<R> {
        Newest { newer, ..self }
    }

    /// The newest row within these times that is looked for. Later rows are skipped by binary
    /// search, which reads a page at each step.
    ///
    /// # Errors
    /// History cannot be read.
    pub fn find_within(
        mut self,
        times: RangeInclusive<TimeMs>,
        time: impl Fn(&R) -> TimeMs,
        is_it: impl Fn(&R) -> bool,
    ) -> Result<Option<R>, HistoryError> {
        self.left = self.left.min(self.pages.before(|row| time(row) <= *times.end())?);
        for row in self {
            let row = row?;
            if time(&row) < *times.start() {
                break;
            }
            if time(&row) <= *times.end() && is_it(&row) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

impl<R: Row> Iterator for Newest<R> {
    type Item = Result<R, HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(row) = self.newer.pop() {
            return Some(Ok(row));
        }
        self.left = self.left.checked_sub(1)?;
        let row = self.pages.row(self.left).transpose();
        if let Some(Err(_)) = row {
            self.left = 0;
        }
        row
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = length(self.left).saturating_add(self.newer.len());
        (left, Some(left))
    }

    fn nth(&mut self, passed: usize) -> Option<Self::Item> {
        let newer = passed.min(self.newer.len());
        self.newer.truncate(self.newer.len() - newer);
        self.left = self.left.saturating_sub((passed - newer) as RowIndex);
        self.next()
    }
}

impl<R: Row> ExactSizeIterator for Newest<R> {}

#[cfg(test)]
#[path = "../../../tests/unit/views/history/stream.rs"]
mod tests;
