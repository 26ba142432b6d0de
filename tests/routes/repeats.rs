//! Repeated requests: under an order's client order id, or under an `Idempotency-Key` (semantics
//! 8).

use exchange::rules::Rules;
use serde_json::{Value, json};

use super::client::{Answer, Client};
use super::shapes;
use super::venue::{NOBODY, PICTURE, Trader, Venue, event_body, market_body, order, soon, with};

const ORDERS: &str = "/trading/orders";

fn replayed(answer: &Answer) -> bool {
    match answer.header("idempotent-replay") {
        "true" => true,
        "" => false,
        other => panic!("{other} in {answer:?}"),
    }
}

/// Asserts that an answer is a replay of an earlier one, word for word.
#[track_caller]
fn same(again: &Answer, first: &Answer) {
    assert!(replayed(again) && !replayed(first), "{again:?}");
    assert_eq!(again.status, first.status, "{again:?}");
    assert_eq!(again.written(), first.written());
    assert_eq!(again.sequence(), first.sequence());
    assert_eq!(again.header("location"), first.header("location"));
}

fn under(client: &Client, key: &str, path: &str, body: &Value) -> Answer {
    client.send("POST", path, &[("idempotency-key", key)], Some(body.to_string().as_bytes()))
}

fn named(market: &str, side: &str, price: &str, quantity: &str, name: &str) -> Value {
    with(order(market, side, "yes", price, quantity), &json!({"clientOrderId": name}))
}

fn open_count(trader: &Trader) -> usize {
    trader.get("/trading/orders?active=true").json["orders"].as_array().unwrap().len()
}

#[test]
fn an_order_repeated_under_its_name_gets_the_first_answer() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    ann.place(&market, "SELL", "yes", "0.40", "2").ok(&shapes::placed());
    ann.place(&market, "SELL", "yes", "0.41", "1").ok(&shapes::placed());
    // Filled in part at once, at two prices; the rest remains open.
    let body = named(&market, "BUY", "0.45", "10", "mm 1".replace(' ', "-").as_str());
    let first = bob.order(&body);
    let placed = first.ok(&shapes::placed());
    assert_eq!(
        (&placed["clientOrderId"], &placed["status"]),
        (&json!("mm-1"), &json!("PARTIALLY_FILLED"))
    );
    assert_eq!(placed["trades"].as_array().unwrap().len(), 2);
    same(&bob.order(&body), &first);
    // Traded on, amended, cancelled: the replayed answer stays the same.
    ann.place(&market, "SELL", "yes", "0.45", "1").ok(&shapes::placed());
    same(&bob.order(&body), &first);
    let path = format!("{ORDERS}/{}", placed["orderId"].as_str().unwrap());
    bob.client.patch(&path, &json!({"price": "0.30", "quantity": "20"})).ok(&shapes::order());
    same(&bob.order(&body), &first);
    bob.client.delete(&path).ok(&shapes::order());
    same(&bob.order(&body), &first);
    assert_eq!(open_count(&bob), 0);
    let all = bob.get(ORDERS).ok(&shapes::orders());
    assert_eq!(all["orders"].as_array().unwrap().len(), 1);
    assert_eq!(all["orders"][0]["clientOrderId"], "mm-1");
    // The layout of the JSON and the spelling of numbers do not matter.
    let price = with(body.clone(), &json!({"price": "0.450", "quantity": "10.0"}));
    bob.order(&price).bad(&["price"]);
    same(&bob.order(&with(body.clone(), &json!({"quantity": "10.0", "postOnly": false}))), &first);
    for other in [
        json!({"price": "0.44"}),
        json!({"quantity": "11"}),
        json!({"side": "SELL"}),
        json!({"outcomeId": "no"}),
        json!({"timeInForce": "IOC"}),
        json!({"expiresAt": "2999-01-01T00:00:00Z"}),
        json!({"validUntil": "2999-01-01T00:00:00Z"}),
        json!({"selfTradePrevention": "CANCEL_BOTH"}),
        json!({"postOnly": true}),
        json!({"reduceOnly": true}),
        json!({"copyFromTraderId": ann.id}),
        json!({"marketId": venue.market()}),
    ] {
        bob.order(&with(body.clone(), &other)).refused(409, "CLIENT_ORDER_ID_REUSED");
    }
    // Names are per user.
    assert!(!replayed(&ann.order(&named(&market, "BUY", "0.10", "1", "mm-1"))));
}

/// Most answers are not stored, but told from what the order is now.
#[test]
fn what_becomes_of_an_order_does_not_change_its_first_answer() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let patch = |path: &str, change: Value| bob.client.patch(path, &change).ok(&shapes::order());
    let sell = |price: &str, quantity: &str| {
        ann.place(&market, "SELL", "yes", price, quantity).ok(&shapes::placed());
    };
    for (keyed, name) in [(false, "named"), (true, "keyed")] {
        for (number, fate) in
            ["filled", "cut", "cancelled", "amended", "resized"].iter().enumerate()
        {
            let body = if keyed {
                order(&market, "BUY", "yes", "0.50", "4")
            } else {
                named(&market, "BUY", "0.50", "4", &format!("{name}-{number}"))
            };
            let ask = || {
                let key = format!("{name}-{fate}");
                if keyed { under(&bob.client, &key, ORDERS, &body) } else { bob.order(&body) }
            };
            let first = ask();
            let placed = first.ok(&shapes::placed());
            assert_eq!(placed["status"], "OPEN");
            let path = format!("{ORDERS}/{}", placed["orderId"].as_str().unwrap());
            match *fate {
                "filled" => sell("0.50", "4"),
                "cut" => {
                    sell("0.50", "1");
                    same(&ask(), &first);
                    bob.client.delete(&path).ok(&shapes::order());
                }
                "cancelled" => drop(bob.client.delete(&path).ok(&shapes::order())),
                "amended" => {
                    sell("0.50", "1");
                    drop(patch(&path, json!({"price": "0.20", "quantity": "7"})));
                    same(&ask(), &first);
                    drop(patch(&path, json!({"price": "0.50", "quantity": "2"})));
                    same(&ask(), &first);
                    sell("0.50", "1");
                }
                _ => {
                    drop(patch(&path, json!({"quantity": "1"})));
                    sell("0.50", "1");
                }
            }
            same(&ask(), &first);
        }
    }
}

/// A user at the bound learns when there is room again.
#[test]
fn a_refused_name_says_when_one_is_forgotten() {
    let rules = Rules { user_names_max: 1, ..Rules::current() };
    let venue = Venue::with_rules(rules);
    let ann = venue.trader("ann");
    let market = venue.market();
    ann.order(&named(&market, "BUY", "0.10", "1", "first")).ok(&shapes::placed());
    for again in 0..2 {
        let refused = ann.order(&named(&market, "BUY", "0.10", "1", "second"));
        refused.refused(429, "TOO_MANY_NAMES");
        // A day, but for what has passed of it.
        let wait: u32 = refused.header("retry-after").parse().unwrap();
        assert!((23 * 3600..=24 * 3600).contains(&wait), "{wait} {again}");
    }
}

#[test]
fn every_outcome_of_an_order_is_replayed() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    ann.place(&market, "SELL", "yes", "0.50", "3").ok(&shapes::placed());
    bob.place(&market, "SELL", "yes", "0.52", "1").ok(&shapes::placed());
    for (name, more, status) in [
        ("killed", json!({"timeInForce": "FOK", "quantity": "9"}), "CANCELLED"),
        ("filled", json!({"quantity": "1"}), "FILLED"),
        ("rest", json!({"timeInForce": "IOC", "price": "0.51"}), "CANCELLED"),
        ("self", json!({"price": "0.60"}), "CANCELLED"),
        ("open", json!({"price": "0.10"}), "OPEN"),
    ] {
        let body = with(named(&market, "BUY", "0.51", "4", name), &more);
        let first = bob.order(&body);
        assert_eq!(first.ok(&shapes::placed())["status"], status, "{name}");
        same(&bob.order(&body), &first);
    }
    // Only an accepted order takes its name; a refused one does not.
    let poor = named(&market, "BUY", "0.10", "100000", "poor");
    bob.order(&poor).refused(422, "INSUFFICIENT_FUNDS");
    assert!(!replayed(&bob.order(&with(poor, &json!({"quantity": "1"})))));
    let late = with(named(&market, "BUY", "0.10", "1", "late"), &json!({"validUntil": soon(-9)}));
    bob.order(&late).refused(422, "ORDER_TOO_LATE");
}

/// The replayed answer has only the fills that the order made as a taker, however many follow.
#[test]
fn a_replay_leaves_out_fills_after_placement() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    for price in ["0.50", "0.51"] {
        ann.place(&market, "SELL", "yes", price, "1").ok(&shapes::placed());
    }
    let [met, rested] = [("met", "6"), ("rested", "4")].map(|(name, quantity)| {
        let body = named(&market, "BUY", "0.51", quantity, name);
        let first = bob.order(&body);
        (body, first)
    });
    let trades = |answer: &Answer| answer.json["trades"].as_array().unwrap().len();
    assert_eq!((trades(&met.1), trades(&rested.1)), (2, 0));
    let sell = json!({"place": order(&market, "SELL", "yes", "0.51", "0.05")});
    for _ in 0..4 {
        let operations = json!({"operations": vec![sell.clone(); 40]});
        assert_eq!(ann.client.post("/trading/orders/batch", &operations).status, 200);
    }
    let fills = bob.get("/trading/fills?limit=1000").json["total"].as_u64().unwrap();
    assert_eq!(fills, 162);
    for (body, first) in [met, rested] {
        same(&bob.order(&body), &first);
    }
}

#[test]
fn orders_are_found_and_cancelled_by_their_names() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let odd = "!#/?%&+\"\\~";
    let placed = ann.order(&named(&market, "BUY", "0.10", "1", odd)).ok(&shapes::placed());
    let path = "/trading/orders/by-client-id/%21%23%2F%3F%25%26+%22%5C~";
    let read = ann.get(path).ok(&shapes::order());
    assert_eq!((&read["id"], &read["clientOrderId"]), (&placed["orderId"], &json!(odd)));
    bob.get(path).refused(404, "ORDER_NOT_FOUND");
    bob.client.delete(path).refused(404, "ORDER_NOT_FOUND");
    let cancelled = ann.client.delete(path).ok(&shapes::order());
    assert_eq!(
        (&cancelled["status"], &cancelled["cancelReason"]),
        (&json!("CANCELLED"), &json!("USER"))
    );
    ann.client.delete(path).refused(409, "ORDER_NOT_OPEN");
    assert_eq!(ann.get(path).ok(&shapes::order()), cancelled);
    for bad in ["a%20b", "%", "%zz", &"a".repeat(65)] {
        ann.get(&format!("/trading/orders/by-client-id/{bad}")).bad(&["clientOrderId"]);
    }
    for bad in [json!(""), json!("a b"), json!("é"), json!("a".repeat(65))] {
        let body = with(named(&market, "BUY", "0.10", "1", "x"), &json!({"clientOrderId": bad}));
        ann.order(&body).bad_as("clientOrderId", "INVALID_VALUE");
    }
}

/// Sends twice under one key, and once more with another body.
#[track_caller]
fn once(client: &Client, key: &str, path: &str, body: &Value) -> Answer {
    let first = under(client, key, path, body);
    assert!(first.status == 200 || first.status == 201, "{first:?}");
    same(&under(client, key, path, body), &first);
    // However it is laid out.
    let spaced = serde_json::to_string_pretty(body).unwrap();
    let headers = [("idempotency-key", key)];
    same(&client.send("POST", path, &headers, Some(spaced.as_bytes())), &first);
    first
}

#[test]
fn every_post_is_executed_once_under_its_key() {
    let venue = Venue::open();
    let (ann, op) = (venue.trader("ann"), &venue.operator);
    let category = json!({"name": "Rain", "slug": "rain"});
    once(op, "1", "/admin/categories", &category);
    let event = once(op, "2", "/admin/events", &event_body());
    let event_id = event.text("id");
    let body = with(market_body(), &json!({"eventId": event_id, "disputeWindowSeconds": 3600}));
    let made = once(op, "3", "/admin/markets", &body);
    let market = made.text("id");
    let path = format!("/admin/markets/{market}");
    let act = |action: &str| format!("{path}/{action}");
    let publish = once(op, "4", &act("publish"), &json!({}));
    // Later changes do not affect the replayed answer.
    op.patch(&path, &json!({"highlighted": true})).ok(&shapes::market_detail());
    op.patch(&format!("/admin/events/{event_id}"), &json!({"highlighted": true}))
        .ok(&shapes::event_detail());
    let key = once_order(&ann, &market);
    same(&under(op, "3", "/admin/markets", &body), &made);
    same(&under(op, "4", &act("publish"), &json!({})), &publish);
    same(&under(op, "2", "/admin/events", &event_body()), &event);
    for (number, action, body) in [
        ("5", "suspend", json!({})),
        ("6", "reopen", json!({})),
        ("7", "close", json!({})),
        ("8", "resolve", json!({"winningOutcomeId": "yes"})),
        ("9", "dispute", json!({})),
        ("10", "void", json!({"price": "0.25"})),
    ] {
        once(op, number, &act(action), &body);
    }
    let user = once(op, "11", "/admin/users", &json!({"profileName": "n", "profilePic": PICTURE}));
    let user = format!("/admin/users/{}", user.text("id"));
    let deposit = once(op, "12", &format!("{user}/deposits"), &json!({"amount": "5"}));
    assert_eq!(deposit.text("available"), "5.00");
    once(op, "13", &format!("{user}/withdrawals"), &json!({"amount": "1"}));
    same(&under(op, "12", &format!("{user}/deposits"), &json!({"amount": "5"})), &deposit);
    assert_eq!(op.get(&user).text("available"), "4.00");
    let profile = json!({"profileName": "n", "profilePic": PICTURE});
    assert_eq!(under(op, "11", "/admin/users", &profile).text("available"), "0.00");
    // Each key is refused for another request; another caller's key with the same text is a
    // different key.
    for key in (1..=13).map(|number| number.to_string()) {
        let other = json!({"name": "Snow", "slug": "snow"});
        under(op, &key, "/admin/categories", &other).refused(409, "IDEMPOTENCY_KEY_REUSED");
    }
    assert!(!key.is_empty());
    under(&ann.client, "1", ORDERS, &json!({})).refused(400, "INVALID_REQUEST");
}

/// What is asked for makes a request, not how it is written.
#[test]
fn a_request_written_otherwise_is_the_same_under_its_key() {
    let venue = Venue::open();
    let (ann, op) = (venue.trader("ann"), &venue.operator);
    let market = venue.market();
    let all = json!({"timeInForce": "GTC", "postOnly": false, "reduceOnly": false,
        "selfTradePrevention": "CANCEL_TAKER", "marketId": market.to_uppercase(),
        "expiresAt": "2999-01-01T02:00:00+02:00"});
    let plain = order(&market, "BUY", "yes", "0.50", "2");
    let plain = with(plain, &json!({"expiresAt": "2999-01-01T00:00:00.000Z"}));
    let body = plain.to_string();
    let first = under(&ann.client, "o", ORDERS, &plain);
    first.ok(&shapes::placed());
    let target = format!("{ORDERS}?dryRun=false");
    for (path, json) in [
        (format!("{ORDERS}?").as_str(), plain.clone()),
        (&target, plain.clone()),
        (ORDERS, with(plain.clone(), &all)),
        (&target, with(plain.clone(), &json!({"price": "0.5", "quantity": "2.000"}))),
    ] {
        same(&under(&ann.client, "o", path, &json), &first);
    }
    let body = body.replace("BUY", "B\\u0055Y").replace(':', " :\n");
    let body = body.replace("00 :\n00 :\n00", "00:00:00");
    let headers = [("idempotency-key", "o")];
    same(&ann.client.send("POST", ORDERS, &headers, Some(body.as_bytes())), &first);
    let dry = under(&ann.client, "o", &format!("{ORDERS}?dryRun=true"), &with(plain.clone(), &all));
    assert!(replayed(&dry) && dry.json["orderId"] == first.json["orderId"], "{dry:?}");
    for other in [json!({"price": "0.51"}), json!({"quantity": "3"}), json!({"postOnly": true})] {
        let answer = under(&ann.client, "o", ORDERS, &with(plain.clone(), &other));
        answer.refused(409, "IDEMPOTENCY_KEY_REUSED");
    }
    assert_eq!(open_count(&ann), 1);

    let again = |key: &str, pairs: [(&str, Value); 2]| {
        let [first, other] = pairs.map(|(path, body)| under(op, key, path, &body));
        assert!(first.status < 300, "{first:?}");
        same(&other, &first);
    };
    let user = format!("/admin/users/{}", ann.id);
    let loud = format!("/admin/users/{}", ann.id.to_uppercase());
    let (deposits, money) = (format!("{user}/deposits"), |text: &str| json!({"amount": text}));
    again("1", [(&deposits, money("5")), (&format!("{loud}/deposits?"), money("5.00"))]);
    let keys = format!("{user}/keys");
    let key = json!({"role": "trader", "label": "x"});
    let made = under(op, "2", &keys, &key);
    let repeated = under(op, "2", &format!("{loud}/keys"), &key);
    assert!(replayed(&repeated) && repeated.json["keyId"] == made.json["keyId"], "{repeated:?}");
    let other = json!({"role": "reader", "label": "x"});
    under(op, "2", &keys, &other).refused(409, "IDEMPOTENCY_KEY_REUSED");
    let no_window = json!({"disputeWindowSeconds": 0.0, "categoryIds": [], "highlighted": false});
    let markets = "/admin/markets";
    again("3", [(markets, market_body()), (markets, with(market_body(), &no_window))]);
    let draft = venue.draft(&json!({}));
    let publish = format!("/admin/markets/{draft}/publish");
    let first = op.send("POST", &publish, &[("idempotency-key", "4")], None);
    same(
        &under(op, "4", &format!("/admin/markets/{}/publish?", draft.to_uppercase()), &json!({})),
        &first,
    );
    let mode = |text: &str| json!({"mode": text});
    assert_eq!(under(op, "5", &format!("{user}/mode"), &mode("normal")).status, 200);
    under(op, "5", &format!("{user}/mode"), &mode("read-only"))
        .refused(409, "IDEMPOTENCY_KEY_REUSED");
    // The same command by another path is another request.
    under(op, "5", "/admin/venue/mode", &mode("normal")).refused(409, "IDEMPOTENCY_KEY_REUSED");
}

#[test]
fn a_batch_written_otherwise_is_the_same_under_its_key() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let resting = ann.place(&market, "BUY", "yes", "0.10", "1").text("orderId");
    let batch = |market: &str, price: &str, order: &str, more: Value| {
        let place = with(super::venue::order(market, "BUY", "yes", price, "1"), &more);
        json!({"operations": [{"place": place}, {"cancel": {"orderId": order}}, {"place": {}}]})
    };
    let path = "/trading/orders/batch";
    let plain = batch(&market, "0.20", &resting, json!({}));
    let first = under(&ann.client, "b", path, &plain);
    assert_eq!(first.json["results"][1]["order"]["status"], "CANCELLED", "{first:?}");
    let more = json!({"timeInForce": "GTC", "quantity": "1.0"});
    let other = batch(&market.to_uppercase(), "0.2", &resting.to_uppercase(), more);
    let again = under(&ann.client, "b", &format!("{path}?dryRun=false"), &other);
    for part in [0, 1] {
        let order = |answer: &Answer| answer.json["results"][part]["order"].clone();
        assert_eq!(again.json["results"][part]["idempotentReplay"], true, "{again:?}");
        assert_eq!(order(&again), order(&first));
    }
    assert_eq!(open_count(&ann), 1);
    for other in [
        batch(&market, "0.21", &resting, json!({})),
        batch(&market, "0.20", NOBODY, json!({})),
        json!({"operations": [plain["operations"][0]]}),
        json!({"operations": [plain["operations"][1], plain["operations"][0], {"place": {}}]}),
    ] {
        under(&ann.client, "b", path, &other).refused(409, "IDEMPOTENCY_KEY_REUSED");
    }
}

fn once_order(ann: &Trader, market: &str) -> String {
    let body = order(market, "BUY", "yes", "0.10", "1");
    let first = once(&ann.client, "1", ORDERS, &body);
    assert_eq!(open_count(ann), 1);
    first.text("orderId")
}

#[test]
fn a_keys_secret_is_shown_only_once() {
    let venue = Venue::open();
    let path = format!("/admin/users/{}/keys", venue.trader("ann").id);
    let body = json!({"role": "trader", "label": "laptop"});
    let first = under(&venue.operator, "k", &path, &body);
    let made = first.created(&shapes::new_key());
    let place = format!("{path}/{}", first.text("keyId"));
    assert_eq!(venue.operator.delete(&place).status, 204);
    let again = under(&venue.operator, "k", &path, &body);
    assert!(replayed(&again));
    assert_eq!(again.json, with(made, &json!({"key": null})));
    let keys = venue.operator.get(&path);
    assert_eq!(keys.json["keys"].as_array().unwrap().len(), 2, "{keys:?}");
}

#[test]
fn a_refused_request_does_not_use_up_its_key() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let deposits = format!("/admin/users/{}/withdrawals", ann.id);
    for amount in ["500", "nothing", "-1"] {
        let answer = under(&venue.operator, "k", &deposits, &json!({"amount": amount}));
        assert!(answer.status >= 400, "{answer:?}");
    }
    let taken = under(&venue.operator, "k", &deposits, &json!({"amount": "1"}));
    assert!(taken.status == 200 && !replayed(&taken));
    // With both names given, the idempotency key is looked up first.
    let body = named(&market, "BUY", "0.10", "1", "n");
    let first = under(&ann.client, "a", ORDERS, &body);
    same(&under(&ann.client, "a", ORDERS, &body), &first);
    same(&under(&ann.client, "b", ORDERS, &body), &first);
    same(&ann.order(&body), &first);
}

#[test]
fn the_idempotency_key_header_has_a_fixed_form() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let body = order(&venue.market(), "BUY", "yes", "0.10", "1").to_string();
    let send = |method: &str, headers: &[(&str, &str)]| {
        ann.client.send(method, ORDERS, headers, Some(body.as_bytes()))
    };
    let long = "a".repeat(65);
    for bad in ["", "a b", &long] {
        send("POST", &[("idempotency-key", bad)]).bad_as("Idempotency-Key", "INVALID_VALUE");
    }
    let twice = [("idempotency-key", "a"), ("idempotency-key", "a")];
    send("POST", &twice).bad_as("Idempotency-Key", "REPEATED");
    assert_eq!(open_count(&ann), 0);
    let order = ann.client.post(ORDERS, &serde_json::from_str(&body).unwrap()).text("orderId");
    let path = format!("{ORDERS}/{order}");
    let amend = |headers: &[(&str, &str)]| {
        ann.client.send("PATCH", &path, headers, Some(br#"{"price": "0.11"}"#))
    };
    amend(&[("idempotency-key", "a")]).bad_as("Idempotency-Key", "UNKNOWN_FIELD");
    // Clients that send the header with every request can still read and cancel.
    for (method, header) in [("GET", "a"), ("GET", "a b"), ("DELETE", "a")] {
        let answer = ann.client.send(method, &path, &[("idempotency-key", header)], None);
        assert_eq!((answer.status, answer.header("idempotent-replay")), (200, ""), "{method}");
    }
}
