//! `GET /trading/orders` and `GET /trading/orders/{orderId}` (interface 4.6, semantics 6).

use serde_json::{Value, json};

use super::cursors::CursorList;
use super::shapes;
use super::venue::{NOBODY, Trader, Venue, ids, order, with};

fn listed(trader: &Trader, query: &str) -> Vec<String> {
    let list = trader.get(&format!("/trading/orders?{query}")).ok(&shapes::orders());
    ids(&list["orders"]).into_iter().map(str::to_owned).collect()
}

fn place(trader: &Trader, body: &Value) -> String {
    trader.order(body).ok(&shapes::placed())["orderId"].as_str().unwrap().to_owned()
}

#[test]
fn orders_are_listed_newest_first_and_filtered_as_documented() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let (first, second) = (venue.market(), venue.market());
    let open = place(&ann, &order(&first, "BUY", "yes", "0.40", "1"));
    let part = place(&ann, &order(&first, "BUY", "yes", "0.50", "2"));
    let filled = place(&ann, &order(&second, "BUY", "no", "0.50", "1"));
    let ioc = with(order(&second, "BUY", "yes", "0.10", "1"), &json!({"timeInForce": "IOC"}));
    let dead = place(&ann, &ioc);
    let cancelled = place(&ann, &order(&second, "SELL", "no", "0.90", "1"));
    let last = place(&ann, &order(&second, "SELL", "no", "0.91", "1"));
    place(&bob, &order(&first, "SELL", "yes", "0.50", "1"));
    place(&bob, &order(&second, "BUY", "yes", "0.50", "1"));
    ann.client.delete(&format!("/trading/orders/{cancelled}")).ok(&shapes::order());

    let all = [&last, &cancelled, &dead, &filled, &part, &open];
    assert_eq!(listed(&ann, "").iter().collect::<Vec<_>>(), all);
    assert_eq!(listed(&ann, "active=false").iter().collect::<Vec<_>>(), all);
    assert_eq!(listed(&ann, "active=true"), [last.as_str(), &part, &open]);
    assert_eq!(listed(&ann, &format!("marketId={first}")), [part.as_str(), &open]);
    assert_eq!(listed(&ann, &format!("active=true&marketId={second}")), [last]);
    assert_eq!(listed(&ann, &format!("marketId={NOBODY}")), Vec::<String>::new());
    assert_eq!(listed(&ann, &format!("marketId={}", first.to_uppercase())).len(), 2);
    let list = ann.get("/trading/orders").json;
    let text = |order: &Value| order["status"].as_str().unwrap().to_owned();
    let statuses: Vec<String> = list["orders"].as_array().unwrap().iter().map(text).collect();
    let expected = ["OPEN", "CANCELLED", "CANCELLED", "FILLED", "PARTIALLY_FILLED", "OPEN"];
    assert_eq!(statuses, expected);
    assert_eq!(list["orders"][4]["remainingQuantity"], "1");
    for order in list["orders"].as_array().unwrap() {
        let path = format!("/trading/orders/{}", order["id"].as_str().unwrap());
        assert_eq!(ann.get(&path).ok(&shapes::order()), *order);
    }
}

#[test]
fn bad_filters_are_named() {
    let ann = &Venue::open();
    let ask = |query: &str| ann.operator.get(&format!("/trading/orders?{query}"));
    for text in ["", "TRUE", "1", "open"] {
        ask(&format!("active={text}")).bad_as("active", "INVALID_VALUE");
    }
    for text in ["", "x", "%FF", "0192f0c1-2b3c-7d4e-8f50-61728394051g"] {
        ask(&format!("marketId={text}")).bad_as("marketId", "INVALID_VALUE");
    }
    ask("active=true&active=true").bad_as("active", "REPEATED");
    ask("limit=5").bad_as("limit", "UNKNOWN_FIELD");
    ask("active=x&marketId=y&status=OPEN&limit=1").bad(&["active", "marketId", "status", "limit"]);
}

#[test]
fn other_users_see_nothing_of_an_order() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let id = place(&ann, &order(&market, "BUY", "yes", "0.40", "1"));
    let path = format!("/trading/orders/{id}");
    for other in [&bob.client, &venue.operator] {
        assert_eq!(other.get("/trading/orders").json, json!({"orders": []}));
        other.get(&path).refused(404, "ORDER_NOT_FOUND");
        other.delete(&path).refused(404, "ORDER_NOT_FOUND");
        other.patch(&path, &json!({"quantity": "2"})).refused(404, "ORDER_NOT_FOUND");
        assert_eq!(other.delete("/trading/orders").json["cancelled"], json!([]));
        other.get(&format!("/trading/fills?orderId={id}")).refused(404, "ORDER_NOT_FOUND");
    }
    assert_eq!(ann.get(&path).text("status"), "OPEN");
}

#[test]
fn one_order_is_found_by_its_id_only() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let id = place(&ann, &order(&market, "BUY", "yes", "0.40", "1"));
    ann.get(&format!("/trading/orders/{}", id.to_uppercase())).ok(&shapes::order());
    for other in [NOBODY, &market, &ann.id] {
        ann.get(&format!("/trading/orders/{other}")).refused(404, "ORDER_NOT_FOUND");
    }
    // The last digit matters too.
    let last = if id.ends_with('0') { '1' } else { '0' };
    let close = format!("{}{last}", &id[..35]);
    ann.get(&format!("/trading/orders/{close}")).refused(404, "ORDER_NOT_FOUND");
    for bad in ["x", "1", "%00", &id[..35], &id.replace('-', "")] {
        ann.get(&format!("/trading/orders/{bad}")).bad_as("orderId", "INVALID_VALUE");
    }
    ann.get(&format!("/trading/orders/{id}?asof=1")).bad_as("asof", "UNKNOWN_FIELD");
}

#[test]
fn the_list_is_paged_by_cursor() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let (market, other) = (venue.market(), venue.market());
    for market in [&market, &market, &other, &market] {
        place(&ann, &order(market, "BUY", "yes", "0.40", "1"));
    }
    for filter in ["", "active=true&", &format!("marketId={market}&")] {
        let both = format!("active=true&marketId={market}&");
        for path in [filter, &both].map(|filter| format!("/trading/orders?{filter}")) {
            let shape = super::cursors::page("orders", shapes::order());
            CursorList { client: &ann.client, path: &path, name: "orders", shape, max: 1000 }
                .check(|| drop(place(&ann, &order(&market, "BUY", "yes", "0.40", "1"))));
        }
    }
    let ask = |query: &str| ann.get(&format!("/trading/orders?{query}"));
    ask("cursor=&limit=1001").bad_as("limit", "OUT_OF_BOUNDS");
    ask("cursor=&offset=0").bad_as("offset", "UNKNOWN_FIELD");
    // If an order is filled or cancelled between two pages, no other order is skipped.
    let first = ask("cursor=&limit=2&active=true").json;
    let [newest, second] = ids(&first["orders"])[..] else { panic!("two orders") };
    let next = first["nextCursor"].as_str().unwrap();
    for id in [newest, second] {
        ann.client.delete(&format!("/trading/orders/{id}"));
    }
    let rest = ask(&format!("cursor={next}&limit=2&active=true")).json;
    let all = listed(&ann, "active=true");
    assert_eq!(ids(&rest["orders"]), all[..2]);
    assert_eq!(ask(&format!("cursor=&marketId={NOBODY}")).json["orders"], json!([]));
}

/// Ended orders may push open ones out of the newest ten thousand.
#[test]
fn open_orders_are_never_left_out_and_a_list_that_is_cut_says_so() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let (market, other) = (venue.market(), venue.market());
    let old = place(&ann, &order(&market, "BUY", "yes", "0.01", "1"));
    let elsewhere = place(&ann, &order(&other, "BUY", "yes", "0.01", "1"));
    let ioc = json!({"timeInForce": "IOC"});
    let ended = with(order(&market, "BUY", "yes", "0.01", "0.000001"), &ioc);
    let batch = json!({"operations": vec![json!({"place": ended}); 100]});
    let end = |batches: usize| {
        for _ in 0..batches {
            assert_eq!(ann.client.post("/trading/orders/batch", &batch).status, 200);
        }
    };
    end(99);
    let newer = place(&ann, &order(&market, "BUY", "yes", "0.02", "1"));
    let whole = ann.get("/trading/orders").json;
    assert_eq!(whole["orders"].as_array().unwrap().len(), 9_903);
    assert_eq!((&whole["truncated"], &whole["cursor"]), (&Value::Null, &Value::Null));
    end(1);
    let of_market = format!("/trading/orders?marketId={market}");
    for (path, older, rest) in
        [("/trading/orders", vec![&elsewhere, &old], 5), (of_market.as_str(), vec![&old], 3)]
    {
        let cut = ann.get(path).json;
        let listed = ids(&cut["orders"]);
        assert_eq!(listed.len(), 10_000, "{path}");
        assert!(listed.ends_with(&older.iter().map(|id| id.as_str()).collect::<Vec<_>>()));
        assert_eq!((&cut["truncated"], listed.contains(&newer.as_str())), (&json!(true), true));
        let cursor = cut["cursor"].as_str().unwrap();
        let join = if path.contains('?') { "&" } else { "?" };
        let next = ann.get(&format!("{path}{join}cursor={cursor}&limit=1000")).json;
        let next_ids = ids(&next["orders"]);
        // It goes on after those that are listed without a gap: nothing is missing in between.
        assert_eq!(next_ids.len(), rest, "{path}");
        let gap = next_ids.len() - older.len();
        assert!(next_ids[..gap].iter().all(|id| !listed.contains(id)), "{path}");
    }
    let active = ids(&ann.get("/trading/orders?active=true").json["orders"]).len();
    assert_eq!(active, 3);
}
