//! Heartbeats, trading modes and exposure limits.

use std::time::Duration;

use serde_json::{Value, json};

use super::shape::{Shape, object};
use super::shapes;
use super::venue::{NOBODY, Trader, Venue, order, with, without};

const HEARTBEAT: &str = "/trading/heartbeat";

fn mode() -> Shape {
    object([("mode", Shape::OneOf(shapes::MODES))])
}

fn buy(trader: &Trader, market: &str) -> super::client::Answer {
    trader.place(market, "BUY", "yes", "0.10", "1")
}

#[test]
fn a_silent_traders_orders_are_cancelled_until_the_next_heartbeat() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let armed = ann.client.post(HEARTBEAT, &json!({"timeoutSeconds": 5})).ok(&shapes::heartbeat());
    assert!(armed["expiresAt"].is_string() && armed["expired"] == false);
    let read = |trader: &Trader| {
        let all = trader.get(HEARTBEAT).ok(&shapes::heartbeats());
        assert_eq!(all["groups"], json!([]));
        without(all, "groups")
    };
    assert_eq!(read(&ann), armed);
    let order = buy(&ann, &market).text("orderId");
    let bobs = buy(&bob, &market).text("orderId");
    let path = format!("/trading/orders/{order}");
    let gone = (0..1500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        ann.get(&path).json["status"] == "CANCELLED"
    });
    assert!(gone);
    assert_eq!(ann.get(&path).ok(&shapes::order())["cancelReason"], "HEARTBEAT_EXPIRED");
    assert_eq!(read(&ann), json!({"group": null, "expiresAt": null, "expired": true}));
    buy(&ann, &market).refused(422, "HEARTBEAT_EXPIRED");
    assert_eq!(bob.get(&format!("/trading/orders/{bobs}")).text("status"), "OPEN");
    let off = ann.client.post(HEARTBEAT, &json!({"timeoutSeconds": 0})).ok(&shapes::heartbeat());
    assert_eq!(off, json!({"group": null, "expiresAt": null, "expired": false}));
    buy(&ann, &market).ok(&shapes::placed());
    assert_eq!(read(&bob), off);
}

/// One program that stops takes no other's orders with it.
#[test]
fn a_silent_group_loses_its_own_orders_only() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let beat = |seconds: u32, group: &str| {
        let body = json!({"timeoutSeconds": seconds, "group": group});
        ann.client.post(HEARTBEAT, &body).ok(&shapes::heartbeat())
    };
    let (short, long) = (beat(5, "a"), beat(300, "b"));
    assert_eq!((&short["group"], &long["group"]), (&json!("a"), &json!("b")));
    // A beat of a group renews that of no other, with or without a record.
    let renewed = beat(300, "b");
    assert!(renewed["expiresAt"].as_str() >= long["expiresAt"].as_str());
    let read = ann.get(HEARTBEAT).ok(&shapes::heartbeats());
    assert_eq!(read["groups"], json!([short, renewed]));
    assert_eq!(read["expiresAt"], Value::Null);
    let placed = |group: &Value| {
        let body = order(&market, "BUY", "yes", "0.10", "1");
        ann.order(&with(body, &json!({ "group": group })))
    };
    let [first, second] = ["a", "b"].map(|group| placed(&json!(group)).text("orderId"));
    let alone = placed(&Value::Null);
    alone.bad_as("group", "WRONG_TYPE");
    let alone = buy(&ann, &market).text("orderId");
    let status = |order: &str| ann.get(&format!("/trading/orders/{order}")).text("status");
    let gone = (0..1500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        status(&first) == "CANCELLED"
    });
    assert!(gone);
    assert_eq!([status(&second), status(&alone)], ["OPEN", "OPEN"]);
    placed(&json!("a")).refused(422, "HEARTBEAT_EXPIRED");
    placed(&json!("b")).ok(&shapes::placed());
    let ran_out = &ann.get(HEARTBEAT).ok(&shapes::heartbeats())["groups"][0];
    assert_eq!(*ran_out, json!({"group": "a", "expiresAt": null, "expired": true}));
    beat(0, "a");
    placed(&json!("a")).ok(&shapes::placed());
    // As many as a user may have.
    for number in 0..31 {
        beat(300, &format!("more-{number}"));
    }
    let more = json!({"timeoutSeconds": 300, "group": "a"});
    ann.client.post(HEARTBEAT, &more).refused(422, "HEARTBEAT_LIMIT");
    ann.client.post(HEARTBEAT, &json!({"timeoutSeconds": 300, "group": "a b"})).bad(&["group"]);
}

/// A trader who beats every second must not write a record a second.
#[test]
fn a_beat_that_only_renews_is_answered_without_a_record_and_read_as_answered() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let beat = |seconds: u32, key: &[(&str, &str)]| {
        let body = json!({"timeoutSeconds": seconds}).to_string();
        let answer = ann.client.send("POST", HEARTBEAT, key, Some(body.as_bytes()));
        (answer.sequence(), answer.ok(&shapes::heartbeat()))
    };
    let (first, armed) = beat(300, &[]);
    for _ in 0..50 {
        let (sequence, renewed) = beat(300, &[]);
        assert_eq!((sequence, &renewed["expired"]), (first, &json!(false)));
        assert!(renewed["expiresAt"].as_str() >= armed["expiresAt"].as_str());
        let read = ann.get(HEARTBEAT);
        let shown = without(read.ok(&shapes::heartbeats()), "groups");
        assert_eq!((read.sequence(), shown), (first, renewed));
    }
    // Another time-out, a key, and the end are commands as before.
    let (second, shorter) = beat(60, &[]);
    assert!(second > first && shorter["expiresAt"].as_str() < armed["expiresAt"].as_str());
    assert_eq!(without(ann.get(HEARTBEAT).json, "groups"), shorter);
    let (third, keyed) = beat(60, &[("Idempotency-Key", "once")]);
    assert!(third > second);
    assert_eq!(without(ann.get(HEARTBEAT).json, "groups"), keyed);
    let (fourth, _) = beat(60, &[]);
    assert!(fourth > third, "what a key did is not remembered");
    let (fifth, off) = beat(0, &[]);
    assert!(fifth > fourth);
    assert_eq!(without(ann.get(HEARTBEAT).json, "groups"), off);
}

#[test]
fn a_timeout_has_bounds() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    for good in [0, 5, 300] {
        ann.client.post(HEARTBEAT, &json!({"timeoutSeconds": good})).ok(&shapes::heartbeat());
    }
    for bad in [1, 4, 301, u64::MAX] {
        let answer = ann.client.post(HEARTBEAT, &json!({"timeoutSeconds": bad}));
        answer.bad_as("timeoutSeconds", "OUT_OF_BOUNDS");
        let detail = &answer.json["errors"][0]["detail"];
        assert_eq!(detail, "must be 5 to 300, or 0 to switch it off", "{bad}");
    }
    for bad in [json!("5"), json!(5.5), json!(-5), Value::Null] {
        let answer = ann.client.post(HEARTBEAT, &json!({"timeoutSeconds": bad}));
        answer.bad_as("timeoutSeconds", "WRONG_TYPE");
    }
    ann.client.post(HEARTBEAT, &json!({})).bad_as("timeoutSeconds", "REQUIRED");
}

#[test]
fn the_operator_restricts_one_user_or_all() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let op = &venue.operator;
    let order = buy(&ann, &market).text("orderId");
    let (order, users) = (format!("/trading/orders/{order}"), format!("/admin/users/{}", ann.id));
    let set = |path: &str, name: &str| op.post(path, &json!({"mode": name}));
    let ann_mode = format!("{users}/mode");
    // As shown to the trader.
    let modes = |trader: &Trader| {
        let limits = trader.client.get("/account/limits").ok(&shapes::limits());
        [&limits["mode"], &limits["venueMode"]].map(|mode| mode.as_str().unwrap().to_owned())
    };
    assert_eq!(modes(&ann), ["normal", "normal"]);

    assert_eq!(set(&ann_mode, "read-only").ok(&shapes::user())["mode"], "read-only");
    buy(&ann, &market).refused(422, "TRADING_READ_ONLY");
    ann.client.delete(&order).refused(422, "TRADING_READ_ONLY");
    ann.client.delete("/trading/orders").refused(422, "TRADING_READ_ONLY");
    ann.client.patch(&order, &json!({"price": "0.11"})).refused(422, "TRADING_READ_ONLY");
    buy(&bob, &market).ok(&shapes::placed());
    assert_eq!(op.get(&users).ok(&shapes::user())["mode"], "read-only");
    assert_eq!(modes(&ann), ["read-only", "normal"]);
    assert_eq!(modes(&bob), ["normal", "normal"]);
    let listed = op.get("/admin/users").ok(&shapes::page("users", shapes::user()));
    let all: Vec<&Value> =
        listed["users"].as_array().unwrap().iter().map(|user| &user["mode"]).collect();
    assert_eq!(all, ["normal", "read-only", "normal"]);

    set(&ann_mode, "cancel-only").ok(&shapes::user());
    buy(&ann, &market).refused(422, "TRADING_CANCEL_ONLY");
    ann.client.patch(&order, &json!({"price": "0.11"})).refused(422, "TRADING_CANCEL_ONLY");
    ann.client.delete(&order).ok(&shapes::order());

    assert_eq!(op.get("/admin/venue/mode").ok(&mode())["mode"], "normal");
    assert_eq!(set("/admin/venue/mode", "cancel-only").ok(&mode())["mode"], "cancel-only");
    assert_eq!(modes(&bob), ["normal", "cancel-only"]);
    buy(&bob, &market).refused(422, "TRADING_CANCEL_ONLY");
    set("/admin/venue/mode", "normal").ok(&mode());
    set(&ann_mode, "normal").ok(&shapes::user());
    buy(&ann, &market).ok(&shapes::placed());

    for bad in [json!("NORMAL"), json!("")] {
        op.post("/admin/venue/mode", &json!({"mode": bad})).bad_as("mode", "INVALID_VALUE");
    }
    set(&format!("/admin/users/{NOBODY}/mode"), "normal").refused(404, "USER_NOT_FOUND");
}

#[test]
fn a_users_exposure_has_a_limit() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let market = venue.market();
    let op = &venue.operator;
    let path = format!("/admin/users/{}/exposure-limit", ann.id);
    let limit = |limit: Value| op.post(&path, &json!({"limit": limit}));
    assert_eq!(limit(json!("1")).ok(&shapes::user())["exposureLimit"], "1.00");
    venue.trade(&market, &ann, &bob, "0.60", "1");
    ann.place(&market, "BUY", "yes", "0.41", "1").refused(422, "EXPOSURE_LIMIT");
    ann.place(&market, "BUY", "yes", "0.40", "1").ok(&shapes::placed());
    bob.place(&market, "BUY", "yes", "0.41", "10").ok(&shapes::placed());
    // Orders that close contracts are always accepted.
    limit(json!("0")).ok(&shapes::user());
    ann.place(&market, "SELL", "yes", "0.41", "1").ok(&shapes::placed());
    assert_eq!(op.delete(&path).ok(&shapes::user())["exposureLimit"], Value::Null);
    ann.place(&market, "BUY", "yes", "0.39", "10").ok(&shapes::placed());
    limit(json!("-1")).bad_as("limit", "INVALID_VALUE");
    limit(json!(1)).bad_as("limit", "WRONG_TYPE");
    limit(Value::Null).bad_as("limit", "WRONG_TYPE");
    let nobody = format!("/admin/users/{NOBODY}/exposure-limit");
    op.delete(&nobody).refused(404, "USER_NOT_FOUND");
    op.post(&path, &json!({})).bad_as("limit", "REQUIRED");
}

#[test]
fn switches_are_set_once_under_a_key() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let user = format!("/admin/users/{}", ann.id);
    for (client, path, body, next) in [
        (
            &ann.client,
            HEARTBEAT.to_owned(),
            json!({"timeoutSeconds": 300}),
            json!({"timeoutSeconds": 0}),
        ),
        (
            &venue.operator,
            "/admin/venue/mode".to_owned(),
            json!({"mode": "read-only"}),
            json!({"mode": "normal"}),
        ),
        (
            &venue.operator,
            format!("{user}/mode"),
            json!({"mode": "read-only"}),
            json!({"mode": "normal"}),
        ),
        (
            &venue.operator,
            format!("{user}/exposure-limit"),
            json!({"limit": "5"}),
            json!({"limit": "6"}),
        ),
    ] {
        let send = || {
            let body = body.to_string();
            client.send("POST", &path, &[("idempotency-key", &path)], Some(body.as_bytes()))
        };
        let first = send();
        assert_eq!(first.status, 200, "{first:?}");
        assert_ne!(client.post(&path, &next).json, first.json);
        let again = send();
        assert_eq!((&again.json, again.header("idempotent-replay")), (&first.json, "true"));
    }
}
