//! Lists read oldest first: `afterSequence=`, `since=`, and their cursors.

use serde_json::{Value, json};

use super::client::Answer;
use super::venue::{NOBODY, Trader, Venue};

/// A list, and the member that has its rows.
struct List {
    path: String,
    name: &'static str,
}

fn rows(answer: &Answer, name: &str) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json[name].as_array().unwrap().clone()
}

impl List {
    fn ask(&self, by: &Trader, query: &str) -> Answer {
        let joined = if self.path.contains('?') { "&" } else { "?" };
        by.get(&format!("{}{joined}{query}", self.path))
    }

    /// The whole list, oldest first.
    fn whole(&self, by: &Trader) -> Vec<Value> {
        let mut whole = rows(&self.ask(by, "cursor=&limit=1000"), self.name);
        whole.reverse();
        whole
    }

    /// From a start on, in pages of this length, until there are no more; and the last cursor.
    fn walk(&self, by: &Trader, start: &str, limit: usize) -> (Vec<Value>, String) {
        let (mut all, mut start) = (Vec::new(), start.to_owned());
        loop {
            let page = self.ask(by, &format!("{start}&limit={limit}"));
            let shown = rows(&page, self.name);
            let has_more = page.json["hasMore"] == true;
            assert!(shown.len() == limit || !has_more && shown.len() < limit, "{page:?}");
            all.extend(shown);
            start = format!("cursor={}", page.text("nextCursor"));
            if !has_more {
                return (all, start);
            }
        }
    }
}

fn lists(market: &str, order: &str) -> Vec<List> {
    [
        ("/trading/fills".to_owned(), "fills"),
        (format!("/trading/fills?marketId={market}"), "fills"),
        (format!("/trading/fills?orderId={order}"), "fills"),
        ("/trading/orders".to_owned(), "orders"),
        ("/trading/orders?active=true".to_owned(), "orders"),
        (format!("/trading/orders?marketId={market}"), "orders"),
        (format!("/trading/orders?active=true&marketId={market}"), "orders"),
        ("/account/ledger".to_owned(), "lines"),
        (format!("/markets/{market}/trades"), "trades"),
        (format!("/markets/{market}/activity"), "activities"),
    ]
    .map(|(path, name)| List { path, name })
    .into()
}

/// Orders and trades of Ann in two markets, and her order that trades several times.
fn busy(venue: &Venue, ann: &Trader, ben: &Trader, market: &str) -> String {
    let other = venue.market();
    let order = ann.place(market, "BUY", "yes", "0.60", "20").text("orderId");
    for price in ["0.60", "0.50"] {
        ben.place(market, "SELL", "yes", price, "1");
        venue.trade(&other, ann, ben, "0.30", "1");
        ann.place(&other, "BUY", "yes", "0.10", "1");
    }
    // Three fills in one record.
    for price in ["0.70", "0.71", "0.72"] {
        ben.place(market, "SELL", "yes", price, "1");
    }
    ann.place(market, "BUY", "yes", "0.75", "3");
    ann.place(market, "BUY", "yes", "0.20", "1");
    order
}

#[test]
fn what_came_after_any_record_is_read_once_and_oldest_first() {
    let venue = Venue::open();
    let (ann, ben) = (venue.trader("ann"), venue.trader("ben"));
    let market = venue.market();
    let order = busy(&venue, &ann, &ben, &market);
    let head = ann.get("/time").sequence();
    for list in lists(&market, &order) {
        let whole = list.whole(&ann);
        assert!(whole.len() > 1, "{}", list.path);
        let sequence = |row: &Value| row["sequence"].as_u64().unwrap();
        for after in 0..=head {
            let expected: Vec<Value> =
                whole.iter().filter(|row| sequence(row) > after).cloned().collect();
            for limit in [1, 2, 1000] {
                let (walked, _) = list.walk(&ann, &format!("afterSequence={after}"), limit);
                assert_eq!(walked, expected, "{} after {after}", list.path);
            }
        }
        let time = |row: &Value| {
            let at = ["timestamp", "createdAt"].map(|name| row[name].as_str());
            at.into_iter().flatten().next().unwrap().to_owned()
        };
        for row in &whole {
            let since = time(row);
            let expected: Vec<Value> =
                whole.iter().filter(|row| time(row) >= since).cloned().collect();
            let (walked, _) = list.walk(&ann, &format!("since={since}"), 2);
            assert_eq!(walked, expected, "{} since {since}", list.path);
        }
        let (walked, _) = list.walk(&ann, "since=2999-01-01T00:00:00Z", 2);
        assert_eq!(walked, Vec::<Value>::new());
    }
}

#[test]
fn the_last_cursor_and_the_last_sequence_lead_to_what_is_new_and_only_that() {
    let venue = Venue::open();
    let (ann, ben) = (venue.trader("ann"), venue.trader("ben"));
    let market = venue.market();
    let order = busy(&venue, &ann, &ben, &market);
    let mut known: Vec<(List, String, u64)> = lists(&market, &order)
        .into_iter()
        .map(|list| {
            let page = list.ask(&ann, "afterSequence=0&limit=1000");
            let (cursor, sequence) = (page.text("nextCursor"), page.sequence());
            (list, format!("cursor={cursor}"), sequence)
        })
        .collect();
    for _ in 0..3 {
        // Ann's first order trades, and she places another one.
        ben.place(&market, "SELL", "yes", "0.60", "1");
        ann.place(&market, "BUY", "yes", "0.05", "1");
        for (list, cursor, sequence) in &mut known {
            let page = list.ask(&ann, &format!("afterSequence={sequence}"));
            let new = rows(&page, list.name);
            // The trade, its fee-less line, and what the order reserves.
            assert_eq!(new.len(), if list.name == "lines" { 2 } else { 1 }, "{}", list.path);
            assert!(list.whole(&ann).ends_with(&new), "{}", list.path);
            let (walked, next) = list.walk(&ann, cursor, 1);
            assert_eq!(walked, new, "{}", list.path);
            (*cursor, *sequence) = (next, page.sequence());
            let again = list.ask(&ann, &format!("afterSequence={sequence}"));
            assert_eq!(rows(&again, list.name), Vec::<Value>::new(), "{}", list.path);
        }
    }
}

#[test]
fn a_start_is_refused_where_it_cannot_be_meant() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let order = ann.place(&market, "BUY", "yes", "0.60", "20").text("orderId");
    for list in lists(&market, &order) {
        // Only a venue that lost records has a reader that knows later ones.
        let head = ann.get("/time").sequence();
        list.ask(&ann, &format!("afterSequence={}", head + 1))
            .bad_as("afterSequence", "OUT_OF_BOUNDS");
        list.ask(&ann, "afterSequence=0&since=2030-01-01T00:00:00Z")
            .bad_as("since", "INVALID_VALUE");
        list.ask(&ann, "afterSequence=0&cursor=").bad_as("cursor", "INVALID_VALUE");
        list.ask(&ann, "cursor=after").bad_as("cursor", "INVALID_VALUE");
        list.ask(&ann, "since=yesterday&limit=0").bad(&["since", "limit"]);
    }
    for path in ["/trading/fills", "/trading/orders"] {
        let path = format!("{path}?marketId={NOBODY}&afterSequence=0");
        let name = if path.contains("fills") { "fills" } else { "orders" };
        assert_eq!(rows(&ann.get(&path), name), Vec::<Value>::new());
    }
}

#[test]
fn a_fill_tells_its_orders_name_and_what_is_held_after_it() {
    let venue = Venue::open();
    let (ann, ben) = (venue.trader("ann"), venue.trader("ben"));
    let market = venue.market();
    let order = |side: &str, price: &str, quantity: &str, name: &str| {
        let terms = super::venue::order(&market, side, "yes", price, quantity);
        super::venue::with(terms, &json!({"clientOrderId": name}))
    };
    ben.order(&order("SELL", "0.60", "2.5", "rests"));
    ben.place(&market, "SELL", "yes", "0.61", "1");
    ann.order(&order("BUY", "0.61", "3", "takes"));
    ann.order(&order("SELL", "0.20", "1", "leaves"));
    ben.place(&market, "BUY", "yes", "0.30", "1");
    let told = |by: &Trader| -> Vec<Value> {
        let fills = rows(&by.get("/trading/fills?afterSequence=0"), "fills");
        fills
            .iter()
            .map(|fill| {
                let held = &fill["heldAfter"];
                json!([fill["clientOrderId"], fill["quantity"], held["yes"], held["no"]])
            })
            .collect()
    };
    // The incoming order's two fills were made at once; the resting ones are told one by one.
    assert_eq!(
        json!(told(&ann)),
        json!([["takes", "2.5", "3", "0"], ["takes", "0.5", "3", "0"], ["leaves", "1", "2", "0"]])
    );
    assert_eq!(
        json!(told(&ben)),
        json!([["rests", "2.5", "0", "2.5"], [null, "0.5", "0", "3"], [null, "1", "0", "2"]])
    );
}
