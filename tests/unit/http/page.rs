//! Unit tests of `src/http/page.rs`.

use super::*;

const REFUSED: PageRule = PageRule { standard: 20, max: 100, above: Above::Refused };
const CAPPED: PageRule = PageRule { standard: 20, max: PAGE_CAP, above: Above::Capped };

fn read(query: &str, rule: PageRule) -> Result<(u64, u64), usize> {
    let mut form = Form::new(&[], Some(query));
    let page = Page::read(&mut form, rule);
    form.finish(page).map(|p| (p.limit, p.offset)).map_err(|problem| problem.errors.len())
}

#[test]
fn limits_are_bounded_as_their_list_says() {
    assert_eq!(read("", REFUSED), Ok((20, 0)));
    assert_eq!(read("limit=100&offset=7", REFUSED), Ok((100, 7)));
    assert_eq!(read("limit=101", REFUSED), Err(1));
    assert_eq!(read("limit=0&offset=-1", REFUSED), Err(2));
    assert_eq!(read("limit=0", CAPPED), Err(1));
    assert_eq!(read("limit=1001", CAPPED), Ok((1000, 0)));
    assert_eq!(read("limit=99999999999999999999", CAPPED), Ok((1000, 0)));
    assert_eq!(read("offset=9007199254740992", REFUSED), Ok((20, OFFSET_MAX)));
}

#[test]
fn both_cuts_are_the_same_page() {
    for (limit, offset) in [(1, 0), (3, 2), (20, 4), (5, 9), (5, 10), (1, OFFSET_MAX)] {
        let page = Page { limit, offset };
        let expected: Vec<u64> = (0..10).filter(|n| *n >= offset && *n < offset + limit).collect();
        let (cut, paging) = page.cut(0..10_u64);
        assert_eq!((cut, paging.total), (expected, 10));
        assert_eq!(page.cut(0..10_u64), page.cut_known(0..10_u64, 10));
    }
}
