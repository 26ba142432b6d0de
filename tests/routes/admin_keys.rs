//! `/admin/users/{userId}/keys`, and what each key gives access to (semantics 8, interface 5).

use serde_json::{Value, json};

use super::client::bare;
use super::shape::{list, object};
use super::shapes;
use super::venue::{NOBODY, Venue};

#[test]
fn a_key_is_shown_once_and_acts_for_its_user() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let keys = format!("/admin/users/{}/keys", ann.id);
    let answer = venue.operator.post(&keys, &json!({"role": "trader", "label": "laptop"}));
    let made = answer.created(&shapes::new_key());
    let key = answer.text("key");
    let place = answer.header("location").strip_prefix("/api/v1").unwrap().to_owned();
    let read = venue.operator.get(&place).ok(&shapes::key());
    assert_eq!((&read["keyId"], &read["label"]), (&made["keyId"], &json!("laptop")));
    let listed = venue.operator.get(&keys);
    listed.ok(&object([("keys", list(shapes::key()))]));
    assert_eq!(listed.json["keys"].as_array().unwrap().len(), 2);
    assert!(!listed.written().contains(&key) && !read.to_string().contains(&key));
    // Both keys act for the same user.
    let market = venue.market();
    ann.place(&market, "BUY", "yes", "0.50", "1");
    let other = venue.client(&key);
    assert_eq!(other.get("/trading/orders").json, ann.get("/trading/orders").json);
    assert_eq!(venue.operator.delete(&place).status, 204);
    other.get("/trading/orders").refused(401, "INVALID_API_KEY");
    ann.get("/trading/orders").ok(&shapes::orders());
    assert!(venue.operator.get(&place).json["revokedAt"].is_string());
    venue.operator.delete(&place).refused(404, "KEY_NOT_FOUND");
}

#[test]
fn an_operators_key_gives_access_to_the_admin_paths() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let keys = format!("/admin/users/{}/keys", ann.id);
    let answer = venue.operator.post(&keys, &json!({"role": "operator", "label": "desk"}));
    let desk = venue.client(answer.created(&shapes::new_key())["key"].as_str().unwrap());
    assert_eq!(desk.get("/admin/users").status, 200);
    assert_eq!(desk.get("/trading/balance").json["available"], "100.00");
    ann.get("/admin/users").refused(403, "FORBIDDEN");
}

#[test]
fn every_bad_field_is_named() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let keys = format!("/admin/users/{}/keys", ann.id);
    let post = |body: Value| venue.operator.post(&keys, &body);
    post(json!({})).bad(&["role", "label"]);
    post(json!({"role": "admin", "label": "", "key": "k"})).bad(&["role", "label", "key"]);
    post(json!({"role": 1, "label": null})).bad(&["role", "label"]);
    let right = json!({"role": "trader", "label": "l"});
    let nobody = format!("/admin/users/{NOBODY}/keys");
    venue.operator.post(&nobody, &right).refused(404, "USER_NOT_FOUND");
    venue.operator.get(&nobody).refused(404, "USER_NOT_FOUND");
    venue
        .operator
        .post("/admin/users/x/keys", &json!({"role": 1, "label": "l"}))
        .bad(&["userId", "role"]);
    let id = post(right).text("keyId");
    venue
        .operator
        .delete(&format!("/admin/users/{}/keys/{id}", bob.id))
        .refused(404, "KEY_NOT_FOUND");
    venue.operator.delete(&format!("{keys}/{NOBODY}")).refused(404, "KEY_NOT_FOUND");
    venue.operator.delete("/admin/users/x/keys/y").bad(&["userId", "keyId"]);
    ann.client.delete(&format!("{keys}/{id}")).refused(403, "FORBIDDEN");
}

#[test]
fn every_invalid_key_gets_the_same_answer() {
    let venue = Venue::open();
    let (address, key) = (venue.operator.address, venue.operator.key.clone());
    let ask = |headers: &[(&str, &str)]| bare(address, "GET", "/api/v1/admin/users", headers, None);
    ask(&[]).refused(401, "MISSING_API_KEY");
    ask(&[("x-api-key", "")]).refused(401, "MISSING_API_KEY");
    ask(&[("authorization", &key)]).refused(401, "MISSING_API_KEY");
    assert_eq!(ask(&[("X-API-KEY", &key)]).status, 200);
    assert_eq!(ask(&[("x-api-key", &format!("  {key} "))]).status, 200);
    let long = "k".repeat(5000);
    for wrong in ["x", "\u{e9}\u{e9}", &key.to_uppercase(), &key[1..], &format!("{key}0"), &long] {
        let answer = ask(&[("x-api-key", wrong)]);
        answer.refused(401, "INVALID_API_KEY");
        assert!(!answer.header("www-authenticate").is_empty());
    }
    ask(&[("x-api-key", &key), ("x-api-key", &key)]).bad_as("X-API-Key", "REPEATED");
    assert_eq!(
        bare(address, "GET", &format!("/api/v1/admin/users?x-api-key={key}"), &[], None).code(),
        "MISSING_API_KEY"
    );
}
