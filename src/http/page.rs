//! Pages by offset: `limit` and `offset` of a list, and the echo of what was applied.

use std::ops::Range;

use super::form::Form;
use super::parse::{self, Fault};
use super::problem::FieldCode;
use super::wire::Paging;

/// Largest page of markets and activity. A larger `limit` is applied as this one, since the
/// interface has no upper bound there (semantics 7). It bounds the rows that one reader copies
/// while the projector waits; texts are shared, not copied.
pub const PAGE_CAP: u64 = 1000;
/// Largest offset: the largest integer that every JSON parser represents exactly. A larger one is
/// applied as this: the interface has no upper bound, and no list is that long.
const OFFSET_MAX: u64 = (1 << 53) - 1;

/// The bounds of a list's `limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRule {
    /// Applied if none is given.
    pub standard: u64,
    /// The maximum.
    pub max: u64,
    /// How a larger limit is treated.
    pub above: Above,
}

/// How a `limit` above the maximum is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Above {
    /// It is refused as a bad field.
    Refused,
    /// It is applied as the maximum.
    Capped,
}

/// The requested part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Most rows on the page; at least 1.
    pub limit: u64,
    /// Rows skipped before it.
    pub offset: u64,
}

impl Page {
    /// Reads `limit` and `offset`.
    pub fn read(form: &mut Form<'_>, rule: PageRule) -> Option<Page> {
        let limit = form.query("limit", |text| rule.limit(text));
        let offset = form.query("offset", |text| Ok(parse::digits(text)?.min(OFFSET_MAX)));
        Some(Page { limit: limit?.unwrap_or(rule.standard), offset: offset?.unwrap_or(0) })
    }

    /// Cuts this page out of a list and counts the list. It walks the whole list, so it is for
    /// lists that only operators extend, such as their list of markets. Lists that traders extend
    /// need [`Page::cut_known`].
    pub fn cut<T>(self, list: impl Iterator<Item = T>) -> (Vec<T>, Paging) {
        let Range { start, end } = self.indexes();
        let (mut page, mut total) = (Vec::new(), 0_usize);
        for row in list {
            if total >= start && total < end {
                page.push(row);
            }
            total = total.saturating_add(1);
        }
        (page, self.echo(total))
    }

    /// Cuts this page out of a list of known length, without walking the rest.
    pub fn cut_known<T>(self, list: impl Iterator<Item = T>, total: usize) -> (Vec<T>, Paging) {
        let place = self.place(total);
        let page = match place.len() {
            0 => Vec::new(),
            on_page => list.skip(place.start).take(on_page).collect(),
        };
        (page, self.echo(total))
    }

    /// The indexes of this page's rows in a list of `total` rows.
    pub fn place(self, total: usize) -> Range<usize> {
        let Range { start, end } = self.indexes();
        start.min(total)..end.min(total)
    }

    /// The indexes in the list of the rows on this page.
    pub fn indexes(self) -> Range<usize> {
        let index = |index| usize::try_from(index).unwrap_or(usize::MAX);
        index(self.offset)..index(self.offset.saturating_add(self.limit))
    }

    /// The echo of this page of a list of `total` rows.
    pub const fn echo(self, total: usize) -> Paging {
        Paging { total: total as u64, limit: self.limit, offset: self.offset }
    }
}

impl PageRule {
    /// Reads a `limit`.
    pub fn limit(self, text: &str) -> parse::Read<u64> {
        match parse::digits(text)? {
            limit if limit >= 1 && limit <= self.max => Ok(limit),
            limit if limit > self.max && self.above == Above::Capped => Ok(self.max),
            _ => Err(Fault::new(FieldCode::OutOfBounds, self.bounds())),
        }
    }

    fn bounds(self) -> String {
        match self.above {
            Above::Refused => format!("must be 1 to {}", self.max),
            Above::Capped => "must be at least 1".to_owned(),
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/page.rs"]
mod tests;
