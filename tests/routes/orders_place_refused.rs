//! `POST /trading/orders`: refusals, and that they change nothing (semantics 7).

use std::collections::HashSet;

use serde_json::{Value, json};

use super::shapes;
use super::venue::{NOBODY, Trader, Venue, ids, order, with, without};

const PATH: &str = "/trading/orders";

/// Everything that a refused order must leave unchanged.
fn state(venue: &Venue, trader: &Trader, market: &str) -> [Value; 4] {
    [
        "/trading/orders".to_owned(),
        "/trading/balance".to_owned(),
        "/trading/positions".to_owned(),
        format!("/markets/{market}/activity"),
    ]
    .map(|path| {
        assert_eq!(venue.operator.get(&path).status, 200);
        trader.get(&path).json
    })
}

#[test]
fn every_required_field_must_be_present_and_a_string() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let whole = order(&venue.market(), "BUY", "yes", "0.50", "1");
    let names: Vec<String> = whole.as_object().unwrap().keys().cloned().collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    ann.order(&json!({})).bad(&all);
    for name in &all {
        ann.order(&without(whole.clone(), name)).bad_as(name, "REQUIRED");
        for wrong in [json!(null), json!(1), json!(0.5), json!(true), json!([]), json!({})] {
            ann.order(&with(whole.clone(), &json!({*name: wrong}))).bad_as(name, "WRONG_TYPE");
        }
        let wrong = json!({*name: "\u{0}"});
        ann.order(&with(whole.clone(), &wrong)).bad_as(name, "INVALID_VALUE");
        ann.order(&with(whole.clone(), &json!({*name: ""}))).bad_as(name, "INVALID_VALUE");
    }
    for name in ["postOnly", "reduceOnly"] {
        for wrong in [json!(null), json!("true"), json!(1)] {
            ann.order(&with(whole.clone(), &json!({name: wrong}))).bad_as(name, "WRONG_TYPE");
        }
    }
    for name in
        ["timeInForce", "expiresAt", "validUntil", "selfTradePrevention", "copyFromTraderId"]
    {
        ann.order(&with(whole.clone(), &json!({name: null}))).bad_as(name, "WRONG_TYPE");
        ann.order(&with(whole.clone(), &json!({name: "x"}))).bad_as(name, "INVALID_VALUE");
    }
    assert_eq!(ann.get(PATH).json, json!({"orders": []}));
}

#[test]
fn only_documented_forms_of_a_price_are_accepted() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    for price in [
        "0",
        "0.0",
        "0.00",
        "0.000",
        "1",
        "1.0",
        "1.00",
        "00.5",
        ".5",
        "0.",
        "0.505",
        "0.100",
        "0.5 ",
        " 0.5",
        "+0.5",
        "-0.5",
        "5e-1",
        "0,5",
        "0.5\n",
        "0.5\u{0}",
        "\u{660}.\u{665}",
        "\u{ff10}.5",
        "50",
        "NaN",
        "Infinity",
        "0x1",
        "0.5.5",
        "0.٥",
    ] {
        ann.place(&market, "BUY", "yes", price, "1").bad(&["price"]);
    }
    let long = format!("0.{}", "5".repeat(50_000));
    ann.place(&market, "BUY", "yes", &long, "1").bad(&["price"]);
    for quantity in [
        "0",
        "0.0",
        "0.000000",
        "0.0000001",
        "1.0000000",
        "1.",
        ".5",
        "100000000.000001",
        "100000001",
        "-1",
        "+1",
        "1e3",
        " 1",
        "1 ",
        "1_000",
        "1,5",
        "1.5.5",
        "\u{661}",
        "NaN",
        "18446744073709551616",
        "340282366920938463463374607431768211456",
    ] {
        ann.place(&market, "BUY", "yes", "0.01", quantity).bad(&["quantity"]);
    }
    let long = "9".repeat(50_000);
    ann.place(&market, "BUY", "yes", "0.01", &long).bad(&["quantity"]);
}

#[test]
fn only_documented_enum_values_are_accepted() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    for (member, texts) in [
        ("outcomeId", ["YES", "maybe", "yes "]),
        ("side", ["buy", "HOLD", "BUY\n"]),
        ("orderType", ["MARKET", "limit", "STOP"]),
        ("timeInForce", ["gtc", "DAY", "GTD"]),
        ("selfTradePrevention", ["NONE", "cancel_taker", "CANCEL"]),
        ("expiresAt", ["2999-01-01", "tomorrow", "32503680000000"]),
        ("validUntil", ["2999-13-01T00:00:00Z", "2999-01-01T00:00:00", "0"]),
        ("marketId", ["market", "0192f0c12b3c7d4e8f50617283940516", "../../admin"]),
        ("copyFromTraderId", ["bob", "0", "{0192f0c1-2b3c-7d4e-8f50-617283940516}"]),
    ] {
        for text in texts {
            let body = with(order(&market, "BUY", "yes", "0.50", "1"), &json!({member: text}));
            ann.order(&body).bad_as(member, "INVALID_VALUE");
        }
    }
    assert_eq!(ann.get(PATH).json, json!({"orders": []}));
}

#[test]
fn misspelt_and_repeated_fields_are_refused() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let whole = order(&venue.market(), "BUY", "yes", "0.50", "1");
    for name in ["timeinforce", "TimeInForce", "time_in_force", "", "price ", "a.b", "errors"] {
        let answer = ann.order(&with(whole.clone(), &json!({name: "IOC"})));
        answer.bad_as(name, "UNKNOWN_FIELD");
    }
    for (member, value) in whole.as_object().unwrap() {
        let text = whole.to_string();
        let repeated = format!("{},\"{member}\":{value}}}", text.strip_suffix('}').unwrap());
        let answer = ann.client.send("POST", PATH, &[], Some(repeated.as_bytes()));
        answer.bad_as(member, "REPEATED");
    }
    let escaped = whole.to_string().replace("\"price\"", "\"pric\\u0065\"");
    assert_eq!(ann.client.send("POST", PATH, &[], Some(escaped.as_bytes())).status, 200);
    let hidden = escaped.replace('{', "{\"price\":\"0.10\",");
    ann.client.send("POST", PATH, &[], Some(hidden.as_bytes())).bad_as("price", "REPEATED");
    let answer = ann.client.post("/trading/orders?timeInForce=IOC", &whole);
    answer.bad_as("timeInForce", "UNKNOWN_FIELD");
    let expiry = json!({"expiresAt": "2999-01-01T00:00:00Z", "timeInForce": "FOK"});
    ann.order(&with(whole, &expiry)).bad_as("expiresAt", "INVALID_VALUE");
    assert_eq!(ann.get(PATH).json["orders"].as_array().unwrap().len(), 1);
}

#[test]
fn refusals_by_state_or_risk_change_nothing() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader_with("ann", "1.00"), venue.trader("bob"));
    let market = venue.market();
    let (other, idle) = (venue.market(), venue.trader("idle"));
    venue.trade(&other, &ann, &bob, "0.10", "2");
    bob.place(&market, "SELL", "yes", "0.60", "1");
    let before = state(&venue, &ann, &market);
    let bid = |price: &str, quantity: &str, more: Value| {
        with(order(&market, "BUY", "yes", price, quantity), &more)
    };
    let past = "2001-01-01T00:00:00Z";
    for (body, status, code) in [
        (bid("0.80", "1.000001", json!({})), 422, "INSUFFICIENT_FUNDS"),
        (bid("0.99", "100000000", json!({})), 422, "INSUFFICIENT_FUNDS"),
        (bid("0.99", "100000000", json!({"timeInForce": "FOK"})), 422, "INSUFFICIENT_FUNDS"),
        (order(&market, "SELL", "yes", "0.10", "1"), 422, "INSUFFICIENT_FUNDS"),
        (bid("0.60", "0.1", json!({"postOnly": true})), 422, "POST_ONLY_WOULD_CROSS"),
        (bid("0.10", "0.1", json!({"reduceOnly": true})), 422, "REDUCE_ONLY_EXCEEDED"),
        (bid("0.10", "0.1", json!({"validUntil": past})), 422, "ORDER_TOO_LATE"),
        (bid("0.10", "0.1", json!({"expiresAt": past})), 422, "ORDER_TOO_LATE"),
        (bid("0.10", "0.1", json!({"copyFromTraderId": NOBODY})), 404, "USER_NOT_FOUND"),
        (bid("0.10", "0.1", json!({"copyFromTraderId": idle.id})), 404, "USER_NOT_FOUND"),
        (order(NOBODY, "BUY", "yes", "0.10", "1"), 404, "MARKET_NOT_FOUND"),
        (order(&ann.id, "BUY", "yes", "0.10", "1"), 404, "MARKET_NOT_FOUND"),
    ] {
        let answer = ann.order(&body);
        answer.refused(status, code);
        assert_eq!(state(&venue, &ann, &market), before, "{body}");
    }
    // One lot less of each is accepted.
    ann.order(&bid("0.59", "0.1", json!({"postOnly": true}))).ok(&shapes::placed());
    let reduce = with(order(&other, "SELL", "yes", "0.90", "2"), &json!({"reduceOnly": true}));
    ann.order(&reduce).ok(&shapes::placed());
    let more = with(order(&other, "SELL", "yes", "0.90", "0.000001"), &json!({"reduceOnly": true}));
    ann.order(&more).refused(422, "REDUCE_ONLY_EXCEEDED");
}

#[test]
fn only_an_active_market_takes_orders() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    for (actions, code, status) in [
        (&[][..], "MARKET_NOT_FOUND", 404),
        (&["publish", "suspend"], "MARKET_NOT_ACTIVE", 422),
        (&["publish", "close"], "MARKET_NOT_ACTIVE", 422),
        (&["publish", "resolve"], "MARKET_NOT_ACTIVE", 422),
        (&["publish", "resolve", "dispute"], "MARKET_NOT_ACTIVE", 422),
        (&["publish", "void"], "MARKET_NOT_ACTIVE", 422),
    ] {
        let market = venue.draft(&json!({"disputeWindowSeconds": 3600}));
        for action in actions {
            let body =
                if *action == "resolve" { json!({"winningOutcomeId": "no"}) } else { json!({}) };
            venue.act(&market, action, &body).ok(&shapes::market_detail());
        }
        ann.place(&market, "BUY", "yes", "0.50", "1").refused(status, code);
    }
    let settled = venue.market();
    venue.settle(&settled, "yes");
    ann.place(&settled, "BUY", "yes", "0.50", "1").refused(422, "MARKET_NOT_ACTIVE");
}

#[test]
fn a_user_may_have_ten_thousand_open_orders() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let body = order(&market, "BUY", "yes", "0.01", "0.000001").to_string();
    let key = &ann.client.key;
    let request = format!(
        "POST /api/v1{PATH} HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    // Many requests at once per connection, and few connections, to save time.
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (address, request) = (ann.client.address, request.clone());
            std::thread::spawn(move || {
                let taken = |_| super::client::pipelined(address, request.as_bytes(), 100);
                (0..25).map(taken).sum::<usize>()
            })
        })
        .collect();
    let taken: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(taken, 10_000);
    ann.place(&market, "BUY", "yes", "0.01", "1").refused(422, "OPEN_ORDER_LIMIT");
    let ioc = with(order(&market, "BUY", "yes", "0.01", "1"), &json!({"timeInForce": "IOC"}));
    assert_eq!(ann.order(&ioc).ok(&shapes::placed())["status"], "CANCELLED");
    let open = ann.get("/trading/orders?active=true").json;
    assert_eq!(open["orders"].as_array().unwrap().len(), 10_000);
    let first = open["orders"][0]["id"].as_str().unwrap();
    ann.client.delete(&format!("/trading/orders/{first}")).ok(&shapes::order());
    ann.place(&market, "BUY", "yes", "0.01", "1").ok(&shapes::placed());
    // One order matches half of them, a mass cancel removes the rest; the answers list all.
    let bob = venue.trader("bob");
    let sweep = bob.place(&market, "SELL", "yes", "0.01", "0.005").ok(&shapes::placed());
    assert_eq!((&sweep["status"], &sweep["averageFillPrice"]), (&json!("FILLED"), &json!("0.01")));
    let trades: HashSet<&str> = ids(&sweep["trades"]).into_iter().collect();
    assert_eq!((trades.len(), sweep["trades"].as_array().unwrap().len()), (5_000, 5_000));
    assert_eq!(bob.get("/trading/fills?limit=1000&offset=4500").json["total"], 5_000);
    let rest = ann.client.delete("/trading/orders");
    assert_eq!(rest.json["cancelled"].as_array().map(Vec::len), Some(5_000));
    assert_eq!(ann.balance().1, "0.00");
}

/// The detail says which of an order's two times has passed, however it is sent.
#[test]
fn an_order_that_is_too_late_is_told_which_time_has_passed() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let (early, late, to_come) =
        ("2001-01-01T00:00:00Z", "2002-01-01T00:00:00Z", "2999-01-01T00:00:00Z");
    let valid = "the order came after its validUntil";
    let expired = "the order came when its expiresAt had passed";
    for (times, says) in [
        (json!({"validUntil": early}), valid),
        (json!({"validUntil": early, "timeInForce": "IOC"}), valid),
        (json!({"expiresAt": early}), expired),
        (json!({"expiresAt": early, "validUntil": to_come}), expired),
        (json!({"expiresAt": to_come, "validUntil": early}), valid),
        (json!({"expiresAt": early, "validUntil": early}), expired),
        (json!({"expiresAt": early, "validUntil": late}), expired),
        (json!({"expiresAt": late, "validUntil": early}), valid),
    ] {
        for name in [json!({}), json!({"clientOrderId": "mine"})] {
            let body = with(with(order(&market, "BUY", "yes", "0.10", "1"), &times), &name);
            let batch = json!({"operations": [{"place": body}]});
            for query in ["", "?dryRun=true"] {
                let path = |end: &str| format!("/trading/orders{end}{query}");
                let alone = ann.client.post(&path(""), &body);
                alone.refused(422, "ORDER_TOO_LATE");
                assert_eq!(alone.text("detail"), says, "{times}");
                let among = ann.client.post(&path("/batch"), &batch);
                let error = &among.json["results"][0]["error"];
                assert_eq!(
                    (&error["code"], &error["detail"]),
                    (&json!("ORDER_TOO_LATE"), &json!(says))
                );
            }
        }
    }
}

/// Whether there is such a user is nobody's business until the user trades.
#[test]
fn a_user_without_a_trade_is_refused_as_nobody_is() {
    let venue = Venue::open();
    let [ann, bob, idle] = ["ann", "bob", "idle"].map(|name| venue.trader(name));
    let market = venue.market();
    // Orders are not public.
    idle.place(&market, "BUY", "yes", "0.01", "1").ok(&shapes::placed());
    let copy = |trader: &str, more: &Value| {
        let copy = json!({"copyFromTraderId": trader});
        with(with(order(&market, "BUY", "yes", "0.50", "1"), &copy), more)
    };
    for (path, more) in [
        ("/trading/orders", json!({})),
        ("/trading/orders", json!({"clientOrderId": "c-1"})),
        ("/trading/orders?dryRun=true", json!({})),
        ("/trading/orders?dryRun=true", json!({"clientOrderId": "c-1"})),
    ] {
        let told = |trader: &str| {
            let answer = ann.client.post(path, &copy(trader, &more));
            answer.refused(404, "USER_NOT_FOUND");
            without(answer.json.clone(), "requestId")
        };
        assert_eq!(told(&idle.id), told(NOBODY), "{path} {more}");
    }
    for more in [json!({}), json!({"clientOrderId": "c-1"})] {
        let told = |trader: &str| {
            let body = json!({"operations": [{"place": copy(trader, &more)}]});
            let answer = ann.client.post("/trading/orders/batch", &body);
            without(answer.json["results"][0]["error"].clone(), "requestId")
        };
        assert_eq!(told(&idle.id)["code"], "USER_NOT_FOUND");
        assert_eq!(told(&idle.id), told(NOBODY));
    }
    // Taker and maker have both traded.
    venue.trade(&market, &idle, &bob, "0.50", "1");
    for trader in [&idle, &bob] {
        ann.order(&copy(&trader.id, &json!({"price": "0.10"}))).ok(&shapes::placed());
    }
    ann.order(&copy(&ann.id, &json!({"price": "0.10"}))).refused(404, "USER_NOT_FOUND");
    // A name that is known is known, whoever is copied.
    let named = json!({"clientOrderId": "c-2", "price": "0.10"});
    ann.order(&copy(&bob.id, &named)).ok(&shapes::placed());
    for other in [NOBODY, &ann.id] {
        ann.order(&copy(other, &named)).refused(409, "CLIENT_ORDER_ID_REUSED");
    }
}
