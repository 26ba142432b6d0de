//! Checks of `limit` and `offset` shared by every paged list.

use serde_json::Value;

use super::client::Client;
use super::shape::Shape;
use super::shapes;

/// A paged list, with at least three rows.
pub struct List<'a> {
    pub client: &'a Client,
    pub path: &'a str,
    pub name: &'static str,
    pub shape: Shape,
    pub standard: u64,
    pub max: u64,
    /// Whether a larger limit is applied as `max`; otherwise it is refused.
    pub capped: bool,
}

impl List<'_> {
    /// A page, checked against its shape.
    fn page(&self, query: &str) -> Value {
        let page = self.client.get(&format!("{}?{query}", self.path));
        page.ok(&shapes::page(self.name, self.shape.clone()))
    }

    /// Reads pages of every size.
    pub fn check(&self) {
        let whole = self.page("");
        let all = whole[self.name].as_array().unwrap().clone();
        let count = u64::try_from(all.len()).unwrap();
        assert!(count >= 3, "{whole}");
        assert_eq!((&whole["limit"], &whole["offset"]), (&self.standard.into(), &0.into()));
        assert_eq!(whole["total"], count);
        for (query, limit, offset) in [
            ("limit=1", 1, 0),
            ("limit=1&offset=1", 1, 1),
            ("offset=2&limit=2", 2, 2),
            ("offset=0", self.standard, 0),
            ("limit=100", 100, 0),
            ("limit=007", 7, 0),
            ("offset=1000000", self.standard, 1_000_000),
            ("offset=9007199254740991", self.standard, 9_007_199_254_740_991),
            ("%6Cimit=%31", 1, 0),
        ] {
            let page = self.page(query);
            let echo = (&page["total"], &page["limit"], &page["offset"]);
            assert_eq!(echo, (&count.into(), &limit.into(), &offset.into()), "{query}");
            let expected: Vec<&Value> = all
                .iter()
                .zip(0_u64..)
                .filter(|(_, index)| *index >= offset && *index < offset + limit)
                .map(|(thing, _)| thing)
                .collect();
            let found: Vec<&Value> = page[self.name].as_array().unwrap().iter().collect();
            assert_eq!(found, expected, "{query}");
        }
        self.bounds();
    }

    fn bounds(&self) {
        for (limit, above) in [
            (self.max, false),
            (self.max + 1, true),
            (u64::MAX, true),
            (101, self.max < 101),
            (1001, self.max < 1001),
        ] {
            let query = format!("{}?limit={limit}", self.path);
            let answer = self.client.get(&query);
            if above && !self.capped {
                answer.bad_as("limit", "OUT_OF_BOUNDS");
            } else {
                assert_eq!(answer.json["limit"], limit.min(self.max), "{answer:?}");
            }
        }
        let huge = "9".repeat(400);
        for text in ["", "-1", "+1", "%2B1", "1.0", "1e2", "abc", "%201", "1%20", "0x1", "%00"] {
            for field in ["limit", "offset"] {
                let path = format!("{}?{field}={text}", self.path);
                self.client.get(&path).bad_as(field, "INVALID_VALUE");
            }
        }
        let ask = |query: &str| self.client.get(&format!("{}?{query}", self.path));
        ask("limit").bad_as("limit", "INVALID_VALUE");
        ask("limit=0").bad_as("limit", "OUT_OF_BOUNDS");
        ask("limit=00").bad_as("limit", "OUT_OF_BOUNDS");
        // Beyond the integers that every JSON reader holds exactly.
        for beyond in ["9007199254740992", &huge] {
            let echo = &ask(&format!("offset={beyond}")).json["offset"];
            assert_eq!(*echo, 9_007_199_254_740_991_u64, "{beyond}");
        }
        ask("limit=1&limit=1").bad_as("limit", "REPEATED");
        ask("limit=1&li%6dit=2").bad_as("limit", "REPEATED");
        ask("offset=0&offset=0").bad_as("offset", "REPEATED");
        ask("Limit=1").bad_as("Limit", "UNKNOWN_FIELD");
        ask("page=1").bad_as("page", "UNKNOWN_FIELD");
        ask("limit=0&offset=x&page=1&page=2").bad(&["limit", "offset", "page"]);
        ask("%FF=1").bad_as("\u{fffd}", "UNKNOWN_FIELD");
        let capped = ask(&format!("limit={huge}"));
        if self.capped {
            assert_eq!(capped.json["limit"], self.max);
        } else {
            capped.bad_as("limit", "OUT_OF_BOUNDS");
        }
    }
}
