//! Entity tags and the conditions on them (RFC 9110, 13).

use serde_json::{Value, json};

use super::client::{Answer, Client};
use super::described::operations;
use super::scene::Scene;
use super::shapes;
use super::venue::{Venue, with};

fn asked(client: &Client, method: &str, path: &str, header: (&str, &str), body: &Value) -> Answer {
    let body = (method != "GET").then(|| body.to_string());
    client.send(method, path, &[header], body.as_ref().map(String::as_bytes))
}

/// Reads it; returns its tag.
fn tag(client: &Client, path: &str) -> String {
    let answer = client.get(path);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.header("etag").to_owned()
}

#[test]
fn an_order_is_amended_only_as_it_was_read() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let order = ann.place(&market, "BUY", "no", "0.50", "10").text("orderId");
    let path = format!("/trading/orders/{order}");
    let amend =
        |tag: &str, body: Value| asked(&ann.client, "PATCH", &path, ("if-match", tag), &body);
    let first = tag(&ann.client, &path);
    let longer = first.replacen('"', "\"0", 1);
    for bogus in ["\"bogus\"", "\"\"", "", &format!("W/{first}"), &longer] {
        let answer = amend(bogus, json!({"quantity": "4"}));
        answer.refused(412, "PRECONDITION_FAILED");
    }
    for bad in ["bogus", "*, *", &format!("{first}{first}")] {
        amend(bad, json!({"quantity": "4"})).bad_as("If-Match", "INVALID_VALUE");
    }
    assert_eq!(tag(&ann.client, &path), first);
    assert_eq!(ann.get(&path).json["originalQuantity"], "10");
    // Whoever comes second amends what is no longer there.
    let changed = amend(&first, json!({"quantity": "8"}));
    assert_eq!(changed.ok(&shapes::order())["originalQuantity"], "8");
    let second = changed.header("etag").to_owned();
    assert_eq!(tag(&ann.client, &path), second);
    amend(&first, json!({"quantity": "9"})).refused(412, "PRECONDITION_FAILED");
    let either = format!("{first}, {second}");
    assert_eq!(amend(&either, json!({"price": "0.51"})).json["price"], "0.51");
    // A fill is a change too.
    let third = tag(&ann.client, &path);
    bob.place(&market, "BUY", "yes", "0.49", "1").ok(&shapes::placed());
    let tried = format!("{path}?dryRun=true");
    for path in [&path, &tried] {
        let answer =
            asked(&ann.client, "PATCH", path, ("if-match", &third), &json!({"quantity": "9"}));
        answer.refused(412, "PRECONDITION_FAILED");
    }
    let fourth = tag(&ann.client, &path);
    let tried =
        asked(&ann.client, "PATCH", &tried, ("if-match", &fourth), &json!({"quantity": "9"}));
    assert_eq!((tried.status, tag(&ann.client, &path)), (200, fourth.clone()), "{tried:?}");
    assert_eq!(amend(&fourth, json!({"quantity": "9"})).status, 200);
    assert_eq!(amend("*", json!({"quantity": "8"})).status, 200);
    // By the order's record: what the client saw is journaled with the amend.
    let sequence = ann.get(&path).sequence();
    let before = tag(&ann.client, &path);
    amend(&before, json!({"quantity": "7"})).ok(&shapes::order());
    let journal = venue.operator.get(&format!("/admin/journal?from={}", sequence + 1));
    let seen = json!({"price": "0.51", "quantity": "8", "filledQuantity": "1"});
    assert_eq!(journal.json["records"][0]["seen"], seen, "{journal:?}");
    ann.client.delete(&path).ok(&shapes::order());
    amend(&before, json!({"quantity": "9"})).refused(412, "PRECONDITION_FAILED");
    let ended = tag(&ann.client, &path);
    amend(&ended, json!({"quantity": "9"})).refused(409, "ORDER_NOT_OPEN");
    asked(&bob.client, "PATCH", &path, ("if-match", "*"), &json!({"quantity": "9"}))
        .refused(404, "ORDER_NOT_FOUND");
}

#[test]
fn of_amends_of_one_state_only_one_is_made() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let order = ann.place(&market, "BUY", "yes", "0.50", "10").text("orderId");
    let path = format!("/trading/orders/{order}");
    for _ in 0..5 {
        let seen = tag(&ann.client, &path);
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let amends: Vec<_> = (0..8)
                .map(|number| {
                    let (client, path, seen) = (ann.client.clone(), &path, &seen);
                    let body = json!({"quantity": (20 + number).to_string()});
                    scope.spawn(move || {
                        asked(&client, "PATCH", path, ("if-match", seen), &body).status
                    })
                })
                .collect();
            amends.into_iter().map(|amend| amend.join().unwrap()).collect()
        });
        let made = statuses.iter().filter(|status| **status == 200).count();
        let refused = statuses.iter().filter(|status| **status == 412).count();
        assert_eq!((made, refused), (1, 7), "{statuses:?}");
        ann.client.patch(&path, &json!({"quantity": "10"})).ok(&shapes::order());
    }
}

#[test]
fn a_market_is_revised_only_as_it_was_read() {
    let venue = Venue::open();
    let (ann, bob, market) = (venue.trader("ann"), venue.trader("bob"), venue.market());
    let (read, write) = (format!("/markets/{market}"), format!("/admin/markets/{market}"));
    let revise =
        |tag: &str, body: Value| asked(&venue.operator, "PATCH", &write, ("if-match", tag), &body);
    let first = tag(&venue.operator, &read);
    assert_eq!(tag(&ann.client, &read), first);
    for bogus in ["\"bogus\"", &format!("W/{first}"), "\".\"", &first.replacen('"', "\"0", 1)] {
        revise(bogus, json!({"highlighted": true})).refused(412, "PRECONDITION_FAILED");
    }
    let changed = revise(&first, json!({"highlighted": true}));
    assert_eq!(changed.ok(&shapes::market_detail())["highlighted"], true);
    let second = changed.header("etag").to_owned();
    assert_eq!(tag(&venue.operator, &read), second);
    revise(&first, json!({"highlighted": false})).refused(412, "PRECONDITION_FAILED");
    // A trade moves the quote, which readers must see, and changes nothing that can be revised.
    venue.trade(&market, &ann, &bob, "0.80", "1");
    let third = tag(&ann.client, &read);
    assert_ne!(third, second);
    assert_eq!(revise(&second, json!({"highlighted": false})).status, 200);
    assert_eq!(revise("*", json!({"highlighted": true})).status, 200);
    let seen = tag(&venue.operator, &read);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let revise = |number: i32| {
            let (seen, write, client) = (&seen, &write, venue.operator.clone());
            let body = json!({"questions": super::venue::texts(&number.to_string())});
            scope.spawn(move || asked(&client, "PATCH", write, ("if-match", seen), &body).status)
        };
        let all: Vec<_> = (0..8).map(revise).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
}

#[test]
fn what_a_reader_knows_is_not_sent_again() {
    let venue = Venue::open();
    let (ann, bob, market) = (venue.trader("ann"), venue.trader("bob"), venue.market());
    let body = with(
        super::venue::order(&market, "BUY", "yes", "0.50", "10"),
        &json!({"clientOrderId": "n"}),
    );
    let order = ann.order(&body).text("orderId");
    for path in [
        format!("/trading/orders/{order}"),
        "/trading/orders/by-client-id/n".to_owned(),
        format!("/markets/{market}"),
    ] {
        let known = tag(&ann.client, &path);
        let unless =
            |tags: &str| asked(&ann.client, "GET", &path, ("if-none-match", tags), &Value::Null);
        for tags in [&known, &format!("W/{known}"), &format!("\"x\", {known}"), "*"] {
            let answer = unless(tags);
            assert_eq!((answer.status, answer.header("etag")), (304, known.as_str()), "{answer:?}");
            assert!(answer.body.is_empty() && answer.header("content-type").is_empty());
        }
        for tags in ["\"x\"", "x", ""] {
            assert_eq!(unless(tags).status, 200, "{tags}");
        }
        let only_if =
            |tags: &str| asked(&ann.client, "GET", &path, ("if-match", tags), &Value::Null);
        assert_eq!(only_if(&known).status, 200);
        only_if("\"x\"").refused(412, "PRECONDITION_FAILED");
        bob.place(&market, "SELL", "yes", "0.50", "1").ok(&shapes::placed());
        bob.place(&market, "SELL", "yes", "0.56", "1").ok(&shapes::placed());
        let answer = unless(&known);
        assert_eq!(answer.status, 200, "{path}");
        assert_ne!(answer.header("etag"), known);
        bob.client.delete("/trading/orders");
    }
}

#[test]
fn a_compressed_answer_has_a_tag_of_its_own_that_guards_too() {
    let venue = Venue::open();
    let long = "rain ".repeat(900);
    let texts = json!({"descriptions": {"pt": long, "en": long, "es": long}});
    let market = venue.market_with(&texts);
    let path = format!("/markets/{market}");
    let plain = tag(&venue.operator, &path);
    let packed = venue.operator.send("GET", &path, &[("accept-encoding", "gzip")], None);
    assert_eq!(packed.header("content-encoding"), "gzip");
    let packed = packed.header("etag").to_owned();
    assert_ne!(packed, plain);
    let known = [("accept-encoding", "gzip"), ("if-none-match", packed.as_str())];
    assert_eq!(venue.operator.send("GET", &path, &known, None).status, 304);
    let write = format!("/admin/markets/{market}");
    let body = json!({"highlighted": true});
    assert_eq!(asked(&venue.operator, "PATCH", &write, ("if-match", &packed), &body).status, 200);
    let answer = asked(&venue.operator, "PATCH", &write, ("if-match", &packed), &body);
    // It changed nothing but the flag; the flag is part of what can be revised.
    answer.refused(412, "PRECONDITION_FAILED");
}

#[test]
fn a_write_with_a_condition_that_is_not_checked_is_refused() {
    for operation in operations().filter(|operation| operation.method != "GET") {
        let scene = Scene::new();
        let guarded = operation.parameters().any(|parameter| parameter["name"] == "If-Match");
        let conditions =
            [("if-unmodified-since", "Wed, 25 Nov 2026 12:00:00 GMT"), ("if-none-match", "*")];
        let name = |header: &str| match header {
            "if-match" => "If-Match",
            "if-none-match" => "If-None-Match",
            _ => "If-Unmodified-Since",
        };
        let more = [("if-match", "\"bogus\"")].into_iter().filter(|_| !guarded);
        for (header, value) in conditions.into_iter().chain(more) {
            let answer = scene.request(&operation).with_header(header, value).send();
            answer.bad_as(name(header), "UNKNOWN_FIELD");
        }
        if guarded {
            let answer = scene.request(&operation).with_header("if-match", "\"bogus\"").send();
            answer.refused(412, "PRECONDITION_FAILED");
        }
    }
}
