//! Money that users ask to bring in and to take out.

use serde_json::{Value, json};

use super::client::{Answer, Client};
use super::venue::Venue;

fn ask(by: &Client, kind: &str, amount: &str) -> Answer {
    by.post(&format!("/account/{kind}"), &json!({"amount": amount}))
}

fn answer(by: &Client, asked: &Answer, how: &str, body: &Value) -> Answer {
    by.post(&format!("/admin/transfers/{}/{how}", asked.json["transfer"]), body)
}

#[test]
fn a_withdrawal_is_set_aside_until_it_is_answered() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let balance = || ann.balance();
    let (all, none) = (balance().0, "0.00".to_owned());
    assert_eq!(all, "100.00");
    let asked = ask(&ann.client, "withdrawals", "40");
    assert_eq!((asked.status, &asked.json["state"]), (201, &json!("requested")));
    assert_eq!(balance(), ("60.00".to_owned(), "40.00".to_owned()));
    ask(&ann.client, "withdrawals", "60.01").refused(422, "INSUFFICIENT_FUNDS");
    // A trader cannot answer, and nobody else can take it back.
    assert_eq!(answer(&ann.client, &asked, "confirm", &json!({})).status, 403);
    let path = format!("/account/transfers/{}", asked.json["transfer"]);
    let ben = venue.trader("ben").client;
    ben.get(&path).refused(404, "TRANSFER_NOT_FOUND");
    ben.delete(&path).refused(404, "TRANSFER_NOT_FOUND");
    let refused = answer(&venue.operator, &asked, "refuse", &json!({"reason": "no"}));
    assert_eq!((refused.status, &refused.json["state"]), (200, &json!("refused")));
    assert_eq!(balance(), (all, none.clone()));
    answer(&venue.operator, &asked, "confirm", &json!({})).refused(404, "TRANSFER_NOT_FOUND");

    let asked = ask(&ann.client, "withdrawals", "40");
    let confirmed = answer(&venue.operator, &asked, "confirm", &json!({"reference": "w-1"}));
    assert_eq!((confirmed.status, &confirmed.json["state"]), (200, &json!("confirmed")));
    assert_eq!(balance(), ("60.00".to_owned(), none));
    let pnl = ann.client.get("/account/pnl").json;
    assert_eq!((&pnl["withdrawals"], &pnl["equity"]), (&json!("40.00"), &json!("60.00")));
    let ledger = ann.client.get("/account/ledger").json;
    let causes: Vec<_> =
        ledger["lines"].as_array().unwrap().iter().map(|it| &it["cause"]).collect();
    let wanted =
        ["WITHDRAWAL", "WITHDRAWAL_HELD", "WITHDRAWAL_FREED", "WITHDRAWAL_HELD", "DEPOSIT"];
    assert_eq!(json!(causes), json!(wanted));
}

#[test]
fn a_deposit_moves_nothing_until_it_is_confirmed() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let asked = ask(&ann.client, "deposits", "5");
    assert_eq!(ann.balance().0, "100.00");
    let path = "/admin/transfers?state=requested";
    let cashier = json!({"role": "cashier", "label": "till"});
    let cashier = venue.key_of(&venue.trader("till").id, &cashier);
    assert_eq!(cashier.get(path).json["transfers"], json!([asked.json]));
    answer(&cashier, &asked, "confirm", &json!({"reference": "d-1"}));
    assert_eq!(ann.balance().0, "105.00");
    assert_eq!(cashier.get(path).json["transfers"], json!([]));
    // The reference is used up by what was confirmed under it.
    let again = ask(&ann.client, "deposits", "5");
    answer(&cashier, &again, "confirm", &json!({"reference": "d-1"}))
        .refused(409, "REFERENCE_USED");
    let path = format!("/account/transfers/{}", again.json["transfer"]);
    assert_eq!(ann.client.delete(&path).status, 204);
    assert_eq!(ann.client.get(&path).json["state"], "cancelled");
    assert_eq!(ann.balance().0, "105.00");
}

#[test]
fn ten_of_a_user_wait_and_the_last_that_ended_are_kept() {
    let venue = Venue::open();
    let ann = venue.trader("ann").client;
    let one = || ask(&ann, "deposits", "1");
    for _ in 0..25 {
        assert_eq!(answer(&venue.operator, &one(), "refuse", &json!({})).status, 200);
    }
    let all = (0..10).map(|_| one().status).all(|status| status == 201);
    assert!(all);
    one().refused(422, "TRANSFER_LIMIT");
    let list = ann.get("/account/transfers").json;
    assert_eq!(list["transfers"].as_array().map(Vec::len), Some(30));
    let waiting = venue.operator.get("/admin/transfers?state=requested&limit=3").json;
    assert_eq!((&waiting["total"], &waiting["limit"]), (&json!(10), &json!(3)));
}

/// Of a user's answered transfers the last are kept; the answers to repetitions are, too.
#[test]
fn an_answer_that_is_repeated_later_than_many_others_is_the_first() {
    let venue = Venue::open();
    let ann = venue.trader("ann").client;
    let asked = ask(&ann, "deposits", "7");
    let path = |how: &str| format!("/admin/transfers/{}/{how}", asked.json["transfer"]);
    let confirm = |key: &str| {
        venue.operator.send("POST", &path("confirm"), &[("idempotency-key", key)], Some(b"{}"))
    };
    let first = confirm("c");
    assert_eq!((first.status, &first.json["state"]), (200, &json!("confirmed")));
    for _ in 0..21 {
        let other = ask(&ann, "deposits", "1");
        assert_eq!(answer(&venue.operator, &other, "refuse", &json!({})).status, 200);
    }
    let number = &asked.json["transfer"];
    ann.get(&format!("/account/transfers/{number}")).refused(404, "TRANSFER_NOT_FOUND");
    let again = confirm("c");
    assert_eq!((again.status, &again.json), (200, &first.json));
    assert_eq!(again.header("idempotent-replay"), "true");
    // Another answer is a new one, and what is no transfer has none.
    confirm("d").refused(404, "TRANSFER_NOT_FOUND");
    answer(&venue.operator, &asked, "refuse", &json!({})).refused(404, "TRANSFER_NOT_FOUND");
    for none in ["1", "9999"] {
        let none = format!("/admin/transfers/{none}/confirm");
        let sent = venue.operator.send("POST", &none, &[("idempotency-key", "e")], Some(b"{}"));
        sent.refused(404, "TRANSFER_NOT_FOUND");
    }
}

#[test]
fn what_is_asked_for_under_a_key_is_asked_for_once() {
    let venue = Venue::open();
    let ann = venue.trader("ann").client;
    let ask = || {
        let headers = [("idempotency-key", "w")];
        ann.send("POST", "/account/withdrawals", &headers, Some(b"{\"amount\": \"1\"}"))
    };
    let (first, again) = (ask(), ask());
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(first.json, again.json);
    let list = ann.get("/account/transfers").json;
    assert_eq!(list["transfers"].as_array().map(Vec::len), Some(1));
}
