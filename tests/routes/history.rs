//! Unreadable history: reads that need it are refused with its error, and the venue goes on.

use std::num::NonZeroU32;

use engine::history::HistoryStore;
use journal::directory::LogJournal;
use serde_json::{Value, json};

use super::shapes;
use super::venue::{Trader, Venue};

/// Rows per page: few, so that a few orders reach beyond what is in memory.
const ROWS: NonZeroU32 = NonZeroU32::new(4).unwrap();
/// Orders that are placed and cancelled: many pages of orders and of changes of money.
const ENDED: usize = 40;

/// A venue with journal and history in this folder; `key` is that of its operator, if the venue
/// existed before.
fn venue(data: &std::path::Path, key: Option<&str>) -> (Venue, HistoryStore) {
    let (journal, _) = LogJournal::open(data).unwrap();
    let history = HistoryStore::open_paged(data, ROWS).unwrap();
    (Venue::with_history(journal, history.clone(), key), history)
}

/// Every list of the past, with its contents.
fn past(trader: &Trader, first: &str) -> Vec<(String, Value)> {
    let paths = [
        "/trading/orders".to_owned(),
        format!("/trading/orders/{first}"),
        "/trading/orders/by-client-id/first".to_owned(),
        "/trading/fills?limit=1000".to_owned(),
        "/account/ledger?limit=1000".to_owned(),
    ];
    paths.into_iter().map(|path| (path.clone(), trader.get(&path).json)).collect()
}

#[test]
fn unreadable_history_is_named_and_everything_else_goes_on() {
    let data = tempfile::tempdir().unwrap();
    let (mut before, history) = venue(data.path(), None);
    let (ann, bob) = (before.trader("ann"), before.trader("bob"));
    let market = before.market();
    let body = json!({"clientOrderId": "first", "marketId": market, "outcomeId": "yes",
        "side": "BUY", "orderType": "LIMIT", "price": "0.10", "quantity": "1"});
    let placed = ann.order(&body);
    let first = placed.text("orderId");
    ann.client.delete(&format!("/trading/orders/{first}"));
    let old = [1, 2].map(|_| ann.place(&market, "BUY", "yes", "0.05", "1").text("orderId"));
    for _ in 0..ENDED {
        let id = ann.place(&market, "BUY", "yes", "0.20", "1").text("orderId");
        ann.client.delete(&format!("/trading/orders/{id}"));
        before.trade(&market, &ann, &bob, "0.50", "0.01");
    }
    let was = past(&ann, &first);
    assert_eq!(was[0].1["orders"].as_array().unwrap().len(), 2 * ENDED + 3);

    history.close();
    for (path, _) in &was {
        ann.get(path).refused(500, "HISTORY_UNREADABLE");
    }
    // Only what needs a page is refused: the newest rows and open orders are in memory.
    let newest = ann.get("/account/ledger?limit=1");
    assert_eq!(newest.json["lines"][0], was[4].1["lines"][0]);
    let id = ann.place(&market, "BUY", "yes", "0.30", "1").text("orderId");
    let open = ann.get("/trading/orders?active=true").json;
    assert_eq!(open["orders"][0]["id"], id.as_str());
    for path in ["/trading/positions", "/trading/balance", "/account/pnl", "/markets/public/list"] {
        assert_eq!(ann.get(path).status, 200, "{path}");
    }
    // The first answer of an order that has ended is told from its row.
    ann.order(&body).refused(500, "HISTORY_UNREADABLE");
    // Old orders can be cancelled, and the answer lists them.
    let all = ann.client.delete(&format!("/trading/orders?marketId={market}"));
    assert_eq!(all.json["cancelled"], json!([old[0], old[1], id]));
    let id = ann.place(&market, "BUY", "yes", "0.30", "1").text("orderId");
    before.trade(&market, &ann, &bob, "0.60", "1");
    let cancelled = ann.client.delete(&format!("/trading/orders/{id}"));
    assert_eq!(cancelled.ok(&shapes::order())["status"], "CANCELLED");
    // The journal still has everything: a start rebuilds the pages.
    let (op, key) = (before.operator.key.clone(), ann.client.key.clone());
    assert!(!before.close(), "it did not halt");
    drop(before);
    let (after, _) = venue(data.path(), Some(&op));
    let ann = Trader { id: ann.id, client: after.client(&key) };
    let is = past(&ann, &first);
    assert_eq!(is[1..3], was[1..3]);
    let orders = |answer: &Value| answer["orders"].as_array().unwrap().clone();
    let (now, then) = (orders(&is[0].1), orders(&was[0].1));
    // All but the two orders that were cancelled meanwhile, the oldest but one.
    let oldest = then.len() - 1;
    assert_eq!(now[3..=oldest], then[..oldest - 2]);
    assert_eq!(now.last(), then.last());
    for (name, place) in [("fills", 3), ("lines", 4)] {
        let (is, was) = (&is[place].1[name], &was[place].1[name]);
        assert!(is.as_array().unwrap().ends_with(was.as_array().unwrap()), "{name}");
    }
}
