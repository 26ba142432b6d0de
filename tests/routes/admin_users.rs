//! `/admin/users`, deposits and withdrawals (semantics 8).

use serde_json::{Value, json};

use super::paging::List;
use super::shapes;
use super::venue::{NOBODY, PICTURE, Venue, ids};

#[test]
fn a_user_is_created_and_listed_newest_first() {
    let venue = Venue::open();
    let operator = &venue.operator;
    let body = json!({"profileName": "Ana Luísa 🎲", "profilePic": PICTURE});
    let answer = operator.post("/admin/users", &body);
    let made = answer.created(&shapes::user());
    assert_eq!(
        (&made["profileName"], &made["profilePic"]),
        (&body["profileName"], &json!(PICTURE))
    );
    assert_eq!((&made["available"], &made["reserved"]), (&json!("0.00"), &json!("0.00")));
    let place = answer.header("location").strip_prefix("/api/v1").unwrap().to_owned();
    assert_eq!(operator.get(&place).ok(&shapes::user()), made);
    // Names need not be unique.
    let same = operator.post("/admin/users", &body).created(&shapes::user());
    assert_ne!(same["id"], made["id"]);
    let users = operator.get("/admin/users").json;
    assert_eq!(
        ids(&users["users"])[..2],
        [&same["id"], &made["id"]].map(|id| id.as_str().unwrap())
    );
    List {
        client: operator,
        path: "/admin/users",
        name: "users",
        shape: shapes::user(),
        standard: 20,
        max: 1000,
        capped: true,
    }
    .check();
    let post = |body: Value| operator.post("/admin/users", &body);
    post(json!({})).bad(&["profileName", "profilePic"]);
    post(json!({"profileName": "", "profilePic": "x", "role": "operator"})).bad(&[
        "profileName",
        "profilePic",
        "role",
    ]);
    post(json!({"profileName": ["a"], "profilePic": null})).bad(&["profileName", "profilePic"]);
    operator.get(&format!("/admin/users/{NOBODY}")).refused(404, "USER_NOT_FOUND");
    operator.get("/admin/users/x?y").bad(&["userId", "y"]);
}

#[test]
fn a_user_is_renamed_and_everybody_sees_it() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let path = format!("/admin/users/{}", ann.id);
    let body = json!({"profileName": "Ann Lee"});
    let renamed = venue.operator.patch(&path, &body).ok(&shapes::user());
    assert_eq!(renamed["profileName"], "Ann Lee");
    assert_eq!(venue.operator.get(&path).ok(&shapes::user()), renamed);
    let profile = ann.client.get(&format!("/profiles/{}", ann.id)).json;
    assert_eq!(profile["user"]["profileName"], "Ann Lee");
    let found = |name: &str| {
        ids(&venue.operator.get(&format!("/admin/users?name={name}")).json["users"]).len()
    };
    assert_eq!((found("lee"), found("ann")), (1, 1));
    let patch = |body: Value| venue.operator.patch(&path, &body);
    patch(json!({})).bad(&["profileName"]);
    patch(json!({"profileName": " ", "profilePic": PICTURE})).bad(&["profileName", "profilePic"]);
    ann.client.patch(&path, &body).refused(403, "FORBIDDEN");
    let nobody = format!("/admin/users/{NOBODY}");
    venue.operator.patch(&nobody, &body).refused(404, "USER_NOT_FOUND");
}

#[test]
fn deposits_and_withdrawals_change_the_balance() {
    let venue = Venue::open();
    let ann = venue.trader_with("ann", "10");
    let market = venue.market();
    ann.place(&market, "BUY", "yes", "0.50", "4");
    let deposits = format!("/admin/users/{}/deposits", ann.id);
    let withdrawals = format!("/admin/users/{}/withdrawals", ann.id);
    let pay = |path: &str, amount: &str| venue.operator.post(path, &json!({"amount": amount}));
    let expected =
        |available: &str| json!({"available": available, "reserved": "2.00", "currency": "USD"});
    assert_eq!(pay(&deposits, "0.00000001").ok(&shapes::balance()), expected("8.00000001"));
    pay(&withdrawals, "8.00000002").refused(422, "INSUFFICIENT_FUNDS");
    pay(&withdrawals, "9.5").refused(422, "INSUFFICIENT_FUNDS");
    let answer = pay(&withdrawals, "8.00000001");
    assert_eq!(answer.ok(&shapes::balance()), expected("0.00"));
    let read = ann.get("/trading/balance");
    assert_eq!((&read.json, read.sequence()), (&answer.json, answer.sequence()));
    pay(&withdrawals, "0.00000001").refused(422, "INSUFFICIENT_FUNDS");
    pay(&deposits, "89999999000").ok(&shapes::balance());
    pay(&deposits, "89999999000").refused(422, "DEPOSIT_LIMIT");
    let before = ann.get("/trading/balance").json;
    for path in [&deposits, &withdrawals] {
        for amount in
            ["0", "0.00", "-1", "+1", "1e2", "", " 1", "1.", ".1", "0.000000001", "1,0", "\u{0}"]
        {
            pay(path, amount).bad(&["amount"]);
        }
        pay(path, &"9".repeat(60)).bad_as("amount", "OUT_OF_BOUNDS");
        let post = |body: Value| venue.operator.post(path, &body);
        post(json!({"amount": 1})).bad_as("amount", "WRONG_TYPE");
        post(json!({})).bad_as("amount", "REQUIRED");
        post(json!({"amount": "1", "currency": "EUR"})).bad_as("currency", "UNKNOWN_FIELD");
        let nobody = path.replace(&ann.id, NOBODY);
        venue.operator.post(&nobody, &json!({"amount": "1"})).refused(404, "USER_NOT_FOUND");
        let bad = path.replace(&ann.id, "x");
        venue.operator.post(&bad, &json!({"amount": "x"})).bad(&["userId", "amount"]);
        ann.client.post(path, &json!({"amount": "1"})).refused(403, "FORBIDDEN");
    }
    assert_eq!(ann.get("/trading/balance").json, before);
}

#[test]
fn users_are_found_by_parts_of_their_names() {
    let venue = Venue::open();
    let operator = &venue.operator;
    for name in ["Ana Luísa", "ANALUISA", "Ben"] {
        operator.post("/admin/users", &json!({"profileName": name, "profilePic": PICTURE}));
    }
    let names = |path: &str| -> (Vec<String>, Value) {
        let answer = operator.get(path).json;
        let users = answer["users"].as_array().unwrap().iter();
        let names = users.map(|user| user["profileName"].as_str().unwrap().to_owned());
        (names.collect(), answer["total"].clone())
    };
    assert_eq!(
        names("/admin/users?name=luisa"),
        (vec!["ANALUISA".into(), "Ana Luísa".into()], json!(2))
    );
    assert_eq!(
        names("/admin/users?name=LU%C3%8DSA&limit=1&offset=1"),
        (vec!["Ana Luísa".into()], json!(2))
    );
    assert_eq!(names("/admin/users?name=zoe"), (Vec::new(), json!(0)));
    operator.get("/admin/users?name=&x=1").bad(&["name", "x"]);
}

#[test]
fn an_operator_reads_an_account_as_its_owner_and_cancels_for_the_owner() {
    let venue = Venue::open();
    let (ann, ben) = (venue.trader_with("ann", "10"), venue.trader_with("ben", "10"));
    let (market, other) = (venue.market(), venue.market());
    ann.place(&market, "BUY", "yes", "0.50", "4");
    ben.place(&market, "SELL", "yes", "0.50", "3");
    ann.place(&other, "BUY", "yes", "0.10", "5");
    let user = format!("/admin/users/{}", ann.id);
    for (of_operator, own) in [
        ("orders?active=true", "/trading/orders?active=true"),
        ("orders", "/trading/orders"),
        ("orders?since=2020-01-01T00:00:00Z", "/trading/orders?since=2020-01-01T00:00:00Z"),
        ("positions", "/trading/positions"),
        ("fills", "/trading/fills"),
        ("ledger", "/account/ledger"),
    ] {
        let seen = venue.operator.get(&format!("{user}/{of_operator}"));
        let own = ann.get(own);
        assert_eq!((seen.status, &seen.json), (200, &own.json), "{of_operator}");
        ann.get(&format!("{user}/{of_operator}")).refused(403, "FORBIDDEN");
    }
    let nobody = user.replace(&ann.id, NOBODY);
    venue.operator.get(&format!("{nobody}/ledger")).refused(404, "USER_NOT_FOUND");
    venue.operator.get(&format!("{user}/ledger?x=1")).bad(&["x"]);
    ben.client.delete(&format!("{user}/orders")).refused(403, "FORBIDDEN");
    let one = venue.operator.delete(&format!("{user}/orders?marketId={market}"));
    assert_eq!(one.ok(&shapes::cancelled())["cancelled"].as_array().unwrap().len(), 1);
    let rest = venue.operator.delete(&format!("{user}/orders"));
    assert_eq!(rest.ok(&shapes::cancelled())["cancelled"].as_array().unwrap().len(), 1);
    assert_eq!(ann.get("/trading/orders?active=true").json["orders"], json!([]));
}
