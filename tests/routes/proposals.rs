//! What takes two persons: proposed by one operator, confirmed by another.

use exchange::command::Command;
use exchange::units::Money;
use serde_json::{Value, json};

use super::client::{Answer, Client};
use super::venue::Venue;

/// A venue where resolving, voiding and withdrawals above 10.00 take two, and the second operator.
fn venue() -> (Venue, Client) {
    let venue = Venue::open();
    venue.ask(Command::SetTwoPersons { above: Some(Money::new(1_000_000_000)) });
    let second = venue.trader("second");
    let key = json!({"role": "operator", "label": "second"});
    let client = venue.key_of(&second.id, &key);
    (venue, client)
}

fn end(by: &Client, proposed: &Answer, how: &str) -> Answer {
    by.post(&format!("/admin/proposals/{}/{how}", proposed.json["proposal"]), &json!({}))
}

#[test]
fn a_resolution_is_done_when_another_operator_confirms_it() {
    let (venue, second) = venue();
    let market = venue.market();
    let resolve = json!({"winningOutcomeId": "yes", "reason": "it rained"});
    let dry = |act: &str, body: &Value| venue.act(&market, &format!("{act}?dryRun=true"), body);
    let seen = dry("resolve", &resolve).json;
    assert_eq!((&seen["onlyProposed"], &seen["statusTo"]), (&json!(true), &json!("SETTLED")));
    assert_eq!(dry("void", &json!({})).json["onlyProposed"], true);
    assert_eq!(dry("suspend", &json!({})).json["onlyProposed"], false);
    let proposed = venue.act(&market, "resolve", &resolve);
    assert_eq!(proposed.status, 202, "{proposed:?}");
    let json = &proposed.json;
    assert_eq!((&json["action"], &json["winningOutcomeId"]), (&json!("resolve"), &json!("yes")));
    assert_eq!((&json["marketId"], &json["userId"]), (&json!(market), &Value::Null));
    let status = || venue.operator.get(&format!("/markets/{market}")).json["status"].clone();
    assert_eq!(status(), "ACTIVE");
    assert_eq!(second.get("/admin/proposals").json["proposals"], json!([json]));
    end(&venue.operator, &proposed, "confirm").refused(409, "PROPOSAL_OF_OWN");
    assert_eq!(end(&second, &proposed, "confirm").status, 204);
    assert_eq!(status(), "SETTLED");
    end(&second, &proposed, "confirm").refused(404, "PROPOSAL_NOT_FOUND");
    assert_eq!(second.get("/admin/proposals").json["proposals"], json!([]));
}

#[test]
fn only_large_withdrawals_take_two() {
    let (venue, second) = venue();
    let ann = venue.trader("ann");
    let pay = |amount: &str| {
        let body = json!({"amount": amount});
        venue.operator.post(&format!("/admin/users/{}/withdrawals", ann.id), &body)
    };
    assert_eq!(pay("10").status, 200);
    let proposed = pay("10.00000001");
    assert_eq!((proposed.status, &proposed.json["amount"]), (202, &json!("10.00000001")));
    assert_eq!(ann.balance().0, "90.00");
    pay("1000").refused(422, "INSUFFICIENT_FUNDS");
    assert_eq!(end(&second, &proposed, "reject").status, 204);
    end(&second, &proposed, "confirm").refused(404, "PROPOSAL_NOT_FOUND");
    assert_eq!(ann.balance().0, "90.00");
}

#[test]
fn a_large_withdrawal_that_was_asked_for_takes_two_and_a_cashier_is_one() {
    let (venue, _) = venue();
    let ann = venue.trader("ann");
    let asked = ann.client.post("/account/withdrawals", &json!({"amount": "20"}));
    let path = format!("/admin/transfers/{}/confirm", asked.json["transfer"]);
    let proposed = venue.operator.post(&path, &json!({}));
    assert_eq!((proposed.status, &proposed.json["transfer"]), (202, &asked.json["transfer"]));
    assert_eq!(ann.balance(), ("80.00".to_owned(), "20.00".to_owned()));
    let cashier = json!({"role": "cashier", "label": "till"});
    let cashier = venue.key_of(&venue.trader("till").id, &cashier);
    let void = venue.act(&venue.market(), "void", &json!({}));
    assert_eq!(end(&cashier, &void, "confirm").status, 403);
    assert_eq!(end(&cashier, &proposed, "confirm").status, 204);
    assert_eq!(ann.balance(), ("80.00".to_owned(), "0.00".to_owned()));
}

#[test]
fn a_proposal_that_is_repeated_under_its_key_is_one() {
    let (venue, second) = venue();
    let market = venue.market();
    let propose = || {
        let path = format!("/admin/markets/{market}/void");
        venue.operator.send("POST", &path, &[("idempotency-key", "v")], Some(b"{}"))
    };
    let (first, again) = (propose(), propose());
    assert_eq!((first.status, again.status), (202, 202), "{again:?}");
    assert_eq!(first.json, again.json);
    let list = venue.operator.get("/admin/proposals").json;
    assert_eq!(list["proposals"].as_array().map(Vec::len), Some(1), "{list}");
    let confirm = || {
        let path = format!("/admin/proposals/{}/confirm", first.json["proposal"]);
        second.send("POST", &path, &[("idempotency-key", "c")], Some(b"{}"))
    };
    assert_eq!((confirm().status, confirm().status), (204, 204));
    // What could not be done is not proposed.
    let draft = venue.draft(&json!({}));
    let resolve = json!({"winningOutcomeId": "yes"});
    venue.act(&draft, "resolve", &resolve).refused(409, "INVALID_TRANSITION");
}
