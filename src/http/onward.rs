//! Lists read oldest first: what came after a record, a time, or the page before. A page costs as
//! much as any other, however long the list is.

use std::ops::ControlFlow;

use super::cursor::{self, CursorPage, EitherPage};
use super::form::Form;
use super::page::PageRule;
use super::parse::{self, Fault};
use super::problem::FieldCode;
use super::unread_rows::read_in_turns;
use super::wire::{Cursor, CursorEcho, Paging, Text};
use exchange::units::Sequence;
use views::history::HistoryError;
use views::history::onward::{OldestFirst, Onward, Start};

/// The parameters with which a list is asked for from a start on.
const STARTS: [&str; 2] = ["afterSequence", "since"];

/// The requested part of a list, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnwardPage {
    /// Most rows on the page; at least 1.
    pub limit: usize,
    /// Where it starts.
    pub start: Start,
}

/// The requested part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked<P> {
    /// Newest first.
    Newest(P),
    /// Oldest first.
    Onward(OnwardPage),
}

impl<P> Asked<P> {
    /// Reads where the page starts, if that is given, else what `newest` reads.
    pub fn read<'a>(
        form: &mut Form<'a>,
        rule: PageRule,
        newest: impl FnOnce(&mut Form<'a>, PageRule) -> Option<P>,
    ) -> Option<Asked<P>> {
        match OnwardPage::read(form, rule) {
            ControlFlow::Break(page) => page.map(Asked::Onward),
            ControlFlow::Continue(()) => newest(form, rule).map(Asked::Newest),
        }
    }
}

impl OnwardPage {
    /// Reads where the page starts; goes on if it has no start.
    fn read(form: &mut Form<'_>, rule: PageRule) -> ControlFlow<Option<OnwardPage>> {
        let cursor = form.given("cursor").and_then(cursor::read);
        let goes_on = matches!(cursor, Some(Cursor::After(_)));
        if !goes_on && !STARTS.iter().any(|start| form.asks(start)) {
            return ControlFlow::Continue(());
        }
        let watermark = form.watermark();
        let after = form.query("afterSequence", |text| match parse::digits(text)? {
            after if watermark.is_some_and(|last| after > last.get()) => {
                let detail = "must not be after the venue's last record";
                Err(Fault::new(FieldCode::OutOfBounds, detail))
            }
            after => Ok(Start::After(Sequence::new(after))),
        });
        let since = form.query("since", |text| parse::moment_in_query(text).map(Start::At));
        let cursor = form.query("cursor", |_| match cursor {
            Some(Cursor::After(place)) => Ok(Start::Place(place)),
            _ => Err(Fault::invalid("must not stand beside another start")),
        });
        let limit = form.query("limit", |text| rule.limit(text));
        let offset = form
            .query::<()>("offset", |_| Err(Fault::invalid("must not stand beside another start")));
        let read = after.zip(since).zip(cursor).zip(limit).zip(offset);
        ControlFlow::Break(read.and_then(|((((after, since), cursor), limit), _)| {
            let mut starts = [after, since, cursor].into_iter().flatten();
            let start = starts.next()?;
            if starts.next().is_some() {
                let name = if cursor.is_some() { "cursor" } else { "since" };
                form.faults.note(name, Fault::invalid("must not stand beside another start"));
                return None;
            }
            let limit = usize::try_from(limit.unwrap_or(rule.standard)).unwrap_or(usize::MAX);
            Some(OnwardPage { limit, start })
        }))
    }

    /// The page of this list, oldest first, with the number of rows after it.
    ///
    /// # Errors
    /// History cannot be read.
    pub async fn of<T, L>(self, list: L) -> Result<(Vec<T>, usize, CursorEcho), HistoryError>
    where
        L: OldestFirst + Iterator<Item = Result<T, HistoryError>>,
    {
        read(list.onward(self.start, self.limit)?).await
    }
}

/// Reads a page, oldest first. Returns the number of rows after it, too.
///
/// # Errors
/// History cannot be read.
pub async fn read<T, L>(page: Onward<L>) -> Result<(Vec<T>, usize, CursorEcho), HistoryError>
where
    L: Iterator<Item = Result<T, HistoryError>>,
{
    let Onward { list, count, newer, next } = page;
    let mut rows = read_in_turns(list, count).await?;
    rows.reverse();
    let next_cursor = Some(Text(Cursor::After(next)));
    Ok((rows, newer, CursorEcho { has_more: newer > 0, next_cursor }))
}

impl Asked<CursorPage> {
    /// The page of this list.
    ///
    /// # Errors
    /// History cannot be read.
    pub async fn of<T, L>(self, list: L) -> Result<(Vec<T>, CursorEcho), HistoryError>
    where
        L: OldestFirst + ExactSizeIterator<Item = Result<T, HistoryError>>,
    {
        match self {
            Asked::Newest(page) => {
                let (place, next) = page.place(list.len());
                let rows = read_in_turns(list.skip(place.start), place.len()).await?;
                Ok((rows, next))
            }
            Asked::Onward(page) => {
                let (rows, _, next) = page.of(list).await?;
                Ok((rows, next))
            }
        }
    }
}

impl Asked<EitherPage> {
    /// The page of this list. By cursor and oldest first, the echoed offset is the number of newer
    /// rows by now.
    ///
    /// # Errors
    /// History cannot be read.
    pub async fn of<T, L>(
        self,
        list: L,
    ) -> Result<(Vec<T>, Paging, Option<CursorEcho>), HistoryError>
    where
        L: OldestFirst + ExactSizeIterator<Item = Result<T, HistoryError>>,
    {
        let total = list.len();
        match self {
            Asked::Newest(page) => {
                let (place, paging, next) = page.place(total);
                let rows = read_in_turns(list.skip(place.start), place.len()).await?;
                Ok((rows, paging, next))
            }
            Asked::Onward(page) => {
                let (rows, newer, next) = page.of(list).await?;
                let (total, limit, offset) = (total as u64, page.limit as u64, newer as u64);
                Ok((rows, Paging { total, limit, offset }, Some(next)))
            }
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/onward.rs"]
mod tests;
