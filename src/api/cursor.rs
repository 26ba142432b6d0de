//! Cursors: pages of lists that grow at their newest end only. A cursor names the last thing that
//! was shown, so nothing is shown twice or left out while new things arrive, and a page deep in a
//! long list costs as much as the first; only in lists of one market or of one order, newer things
//! are passed over at a few nanoseconds each.

use super::form::Form;
use super::page::{Page, PageRule};
use super::parse::{self, Fault};
use super::problem::FieldCode;
use super::wire::{CursorEcho, Paging, Text};

/// The part of a list that was asked for: the newest things before one that was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorPage {
    /// Largest number of things on it; at least 1.
    pub limit: u64,
    /// What each thing's key must be below; `None` begins with the newest.
    before: Option<u64>,
}

impl CursorPage {
    /// Reads `cursor` and `limit`. A cursor that is empty or missing begins with the newest.
    pub fn read(form: &mut Form<'_>, rule: PageRule) -> Option<CursorPage> {
        let before = form.query("cursor", |text| match text {
            "" => Ok(None),
            // To clients it is opaque; a number that no list has reached shows the newest.
            _ => parse::digits(text)
                .map(Some)
                .map_err(|_| Fault::invalid("is no cursor of this list")),
        });
        let limit = form.query("limit", |text| rule.limit(text));
        Some(CursorPage { limit: limit?.unwrap_or(rule.standard), before: before?.flatten() })
    }

    /// The places of a list of this length that are before the cursor, newest first.
    pub fn places(self, count: usize) -> impl ExactSizeIterator<Item = usize> + use<> {
        let before = self.before.map(|key| usize::try_from(key).unwrap_or(usize::MAX));
        (0..before.map_or(count, |before| before.min(count))).rev()
    }

    /// Takes this page out of a list, newest first, whose things have their places as keys.
    ///
    /// # Errors
    /// That of a thing which the page needs.
    pub fn cut_stored<T, E>(
        self,
        list: impl ExactSizeIterator<Item = Result<T, E>>,
    ) -> Result<(Vec<T>, CursorEcho), E> {
        let total = list.len();
        let newer = total.saturating_sub(self.places(total).len());
        let keys = self.places(total).map(|place| place as u64);
        let (things, next) = self.cut(keys.zip(list.skip(newer)));
        Ok((things.into_iter().collect::<Result<_, E>>()?, next))
    }

    /// What a key must be below; the largest number where there is no cursor.
    pub fn before(self) -> u64 {
        self.before.unwrap_or(u64::MAX)
    }

    /// As many things as the page takes, and the one that tells whether there are more.
    pub fn one_more(self) -> usize {
        usize::try_from(self.limit).unwrap_or(usize::MAX).saturating_add(1)
    }

    /// Takes this page out of the things before the cursor, each with its key, newest first.
    pub fn cut<T>(self, list: impl Iterator<Item = (u64, T)>) -> (Vec<T>, CursorEcho) {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let (mut page, mut shown, mut has_more) = (Vec::new(), None, false);
        for (key, thing) in list {
            if page.len() == limit {
                has_more = true;
                break;
            }
            shown = Some(Text(key));
            page.push(thing);
        }
        (page, CursorEcho { has_more, next_cursor: shown.filter(|_| has_more) })
    }
}

/// The part of a list that is read by offset or, for those who ask with a cursor, by cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EitherPage {
    /// By offset.
    Offset(Page),
    /// By cursor.
    Cursor(CursorPage),
}

impl EitherPage {
    /// Reads `cursor` and `limit` where there is a cursor, be it an empty one; else `limit` and
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

    /// Takes this page out of a list, newest first, whose length is known, without walking the
    /// rest. By cursor, the echo's offset is how many newer things there are by now.
    pub fn cut_known<T>(
        self,
        list: impl Iterator<Item = T>,
        total: usize,
    ) -> (Vec<T>, Paging, Option<CursorEcho>) {
        let page = match self {
            EitherPage::Offset(page) => {
                let (page, paging) = page.cut_known(list, total);
                return (page, paging, None);
            }
            EitherPage::Cursor(page) => page,
        };
        let older = usize::try_from(page.before()).unwrap_or(usize::MAX).min(total);
        let newer = total - older;
        let keys = page.places(total).map(|place| place as u64);
        let (things, next) = page.cut(keys.zip(list.skip(newer)));
        let paging = Paging { total: total as u64, limit: page.limit, offset: newer as u64 };
        (things, paging, Some(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::page::Above;

    const RULE: PageRule = PageRule { standard: 2, max: 4, above: Above::Refused };

    fn read(query: &str) -> Result<CursorPage, Vec<String>> {
        let mut form = Form::new(&[], Some(query));
        let page = CursorPage::read(&mut form, RULE);
        form.finish(page).map_err(|p| p.errors.iter().map(|e| e.field.clone()).collect())
    }

    /// A page of a list of numbers, and the cursor of the next one.
    fn page(query: &str, count: usize) -> (Vec<usize>, Option<u64>) {
        let page = read(query).unwrap();
        let (shown, echo) = page.cut(page.places(count).map(|place| (place as u64, place)));
        assert_eq!(echo.has_more, echo.next_cursor.is_some());
        (shown, echo.next_cursor.map(|Text(key)| key))
    }

    #[test]
    fn pages_follow_each_other_while_the_list_grows() {
        assert_eq!(page("", 5), (vec![4, 3], Some(3)));
        assert_eq!(page("cursor=", 5), (vec![4, 3], Some(3)));
        assert_eq!(page("cursor=3", 9), (vec![2, 1], Some(1)));
        assert_eq!(page("cursor=1", 9), (vec![0], None));
        assert_eq!(page("cursor=3&limit=3", 9), (vec![2, 1, 0], None));
        assert_eq!(page("cursor=0", 9), (vec![], None));
        assert_eq!(page("cursor=99999999999999999999999", 2), (vec![1, 0], None));
        assert_eq!(page("", 0), (vec![], None));
    }

    #[test]
    fn only_a_thing_that_the_page_needs_can_fail_it() {
        let cut = |query: &str| {
            // The third of five cannot be had.
            let list = (0..5).rev().map(|place| if place == 2 { Err(place) } else { Ok(place) });
            let cut = read(query).unwrap().cut_stored(list);
            cut.map(|(things, echo)| (things, echo.next_cursor.map(|Text(key)| key)))
        };
        assert_eq!(cut(""), Ok((vec![4, 3], Some(3))));
        assert_eq!(cut("limit=3"), Err(2));
        assert_eq!(cut("cursor=3"), Err(2));
        assert_eq!(cut("cursor=2"), Ok((vec![1, 0], None)));
        assert_eq!(cut("cursor=9&limit=1"), Ok((vec![4], Some(4))));
        assert_eq!(cut("cursor=0"), Ok((vec![], None)));
    }

    #[test]
    fn what_is_no_cursor_is_named() {
        for bad in ["-1", "x", "1.0", "%00", "+1"] {
            assert_eq!(read(&format!("cursor={bad}")).unwrap_err(), ["cursor"]);
        }
        assert_eq!(read("cursor=x&limit=5").unwrap_err(), ["cursor", "limit"]);
        assert_eq!(read("limit=0&offset=1").unwrap_err(), ["limit", "offset"]);
    }

    #[test]
    fn a_list_by_offset_is_read_by_cursor_only_where_one_is_given() {
        let read = |query: &str| {
            let mut form = Form::new(&[], Some(query));
            let page = EitherPage::read(&mut form, RULE);
            form.finish(page).map_err(|p| p.errors.len())
        };
        let cut = |query: &str| {
            let (things, paging, next) = read(query).unwrap().cut_known((0..5).rev(), 5);
            (things, paging.offset, next.map(|next| next.next_cursor.map(|Text(key)| key)))
        };
        assert_eq!(cut("offset=1"), (vec![3, 2], 1, None));
        assert_eq!(cut("cursor="), (vec![4, 3], 0, Some(Some(3))));
        assert_eq!(cut("cursor=3&limit=4"), (vec![2, 1, 0], 2, Some(None)));
        assert_eq!(cut("cursor=9"), (vec![4, 3], 0, Some(Some(3))));
        assert_eq!(read("cursor=&offset=0"), Err(1));
        assert_eq!(read("cursor=x&offset=x"), Err(2));
    }
}
