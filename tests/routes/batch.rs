//! `POST /trading/orders/batch` (semantics 8).

use serde_json::{Value, json};

use super::client::Answer;
use super::shape::check;
use super::shapes;
use super::venue::{NOBODY, Trader, Venue, order, with};

const BATCH: &str = "/trading/orders/batch";

fn post(trader: &Trader, operations: &[Value]) -> Answer {
    trader.client.post(BATCH, &json!({"operations": operations}))
}

fn results(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json.as_object().unwrap().len(), 1, "{answer:?}");
    answer.json["results"].as_array().unwrap().clone()
}

/// The error code of a refused operation, or the status of its order.
fn outcome(result: &Value) -> String {
    let said = match result.get("error") {
        Some(error) => {
            check(&shapes::problem(error["code"].as_str().unwrap()), error, "a batch");
            &error["code"]
        }
        None => &result["order"]["status"],
    };
    said.as_str().unwrap().to_owned()
}

fn place(market: &str, side: &str, price: &str, quantity: &str) -> Value {
    json!({"place": order(market, side, "yes", price, quantity)})
}

fn named(market: &str, price: &str, name: &str) -> Value {
    let body = order(market, "BUY", "yes", price, "1");
    json!({"place": with(body, &json!({"clientOrderId": name}))})
}

#[test]
fn each_operation_is_executed_or_refused_on_its_own_in_order() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let old = ann.place(&market, "BUY", "yes", "0.20", "1").text("orderId");
    let bobs = bob.place(&market, "BUY", "yes", "0.20", "1").text("orderId");
    let answer = post(
        &ann,
        &[
            place(&market, "BUY", "0.30", "2"),
            place(&market, "BUY", "0.30", "100000"),
            json!({"cancel": {"orderId": old}}),
            json!({"cancel": {"orderId": old}}),
            json!({"cancel": {"orderId": bobs}}),
            json!({"place": {"price": "0.30"}}),
            named(&market, "0.31", "a"),
            json!({"cancel": {"clientOrderId": "a"}}),
            named(&market, "0.32", "a"),
            json!({"cancel": {"clientOrderId": "nothing"}}),
            place(NOBODY, "BUY", "0.30", "2"),
            place(&market, "SELL", "0.90", "1"),
        ],
    );
    let results = results(&answer);
    let outcome: Vec<String> = results.iter().map(outcome).collect();
    assert_eq!(
        outcome,
        [
            "OPEN",
            "INSUFFICIENT_FUNDS",
            "CANCELLED",
            "ORDER_NOT_OPEN",
            "ORDER_NOT_FOUND",
            "INVALID_REQUEST",
            "OPEN",
            "CANCELLED",
            "CLIENT_ORDER_ID_REUSED",
            "ORDER_NOT_FOUND",
            "MARKET_NOT_FOUND",
            "OPEN",
        ]
    );
    check(&shapes::placed(), &results[0]["order"], "a place");
    check(&shapes::order(), &results[2]["order"], "a cancel");
    let fields: Vec<&str> = results[5]["error"]["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["field"].as_str().unwrap())
        .collect();
    let missing = ["marketId", "outcomeId", "side", "orderType", "quantity"];
    assert_eq!(fields, missing.map(|field| format!("place.{field}")));
    assert_eq!(results[5]["error"]["requestId"], answer.header("x-request-id"));
    // Later operations have higher record numbers, and the answer reflects the last of them.
    let last = results[11]["order"]["sequence"].as_u64().unwrap();
    assert_eq!(answer.sequence(), last);
    assert!(results[0]["order"]["sequence"].as_u64() < results[6]["order"]["sequence"].as_u64());
    let open = ann.get("/trading/orders?active=true").ok(&shapes::orders());
    assert_eq!(open["orders"].as_array().unwrap().len(), 2);
}

#[test]
fn a_batch_trades_with_itself_as_single_orders_would() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    bob.place(&market, "SELL", "yes", "0.40", "1").ok(&shapes::placed());
    let operations = [
        place(&market, "BUY", "0.45", "3"),
        json!({"place": with(order(&market, "SELL", "yes", "0.45", "1"),
            &json!({"selfTradePrevention": "CANCEL_MAKER"}))}),
    ];
    let results = results(&post(&ann, &operations));
    assert_eq!(results[0]["order"]["filledQuantity"], "1");
    assert_eq!(results[1]["order"]["status"], "OPEN");
    let id = results[0]["order"]["orderId"].as_str().unwrap();
    assert_eq!(ann.get(&format!("/trading/orders/{id}")).text("cancelReason"), "SELF_TRADE");
}

#[test]
fn a_batch_takes_a_hundred_operations_and_no_more() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let many = vec![place(&market, "BUY", "0.01", "1"); 100];
    let all = results(&post(&ann, &many));
    assert!(all.len() == 100 && all.iter().all(|result| outcome(result) == "OPEN"));
    let more = [many, vec![place(&market, "BUY", "0.01", "1")]].concat();
    post(&ann, &more).bad_as("operations", "OUT_OF_BOUNDS");
    post(&ann, &[]).bad_as("operations", "OUT_OF_BOUNDS");
    ann.client.post(BATCH, &json!({})).bad_as("operations", "REQUIRED");
    ann.client.post(BATCH, &json!({"operations": {}})).bad_as("operations", "WRONG_TYPE");
    let open = ann.get("/trading/orders?active=true").json;
    assert_eq!(open["orders"].as_array().unwrap().len(), 100);
}

#[test]
fn a_bad_operation_names_its_fields() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let id = json!({"orderId": NOBODY});
    for (operation, field) in [
        (json!(1), "body"),
        (json!({}), "body"),
        (json!({"place": 1}), "place"),
        (json!({"cancel": {}}), "cancel"),
        (json!({"cancel": {"orderId": "x"}}), "cancel.orderId"),
        (json!({"cancel": {"orderId": NOBODY, "clientOrderId": "a"}}), "cancel"),
        (json!({"cancel": {"clientOrderId": ""}}), "cancel.clientOrderId"),
        (json!({"cancel": with(id.clone(), &json!({"x": 1}))}), "cancel.x"),
        (json!({"cancel": id.clone(), "amend": {}}), "amend"),
        (json!({"amend": id.clone()}), "amend"),
        (json!({"amend": {"price": "0.10"}}), "amend"),
        (json!({"amend": with(id.clone(), &json!({"price": "1"}))}), "amend.price"),
        (json!({"replace": {"cancel": id.clone()}}), "replace.place"),
        (json!({"replace": {"cancel": {}, "place": {}}}), "replace.cancel"),
        (json!({"replace": {"cancel": id, "place": {"x": 1}}}), "replace.place.marketId"),
    ] {
        let results = results(&post(&ann, std::slice::from_ref(&operation)));
        assert_eq!(outcome(&results[0]), "INVALID_REQUEST", "{operation}");
        assert_eq!(results[0]["error"]["errors"][0]["field"], field, "{operation}");
    }
    let market = venue.market();
    let both = json!({"place": order(&market, "BUY", "yes", "0.10", "1"),
        "cancel": {"clientOrderId": "a"}});
    let both = results(&post(&ann, &[both])).remove(0);
    assert_eq!(
        (outcome(&both).as_str(), &both["error"]["errors"][0]["code"]),
        ("INVALID_REQUEST", &json!("INVALID_VALUE"))
    );
    let ioc = with(
        order(&market, "BUY", "yes", "0.10", "1"),
        &json!({"timeInForce": "IOC", "expiresAt": "2999-01-01T00:00:00Z"}),
    );
    let results = results(&post(&ann, &[json!({"place": ioc})]));
    assert_eq!(results[0]["error"]["errors"][0]["field"], "place.expiresAt");
}

/// Each operation is remembered on its own: an executed one is not executed again, a refused one is
/// tried again.
#[test]
fn a_batch_is_carried_out_once_under_its_key() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader_with("ann", "1"), venue.trader("bob"));
    let market = venue.market();
    let old = ann.place(&market, "BUY", "yes", "0.10", "1").text("orderId");
    let body = json!({"operations": [
        place(&market, "BUY", "0.20", "1"),
        place(&market, "BUY", "0.90", "1"),
        json!({"cancel": {"orderId": old}}),
    ]});
    let send = |body: &Value| {
        let bytes = body.to_string();
        ann.client.send("POST", BATCH, &[("idempotency-key", "b")], Some(bytes.as_bytes()))
    };
    let first = results(&send(&body));
    let codes: Vec<String> = first.iter().map(outcome).collect();
    assert_eq!(codes, ["OPEN", "INSUFFICIENT_FUNDS", "CANCELLED"]);
    bob.place(&market, "SELL", "yes", "0.20", "1").ok(&shapes::placed());
    venue.operator.post(&format!("/admin/users/{}/deposits", ann.id), &json!({"amount": "9"}));
    let replayed = |answer: &Answer| answer.header("idempotent-replay") == "true";
    let answer = send(&body);
    // One operation was executed only now, so this is not a replay.
    assert!(!replayed(&answer));
    let again = results(&answer);
    let replay = json!({"idempotentReplay": true});
    assert_eq!(again[0], with(first[0].clone(), &replay));
    assert_eq!(outcome(&again[1]), "OPEN");
    assert_eq!(again[2], with(first[2].clone(), &replay));
    assert_eq!(ann.get("/trading/orders").json["orders"].as_array().unwrap().len(), 3);
    assert!(replayed(&send(&body)));
    let more = place(&market, "BUY", "0.21", "1");
    let mut longer = body.clone();
    longer["operations"].as_array_mut().unwrap().push(more.clone());
    for other in [json!({"operations": [more]}), longer] {
        let refused = send(&other);
        refused.refused(409, "IDEMPOTENCY_KEY_REUSED");
    }
    assert_eq!(ann.get("/trading/orders").json["orders"].as_array().unwrap().len(), 3);
}

fn replace(old: &str, new: &Value) -> Value {
    json!({"replace": {"cancel": {"orderId": old}, "place": new["place"]}})
}

/// A bot that quotes anew an order that has filled meanwhile does not double its exposure.
#[test]
fn a_replacement_is_placed_only_if_the_old_order_gives_way() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader_with("ann", "10"), venue.trader("bob"));
    let market = venue.market();
    let old = ann.place(&market, "BUY", "yes", "0.50", "20").text("orderId");
    // Both at once would be more than ann has.
    let new = place(&market, "BUY", "0.40", "25");
    let done = results(&post(&ann, &[replace(&old, &new)])).remove(0);
    check(&shapes::placed(), &done["order"], "the order placed");
    check(&shapes::order(), &done["replaced"], "the order that gave way");
    assert_eq!((&done["order"]["status"], &done["replaced"]["id"]), (&json!("OPEN"), &json!(old)));
    assert_eq!(done["replaced"]["cancelReason"], "USER");
    let new = done["order"]["orderId"].as_str().unwrap().to_owned();
    // Refused, so the order stays as it is.
    let dear = place(&market, "BUY", "0.41", "25");
    let refused = results(&post(&ann, &[replace(&new, &dear)])).remove(0);
    assert_eq!(outcome(&refused), "INSUFFICIENT_FUNDS");
    assert_eq!(ann.get(&format!("/trading/orders/{new}")).text("status"), "OPEN");
    bob.place(&market, "SELL", "yes", "0.40", "25").ok(&shapes::placed());
    let late =
        results(&post(&ann, &[replace(&new, &place(&market, "BUY", "0.01", "1"))])).remove(0);
    assert_eq!(outcome(&late), "ORDER_NOT_OPEN");
    assert_eq!(late["error"]["order"]["status"], "FILLED");
    let open = ann.get("/trading/orders?active=true").json;
    assert_eq!(open["orders"].as_array().unwrap().len(), 0);
}

#[test]
fn a_batch_amends_by_id_and_by_name() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let id = ann.place(&market, "BUY", "yes", "0.20", "5").text("orderId");
    let amend = |what: Value| json!({"amend": what});
    let operations = [
        amend(json!({"orderId": id, "price": "0.21"})),
        named(&market, "0.30", "a"),
        amend(json!({"clientOrderId": "a", "quantity": "2"})),
        amend(json!({"orderId": id, "quantity": "5"})),
        json!({"replace": {"cancel": {"clientOrderId": "a"},
            "place": named(&market, "0.31", "b")["place"]}}),
        amend(json!({"clientOrderId": "a", "quantity": "1"})),
        json!({"cancel": {"clientOrderId": "b"}}),
        amend(json!({"orderId": NOBODY, "quantity": "1"})),
    ];
    let dry = ann.client.post(&format!("{BATCH}?dryRun=true"), &json!({"operations": operations}));
    let done = results(&post(&ann, &operations));
    let all: Vec<String> = done.iter().map(outcome).collect();
    let expected =
        ["OPEN", "OPEN", "OPEN", "OPEN", "OPEN", "ORDER_NOT_OPEN", "CANCELLED", "ORDER_NOT_FOUND"];
    assert_eq!(all, expected);
    check(&shapes::order(), &done[0]["order"], "an amend");
    assert_eq!((&done[0]["order"]["price"], &done[0]["order"]["id"]), (&json!("0.21"), &json!(id)));
    assert_eq!(done[2]["order"]["originalQuantity"], "2");
    assert_eq!(done[3]["order"]["price"], "0.21", "an amend that changes nothing");
    // What the dry run said, as far as it does not invent it.
    let tried = dry.json["results"].as_array().unwrap();
    for (tried, done) in tried.iter().zip(&done) {
        // A dry run cannot show an order that only it has placed.
        let code = |result: &Value| result["error"]["code"].clone();
        assert_eq!(code(tried), code(done));
        for part in ["price", "originalQuantity", "remainingQuantity", "cancelReason"] {
            assert_eq!(tried["order"][part], done["order"][part], "{part}");
            assert_eq!(tried["replaced"][part], done["replaced"][part], "{part}");
        }
    }
}

/// Repeated under its key, an amend shows the order as it left it, and a replacement both orders.
#[test]
fn amends_and_replacements_are_carried_out_once_under_their_key() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let amended = ann.place(&market, "BUY", "yes", "0.20", "5").text("orderId");
    let old = ann.place(&market, "BUY", "yes", "0.10", "5").text("orderId");
    let body = json!({"operations": [
        {"amend": {"orderId": amended, "price": "0.30"}},
        replace(&old, &place(&market, "BUY", "0.25", "3")),
    ]});
    let send = |path: &str| {
        let bytes = body.to_string();
        ann.client.send("POST", path, &[("idempotency-key", "k")], Some(bytes.as_bytes()))
    };
    let first = results(&send(BATCH));
    bob.place(&market, "SELL", "yes", "0.25", "6").ok(&shapes::placed());
    let again = send(BATCH);
    assert_eq!(again.header("idempotent-replay"), "true");
    let replay = json!({"idempotentReplay": true});
    let expected: Vec<Value> = first.into_iter().map(|one| with(one, &replay)).collect();
    assert_eq!(results(&again), expected);
    let dry = send(&format!("{BATCH}?dryRun=true"));
    assert_eq!(dry.json["results"], json!(expected));
}
