//! Dry runs of what operators cannot undo.

use serde_json::{Value, json};

use super::venue::{Venue, with};

const RUN: &str = "dryRun=true";

/// The last record of the venue.
fn head(venue: &Venue) -> u64 {
    venue.operator.get("/admin/venue/mode").sequence()
}

#[test]
fn a_dry_run_tells_whom_an_end_pays_and_records_nothing() {
    let venue = Venue::open();
    let (ann, ben) = (venue.trader("ann"), venue.trader("ben"));
    let market = venue.market();
    venue.trade(&market, &ann, &ben, "0.40", "5");
    ann.place(&market, "BUY", "yes", "0.10", "1");
    let before = head(&venue);
    let act = |action: &str, body: &Value| venue.act(&market, &format!("{action}?{RUN}"), body);
    let yes = json!({"winningOutcomeId": "yes"});
    let seen = act("resolve", &yes).json;
    let told = |seen: &Value, name: &str| seen[name].clone();
    assert_eq!(told(&seen, "dryRun"), true);
    assert_eq!([told(&seen, "statusFrom"), told(&seen, "statusTo")], ["ACTIVE", "SETTLED"]);
    assert_eq!((told(&seen, "usersPaid"), told(&seen, "paid")), (json!(1), json!("5.00")));
    assert_eq!(seen["impact"]["openOrders"], 1);
    assert!(seen["paysAt"].is_string(), "{seen}");
    let seen = act("void", &json!({"price": "0.40"})).json;
    assert_eq!((told(&seen, "usersPaid"), told(&seen, "paid")), (json!(2), json!("5.00")));
    assert_eq!(told(&seen, "statusTo"), "VOIDED");
    let seen = act("suspend", &json!({})).json;
    assert_eq!((told(&seen, "paysAt"), told(&seen, "paid")), (Value::Null, json!("0.00")));
    assert_eq!(head(&venue), before);
    // What it says comes true.
    venue.settle(&market, "yes");
    assert_eq!((ann.balance().0, ben.balance().0), ("103.00".to_owned(), "97.00".to_owned()));
}

#[test]
fn a_window_is_waited_for() {
    let venue = Venue::open();
    let market = venue.market_with(&json!({"disputeWindowSeconds": 60}));
    let seen = venue.act(&market, &format!("resolve?{RUN}"), &json!({"winningOutcomeId": "no"}));
    assert_eq!(seen.json["statusTo"], "RESOLVED", "{seen:?}");
}

#[test]
fn a_dry_run_is_refused_as_the_act_would_be() {
    let venue = Venue::open();
    let market = venue.market();
    venue.settle(&market, "yes");
    let yes = json!({"winningOutcomeId": "yes"});
    for (action, body) in [("resolve", &yes), ("void", &json!({})), ("suspend", &json!({}))] {
        let tried = venue.act(&market, &format!("{action}?{RUN}"), body);
        tried.refused(409, "INVALID_TRANSITION");
        let done = venue.act(&market, action, body);
        assert_eq!(tried.json["code"], done.json["code"]);
    }
    venue.act(&market, "resolve?dryRun=maybe", &yes).bad(&["dryRun"]);
    let event = venue.event(&json!({"mutuallyExclusive": true}));
    let of_event = json!({"eventId": event});
    let [one, other] = [(); 2].map(|()| venue.market_with(&with(of_event.clone(), &json!({}))));
    venue.settle(&one, "yes");
    venue.act(&other, &format!("resolve?{RUN}"), &yes).refused(409, "EVENT_ALREADY_WON");
}

#[test]
fn taking_fees_can_be_tried() {
    let venue = Venue::open();
    let (ann, ben) = (venue.trader("ann"), venue.trader("ben"));
    let market = venue.market_with(&json!({"takerFee": "0.1"}));
    venue.trade(&market, &ann, &ben, "0.50", "4");
    let take = |amount: &str| {
        venue.operator.post(&format!("/admin/fees/withdrawals?{RUN}"), &json!({"amount": amount}))
    };
    take("1000").refused(422, "INSUFFICIENT_FEES");
    let before = head(&venue);
    assert_eq!(take("0.1").json["available"], "0.10");
    assert_eq!(head(&venue), before);
}
