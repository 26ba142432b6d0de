//! Unit tests of `src/http/cursor.rs`.

use super::*;
use crate::page::Above;

const RULE: PageRule = PageRule { standard: 2, max: 4, above: Above::Refused };

fn read(query: &str) -> Result<CursorPage, Vec<String>> {
    let mut form = Form::new(&[], Some(query));
    let page = CursorPage::read(&mut form, RULE);
    form.finish(page).map_err(|p| p.errors.iter().map(|e| e.field.clone()).collect())
}

/// The key in a cursor.
fn key(Text(cursor): Text<Cursor>) -> u64 {
    match cursor {
        Cursor::Before(key) => key,
        Cursor::After(_) => panic!("{cursor}"),
    }
}

/// A page of a list of numbers, and the cursor of the next one.
fn page(query: &str, count: usize) -> (Vec<usize>, Option<u64>) {
    let page = read(query).unwrap();
    let list = || (0..count).rev();
    let (shown, echo) = page.cut_stored(list().map(Ok::<_, ()>)).unwrap();
    assert_eq!(echo.has_more, echo.next_cursor.is_some());
    let next = echo.next_cursor.map(key);
    // The same from a list whose rows have their own keys.
    let older = list().map(|index| (index as u64, index));
    let (cut, echo) = page.cut(older.filter(|(key, _)| *key < page.before()));
    assert_eq!((cut, echo.next_cursor.map(key)), (shown.clone(), next));
    (shown, next)
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
fn only_a_row_on_the_page_can_fail_it() {
    let cut = |query: &str| {
        // The third of five rows fails.
        let list = (0..5).rev().map(|index| if index == 2 { Err(index) } else { Ok(index) });
        let cut = read(query).unwrap().cut_stored(list);
        cut.map(|(rows, echo)| (rows, echo.next_cursor.map(key)))
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
        let (place, paging, next) = read(query).unwrap().place(5);
        let rows: Vec<_> = (0..5).rev().skip(place.start).take(place.len()).collect();
        (rows, paging.offset, next.map(|next| next.next_cursor.map(key)))
    };
    assert_eq!(cut("offset=1"), (vec![3, 2], 1, None));
    assert_eq!(cut("cursor="), (vec![4, 3], 0, Some(Some(3))));
    assert_eq!(cut("cursor=3&limit=4"), (vec![2, 1, 0], 2, Some(None)));
    assert_eq!(cut("cursor=9"), (vec![4, 3], 0, Some(Some(3))));
    assert_eq!(read("cursor=&offset=0"), Err(1));
    assert_eq!(read("cursor=x&offset=x"), Err(2));
}
