//! Cursors: pages of lists that grow at their newest end only. A cursor names the last row shown,
//! so nothing is repeated or skipped while new rows arrive, and a deep page costs as much as the
//! first. In lists of one market or one order newer rows are skipped by long links, which reads a
//! few pages.

use std::ops::Range;

use super::form::Form;
use super::page::{Page, PageRule};
use super::parse::{self, Fault};
use super::problem::FieldCode;
use super::wire::{Cursor, CursorEcho, Paging, Text};

/// Reads the text of a cursor.
pub fn read(text: &str) -> Option<Cursor> {
    let (cursor, digits): (fn(u64) -> Cursor, _) = match text.strip_prefix(Cursor::AFTER) {
        Some(digits) => (Cursor::After, digits),
        None => (Cursor::Before, text),
    };
    parse::digits(digits).ok().map(cursor)
}

/// The requested part of a list: the newest rows before the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorPage {
    /// Most rows on the page; at least 1.
    pub limit: u64,
    /// Exclusive upper bound of the rows' keys; `None` starts with the newest.
    before: Option<u64>,
}

impl CursorPage {
    /// Reads `cursor` and `limit`. An empty or missing cursor starts with the newest row.
    pub fn read(form: &mut Form<'_>, rule: PageRule) -> Option<CursorPage> {
        let before = form.query("cursor", |text| match (text, read(text)) {
            ("", _) => Ok(None),
            // Opaque to clients; a number beyond the list's end starts with the newest row.
            (_, Some(Cursor::Before(before))) => Ok(Some(before)),
            _ => Err(Fault::invalid("is no cursor of this list")),
        });
        let limit = form.query("limit", |text| rule.limit(text));
        Some(CursorPage { limit: limit?.unwrap_or(rule.standard), before: before?.flatten() })
    }

    /// Where this page is in a list of `total` rows, newest first, whose keys count from the
    /// oldest.
    pub fn place(self, total: usize) -> (Range<usize>, CursorEcho) {
        let older = usize::try_from(self.before()).unwrap_or(usize::MAX).min(total);
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let start = total.saturating_sub(older);
        let end = start.saturating_add(limit).min(total);
        let rest = total.saturating_sub(end);
        let next_cursor = Some(Text(Cursor::Before(rest as u64))).filter(|_| rest > 0);
        (start..end, CursorEcho { has_more: rest > 0, next_cursor })
    }

    /// Cuts this page out of a list, newest first, whose keys count from the oldest.
    ///
    /// # Errors
    /// The error of a row on the page.
    pub fn cut_stored<T, E>(
        self,
        list: impl ExactSizeIterator<Item = Result<T, E>>,
    ) -> Result<(Vec<T>, CursorEcho), E> {
        let (place, next) = self.place(list.len());
        let rows = list.skip(place.start).take(place.len());
        Ok((rows.collect::<Result<_, E>>()?, next))
    }

    /// The exclusive upper bound of keys; the largest number if there is no cursor.
    pub fn before(self) -> u64 {
        self.before.unwrap_or(u64::MAX)
    }

    /// The rows of a page, and one more that shows whether there are further ones.
    pub fn one_more(self) -> usize {
        usize::try_from(self.limit).unwrap_or(usize::MAX).saturating_add(1)
    }

    /// Cuts this page out of the rows before the cursor, each with its key, newest first.
    pub fn cut<T>(self, list: impl Iterator<Item = (u64, T)>) -> (Vec<T>, CursorEcho) {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let (mut page, mut shown, mut has_more) = (Vec::new(), None, false);
        for (key, row) in list {
            if page.len() == limit {
                has_more = true;
                break;
            }
            shown = Some(Text(Cursor::Before(key)));
            page.push(row);
        }
        (page, CursorEcho { has_more, next_cursor: shown.filter(|_| has_more) })
    }
}

/// A page by offset or by cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EitherPage {
    /// By offset.
    Offset(Page),
    /// By cursor.
    Cursor(CursorPage),
}

impl EitherPage {
    /// Reads `cursor` and `limit` if a cursor is given, even an empty one; else `limit` and
    /// `offset`.
    pub fn read(form: &mut Form<'_>, rule: PageRule) -> Option<EitherPage> {
        if !form.asks("cursor") {
            return Page::read(form, rule).map(EitherPage::Offset);
        }
        let offset = form.query::<()>("offset", |_| {
            Err(Fault::new(FieldCode::InvalidValue, "must not stand beside a cursor"))
        });
        let page = CursorPage::read(form, rule);
        offset.and(page).map(EitherPage::Cursor)
    }

    /// Where this page is in a list of `total` rows, newest first, and what it echoes. By cursor,
    /// the echoed offset is the number of newer rows by now.
    pub fn place(self, total: usize) -> (Range<usize>, Paging, Option<CursorEcho>) {
        match self {
            EitherPage::Offset(page) => (page.place(total), page.echo(total), None),
            EitherPage::Cursor(page) => {
                let (place, next) = page.place(total);
                let offset = place.start as u64;
                let paging = Paging { total: total as u64, limit: page.limit, offset };
                (place, paging, Some(next))
            }
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/cursor.rs"]
mod tests;
