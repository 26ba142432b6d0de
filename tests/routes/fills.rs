//! `GET /trading/fills` (semantics 8).

use serde_json::{Value, json};

use super::cursors::CursorList;
use super::paging::List;
use super::shapes;
use super::venue::{NOBODY, Trader, Venue};

fn listed(trader: &Trader, query: &str) -> Vec<Value> {
    let page = trader.get(&format!("/trading/fills?{query}"));
    let page = page.ok(&shapes::page("fills", shapes::fill()));
    page["fills"].as_array().unwrap().clone()
}

#[test]
fn the_list_is_paged() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    for price in ["0.60", "0.50", "0.40"] {
        venue.trade(&market, &ann, &bob, price, "1");
    }
    for path in ["/trading/fills".to_owned(), format!("/trading/fills?marketId={market}")] {
        let whole = ann.get(&path).json;
        assert_eq!(whole["total"], 3, "{path}");
    }
    List {
        client: &ann.client,
        path: "/trading/fills",
        name: "fills",
        shape: shapes::fill(),
        standard: 50,
        max: 1000,
        capped: false,
    }
    .check();
}

#[test]
fn each_party_has_its_own_side_of_a_trade() {
    let venue = Venue::open();
    let (ann, bob, eve) = (venue.trader("ann"), venue.trader("bob"), venue.trader("eve"));
    let market = venue.market();
    let rests = ann.place(&market, "BUY", "yes", "0.60", "2.5").text("orderId");
    let takes = bob.place(&market, "BUY", "no", "0.45", "1");
    let (maker, taker) = (listed(&ann, "").remove(0), listed(&bob, "").remove(0));
    let terms = |fill: &Value| {
        ["orderId", "marketId", "outcomeId", "side", "price", "quantity", "liquidity"]
            .map(|member| fill[member].clone())
    };
    let maker_terms = json!([rests, market, "yes", "BUY", "0.60", "1", "MAKER"]);
    assert_eq!(json!(terms(&maker)), maker_terms);
    let taker_terms = json!([takes.text("orderId"), market, "no", "BUY", "0.40", "1", "TAKER"]);
    assert_eq!(json!(terms(&taker)), taker_terms);
    for member in ["id", "timestamp", "sequence"] {
        assert_eq!(maker[member], taker[member], "{member}");
    }
    assert_eq!(taker["id"], takes.json["trades"][0]["id"]);
    assert_eq!(taker["timestamp"], takes.json["trades"][0]["timestamp"]);
    assert_eq!(taker["sequence"], takes.sequence());
    assert_eq!(listed(&eve, ""), Vec::<Value>::new());
    assert_eq!(venue.operator.get("/trading/fills").json["total"], 0);
}

#[test]
fn filters_select_as_documented() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let (first, second) = (venue.market(), venue.market());
    let order = ann.place(&first, "SELL", "yes", "0.60", "3").text("orderId");
    for (market, price) in [(&first, "0.60"), (&first, "0.70")] {
        bob.place(market, "BUY", "yes", price, "1");
    }
    venue.trade(&second, &ann, &bob, "0.30", "1");
    let prices = |query: &str| -> Vec<String> {
        let text = |fill: &Value| fill["sequence"].to_string();
        listed(&ann, query).iter().map(text).collect()
    };
    let all = prices("");
    assert_eq!(all.len(), 3);
    assert!(
        all.windows(2)
            .all(|pair| pair[0].parse::<u64>().unwrap() > pair[1].parse::<u64>().unwrap())
    );
    assert_eq!(prices(&format!("marketId={first}")), all[1..]);
    assert_eq!(prices(&format!("orderId={order}")), all[1..]);
    assert_eq!(prices(&format!("orderId={order}&limit=1&offset=1")).len(), 1);
    assert_eq!(prices(&format!("marketId={second}&orderId={order}")), Vec::<String>::new());
    assert_eq!(prices(&format!("marketId={NOBODY}")), Vec::<String>::new());
    let ask = |query: &str| ann.get(&format!("/trading/fills?{query}"));
    ask(&format!("orderId={NOBODY}")).refused(404, "ORDER_NOT_FOUND");
    ask("orderId=x&marketId=&limit=0&side=BUY").bad(&["orderId", "marketId", "limit", "side"]);
    ask(&format!("orderId={order}&orderId={order}")).bad_as("orderId", "REPEATED");
}

#[test]
fn the_list_is_paged_by_cursor_too() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let order = ann.place(&market, "BUY", "yes", "0.60", "20").text("orderId");
    let fill = || assert_eq!(bob.place(&market, "SELL", "yes", "0.60", "1").status, 200);
    for _ in 0..3 {
        fill();
    }
    for filter in [String::new(), format!("marketId={market}&"), format!("orderId={order}&")] {
        let path = format!("/trading/fills?{filter}");
        let shape = shapes::either_page("fills", shapes::fill());
        CursorList { client: &ann.client, path: &path, name: "fills", shape, max: 1000 }
            .check(fill);
        let page = ann.get(&format!("{path}cursor=2&limit=1")).json;
        let total = page["total"].as_u64().unwrap();
        assert_eq!(json!([page["limit"], page["offset"]]), json!([1, total - 2]));
        ann.get(&format!("{path}cursor=&offset=0")).bad_as("offset", "INVALID_VALUE");
    }
}
