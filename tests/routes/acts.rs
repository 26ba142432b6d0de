//! Operators' acts: who did it and why, in the journal.

use exchange::command::Command;
use exchange::units::Money;
use serde_json::{Value, json};

use super::client::Answer;
use super::scene::Scene;
use super::venue::Venue;

/// The act of the record that a request made.
#[track_caller]
fn act(venue: &Venue, answer: &Answer) -> Value {
    let page = format!("/admin/journal?from={}&limit=1", answer.sequence());
    venue.operator.get(&page).json["records"][0]["act"].clone()
}

/// Who the venue's operator is.
fn operator(venue: &Venue) -> (Value, Value) {
    let who = venue.operator.get("/session").json;
    (who["user"]["id"].clone(), who["keyId"].clone())
}

#[test]
fn the_journal_says_which_operator_did_it_and_why() {
    let venue = Venue::open();
    let (user, key) = operator(&venue);
    let ann = venue.trader("ann");
    let pay = format!("/admin/users/{}/deposits", ann.id);
    let post = |body: Value| venue.operator.post(&pay, &body);
    let bare = json!({"userId": user, "keyId": key});
    assert_eq!(act(&venue, &post(json!({"amount": "1"}))), bare);
    let paid = post(json!({"amount": "1", "reason": "paid \u{1f4b6}", "reference": "bank/1"}));
    let mut said = bare.clone();
    (said["reason"], said["reference"]) = (json!("paid \u{1f4b6}"), json!("bank/1"));
    assert_eq!(act(&venue, &paid), said);
    // A user's own commands are nobody's act.
    let market = venue.market();
    assert_eq!(act(&venue, &ann.place(&market, "BUY", "yes", "0.10", "1")), Value::Null);
    // What has no body has its reason in the query.
    let key = venue.operator.post(
        &format!("/admin/users/{}/keys", ann.id),
        &json!({"role": "reader", "label": "x", "reason": "asked for"}),
    );
    assert_eq!(act(&venue, &key)["reason"], "asked for");
    let revoke = format!("/admin/users/{}/keys/{}?reason=lost%20it", ann.id, key.text("keyId"));
    assert_eq!(act(&venue, &venue.operator.delete(&revoke))["reason"], "lost it");
    let evidence = json!({"url": "https://news.example.org/1", "sha256": "0f".repeat(32)});
    let resolved = json!({"winningOutcomeId": "yes", "evidence": evidence, "reason": "as it says"});
    let resolved = venue.act(&market, "resolve", &resolved);
    let shown = act(&venue, &resolved);
    assert_eq!((&shown["evidence"], &shown["reason"]), (&evidence, &json!("as it says")));
}

#[test]
fn the_journal_says_what_became_of_an_act() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let result = |answer: &Answer| {
        let page = format!("/admin/journal?acts=true&from={}&limit=1", answer.sequence());
        venue.operator.get(&page).json["records"][0]["result"].clone()
    };
    let pay = |path: &str, amount: &str| {
        venue.operator.post(&format!("/admin/users/{}/{path}", ann.id), &json!({"amount": amount}))
    };
    let paid = pay("deposits", "5");
    assert_eq!((paid.status, result(&paid)), (200, json!("ACCEPTED")));
    let refused = pay("withdrawals", "900");
    refused.refused(422, "INSUFFICIENT_FUNDS");
    assert_eq!(result(&refused), "INSUFFICIENT_FUNDS");
    venue.ask(Command::SetTwoPersons { above: Some(Money::new(100_000_000)) });
    let proposed = pay("withdrawals", "5");
    assert_eq!((proposed.status, result(&proposed)), (202, json!("PROPOSED")));
    assert_eq!(result(&paid), "ACCEPTED");
}

#[test]
fn a_deposit_that_is_typed_twice_is_refused_by_name() {
    let venue = Venue::open();
    let ann = venue.trader_with("ann", "10");
    let pay = |path: &str, reference: &str| {
        let body = json!({"amount": "1", "reference": reference});
        venue.operator.post(&format!("/admin/users/{}/{path}", ann.id), &body)
    };
    assert_eq!(pay("deposits", "b-1").status, 200);
    pay("deposits", "b-1").refused(409, "REFERENCE_USED");
    pay("withdrawals", "b-1").refused(409, "REFERENCE_USED");
    assert_eq!(pay("withdrawals", "b-2").status, 200);
    assert_eq!(ann.balance().0, "10.00");
}

#[test]
fn acts_alone_are_listed() {
    let scene = Scene::new();
    let mut from = json!(1);
    let mut acts = 0;
    while !from.is_null() {
        let page = format!("/admin/journal?acts=true&limit=10&from={from}");
        let page = scene.venue.operator.get(&page).json;
        let records = page["records"].as_array().unwrap();
        assert!(records.iter().all(|record| record["act"]["userId"].is_string()), "{page}");
        acts += records.len();
        from = page["next"].clone();
    }
    assert!(acts > 10, "{acts}");
}

#[test]
fn bad_grounds_are_named() {
    let scene = Scene::new();
    let operator = &scene.venue.operator;
    let pay = format!("/admin/users/{}/deposits", scene.ann.id);
    for reason in [json!(""), json!(" "), json!(1), json!(null), json!("a".repeat(501))] {
        operator.post(&pay, &json!({"amount": "1", "reason": reason})).bad(&["reason"]);
    }
    let twice = br#"{"amount": "1", "reason": "a", "reason": "b"}"#;
    operator.send("POST", &pay, &[], Some(twice)).bad(&["reason"]);
    for reference in ["", "a b", &"a".repeat(65)] {
        operator.post(&pay, &json!({"amount": "1", "reference": reference})).bad(&["reference"]);
    }
    let resolve = format!("/admin/markets/{}/resolve", scene.market);
    let shown = |evidence: Value| json!({"winningOutcomeId": "yes", "evidence": evidence});
    operator.post(&resolve, &shown(json!({}))).bad(&["evidence.url"]);
    operator
        .post(&resolve, &shown(json!({"url": "ftp://x", "sha256": "0F".repeat(32)})))
        .bad(&["evidence.url", "evidence.sha256"]);
    // Traders give no reasons.
    scene
        .ann
        .client
        .post("/trading/heartbeat", &json!({"timeoutSeconds": 0, "reason": "x"}))
        .bad(&["reason"]);
}
