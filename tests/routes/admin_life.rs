//! `POST /admin/markets/{marketId}/...`: the life cycle of markets (semantics 3).

use serde_json::{Value, json};

use super::shapes;
use super::venue::{NOBODY, Venue};

const LATER: &str = "2999-06-01T00:00:00.000Z";

/// The actions that bring a draft to each status.
const WAYS: [(&str, &[&str]); 8] = [
    ("DRAFT", &[]),
    ("ACTIVE", &["publish"]),
    ("SUSPENDED", &["publish", "suspend"]),
    ("CLOSED", &["publish", "close"]),
    ("RESOLVED", &["publish", "resolve"]),
    ("DISPUTED", &["publish", "resolve", "dispute"]),
    ("SETTLED", &["publish", "resolve"]),
    ("VOIDED", &["publish", "void"]),
];

/// Each allowed transition: status, action, next status; everything else is refused.
const MOVES: [(&str, &str, &str); 18] = [
    ("DRAFT", "publish", "ACTIVE"),
    ("DRAFT", "void", "VOIDED"),
    ("ACTIVE", "suspend", "SUSPENDED"),
    ("ACTIVE", "close", "CLOSED"),
    ("ACTIVE", "resolve", "RESOLVED"),
    ("ACTIVE", "void", "VOIDED"),
    ("SUSPENDED", "reopen", "ACTIVE"),
    ("SUSPENDED", "close", "CLOSED"),
    ("SUSPENDED", "resolve", "RESOLVED"),
    ("SUSPENDED", "void", "VOIDED"),
    ("CLOSED", "reopen later", "ACTIVE"),
    ("CLOSED", "resolve", "RESOLVED"),
    ("CLOSED", "void", "VOIDED"),
    ("RESOLVED", "dispute", "DISPUTED"),
    ("RESOLVED", "void", "VOIDED"),
    ("DISPUTED", "resolve", "RESOLVED"),
    ("DISPUTED", "void", "VOIDED"),
    ("SUSPENDED", "reopen later", "ACTIVE"),
];

const ACTIONS: [&str; 8] =
    ["publish", "suspend", "reopen", "reopen later", "close", "resolve", "dispute", "void"];

/// The path and the body of an action.
fn request(action: &str) -> (&str, Value) {
    match action {
        "reopen later" => ("reopen", json!({"deadline": LATER})),
        "resolve" => ("resolve", json!({"winningOutcomeId": "yes"})),
        other => (other, json!({})),
    }
}

#[test]
fn every_status_allows_only_its_listed_transitions() {
    let venue = Venue::open();
    for (status, way) in WAYS {
        for action in ACTIONS {
            let window = if status == "SETTLED" { 0 } else { 3600 };
            let market = venue.draft(&json!({"disputeWindowSeconds": window}));
            for step in way {
                let (path, body) = request(step);
                assert_eq!(venue.act(&market, path, &body).status, 200, "{status} {step}");
            }
            let path = format!("/markets/{market}");
            let before = venue.operator.get(&path).json;
            assert_eq!(before["status"], *status);
            let (step, body) = request(action);
            let answer = venue.act(&market, step, &body);
            let allowed = MOVES.iter().find(|(from, by, _)| (*from, *by) == (status, action));
            if let Some((_, _, to)) = allowed {
                let moved = answer.ok(&shapes::market_detail());
                assert_eq!(moved["status"], **to, "{status} {action}");
                let read = venue.operator.get(&path);
                assert_eq!((&read.json, read.sequence()), (&moved, answer.sequence()));
            } else {
                answer.refused(409, "INVALID_TRANSITION");
                assert_eq!(venue.operator.get(&path).json, before, "{status} {action}");
            }
        }
    }
}

#[test]
fn a_closed_market_reopens_with_a_later_deadline_only() {
    let venue = Venue::open();
    let market = venue.market();
    venue.act(&market, "close", &json!({}));
    let reopen = |deadline: &str| venue.act(&market, "reopen", &json!({"deadline": deadline}));
    let early = reopen("2998-01-01T00:00:00Z");
    early.refused(409, "INVALID_TRANSITION");
    assert!(early.text("detail").contains("later than it had"), "{early:?}");
    let closed = venue.act(&market, "close", &json!({}));
    closed.refused(409, "INVALID_TRANSITION");
    assert!(closed.text("detail").contains("CLOSED"), "{closed:?}");
    reopen("2999-01-01T00:00:00.000Z").refused(409, "INVALID_TRANSITION");
    reopen("never").bad_as("deadline", "INVALID_VALUE");
    let opened = reopen("2999-01-01T00:00:00.001Z").ok(&shapes::market_detail());
    assert_eq!(opened["deadline"], "2999-01-01T00:00:00.001Z");
}

#[test]
fn resolving_closes_first_and_announces() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market_with(&json!({"disputeWindowSeconds": 3600}));
    let order = ann.place(&market, "BUY", "yes", "0.40", "1").text("orderId");
    let resolve =
        |winner: &str| venue.act(&market, "resolve", &json!({"winningOutcomeId": winner}));
    let resolved = resolve("yes").ok(&shapes::market_detail());
    let shown = |market: &Value| {
        ["status", "winningOutcomeId", "settlementPrice"].map(|member| market[member].clone())
    };
    assert_eq!(shown(&resolved), [json!("RESOLVED"), json!("yes"), Value::Null]);
    assert_eq!(ann.get(&format!("/trading/orders/{order}")).text("cancelReason"), "MARKET_CLOSED");
    venue.act(&market, "dispute", &json!({})).ok(&shapes::market_detail());
    let again = resolve("no").ok(&shapes::market_detail());
    assert_eq!(shown(&again), [json!("RESOLVED"), json!("no"), Value::Null]);
    let other = venue.market();
    venue.settle(&other, "no");
    let settled = ann.get(&format!("/markets/{other}")).ok(&shapes::market_detail());
    assert_eq!(shown(&settled), [json!("SETTLED"), json!("no"), json!("0.00")]);
}

#[test]
fn voiding_cancels_and_states_its_price() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    for (body, price) in [
        (json!({}), "0.50"),
        (json!({"price": "0.3"}), "0.30"),
        (json!({"price": "0"}), "0.00"),
        (json!({"price": "1.00"}), "1.00"),
    ] {
        let market = venue.market();
        let order = ann.place(&market, "BUY", "yes", "0.40", "1").text("orderId");
        let voided = venue.act(&market, "void", &body).ok(&shapes::market_detail());
        assert_eq!(voided["settlementPrice"], *price);
        let order = ann.get(&format!("/trading/orders/{order}")).ok(&shapes::order());
        assert_eq!(order["cancelReason"], "MARKET_VOIDED");
    }
    assert_eq!(ann.balance(), ("100.00".to_owned(), "0.00".to_owned()));
    let market = venue.market();
    for price in ["1.01", "-0.1", "0.505", "2", "", "0.5 "] {
        venue.act(&market, "void", &json!({"price": price})).bad(&["price"]);
    }
    venue.act(&market, "void", &json!({"price": 0.5})).bad_as("price", "WRONG_TYPE");
    assert_eq!(venue.operator.get(&format!("/markets/{market}")).text("status"), "ACTIVE");
}

#[test]
fn a_voided_draft_becomes_public() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.draft(&json!({}));
    venue.act(&market, "void", &json!({})).ok(&shapes::market_detail());
    let list = ann.get("/markets/public/list").json;
    assert_eq!((&list["total"], &list["markets"][0]["status"]), (&json!(1), &json!("VOIDED")));
    ann.get(&format!("/markets/{market}")).ok(&shapes::market_detail());
    let activity = ann.get(&format!("/markets/{market}/activity")).json;
    assert_eq!(activity["activities"][0]["statusFrom"], "DRAFT");
}

#[test]
fn bodies_may_be_absent_but_not_wrong() {
    let venue = Venue::open();
    let market = venue.market();
    let path = |action: &str| format!("/admin/markets/{market}/{action}");
    for action in ["publish", "suspend", "reopen", "close", "dispute", "void"] {
        venue.act(&market, action, &json!({"why": "x"})).bad_as("why", "UNKNOWN_FIELD");
        venue.act(&market, action, &json!([])).bad_as("body", "WRONG_TYPE");
        let answer = venue.operator.send("POST", &path(action), &[], Some(b"{"));
        answer.bad_as("body", "MALFORMED");
        venue.act(NOBODY, action, &json!({})).refused(404, "MARKET_NOT_FOUND");
        venue.act("x_", action, &json!({})).bad_as("marketId", "INVALID_VALUE");
    }
    let resolve = |body: Value| venue.act(&market, "resolve", &body);
    resolve(json!({})).bad_as("winningOutcomeId", "REQUIRED");
    resolve(json!({"winningOutcomeId": null})).bad_as("winningOutcomeId", "WRONG_TYPE");
    resolve(json!({"winningOutcomeId": "YES"})).bad_as("winningOutcomeId", "INVALID_VALUE");
    venue.operator.send("POST", &path("resolve"), &[], None).refused(411, "LENGTH_REQUIRED");
    // No body at all, not even a length.
    let suspended = venue.operator.send("POST", &path("suspend"), &[], None);
    assert_eq!(suspended.ok(&shapes::market_detail())["status"], "SUSPENDED");
    let reopened = venue.operator.send("POST", &path("reopen"), &[], Some(b""));
    assert_eq!(reopened.ok(&shapes::market_detail())["status"], "ACTIVE");
    let voided = venue.operator.send("POST", &path("void"), &[], None);
    assert_eq!(voided.ok(&shapes::market_detail())["settlementPrice"], "0.50");
    venue.act(&market, "explode", &json!({})).refused(404, "NOT_FOUND");
}
