//! Announced outcomes that holders dispute.

use serde_json::{Value, json};

use super::venue::{Trader, Venue};

#[test]
fn a_holder_disputes_an_outcome_once_and_the_bond_goes_to_who_was_right() {
    let venue = Venue::open();
    let (ann, ben, cat) = (venue.trader("ann"), venue.trader("ben"), venue.trader("cat"));
    let market = venue.market_with(&json!({"disputeWindowSeconds": 3600}));
    venue.trade(&market, &ann, &ben, "0.50", "10");
    let file = |by: &Trader, reason: &str| {
        by.client.post("/account/disputes", &json!({"marketId": market, "reason": reason}))
    };
    let announce = |outcome: &str| {
        let answer = venue.act(&market, "resolve", &json!({"winningOutcomeId": outcome}));
        assert_eq!(answer.status, 200, "{}", answer.json);
    };
    file(&ann, "too early").refused(409, "INVALID_TRANSITION");
    announce("no");
    file(&cat, "holds nothing").refused(422, "NO_CONTRACTS");
    let before = ann.balance();
    let filed = file(&ann, "it rained");
    assert_eq!((filed.status, &filed.json["state"]), (201, &json!("open")), "{}", filed.json);
    assert_eq!(filed.json["bond"], "5.00");
    assert_eq!(ann.balance().1, "5.00", "{before:?}");
    assert_eq!(ann.client.get(&format!("/markets/{market}")).json["status"], "DISPUTED");
    let listed = venue.operator.get("/admin/disputes").json;
    assert_eq!(listed["disputes"][0]["reason"], "it rained");
    assert_eq!(listed["disputes"][0]["userId"], ann.id.as_str());
    assert_eq!(ann.client.get("/admin/disputes").status, 403);
    assert_eq!(ben.client.get("/account/disputes").json, json!({"disputes": []}));

    announce("yes");
    assert_eq!(ann.balance(), before);
    file(&ann, "again").refused(409, "ALREADY_DISPUTED");
    let own = ann.client.get("/account/disputes").json;
    assert_eq!(own["disputes"][0]["state"], "right");

    assert_eq!(file(&ben, "it did not").status, 201);
    let taken = venue.operator.get("/admin/fees").json;
    announce("yes");
    let wrong = ben.client.get("/account/disputes").json;
    assert_eq!(wrong["disputes"][0]["state"], "wrong");
    let fees = venue.operator.get("/admin/fees").json;
    assert_ne!(fees, taken, "the venue has the bond");
    let lines = ben.client.get("/account/ledger").json;
    let causes: Vec<_> = lines["lines"].as_array().unwrap().iter().map(|it| &it["cause"]).collect();
    assert_eq!(json!(causes[..2]), json!(["DISPUTE_BOND_LOST", "DISPUTE_BOND_HELD"]));
    assert_eq!(lines["lines"][0]["marketId"], market);
    // The bond; his contracts are not settled yet.
    let pnl = ben.client.get("/account/pnl").json;
    assert_eq!((&pnl["realisedPnl"], &pnl["equity"]), (&json!("-5.00"), &json!("95.00")), "{pnl}");
}

#[test]
fn without_a_bond_only_operators_dispute() {
    let venue = Venue::by_invitation();
    let ann = venue.trader("ann");
    let market = venue.market();
    let body = json!({"marketId": market, "reason": "no"});
    assert_eq!(ann.client.post("/account/disputes", &body).status, 403);
    assert_eq!(venue.operator.get("/venue").json["disputeBond"], Value::Null);
}
