//! `POST /trading/orders?dryRun=true`: what would come of an order, and nothing comes of it.

use openoutcry::engine::TRIAL_MEETS_MAX as MET_MAX;
use serde_json::{Value, json};

use super::client::Answer;
use super::shapes;
use super::venue::{Trader, Venue, order, soon, with, without};

const DRY: &str = "/trading/orders?dryRun=true";

fn tried(trader: &Trader, body: &Value) -> Answer {
    trader.client.post(DRY, body)
}

/// What an answer says but for what is made up for an order that is not there.
fn lasting(answer: &Answer) -> Value {
    let mut said = answer.json.clone();
    for made_up in ["orderId", "dryRun", "balance"] {
        said.as_object_mut().unwrap().remove(made_up);
    }
    for trade in said["trades"].as_array_mut().unwrap() {
        *trade = without(without(trade.clone(), "id"), "timestamp");
    }
    said
}

/// Tries an order, then places it, and holds the one to the other.
#[track_caller]
fn same(trader: &Trader, body: &Value) -> Value {
    let before = trader.balance();
    let dry = tried(trader, body);
    let said = dry.ok(&shapes::tried());
    assert_eq!(trader.balance(), before);
    let real = trader.order(body);
    assert_eq!(lasting(&dry), lasting(&real));
    assert_eq!(dry.sequence() + 1, real.sequence(), "nothing lies between the two");
    let after = json!({"available": trader.balance().0, "reserved": trader.balance().1});
    assert_eq!(without(said["balance"].clone(), "currency"), after);
    said
}

#[test]
fn an_order_comes_to_what_its_trial_said() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let rest = same(&ann, &order(&market, "SELL", "yes", "0.40", "2"));
    assert_eq!(rest["status"], "OPEN");
    same(&ann, &order(&market, "BUY", "no", "0.59", "1"));
    let partly = same(&bob, &order(&market, "BUY", "yes", "0.45", "10"));
    assert_eq!((&partly["status"], &partly["dryRun"]), (&json!("PARTIALLY_FILLED"), &json!(true)));
    assert_eq!(partly["trades"].as_array().unwrap().len(), 2);
    for force in ["IOC", "FOK"] {
        let body = order(&market, "SELL", "yes", "0.45", "8");
        same(&ann, &with(body, &json!({"timeInForce": force})));
    }
    // Its own order is in the way.
    bob.place(&market, "BUY", "yes", "0.45", "1").ok(&shapes::placed());
    let crossing = order(&market, "SELL", "yes", "0.45", "1");
    assert_eq!(same(&bob, &crossing)["cancelReason"], "SELF_TRADE");
}

#[test]
fn a_trial_is_refused_as_the_order_would_be() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    bob.place(&market, "SELL", "yes", "0.40", "2").ok(&shapes::placed());
    let one = order(&market, "BUY", "yes", "0.40", "1");
    for (more, code) in [
        (json!({"postOnly": true}), "POST_ONLY_WOULD_CROSS"),
        (json!({"reduceOnly": true}), "REDUCE_ONLY_EXCEEDED"),
        (json!({"quantity": "1000000"}), "INSUFFICIENT_FUNDS"),
        (json!({"validUntil": soon(-1000)}), "ORDER_TOO_LATE"),
    ] {
        let body = with(one.clone(), &more);
        tried(&ann, &body).refused(422, code);
        ann.order(&body).refused(422, code);
    }
    tried(&ann, &with(one.clone(), &json!({"marketId": ann.id}))).refused(404, "MARKET_NOT_FOUND");
    tried(&ann, &with(one.clone(), &json!({"price": "1.5"}))).bad(&["price"]);
    ann.client.post("/trading/orders?dryRun=1", &one).bad(&["dryRun"]);
    venue.act(&market, "suspend", &json!({}));
    tried(&ann, &one).refused(422, "MARKET_NOT_ACTIVE");
}

#[test]
fn nothing_is_recorded_and_no_name_is_used_up() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    bob.place(&market, "SELL", "yes", "0.40", "2").ok(&shapes::placed());
    let body = with(order(&market, "BUY", "yes", "0.40", "1"), &json!({"clientOrderId": "n"}));
    let key = [("idempotency-key", "k")];
    let send = |path: &str, body: &Value| {
        ann.client.send("POST", path, &key, Some(body.to_string().as_bytes()))
    };
    let head = ann.get("/trading/orders").sequence();
    for _ in 0..3 {
        let dry = send(DRY, &body);
        dry.ok(&shapes::tried());
        assert_eq!((dry.sequence(), dry.header("idempotent-replay")), (head, ""));
    }
    assert_eq!(ann.get("/trading/orders").sequence(), head);
    assert_eq!(ann.get("/trading/orders").json["orders"], json!([]));
    let orders = "/trading/orders";
    ann.get(&format!("{orders}/by-client-id/n")).refused(404, "ORDER_NOT_FOUND");
    let real = send(orders, &body);
    let placed = real.ok(&shapes::placed());
    // Once it is placed, its trial says what it came to, and its names are taken for others.
    for again in [send(DRY, &body), tried(&ann, &body)] {
        assert_eq!(again.header("idempotent-replay"), "true");
        assert_eq!(again.ok(&shapes::tried())["orderId"], placed["orderId"]);
        assert_eq!(again.sequence(), real.sequence());
    }
    let other = with(body, &json!({"quantity": "2"}));
    send(DRY, &other).refused(409, "IDEMPOTENCY_KEY_REUSED");
    tried(&ann, &other).refused(409, "CLIENT_ORDER_ID_REUSED");
}

/// A trial uses nothing up, so it could be had again and again, and everybody waits for it.
#[test]
fn a_trial_meets_a_bounded_number_of_orders() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let small =
        |side: &str, lots: usize| order(&market, side, "yes", "0.40", &format!("0.{lots:06}"));
    let batch: Vec<Value> = (0..77).map(|_| json!({"place": small("SELL", 1)})).collect();
    for _ in 0..13 {
        let placed = ann.client.post("/trading/orders/batch", &json!({"operations": batch}));
        assert_eq!(placed.status, 200);
    }
    same(&bob, &small("BUY", 1));
    assert_eq!(tried(&bob, &small("BUY", MET_MAX)).status, 200);
    ann.place(&market, "SELL", "yes", "0.40", "0.000001").ok(&shapes::placed());
    assert_eq!(tried(&bob, &small("BUY", MET_MAX)).status, 200);
    tried(&bob, &small("BUY", MET_MAX + 1)).refused(503, "OUT_OF_REACH");
    assert_eq!(bob.order(&small("BUY", MET_MAX + 1)).json["status"], "FILLED");
}
