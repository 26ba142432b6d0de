//! `GET /markets/{marketId}/activity` (interface 2.10 and 4.3, semantics 3 and 6).

use std::time::Duration;

use serde_json::{Value, json};

use super::cursors::CursorList;
use super::paging::List;
use super::shape::check;
use super::shapes;
use super::venue::{NOBODY, PICTURE, Venue, soon};

/// Records of a market, newest first, each of the shape of its type.
fn records(venue: &Venue, market: &str) -> Vec<Value> {
    let page = venue.operator.get(&format!("/markets/{market}/activity"));
    assert_eq!(page.status, 200, "{page:?}");
    let records = page.json["activities"].as_array().unwrap().clone();
    for record in &records {
        let trade = record["type"] == "TRADE";
        let shape = if trade { shapes::trade_activity() } else { shapes::move_activity() };
        check(&shape, record, market);
    }
    let times: Vec<&str> = records.iter().map(|r| r["createdAt"].as_str().unwrap()).collect();
    assert!(times.windows(2).all(|pair| pair[0] >= pair[1]), "{times:?}");
    records
}

/// `TYPE FROM TO` of each status change.
fn moves(venue: &Venue, market: &str) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let moves = records(venue, market).into_iter().filter(|record| record["type"] != "TRADE");
    moves.map(|r| [&r["type"], &r["statusFrom"], &r["statusTo"]].map(text).join(" ")).collect()
}

/// Waits until a market reaches a status by the clock alone.
fn wait_for(venue: &Venue, market: &str, status: &str) {
    let path = format!("/markets/{market}");
    for _ in 0..1000 {
        if venue.operator.get(&path).json["status"] == *status {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{market} never became {status}");
}

#[test]
fn the_feed_is_paged() {
    let venue = Venue::open();
    let market = venue.market();
    venue.act(&market, "suspend", &json!({}));
    venue.act(&market, "reopen", &json!({}));
    List {
        client: &venue.trader("ann").client,
        path: &format!("/markets/{market}/activity"),
        name: "activities",
        shape: shapes::move_activity(),
        standard: 50,
        max: 1000,
        capped: true,
    }
    .check();
}

#[test]
fn the_market_must_be_known_and_public() {
    let venue = Venue::open();
    let draft = venue.draft(&json!({}));
    let ann = venue.trader("ann");
    ann.get(&format!("/markets/{NOBODY}/activity")).refused(404, "MARKET_NOT_FOUND");
    ann.get(&format!("/markets/{draft}/activity")).refused(404, "MARKET_NOT_FOUND");
    ann.get("/markets/x/activity").bad_as("marketId", "INVALID_VALUE");
    ann.get("/markets//activity").refused(404, "NOT_FOUND");
    ann.get("/markets/x/activity?limit=0&offset=a&b=c").bad(&["marketId", "limit", "offset", "b"]);
}

#[test]
fn every_fill_is_shown_for_the_taker() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    // Side and outcome of the maker and of the taker; the outcome, stake and odds of the taker's
    // bet. The maker's price is 0.60 or 0.40, always 0.60 in yes.
    for (maker, taker, betted, stake, odd) in [
        (("SELL", "yes", "0.60"), ("BUY", "yes", "0.75"), "yes", "1.50", "1.6667"),
        (("BUY", "yes", "0.60"), ("SELL", "yes", "0.10"), "no", "1.00", "2.5"),
        (("BUY", "yes", "0.60"), ("BUY", "no", "0.40"), "no", "1.00", "2.5"),
        (("BUY", "no", "0.40"), ("SELL", "no", "0.35"), "yes", "1.50", "1.6667"),
    ] {
        ann.place(&market, maker.0, maker.1, maker.2, "2.5").ok(&shapes::placed());
        bob.place(&market, taker.0, taker.1, taker.2, "2.5").ok(&shapes::placed());
        let record = &records(&venue, &market)[0];
        let user = json!({"id": bob.id, "profileName": "bob", "profilePic": PICTURE});
        assert_eq!((&record["type"], &record["user"]), (&json!("TRADE"), &user));
        assert_eq!(record["outcomeId"], *betted);
        let number = |text: &str| text.parse::<f64>().unwrap();
        assert_eq!(record["stake"], number(stake), "{taker:?}");
        assert_eq!(record["odd"], number(odd), "{taker:?}");
    }
}

#[test]
fn one_order_with_several_fills_has_a_record_of_each() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    for price in ["0.60", "0.61", "0.62"] {
        ann.place(&market, "SELL", "yes", price, "1");
    }
    bob.place(&market, "BUY", "yes", "0.61", "3");
    let records = records(&venue, &market);
    let stakes: Vec<&Value> = records.iter().map(|record| &record["stake"]).collect();
    assert_eq!(stakes, [&json!(0.61), &json!(0.6), &Value::Null]);
    assert_eq!(records[2]["type"], "MARKET_PUBLISHED");
}

#[test]
fn every_status_change_is_shown() {
    let venue = Venue::open();
    let market = venue.market_with(&json!({"disputeWindowSeconds": 3}));
    for (action, body) in [
        ("suspend", json!({})),
        ("reopen", json!({})),
        ("close", json!({})),
        ("reopen", json!({"deadline": "2999-06-01T00:00:00Z"})),
        ("resolve", json!({"winningOutcomeId": "yes"})),
        ("dispute", json!({})),
        ("resolve", json!({"winningOutcomeId": "no"})),
    ] {
        venue.act(&market, action, &body).ok(&shapes::market_detail());
    }
    wait_for(&venue, &market, "SETTLED");
    assert_eq!(
        moves(&venue, &market),
        [
            "MARKET_SETTLED RESOLVED SETTLED",
            "MARKET_RESOLVED DISPUTED RESOLVED",
            "MARKET_DISPUTED RESOLVED DISPUTED",
            "MARKET_RESOLVED CLOSED RESOLVED",
            "MARKET_CLOSED ACTIVE CLOSED",
            "MARKET_REOPENED CLOSED ACTIVE",
            "MARKET_CLOSED ACTIVE CLOSED",
            "MARKET_REOPENED SUSPENDED ACTIVE",
            "MARKET_SUSPENDED ACTIVE SUSPENDED",
            "MARKET_PUBLISHED DRAFT ACTIVE",
        ]
    );
}

#[test]
fn a_void_shows_the_status_before_it() {
    let venue = Venue::open();
    let market = venue.market();
    venue.act(&market, "void", &json!({}));
    let expected = ["MARKET_VOIDED ACTIVE VOIDED", "MARKET_PUBLISHED DRAFT ACTIVE"];
    assert_eq!(moves(&venue, &market), expected);
}

#[test]
fn a_deadline_that_passes_closes_the_market_and_its_orders() {
    let venue = Venue::open();
    let ann = venue.trader("ann").client;
    let market = venue.market_with(&json!({"deadline": soon(3000)}));
    let order = super::venue::order(&market, "BUY", "yes", "0.50", "2");
    let placed = ann.post("/trading/orders", &order).ok(&shapes::placed());
    wait_for(&venue, &market, "CLOSED");
    let path = format!("/trading/orders/{}", placed["orderId"].as_str().unwrap());
    let order = ann.get(&path).ok(&shapes::order());
    assert_eq!(order["status"], "CANCELLED");
    assert_eq!(order["cancelReason"], "MARKET_CLOSED");
    let balance = ann.get("/trading/balance").ok(&shapes::balance());
    assert_eq!((&balance["available"], &balance["reserved"]), (&json!("100.00"), &json!("0.00")));
    let refused = super::venue::order(&market, "BUY", "yes", "0.50", "2");
    ann.post("/trading/orders", &refused).refused(422, "MARKET_NOT_ACTIVE");
    let expected = ["MARKET_CLOSED ACTIVE CLOSED", "MARKET_PUBLISHED DRAFT ACTIVE"];
    assert_eq!(moves(&venue, &market), expected);
}

#[test]
fn the_feed_is_paged_by_cursor_too() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    for price in ["0.60", "0.50"] {
        venue.trade(&market, &ann, &bob, price, "1");
    }
    let path = format!("/markets/{market}/activity?");
    let shape = shapes::either_page("activities", super::shape::with_more([]));
    CursorList { client: &ann.client, path: &path, name: "activities", shape, max: 1000 }
        .check(|| venue.trade(&market, &ann, &bob, "0.40", "1"));
    assert_eq!(ann.get(&format!("{path}cursor=&limit=1001")).json["limit"], 1000);
    ann.get(&format!("{path}cursor=&offset=0")).bad_as("offset", "INVALID_VALUE");
}
