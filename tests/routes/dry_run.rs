//! `dryRun=true`: the answer that an order, an amend or a batch would get, without executing it.

use engine::TRIAL_MEETS_MAX as MET_MAX;
use serde_json::{Value, json};

use super::client::Answer;
use super::shapes;
use super::venue::{Trader, Venue, order, soon, with, without};

const DRY: &str = "/trading/orders?dryRun=true";

fn tried(trader: &Trader, body: &Value) -> Answer {
    trader.client.post(DRY, body)
}

/// An answer without the ids and times that a dry run can only invent.
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

/// Tries an order, then places it, and compares the answers.
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
fn a_trial_of_an_order_predicts_its_placement() {
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
    // Its owner's own order is in the way.
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

/// Tries an amend, then executes it, and compares the answers.
#[track_caller]
fn same_amended(trader: &Trader, id: &str, body: &Value) -> Value {
    let path = format!("/trading/orders/{id}");
    let (before, stands) = (trader.balance(), trader.get(&path).json);
    let dry = trader.client.patch(&format!("{path}?dryRun=true"), body);
    let said = dry.ok(&shapes::tried_as(shapes::order()));
    assert_eq!((trader.balance(), trader.get(&path).json), (before, stands));
    let real = trader.client.patch(&path, body);
    let real_said = real.ok(&shapes::order());
    assert_eq!(dry.sequence() + 1, real.sequence(), "nothing lies between the two");
    let after = json!({"available": trader.balance().0, "reserved": trader.balance().1});
    assert_eq!(without(said["balance"].clone(), "currency"), after);
    let lasting = ["dryRun", "balance", "updatedAt"]
        .iter()
        .fold(said.clone(), |said, made_up| without(said, made_up));
    assert_eq!(lasting, without(real_said, "updatedAt"));
    said
}

#[test]
fn a_trial_of_an_amend_predicts_the_amend() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market_with(&json!({"takerFee": "0.07", "makerFee": "0.01"}));
    let resting = |trader: &Trader, price: &str, quantity: &str| {
        trader.place(&market, "BUY", "yes", price, quantity).text("orderId")
    };
    let id = resting(&ann, "0.40", "10");
    bob.place(&market, "SELL", "yes", "0.40", "1").ok(&shapes::placed());
    // It keeps its time priority, loses it, trades in part, trades completely.
    assert_eq!(same_amended(&ann, &id, &json!({"quantity": "8"}))["remainingQuantity"], "7");
    assert_eq!(same_amended(&ann, &id, &json!({"price": "0.39"}))["status"], "PARTIALLY_FILLED");
    bob.place(&market, "SELL", "yes", "0.45", "2").ok(&shapes::placed());
    let partly = same_amended(&ann, &id, &json!({"price": "0.50"}));
    assert_eq!((&partly["filledQuantity"], &partly["filledCost"]), (&json!("3"), &json!("1.30")));
    bob.place(&market, "SELL", "yes", "0.51", "5").ok(&shapes::placed());
    let filled = same_amended(&ann, &id, &json!({"price": "0.60"}));
    assert_eq!((&filled["status"], &filled["filledQuantity"]), (&json!("FILLED"), &json!("8")));
    // Its owner's own order is in the way, and it is cancelled.
    let id = resting(&ann, "0.30", "1");
    ann.place(&market, "SELL", "yes", "0.60", "1").ok(&shapes::placed());
    assert_eq!(same_amended(&ann, &id, &json!({"price": "0.60"}))["cancelReason"], "SELF_TRADE");
}

#[test]
fn an_amend_is_tried_only_by_its_owner_and_refused_as_it_would_be() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let id = ann.place(&market, "BUY", "yes", "0.40", "2").text("orderId");
    let path = format!("/trading/orders/{id}");
    for (body, code) in [
        (json!({"quantity": "100000"}), "INSUFFICIENT_FUNDS"),
        (json!({"price": "0.99", "quantity": "102"}), "INSUFFICIENT_FUNDS"),
    ] {
        for query in ["?dryRun=true", "?dryRun=false", ""] {
            ann.client.patch(&format!("{path}{query}"), &body).refused(422, code);
        }
    }
    let dry =
        |trader: &Trader, body: Value| trader.client.patch(&format!("{path}?dryRun=true"), &body);
    dry(&bob, json!({"quantity": "1"})).refused(404, "ORDER_NOT_FOUND");
    dry(&ann, json!({})).bad_as("body", "REQUIRED");
    ann.client.patch(&format!("{path}?dryRun=1"), &json!({"quantity": "1"})).bad(&["dryRun"]);
    ann.client.delete(&path);
    dry(&ann, json!({"quantity": "1"})).refused(409, "ORDER_NOT_OPEN");
}

#[test]
fn a_trial_makes_no_record_and_uses_up_no_name() {
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
    // Once placed, a trial replays the answer, and its names are taken.
    for again in [send(DRY, &body), tried(&ann, &body)] {
        assert_eq!(again.header("idempotent-replay"), "true");
        assert_eq!(again.ok(&shapes::tried())["orderId"], placed["orderId"]);
        assert_eq!(again.sequence(), real.sequence());
    }
    let other = with(body, &json!({"quantity": "2"}));
    send(DRY, &other).refused(409, "IDEMPOTENCY_KEY_REUSED");
    tried(&ann, &other).refused(409, "CLIENT_ORDER_ID_REUSED");
}

/// A trial costs the caller nothing, so it could be repeated without end, and it runs on the
/// matcher, which everybody waits for: its work must be bounded.
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
    tried(&bob, &small("BUY", MET_MAX + 1)).refused(422, "TRIAL_TOO_LARGE");
    let low = order(&market, "BUY", "yes", "0.30", &format!("0.{:06}", MET_MAX + 1));
    let id = bob.order(&low).text("orderId");
    let amend = |query: &str, changes: &Value| {
        bob.client.patch(&format!("/trading/orders/{id}{query}"), changes)
    };
    let up = json!({"price": "0.40"});
    amend("?dryRun=true", &up).refused(422, "TRIAL_TOO_LARGE");
    let fewer = json!({"price": "0.40", "quantity": format!("0.{MET_MAX:06}")});
    assert_eq!(amend("?dryRun=true", &fewer).json["status"], "FILLED");
    assert_eq!(amend("", &up).json["status"], "FILLED");
}

/// Without the ids and times that a dry run can only invent.
fn lasting_result(result: &Value) -> Value {
    let mut result = result.clone();
    if let Some(order) = result.get_mut("order") {
        for made_up in ["orderId", "id", "createdAt", "updatedAt"] {
            order.as_object_mut().unwrap().remove(made_up);
        }
        for trade in order.get_mut("trades").and_then(Value::as_array_mut).into_iter().flatten() {
            *trade = without(without(trade.clone(), "id"), "timestamp");
        }
    }
    if let Some(error) = result.get_mut("error") {
        error.as_object_mut().unwrap().remove("requestId");
    }
    result
}

/// Tries a batch, then executes it, and compares the results one by one.
#[track_caller]
fn same_batch(trader: &Trader, operations: &Value) -> Vec<Value> {
    let body = json!({"operations": operations});
    let path = "/trading/orders/batch";
    let before = (trader.balance(), trader.get("/trading/orders").json);
    let dry = trader.client.post(&format!("{path}?dryRun=true"), &body);
    assert_eq!((dry.status, &dry.json["dryRun"]), (200, &json!(true)), "{dry:?}");
    assert_eq!((trader.balance(), trader.get("/trading/orders").json), before);
    let real = trader.client.post(path, &body);
    let lasting = |answer: &Answer| -> Vec<Value> {
        answer.json["results"].as_array().unwrap().iter().map(lasting_result).collect()
    };
    for (place, (dry, mut real)) in lasting(&dry).iter().zip(lasting(&real)).enumerate() {
        // An order that the trial itself would end has not ended.
        if let (Value::Null, Some(error)) = (&dry["error"]["order"], real.get_mut("error")) {
            error.as_object_mut().unwrap().remove("order");
        }
        assert_eq!(*dry, real, "operation {place}");
    }
    let after = json!({"available": trader.balance().0, "reserved": trader.balance().1});
    assert_eq!(without(dry.json["balance"].clone(), "currency"), after);
    dry.json["results"].as_array().unwrap().clone()
}

#[test]
fn a_trial_of_a_batch_predicts_the_batch() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market_with(&json!({"takerFee": "0.07"}));
    let other = venue.market();
    for price in ["0.40", "0.41", "0.45"] {
        bob.place(&market, "SELL", "yes", price, "2").ok(&shapes::placed());
    }
    let own = ann.place(&other, "BUY", "yes", "0.30", "10").text("orderId");
    let of_bob = bob.place(&other, "BUY", "yes", "0.20", "1").text("orderId");
    let place = |market: &str, side: &str, price: &str, quantity: &str, more: &Value| json!({"place": with(order(market, side, "yes", price, quantity), more)});
    let none = json!({});
    let results = same_batch(
        &ann,
        &json!([
            // The second takes what the first left, the third what the second left.
            place(&market, "BUY", "0.41", "3", &none),
            place(&market, "BUY", "0.45", "2", &none),
            place(&market, "SELL", "0.30", "1", &json!({"reduceOnly": true})),
            // Too expensive until an order is cancelled.
            place(&other, "BUY", "0.99", "97", &json!({"clientOrderId": "dear"})),
            {"cancel": {"orderId": own}},
            {"cancel": {"orderId": own}},
            {"cancel": {"orderId": of_bob}},
            place(&other, "BUY", "0.50", "1", &json!({"clientOrderId": "n"})),
            place(&other, "BUY", "0.50", "1", &json!({"clientOrderId": "n"})),
            place(&other, "BUY", "0.50", "2", &json!({"clientOrderId": "n"})),
            {"cancel": {"clientOrderId": "n"}},
            {"cancel": {"clientOrderId": "nobody"}},
            place(&other, "BUY", "1.5", "1", &none),
            place(&other, "BUY", "0.10", "1", &none),
        ]),
    );
    let codes: Vec<&str> =
        results.iter().map(|result| result["error"]["code"].as_str().unwrap_or("")).collect();
    let expected = [
        "",
        "",
        "",
        "INSUFFICIENT_FUNDS",
        "",
        "ORDER_NOT_OPEN",
        "ORDER_NOT_FOUND",
        "",
        "",
        "CLIENT_ORDER_ID_REUSED",
        "",
        "ORDER_NOT_FOUND",
        "INVALID_REQUEST",
        "",
    ];
    assert_eq!(codes, expected);
    assert_eq!(results[0]["order"]["trades"].as_array().unwrap().len(), 2);
    assert_eq!(results[8]["idempotentReplay"], true);
    assert_eq!(results[10]["order"]["cancelReason"], "USER");
}

#[test]
fn a_trial_of_an_executed_batch_replays_its_answers() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let own = ann.place(&market, "BUY", "yes", "0.30", "10").text("orderId");
    let body = json!({"operations": [
        {"place": order(&market, "BUY", "yes", "0.10", "1")}, {"cancel": {"orderId": own}}]});
    let send = |path: &str| {
        let body = body.to_string();
        ann.client.send("POST", path, &[("idempotency-key", "b")], Some(body.as_bytes()))
    };
    let path = "/trading/orders/batch";
    let (first, dry) = (send(path), send(&format!("{path}?dryRun=true")));
    let results = |answer: &Answer| answer.json["results"].as_array().unwrap().clone();
    for (first, dry) in results(&first).iter().zip(results(&dry)) {
        assert_eq!((&first["order"], &dry["idempotentReplay"]), (&dry["order"], &json!(true)));
    }
    let other = json!({"operations": [body["operations"][1]]}).to_string();
    let key = [("idempotency-key", "b")];
    let refused =
        ann.client.send("POST", &format!("{path}?dryRun=true"), &key, Some(other.as_bytes()));
    refused.refused(409, "IDEMPOTENCY_KEY_REUSED");
    ann.client.post(&format!("{path}?dryRun=maybe"), &body).bad(&["dryRun"]);
}
