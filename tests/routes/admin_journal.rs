//! `GET /admin/journal` (semantics 8): the records in order, in the terms of the API.

use std::fmt::Write as _;

use http::keys;
use serde_json::{Value, json};

use super::client::Answer;
use super::shapes;
use super::venue::{FAR, NOBODY, PICTURE, Trader, Venue, soon, texts, with};

const JOURNAL: &str = "/admin/journal";

fn page(venue: &Venue, query: &str) -> Value {
    venue.operator.get(&format!("{JOURNAL}?{query}")).ok(&shapes::journal())
}

/// The record that a request made.
#[track_caller]
fn record_of(venue: &Venue, answer: &Answer) -> Value {
    let sequence = answer.sequence();
    let page = page(venue, &format!("from={sequence}&limit=1"));
    assert_eq!(page["records"][0]["sequence"], sequence);
    page["records"][0].clone()
}

/// Asserts the fields of the record that a request made.
#[track_caller]
fn says(venue: &Venue, answer: &Answer, kind: &str, expected: &Value) {
    let mut record = record_of(venue, answer);
    // Whose act it is, and what became of it, `acts.rs` tests.
    record.as_object_mut().unwrap().retain(|name, _| !["act", "result"].contains(&name.as_str()));
    let place = json!({"kind": kind, "sequence": record["sequence"], "time": record["time"]});
    assert_eq!(record, with(place, expected));
}

#[test]
fn catalogue_records_show_public_ids() {
    let venue = Venue::open();
    let post = |path: &str, body: &Value| venue.operator.post(path, body);
    let answer = post("/admin/categories", &json!({"name": "Sport", "slug": "sport"}));
    let category = answer.text("id");
    says(
        &venue,
        &answer,
        "CREATE_CATEGORY",
        &json!({"categoryId": category, "name": "Sport", "slug": "sport"}),
    );
    let again = post("/admin/categories", &json!({"name": "Sport", "slug": "sport"}));
    again.refused(409, "SLUG_TAKEN");
    says(
        &venue,
        &again,
        "CREATE_CATEGORY",
        &json!({"categoryId": null, "name": "Sport", "slug": "sport"}),
    );

    let event = json!({"titles": texts("title"), "subTitles": texts("second"),
        "descriptions": texts("long"), "images": [PICTURE], "highlighted": true,
        "categoryIds": [category], "mutuallyExclusive": true});
    let answer = post("/admin/events", &event);
    let event_id = answer.text("id");
    says(
        &venue,
        &answer,
        "CREATE_EVENT",
        &with(event, &json!({"eventId": event_id, "slug": "title-en"})),
    );
    let path = format!("/admin/events/{event_id}");
    let change = json!({"titles": texts("other"), "categoryIds": []});
    let answer = venue.operator.patch(&path, &change);
    says(&venue, &answer, "REVISE_EVENT", &with(change, &json!({"eventId": event_id})));

    let market = json!({"questions": texts("question"), "descriptions": texts("rules"),
        "logo": PICTURE, "deadline": FAR, "highlighted": false, "categoryIds": [category],
        "eventId": event_id, "disputeWindowSeconds": 60, "makerFee": "0.0200", "takerFee": "0.0700",
        "outcomes": [{"id": "yes", "text": texts("it will")}, {"id": "no", "text": texts("not")}]});
    let answer = post("/admin/markets", &market);
    let id = answer.text("id");
    says(
        &venue,
        &answer,
        "CREATE_MARKET",
        &with(market, &json!({"marketId": id, "slug": "question-en"})),
    );
    let change = json!({"questions": texts("again"), "deadline": FAR, "highlighted": true,
        "makerFee": "0.0100", "takerFee": "0.0300",
        "outcomes": [{"id": "yes", "text": texts("it may")}, {"id": "no", "text": texts("no")}]});
    let answer = venue.operator.patch(&format!("/admin/markets/{id}"), &change);
    says(&venue, &answer, "REVISE_MARKET", &with(change, &json!({"marketId": id})));
    for (action, body, kind, more) in [
        ("publish", json!({}), "PUBLISH_MARKET", json!({})),
        ("suspend", json!({}), "SUSPEND_MARKET", json!({})),
        ("reopen", json!({}), "REOPEN_MARKET", json!({"deadline": null})),
        ("suspend", json!({}), "SUSPEND_MARKET", json!({})),
        ("reopen", json!({"deadline": FAR}), "REOPEN_MARKET", json!({"deadline": FAR})),
        ("close", json!({}), "CLOSE_MARKET", json!({})),
        ("close", json!({}), "CLOSE_MARKET", json!({})),
        (
            "resolve",
            json!({"winningOutcomeId": "no"}),
            "RESOLVE_MARKET",
            json!({"winningOutcomeId": "no"}),
        ),
        ("dispute", json!({}), "DISPUTE_MARKET", json!({})),
        ("void", json!({"price": "0.25"}), "VOID_MARKET", json!({"price": "0.25"})),
    ] {
        let answer = venue.act(&id, action, &body);
        says(&venue, &answer, kind, &with(more, &json!({"marketId": id})));
    }
}

#[test]
fn account_records_do_not_show_keys() {
    let venue = Venue::open();
    let profile = json!({"profileName": "ann", "profilePic": PICTURE});
    let answer = venue.operator.post("/admin/users", &profile);
    let id = answer.text("id");
    says(&venue, &answer, "CREATE_USER", &with(profile, &json!({"userId": id})));
    let path = format!("/admin/users/{id}");
    let fields = json!({"role": "trader", "label": "laptop"});
    let answer = venue.operator.post(&format!("{path}/keys"), &fields);
    let (key, key_id) = (answer.text("key"), answer.text("keyId"));
    let mut hash = String::new();
    for byte in keys::hash(key.as_bytes()).0 {
        write!(hash, "{byte:02x}").unwrap();
    }
    let more = json!({"userId": id, "keyId": key_id, "keyHash": hash});
    says(&venue, &answer, "ADD_KEY", &with(fields, &more));
    let answer = venue.operator.delete(&format!("{path}/keys/{key_id}"));
    says(&venue, &answer, "REVOKE_KEY", &json!({"userId": id, "keyId": key_id}));
    let all = venue.operator.get(&format!("{JOURNAL}?limit=1000")).written();
    assert!(!all.contains(&key) && !all.contains(&venue.operator.key));

    let amount = json!({"amount": "25.00000001", "userId": id});
    let body = json!({"amount": "25.00000001"});
    says(&venue, &venue.operator.post(&format!("{path}/deposits"), &body), "DEPOSIT", &amount);
    let out = venue.operator.post(&format!("{path}/withdrawals"), &body);
    says(&venue, &out, "WITHDRAW", &amount);
    // A refused command is a record too.
    let more = venue.operator.post(&format!("{path}/withdrawals"), &body);
    more.refused(422, "INSUFFICIENT_FUNDS");
    says(&venue, &more, "WITHDRAW", &amount);
    let fees = venue.operator.post("/admin/fees/withdrawals", &body);
    fees.refused(422, "INSUFFICIENT_FEES");
    let operator = venue.operator.get("/admin/users").json["users"][1]["id"].clone();
    says(&venue, &fees, "TAKE_FEES", &with(body, &json!({"userId": operator})));

    let first = page(&venue, "limit=3");
    assert_eq!(first["records"][0]["kind"], "OPEN_VENUE");
    for (name, value) in [
        ("currency", json!("USD")),
        ("userOpenOrdersMax", json!(10_000)),
        ("moneySupplyMax", json!("90000000000.00")),
        ("sequence", json!(1)),
    ] {
        assert_eq!(first["records"][0][name], value, "{name}");
    }
}

#[test]
fn order_records_show_the_owners_own_terms() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    venue.trade(&venue.market(), &ann, &bob, "0.50", "1");
    let plain = json!({"marketId": market, "outcomeId": "no", "side": "SELL", "price": "0.35",
        "quantity": "2.5", "timeInForce": "GTC"});
    let asked = with(
        plain.clone(),
        &json!({"orderType": "LIMIT", "expiresAt": FAR,
        "selfTradePrevention": "CANCEL_BOTH", "postOnly": true, "validUntil": FAR,
        "copyFromTraderId": bob.id, "clientOrderId": "c-1"}),
    );
    let answer = ann.order(&asked);
    let order = answer.ok(&shapes::placed())["orderId"].clone();
    let key_of = |trader: &Trader| trader.get("/account/keys").json["keys"][0]["keyId"].clone();
    let expected = json!({"orderId": order, "userId": ann.id, "keyId": key_of(&ann), "expiresAt": FAR,
        "selfTradePrevention": "CANCEL_BOTH", "postOnly": true, "reduceOnly": false,
        "validUntil": FAR, "copyFromTraderId": bob.id, "clientOrderId": "c-1"});
    says(&venue, &answer, "PLACE_ORDER", &with(plain.clone(), &expected));

    let standard = json!({"userId": bob.id, "keyId": key_of(&bob), "expiresAt": null, "timeInForce": "IOC",
        "selfTradePrevention": "CANCEL_TAKER", "postOnly": false, "reduceOnly": true,
        "validUntil": null, "copyFromTraderId": null, "clientOrderId": null});
    let refused = bob.order(&with(
        plain.clone(),
        &json!({"orderType": "LIMIT", "timeInForce": "IOC", "reduceOnly": true}),
    ));
    refused.refused(422, "REDUCE_ONLY_EXCEEDED");
    let expected = with(standard, &json!({"orderId": null}));
    says(&venue, &refused, "PLACE_ORDER", &with(plain, &expected));

    let path = format!("/trading/orders/{}", order.as_str().unwrap());
    let amended = ann.client.patch(&path, &json!({"price": "0.30"}));
    let expected = json!({"orderId": order, "userId": ann.id, "price": "0.30", "quantity": null});
    says(&venue, &amended, "AMEND_ORDER", &expected);
    let expected = json!({"orderId": order, "userId": ann.id});
    says(&venue, &ann.client.delete(&path), "CANCEL_ORDER", &expected);
    let all = ann.client.delete("/trading/orders");
    says(&venue, &all, "CANCEL_ORDERS", &json!({"userId": ann.id, "marketId": null}));
    let all = ann.client.delete(&format!("/trading/orders?marketId={market}"));
    says(&venue, &all, "CANCEL_ORDERS", &json!({"userId": ann.id, "marketId": market}));

    let key = [("idempotency-key", "k-1")];
    let body = json!({"timeoutSeconds": 0});
    let beat =
        ann.client.send("POST", "/trading/heartbeat", &key, Some(body.to_string().as_bytes()));
    let once = json!({"callerId": ann.id, "key": "k-1", "part": 0});
    let expected = with(body, &json!({"userId": ann.id, "idempotencyKey": once}));
    says(&venue, &beat, "HEARTBEAT", &expected);

    // Only the venue itself makes clock records.
    ann.order(&with(asked, &json!({"expiresAt": soon(40), "clientOrderId": "c-2"})))
        .ok(&shapes::placed());
    let from = ann.get("/trading/balance").sequence();
    let moved = loop {
        let page = page(&venue, &format!("from={}", from + 1));
        if let Some(record) = page["records"].as_array().unwrap().first() {
            break record.clone();
        }
    };
    let place = json!({"sequence": from + 1, "time": moved["time"], "kind": "ADVANCE_CLOCK",
        "result": "ACCEPTED"});
    assert_eq!(moved, place);
}

#[test]
fn pages_continue_without_gaps_up_to_the_end() {
    let venue = Venue::open();
    let market = venue.market();
    let ann = venue.trader("ann");
    for _ in 0..40 {
        ann.place(&market, "BUY", "yes", "0.10", "1").ok(&shapes::placed());
    }
    let last = ann.get("/trading/balance").sequence();
    let whole = page(&venue, "limit=1000");
    assert_eq!((&whole["from"], &whole["limit"]), (&json!(1), &json!(1000)));
    assert_eq!(whole["next"], Value::Null);
    let whole = whole["records"].as_array().unwrap().clone();
    assert_eq!(u64::try_from(whole.len()).unwrap(), last);
    for (index, record) in (1_u64..).zip(&whole) {
        assert_eq!(record["sequence"], index);
    }
    for limit in [1, 7, 50, 51] {
        let (mut from, mut met) = (1, Vec::new());
        loop {
            let page = page(&venue, &format!("from={from}&limit={limit}"));
            let records = page["records"].as_array().unwrap();
            assert!(records.len() <= limit);
            met.extend(records.iter().cloned());
            let Some(next) = page["next"].as_u64() else { break };
            assert_eq!(next, from + u64::try_from(records.len()).unwrap());
            from = next;
        }
        assert_eq!(met, whole, "{limit}");
    }
    assert_eq!(page(&venue, "")["limit"], 100);
    // Beyond the end the page is empty.
    for from in [last + 1, last + 2, i64::MAX.unsigned_abs()] {
        let beyond = page(&venue, &format!("from={from}"));
        assert_eq!((&beyond["records"], &beyond["next"]), (&json!([]), &Value::Null));
        assert_eq!(beyond["from"], from);
    }
}

/// The page's size stays bounded however large the texts are.
#[test]
fn a_page_of_large_records_ends_early() {
    let venue = Venue::open();
    let long = |n: usize| json!({"pt": "a".repeat(n), "en": "b".repeat(n), "es": "c".repeat(n)});
    for _ in 0..80 {
        venue.draft(&json!({"descriptions": long(5000)}));
    }
    let first = venue.operator.get(&format!("{JOURNAL}?limit=1000"));
    let records = first.ok(&shapes::journal())["records"].as_array().unwrap().len();
    assert!(first.body.len() < 2_000_000 && records > 40, "{records}");
    assert_eq!(first.json["next"], json!(records + 1));
    let rest = page(&venue, &format!("from={}&limit=1000", records + 1));
    assert_eq!(
        (rest["records"].as_array().unwrap().len() + records, &rest["next"]),
        (83, &Value::Null)
    );
}

#[test]
fn only_operators_may_read_and_every_field_is_bounded() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    ann.get(JOURNAL).refused(403, "FORBIDDEN");
    venue.client("not a key").get(JOURNAL).refused(401, "INVALID_API_KEY");
    let get = |query: &str| venue.operator.get(&format!("{JOURNAL}?{query}"));
    for query in ["limit=0", "limit=1001", "limit=99999999999999999999"] {
        get(query).bad_as("limit", "OUT_OF_BOUNDS");
    }
    assert_eq!(get("from=9223372036854775807").status, 200);
    for from in ["from=0", "from=9223372036854775808"] {
        get(from).bad_as("from", "OUT_OF_BOUNDS");
    }
    get("from=-1&limit=ten&offset=1").bad(&["from", "limit", "offset"]);
    get("from=1&from=1").bad_as("from", "REPEATED");
    get(&format!("from={NOBODY}")).bad_as("from", "INVALID_VALUE");
}
