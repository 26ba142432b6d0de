//! Checks of `cursor` and `limit` shared by every list read by cursor.

use serde_json::Value;

use super::client::Client;
use super::shape::Shape;
use super::shapes;

/// A list read by cursor, with at least three rows.
pub struct CursorList<'a> {
    pub client: &'a Client,
    /// Path and query, ending in `?` or `&`.
    pub path: &'a str,
    pub name: &'static str,
    pub shape: Shape,
    pub max: u64,
}

impl CursorList<'_> {
    fn page(&self, query: &str) -> (Vec<Value>, Option<String>) {
        let page = self.client.get(&format!("{}{query}", self.path));
        let json = page.ok(&self.shape);
        let things = json[self.name].as_array().unwrap().clone();
        let next = json["nextCursor"].as_str().map(str::to_owned);
        assert_eq!(json["hasMore"], next.is_some(), "{json}");
        (things, next)
    }

    /// All rows, page by page.
    pub fn walk(&self, limit: usize, mut between: impl FnMut()) -> Vec<Value> {
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let (things, next) = self.page(&format!("cursor={cursor}&limit={limit}"));
            assert!(things.len() <= limit);
            assert!(!things.iter().any(|thing| all.contains(thing)), "shown again: {things:?}");
            all.extend(things);
            let Some(next) = next else { return all };
            assert_eq!(all.len() % limit, 0);
            cursor = next;
            between();
        }
    }

    /// Reads the list in pages of several sizes while `grow` lengthens it, and sends wrong cursors
    /// and limits.
    pub fn check(&self, mut grow: impl FnMut()) {
        let (whole, _) = self.page(&format!("cursor=&limit={}", self.max));
        assert!(whole.len() >= 3, "{whole:?}");
        for limit in 1..=whole.len() + 1 {
            assert_eq!(self.walk(limit, || ()), whole, "{limit}");
        }
        let mut left = 2;
        let grow_twice = || {
            if left > 0 {
                left -= 1;
                grow();
            }
        };
        assert_eq!(self.walk(1, grow_twice), whole);
        let (grown, _) = self.page(&format!("cursor=&limit={}", self.max));
        assert!(grown.len() > whole.len() && grown.ends_with(&whole), "{grown:?}");
        let ask = |query: &str| self.client.get(&format!("{}{query}", self.path));
        for text in ["-1", "x", "1.0", "%00", "%2B1", "%201"] {
            ask(&format!("cursor={text}")).bad_as("cursor", "INVALID_VALUE");
        }
        ask("cursor=&cursor=").bad_as("cursor", "REPEATED");
        ask("cursor=&limit=0").bad_as("limit", "OUT_OF_BOUNDS");
        ask("cursor=&limit=x&page=1").bad(&["limit", "page"]);
        let beyond = format!("cursor=99999999999999999999&limit={}", self.max);
        assert_eq!(self.page(&beyond).0, grown);
        assert_eq!(self.page("cursor=0"), (Vec::new(), None));
    }
}

/// The shape of a page that has nothing but its rows and its cursor.
pub fn page(name: &'static str, shape: Shape) -> Shape {
    shapes::cursor_page(name, shape)
}
