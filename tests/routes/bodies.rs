//! Bodies that are not JSON, and wrong types in every field of every body.

use serde_json::{Value, json};

use super::venue::{PICTURE, Venue, event_body, market_body, order, texts, with};

/// Every path that takes a body, with a body that it accepts.
fn bodies(venue: &Venue) -> Vec<(&'static str, String, Value)> {
    let ann = venue.trader("ann");
    let (market, event) = (venue.market(), venue.event(&json!({})));
    let category = venue.category("rain");
    let placed = ann.place(&market, "BUY", "yes", "0.10", "1").text("orderId");
    assert!(!placed.is_empty());
    let order = with(
        order(&market, "BUY", "yes", "0.10", "1"),
        &json!({"timeInForce": "GTC", "postOnly": false, "reduceOnly": false,
            "expiresAt": "2999-01-01T00:00:00Z", "validUntil": "2999-01-01T00:00:00Z",
            "selfTradePrevention": "CANCEL_TAKER", "copyFromTraderId": ann.id,
            "clientOrderId": "c-1"}),
    );
    let tags = json!({"categoryIds": [category], "highlighted": true});
    let draft = with(market_body(), &tags);
    let draft = with(draft, &json!({"eventId": event, "disputeWindowSeconds": 1}));
    let user = format!("/admin/users/{}", ann.id);
    let life = |action: &str| format!("/admin/markets/{market}/{action}");
    vec![
        ("POST", "/trading/orders".to_owned(), order),
        ("PATCH", format!("/trading/orders/{placed}"), json!({"price": "0.10", "quantity": "1"})),
        ("POST", "/admin/categories".to_owned(), json!({"name": "n", "slug": "s"})),
        ("POST", "/admin/events".to_owned(), with(event_body(), &tags)),
        ("PATCH", format!("/admin/events/{event}"), with(event_body(), &tags)),
        ("POST", "/admin/markets".to_owned(), draft),
        ("PATCH", format!("/admin/markets/{market}"), with(market_body(), &tags)),
        ("POST", life("reopen"), json!({"deadline": "2999-01-01T00:00:00Z"})),
        ("POST", life("resolve"), json!({"winningOutcomeId": "yes"})),
        ("POST", life("void"), json!({"price": "0.50"})),
        ("POST", "/admin/users".to_owned(), json!({"profileName": "n", "profilePic": PICTURE})),
        ("POST", format!("{user}/keys"), json!({"role": "trader", "label": "l"})),
        ("POST", format!("{user}/deposits"), json!({"amount": "1"})),
        ("POST", format!("{user}/withdrawals"), json!({"amount": "1"})),
        ("POST", format!("{user}/mode"), json!({"mode": "normal"})),
        ("POST", format!("{user}/exposure-limit"), json!({"limit": "1"})),
        ("POST", "/admin/fees/withdrawals".to_owned(), json!({"amount": "1"})),
        ("POST", "/admin/venue/mode".to_owned(), json!({"mode": "normal"})),
        ("POST", "/trading/heartbeat".to_owned(), json!({"timeoutSeconds": 0})),
    ]
}

#[test]
fn a_body_that_is_not_json_is_malformed() {
    let venue = Venue::open();
    let deep = ["[", "{\"a\":"].map(|open| open.repeat(60_000 / open.len()));
    let closed = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    let numbers = ["1e999", "-1e999", &"9".repeat(500), "1E+400"].map(|n| format!("{{\"x\":{n}}}"));
    let mut texts: Vec<&[u8]> = vec![
        b"{",
        b"}",
        b"{]",
        b"{\"a\"}",
        b"{\"a\":1,}",
        b"{,}",
        b"{'a':1}",
        b"{a:1}",
        b"{} {}",
        b"{}x",
        b"{\"a\":01}",
        b"{\"a\":+1}",
        b"{\"a\":.5}",
        b"{\"a\":NaN}",
        b"{\"a\":\"\n\"}",
        b"// {}\n{}",
        b"\xef\xbb\xbf{}",
        b"{\"a\":\"\xff\"}",
        b"{\"\xc0\x80\":1}",
        b"\0{}",
        b"{}\0",
        b"{\"a\":\"\\ud800\"}",
        b"{\"a\":\"\\x\"}",
        b"{\"a\":\"\0\"}",
        b"tru",
        b"{\0}\0",
        b"\xff\xfe{\0}\0",
        b" ",
        b"a=1&b=2",
        b"<xml/>",
    ];
    texts.extend(deep.iter().map(String::as_bytes));
    texts.push(closed.as_bytes());
    for (method, path, _) in bodies(&venue) {
        for text in &texts {
            venue.operator.send(method, &path, &[], Some(text)).bad_as("body", "MALFORMED");
        }
        for other in ["null", "true", "1", "-1.5", "\"{}\"", "[]", "[{}]"] {
            let answer = venue.operator.send(method, &path, &[], Some(other.as_bytes()));
            answer.bad_as("body", "WRONG_TYPE");
        }
        for text in &numbers {
            let answer = venue.operator.send(method, &path, &[], Some(text.as_bytes()));
            answer.refused(400, "INVALID_REQUEST");
        }
    }
}

/// Every value in a body: its name in a problem, and its JSON pointer.
fn places(json: &Value, name: &str, pointer: &str, found: &mut Vec<(String, String)>) {
    if !name.is_empty() {
        found.push((name.to_owned(), pointer.to_owned()));
    }
    match json {
        Value::Object(members) => {
            for (member, value) in members {
                let dot = if name.is_empty() { "" } else { "." };
                let name = format!("{name}{dot}{member}");
                places(value, &name, &format!("{pointer}/{member}"), found);
            }
        }
        Value::Array(elements) => {
            for (index, value) in elements.iter().enumerate() {
                let pointer = format!("{pointer}/{index}");
                places(value, &format!("{name}[{index}]"), &pointer, found);
            }
        }
        _ => {}
    }
}

fn kind(json: &Value) -> u8 {
    match json {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

#[test]
fn every_field_has_one_type() {
    let venue = Venue::open();
    let others =
        [json!(null), json!(true), json!(0), json!(-0.5), json!("0"), json!([]), json!({})];
    for (method, path, body) in bodies(&venue) {
        let mut found = Vec::new();
        places(&body, "", "", &mut found);
        for (name, pointer) in found {
            let own = kind(body.pointer(&pointer).unwrap());
            for other in others.iter().filter(|other| kind(other) != own) {
                let mut wrong = body.clone();
                *wrong.pointer_mut(&pointer).unwrap() = other.clone();
                let text = wrong.to_string();
                let answer = venue.operator.send(method, &path, &[], Some(text.as_bytes()));
                answer.bad_as(&name, "WRONG_TYPE");
            }
        }
    }
}

#[test]
fn no_member_is_given_twice_at_any_depth() {
    let venue = Venue::open();
    for (text, fields) in [
        (r#"{"questions":{"pt":"a","pt":"a","en":"b","es":"c"}}"#, &["questions.pt"][..]),
        (r#"{"questions":{"pt":"a","en":"b","es":"c","x":1,"x":2}}"#, &["questions.x"; 2]),
        (r#"{"logo":"http://h","logo":"http://h"}"#, &["logo"]),
        (r#"{"logo":"http://h","x":1,"x":1}"#, &["x"; 2]),
    ] {
        let id = venue.market();
        let path = format!("/admin/markets/{id}");
        let answer = venue.operator.send("PATCH", &path, &[], Some(text.as_bytes()));
        answer.refused(400, "INVALID_REQUEST");
        let errors = answer.json["errors"].as_array().unwrap();
        let named = |field: &str| errors.iter().any(|error| error["field"] == *field);
        assert!(fields.iter().all(|field| named(field)), "{answer:?}");
        assert_eq!(
            venue.operator.get(&format!("/markets/{id}")).json["questions"],
            texts("question")
        );
    }
}
