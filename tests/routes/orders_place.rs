//! `POST /trading/orders`: accepted orders and their outcome (interface 4.5, semantics 4 and 5).

use chrono::DateTime;
use serde_json::{Value, json};

use super::shapes;
use super::venue::{Trader, Venue, order, soon, with};

/// Status, filled, remaining, average price, cancelled, reason, cost.
fn shown(placed: &Value) -> [String; 7] {
    [
        "status",
        "filledQuantity",
        "remainingQuantity",
        "averageFillPrice",
        "cancelledQuantity",
        "cancelReason",
        "filledCost",
    ]
    .map(|member| placed[member].as_str().unwrap_or("null").to_owned())
}

/// Places an order and checks that every read shows the same of it.
fn place(trader: &Trader, body: &Value) -> Value {
    let answer = trader.order(body);
    let placed = answer.ok(&shapes::placed());
    assert_eq!(placed["sequence"], answer.sequence());
    let path = format!("/trading/orders/{}", placed["orderId"].as_str().unwrap());
    let read = trader.get(&path).ok(&shapes::order());
    assert_eq!(shown(&read), shown(&placed));
    assert_eq!((&read["id"], &read["sequence"]), (&placed["orderId"], &placed["sequence"]));
    for member in ["marketId", "outcomeId", "side", "orderType"] {
        assert_eq!(read[member], body[member], "{member}");
    }
    let newest = trader.get("/trading/orders").ok(&shapes::orders());
    assert_eq!(newest["orders"][0], read);
    placed
}

#[test]
fn prices_and_quantities_are_written_back_in_one_form() {
    let venue = Venue::open();
    let ann = venue.trader_with("ann", "200000000");
    let market = venue.market();
    for (price, quantity, price_back, quantity_back) in [
        ("0.01", "1", "0.01", "1"),
        ("0.1", "2.50", "0.10", "2.5"),
        ("0.10", "10", "0.10", "10"),
        ("0.2", "0.000001", "0.20", "0.000001"),
        ("0.29", "010", "0.29", "10"),
        ("0.30", "100.000000", "0.30", "100"),
        ("0.99", "100000000", "0.99", "100000000"),
        ("0.9", "100000000.000000", "0.90", "100000000"),
    ] {
        let placed = place(&ann, &order(&market, "BUY", "yes", price, quantity));
        assert_eq!(placed["remainingQuantity"], *quantity_back, "{quantity}");
        let path = format!("/trading/orders/{}", placed["orderId"].as_str().unwrap());
        let read = ann.get(&path).json;
        assert_eq!(
            (&read["price"], &read["originalQuantity"]),
            (&json!(price_back), &json!(quantity_back))
        );
        assert_eq!(read["timeInForce"], "GTC");
    }
}

#[test]
fn every_order_status_is_answered() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let buy =
        |quantity: &str, more: Value| with(order(&market, "BUY", "yes", "0.70", quantity), &more);
    let rests = place(&ann, &order(&market, "SELL", "yes", "0.60", "1"));
    assert_eq!(shown(&rests), ["OPEN", "0", "1", "0.00", "0", "null", "0.00"]);
    assert_eq!(rests["trades"], json!([]));
    place(&ann, &order(&market, "SELL", "yes", "0.61", "2"));

    let filled = place(&bob, &buy("3", json!({})));
    assert_eq!(shown(&filled), ["FILLED", "3", "0", "0.606667", "0", "null", "1.82"]);
    let trades = filled["trades"].as_array().unwrap();
    let terms: Vec<_> = trades.iter().map(|trade| (&trade["price"], &trade["quantity"])).collect();
    assert_eq!(terms, [(&json!("0.60"), &json!("1")), (&json!("0.61"), &json!("2"))]);
    assert_ne!(trades[0]["id"], trades[1]["id"]);

    place(&ann, &order(&market, "BUY", "no", "0.35", "2.5"));
    let part = place(&bob, &buy("4", json!({})));
    let expected = ["PARTIALLY_FILLED", "2.5", "1.5", "0.65", "0", "null", "1.625"];
    assert_eq!(shown(&part), expected);
    let killed = place(
        &ann,
        &with(order(&market, "SELL", "yes", "0.70", "2"), &json!({"timeInForce": "FOK"})),
    );
    assert_eq!(shown(&killed), ["CANCELLED", "0", "0", "0.00", "2", "FOK_NOT_FILLABLE", "0.00"]);
    let rest = place(
        &ann,
        &with(order(&market, "SELL", "yes", "0.70", "2"), &json!({"timeInForce": "IOC"})),
    );
    assert_eq!(shown(&rest), ["CANCELLED", "1.5", "0", "0.70", "0.5", "IOC_REMAINDER", "1.05"]);
    for (force, reason) in [("IOC", "IOC_REMAINDER"), ("FOK", "FOK_NOT_FILLABLE")] {
        let nothing = place(&bob, &buy("1", json!({"timeInForce": force})));
        assert_eq!(shown(&nothing), ["CANCELLED", "0", "0", "0.00", "1", reason, "0.00"]);
    }
    let gtc = place(&bob, &buy("1", json!({"timeInForce": "GTC"})));
    assert_eq!(gtc["status"], "OPEN");
    let fok = with(order(&market, "SELL", "yes", "0.70", "1"), &json!({"timeInForce": "FOK"}));
    assert_eq!(shown(&place(&ann, &fok)), ["FILLED", "1", "0", "0.70", "0", "null", "0.70"]);
}

/// A seller sees the price of the outcome that the order named.
#[test]
fn each_party_sees_the_price_of_its_own_outcome() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    for (maker, taker, price) in [
        (("BUY", "yes", "0.60"), ("SELL", "yes", "0.55"), "0.60"),
        (("BUY", "yes", "0.60"), ("BUY", "no", "0.45"), "0.40"),
        (("SELL", "no", "0.40"), ("SELL", "yes", "0.60"), "0.60"),
        (("SELL", "no", "0.40"), ("BUY", "no", "0.40"), "0.40"),
        (("SELL", "yes", "0.60"), ("BUY", "yes", "0.61"), "0.60"),
        (("SELL", "yes", "0.60"), ("SELL", "no", "0.39"), "0.40"),
        (("BUY", "no", "0.40"), ("SELL", "no", "0.40"), "0.40"),
    ] {
        let rests = place(&ann, &order(&market, maker.0, maker.1, maker.2, "1"));
        let takes = place(&bob, &order(&market, taker.0, taker.1, taker.2, "1"));
        assert_eq!(takes["status"], "FILLED", "{maker:?} {taker:?}");
        assert_eq!(takes["trades"][0]["price"], *price, "{maker:?} {taker:?}");
        assert_eq!(takes["averageFillPrice"], *price, "{maker:?} {taker:?}");
        let path = format!("/trading/orders/{}", rests["orderId"].as_str().unwrap());
        assert_eq!(ann.get(&path).json["averageFillPrice"], *maker.2);
        assert_eq!(ann.get(&path).json["status"], "FILLED");
    }
}

#[test]
fn own_orders_never_meet() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    for (mode, status, filled, own_left, other_left) in [
        (None, "CANCELLED", "1", "OPEN", "OPEN"),
        (Some("CANCEL_TAKER"), "CANCELLED", "1", "OPEN", "OPEN"),
        (Some("CANCEL_MAKER"), "FILLED", "2", "CANCELLED", "FILLED"),
        (Some("CANCEL_BOTH"), "CANCELLED", "1", "CANCELLED", "OPEN"),
    ] {
        let market = venue.market();
        place(&bob, &order(&market, "SELL", "yes", "0.50", "1"));
        let own = place(&ann, &order(&market, "SELL", "yes", "0.51", "1"));
        let other = place(&bob, &order(&market, "SELL", "yes", "0.52", "1"));
        let mut taker = order(&market, "BUY", "yes", "0.60", "2");
        if let Some(mode) = mode {
            taker["selfTradePrevention"] = json!(mode);
        }
        let placed = place(&ann, &taker);
        assert_eq!(
            (&placed["status"], &placed["filledQuantity"]),
            (&json!(status), &json!(filled))
        );
        let reason = if status == "CANCELLED" { json!("SELF_TRADE") } else { Value::Null };
        assert_eq!(placed["cancelReason"], reason, "{mode:?}");
        let left = |trader: &Trader, order: &Value| {
            let path = format!("/trading/orders/{}", order["orderId"].as_str().unwrap());
            trader.get(&path).text("status")
        };
        assert_eq!((left(&ann, &own), left(&bob, &other)), (own_left.into(), other_left.into()));
    }
}

#[test]
fn an_orders_collateral_is_reserved_and_released() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader_with("ann", "5"), venue.trader("bob"));
    let market = venue.market();
    let texts = |available: &str, reserved: &str| (available.to_owned(), reserved.to_owned());
    let bid = place(&ann, &order(&market, "BUY", "yes", "0.60", "2.5"));
    assert_eq!(ann.balance(), texts("3.50", "1.50"));
    place(&ann, &order(&market, "SELL", "yes", "0.90", "1"));
    assert_eq!(ann.balance(), texts("3.40", "1.60"));
    place(&ann, &order(&market, "BUY", "no", "0.05", "0.000001"));
    assert_eq!(ann.balance(), texts("3.39999995", "1.60000005"));
    place(&bob, &order(&market, "SELL", "yes", "0.60", "2.5"));
    assert_eq!(ann.balance(), texts("3.39999995", "0.10000005"));
    // Better than the limit: the difference is released.
    place(&bob, &order(&market, "BUY", "no", "0.20", "1"));
    let better = place(&ann, &order(&market, "BUY", "yes", "0.85", "1"));
    assert_eq!((&bid["status"], &better["status"]), (&json!("OPEN"), &json!("FILLED")));
    assert_eq!(ann.balance(), texts("2.59999995", "0.10000005"));
    ann.client.delete("/trading/orders");
    assert_eq!(ann.balance(), texts("2.70", "0.00"));
    // Selling what is held needs no money.
    let all = place(&ann, &order(&market, "SELL", "yes", "0.99", "3.5"));
    assert_eq!(all["status"], "OPEN");
    assert_eq!(ann.balance(), texts("2.70", "0.00"));
}

#[test]
fn optional_fields_are_accepted() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    venue.trade(&venue.market(), &ann, &bob, "0.50", "1");
    let base = order(&market, "BUY", "yes", "0.50", "1");
    for more in [
        json!({"postOnly": true}),
        json!({"postOnly": false, "reduceOnly": false}),
        json!({"expiresAt": "2999-01-01T00:00:00Z"}),
        json!({"expiresAt": "2999-01-01T00:00:00.123456+05:30", "timeInForce": "GTC"}),
        json!({"validUntil": "2999-01-01T00:00:00Z"}),
        json!({"selfTradePrevention": "CANCEL_BOTH"}),
        json!({"copyFromTraderId": bob.id}),
    ] {
        assert_eq!(place(&ann, &with(base.clone(), &more))["status"], "OPEN", "{more}");
    }
    venue.trade(&market, &bob, &ann, "0.55", "2");
    let reduce = order(&market, "SELL", "yes", "0.90", "2");
    assert_eq!(place(&bob, &with(reduce, &json!({"reduceOnly": true})))["status"], "OPEN");
}

#[test]
fn an_order_that_expired_does_not_trade() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let expires = json!({"expiresAt": soon(2000)});
    let bid = with(order(&market, "BUY", "yes", "0.50", "1"), &expires);
    let bid = ann.order(&bid).ok(&shapes::placed());
    let path = format!("/trading/orders/{}", bid["orderId"].as_str().unwrap());
    let other = ann.place(&market, "BUY", "yes", "0.10", "1").text("orderId");
    let other = ann.get(&format!("/trading/orders/{other}")).ok(&shapes::order());
    assert_eq!(other["expiresAt"], Value::Null);
    ann.client.delete(&format!("/trading/orders/{}", other["id"].as_str().unwrap()));
    let moment = |said: &Value| DateTime::parse_from_rfc3339(said["expiresAt"].as_str().unwrap());
    assert_eq!(moment(&ann.get(&path).json), moment(&expires));
    let expired = (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        ann.get(&path).json["status"] == "CANCELLED"
    });
    assert!(expired);
    let read = ann.get(&path).ok(&shapes::order());
    assert_eq!(shown(&read), ["CANCELLED", "0", "0", "0.00", "1", "EXPIRED", "0.00"]);
    assert_eq!(moment(&read), moment(&expires));
    assert_eq!(ann.balance(), ("100.00".to_owned(), "0.00".to_owned()));
    assert_eq!(place(&bob, &order(&market, "SELL", "yes", "0.50", "1"))["status"], "OPEN");
}
