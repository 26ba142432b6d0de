//! Unit tests of `src/http/onward.rs`.

use super::*;
use crate::page::Above;
use exchange::units::TimeMs;

const RULE: PageRule = PageRule { standard: 2, max: 4, above: Above::Refused };

fn read(query: &str) -> Result<Asked<EitherPage>, Vec<String>> {
    let mut form = Form::new(&[], Some(query));
    let page = Asked::read(&mut form, RULE, EitherPage::read);
    form.finish(page).map_err(|p| p.errors.iter().map(|e| e.field.clone()).collect())
}

#[test]
fn a_start_has_the_list_read_oldest_first() {
    let starts = |query: &str| match read(query).unwrap() {
        Asked::Onward(page) => Some((page.start, page.limit)),
        Asked::Newest(_) => None,
    };
    for query in ["", "limit=3", "offset=1", "cursor=", "cursor=7"] {
        assert_eq!(starts(query), None, "{query}");
    }
    let after = Start::After(Sequence::new(7));
    assert_eq!(starts("afterSequence=7"), Some((after, 2)));
    assert_eq!(starts("limit=4&afterSequence=7"), Some((after, 4)));
    assert_eq!(starts("cursor=after7"), Some((Start::Place(7), 2)));
    let time = TimeMs::new(1).unwrap();
    assert_eq!(starts("since=1970-01-01T00:00:00.001Z"), Some((Start::At(time), 2)));
}

#[test]
fn one_start_is_enough() {
    for (query, bad) in [
        ("afterSequence=1&since=1970-01-01T00:00:00Z", "since"),
        ("afterSequence=1&cursor=after1", "cursor"),
        ("since=1970-01-01T00:00:00Z&cursor=after1", "cursor"),
        ("afterSequence=1&cursor=", "cursor"),
        ("afterSequence=1&cursor=5", "cursor"),
        ("afterSequence=1&offset=0", "offset"),
        ("cursor=after1&offset=0", "offset"),
        ("afterSequence=x", "afterSequence"),
        ("afterSequence=", "afterSequence"),
        ("afterSequence=1&afterSequence=1", "afterSequence"),
        ("since=soon", "since"),
        ("cursor=after", "cursor"),
        ("cursor=after-1", "cursor"),
        ("cursor=afterafter1", "cursor"),
        ("cursor=after1&limit=5", "limit"),
    ] {
        assert_eq!(read(query).unwrap_err(), [bad], "{query}");
    }
}
