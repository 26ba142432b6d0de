//! `/account/keys`: users manage their own keys, never beyond the scope of the key they use.

use std::thread;

use serde_json::{Value, json};

use super::client::{Client, bare};
use super::shape::{list, object};
use super::shapes;
use super::venue::{NOBODY, Trader, Venue, with};

fn body(scope: &str) -> Value {
    json!({"scope": scope, "label": "a label"})
}

/// Creates a key of this scope with the given client's key; returns its client and id.
fn create_key(venue: &Venue, with: &Client, scope: &str) -> (Client, String) {
    let made = with.post("/account/keys", &body(scope));
    made.created(&shapes::new_own_key());
    assert_eq!(made.json["scope"], scope);
    let place = format!("/api/v1/account/keys/{}", made.text("keyId"));
    assert_eq!(made.header("location"), place);
    let one = with.get(&place["/api/v1".len()..]).ok(&shapes::own_key());
    assert_eq!((&one["keyId"], &one["scope"]), (&made.json["keyId"], &json!(scope)));
    (venue.client(&made.text("key")), made.text("keyId"))
}

fn listed(client: &Client) -> Vec<Value> {
    let keys = client.get("/account/keys").ok(&object([("keys", list(shapes::own_key()))]));
    keys["keys"].as_array().unwrap().clone()
}

/// A client with a key of each scope for one user, all from a key that the operator created.
fn scopes(venue: &Venue, ann: &Trader) -> [(Client, String); 3] {
    let desk = json!({"role": "operator", "label": "desk"});
    let desk = venue.operator.post(&format!("/admin/users/{}/keys", ann.id), &desk);
    let id = desk.text("keyId");
    let desk = venue.client(&desk.text("key"));
    [create_key(venue, &desk, "read"), create_key(venue, &desk, "trade"), (desk, id)]
}

#[test]
fn a_trader_creates_lists_and_revokes_their_own_keys() {
    let venue = Venue::open();
    let (ann, bob) = (venue.trader("ann"), venue.trader("bob"));
    let (laptop, id) = create_key(&venue, &ann.client, "trade");
    assert_eq!(laptop.get("/trading/balance").json, ann.get("/trading/balance").json);
    let keys = listed(&laptop);
    assert_eq!((keys.len(), &keys[1]["keyId"]), (2, &json!(id)));
    let answer = ann.get("/account/keys");
    assert!(!answer.written().contains(&laptop.key), "{answer:?}");
    // Another user's keys can be neither seen nor revoked.
    assert_eq!(listed(&bob.client).len(), 1);
    bob.client.get(&format!("/account/keys/{id}")).refused(404, "KEY_NOT_FOUND");
    bob.client.delete(&format!("/account/keys/{id}")).refused(404, "KEY_NOT_FOUND");
    bob.client
        .post(&format!("/account/keys/{id}/rotate"), &json!({}))
        .refused(404, "KEY_NOT_FOUND");
    assert_eq!(ann.client.delete(&format!("/account/keys/{id}")).status, 204);
    laptop.get("/trading/balance").refused(401, "INVALID_API_KEY");
    assert!(listed(&ann.client)[1]["revokedAt"].is_string());
    assert_eq!(ann.get(&format!("/account/keys/{id}")).json, listed(&ann.client)[1]);
    ann.client.delete(&format!("/account/keys/{id}")).refused(404, "KEY_NOT_FOUND");
    // A key may revoke itself, so that a leaked key can be disabled with the key alone.
    let own = listed(&ann.client)[0]["keyId"].as_str().unwrap().to_owned();
    assert_eq!(ann.client.delete(&format!("/account/keys/{own}")).status, 204);
    ann.get("/account/keys").refused(401, "INVALID_API_KEY");
}

/// If many requests replace one key at once, exactly one gets a new key, and no extra key is left
/// behind.
#[test]
fn a_key_is_replaced_only_once() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let (_, id) = create_key(&venue, &ann.client, "trade");
    let rotate = format!("/account/keys/{id}/rotate");
    let answers: Vec<u16> = thread::scope(|scope| {
        let asking = || venue.client(&ann.client.key).post(&rotate, &json!({})).status;
        let asking: Vec<_> = (0..8).map(|_| scope.spawn(asking)).collect();
        asking.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    let count = |status: u16| answers.iter().filter(|answer| **answer == status).count();
    assert_eq!((count(201), count(404)), (1, 7), "{answers:?}");
    let keys = listed(&ann.client);
    assert_eq!(keys.iter().filter(|key| key["revokedAt"].is_null()).count(), 2, "{keys:?}");
}

#[test]
fn a_read_key_can_only_read() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let placed = ann.place(&market, "BUY", "yes", "0.50", "1").text("orderId");
    let (reader, id) = create_key(&venue, &ann.client, "read");
    assert_eq!(reader.get("/trading/orders").json, ann.get("/trading/orders").json);
    assert_eq!(listed(&reader).len(), 2);
    let order = super::venue::order(&market, "BUY", "yes", "0.40", "1");
    reader.post("/trading/orders", &order).refused(403, "FORBIDDEN");
    reader.patch(&format!("/trading/orders/{placed}"), &json!({})).refused(403, "FORBIDDEN");
    reader.delete(&format!("/trading/orders/{placed}")).refused(403, "FORBIDDEN");
    reader.delete("/trading/orders").refused(403, "FORBIDDEN");
    reader.post("/account/keys", &body("read")).refused(403, "FORBIDDEN");
    reader.delete(&format!("/account/keys/{id}")).refused(403, "FORBIDDEN");
    reader.get("/admin/users").refused(403, "FORBIDDEN");
    // The operator can create read-only keys too.
    let role = json!({"role": "reader", "label": "l"});
    let given = venue.operator.post(&format!("/admin/users/{}/keys", ann.id), &role);
    assert_eq!(given.created(&shapes::new_key())["role"], "reader");
    venue.client(&given.text("key")).delete("/trading/orders").refused(403, "FORBIDDEN");
}

#[test]
fn no_key_manages_a_key_of_a_wider_scope() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let keys = scopes(&venue, &ann);
    for (own, (client, _)) in keys.iter().enumerate().skip(1) {
        for (other, (scope, (_, id))) in ["read", "trade", "operator"].iter().zip(&keys).enumerate()
        {
            let made = client.post("/account/keys", &body(scope));
            let rotated = format!("/account/keys/{id}/rotate");
            if other <= own {
                made.created(&shapes::new_own_key());
            } else {
                made.refused(403, "FORBIDDEN");
                client.delete(&format!("/account/keys/{id}")).refused(403, "FORBIDDEN");
                client.post(&rotated, &json!({})).refused(403, "FORBIDDEN");
            }
        }
    }
    assert!(listed(&keys[2].0).iter().all(|key| key["revokedAt"].is_null()));
}

#[test]
fn a_rotated_key_keeps_its_scope() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let (old, id) = create_key(&venue, &ann.client, "trade");
    let rotated = old.post(&format!("/account/keys/{id}/rotate"), &json!({}));
    let made = rotated.created(&shapes::new_own_key());
    assert_eq!((&made["scope"], &made["label"]), (&json!("trade"), &json!("a label")));
    assert_ne!(made["keyId"], json!(id));
    old.get("/trading/balance").refused(401, "INVALID_API_KEY");
    let new = venue.client(made["key"].as_str().unwrap());
    assert!(listed(&new)[1]["revokedAt"].is_string());
    assert_eq!(rotated.sequence(), new.get("/trading/balance").sequence(), "both steps are in it");
    ann.client
        .post(&format!("/account/keys/{id}/rotate"), &json!({}))
        .refused(404, "KEY_NOT_FOUND");
}

/// The venue stores only a key's hash, so a replayed answer cannot show the key again.
#[test]
fn a_replayed_key_creation_does_not_show_the_key() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let once = [("idempotency-key", "k-1")];
    let make = || {
        let body = body("read").to_string();
        ann.client.send("POST", "/account/keys", &once, Some(body.as_bytes()))
    };
    let (first, again) = (make(), make());
    let made = first.created(&shapes::new_own_key());
    assert!(made["key"].is_string());
    assert_eq!((again.status, again.header("idempotent-replay")), (201, "true"));
    assert_eq!(again.json, with(made, &json!({"key": null})));
    assert_eq!(again.header("location"), first.header("location"));
    assert_eq!(listed(&ann.client).len(), 2);
}

#[test]
fn rotating_a_key_refuses_an_idempotency_key() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let (old, id) = create_key(&venue, &ann.client, "trade");
    let path = format!("/account/keys/{id}/rotate");
    let named = old.send("POST", &path, &[("idempotency-key", "k-1")], Some(b"{}"));
    named.bad_as("Idempotency-Key", "UNKNOWN_FIELD");
    let detail = named.json["errors"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("if the answer is lost, so is the new key"), "{detail}");
    assert_eq!(old.get("/trading/balance").status, 200);
    assert!(listed(&ann.client).iter().all(|key| key["revokedAt"].is_null()));
}

#[test]
fn last_use_of_a_key_is_shown_to_the_minute() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let (other, id) = create_key(&venue, &ann.client, "read");
    assert!(listed(&ann.client)[0]["lastUsedAt"].as_str().unwrap().ends_with(":00.000Z"));
    assert_eq!(listed(&ann.client)[1]["lastUsedAt"], Value::Null);
    other.get("/nowhere").refused(404, "NOT_FOUND");
    assert!(listed(&ann.client)[1]["lastUsedAt"].is_string());
    let seen = venue.operator.get(&format!("/admin/users/{}/keys/{id}", ann.id));
    assert!(seen.ok(&shapes::key())["lastUsedAt"].is_string());
}

#[test]
fn the_number_of_keys_per_user_is_limited() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let named = |no: u32, scope: &str| {
        let (name, sent) = (no.to_string(), body(scope).to_string());
        let name = [("idempotency-key", name.as_str())];
        ann.client.send("POST", "/account/keys", &name, Some(sent.as_bytes()))
    };
    let ids: Vec<String> = (1..32)
        .map(|no| {
            let made = named(no, "read");
            made.created(&shapes::new_own_key());
            made.text("keyId")
        })
        .collect();
    ann.client.post("/account/keys", &body("read")).refused(422, "KEY_LIMIT");
    // A replay still works at the limit, and its idempotency key is refused for anything else.
    let replayed = named(31, "read");
    assert_eq!((replayed.status, replayed.text("keyId")), (201, ids[30].clone()));
    assert_eq!(
        (replayed.header("idempotent-replay"), &replayed.json["key"]),
        ("true", &Value::Null)
    );
    named(31, "trade").refused(409, "IDEMPOTENCY_KEY_REUSED");
    // Replacing a key does not change the count; revoking one does.
    let rotated = ann.client.post(&format!("/account/keys/{}/rotate", ids[0]), &json!({}));
    rotated.created(&shapes::new_own_key());
    ann.client.post("/account/keys", &body("read")).refused(422, "KEY_LIMIT");
    assert_eq!(ann.client.delete(&format!("/account/keys/{}", ids[1])).status, 204);
    create_key(&venue, &ann.client, "read");
}

/// The limit is exact under concurrent requests, and a refused one does not use up its name.
#[test]
fn concurrent_requests_cannot_exceed_the_key_limit() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let ask = |name: &str| {
        let (name, sent) = ([("idempotency-key", name)], body("read").to_string());
        ann.client.send("POST", "/account/keys", &name, Some(sent.as_bytes()))
    };
    let made = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..12 {
            let (ask, made) = (&ask, &made);
            scope.spawn(move || {
                for number in 0..5 {
                    let name = format!("{thread}-{number}");
                    let answer = ask(&name);
                    made.lock().unwrap().push((name, answer));
                }
            });
        }
    });
    let made = made.into_inner().unwrap();
    let (given, refused): (Vec<_>, Vec<_>) = made.iter().partition(|(_, made)| made.status == 201);
    for (_, answer) in &refused {
        answer.refused(422, "KEY_LIMIT");
    }
    let keys = ann.get("/account/keys").json["keys"].as_array().unwrap().clone();
    assert_eq!((keys.len(), given.len()), (32, 31), "the trader had a key");
    assert!(keys.iter().all(|key| key["revokedAt"].is_null()));
    // Every key that was handed out works.
    for (_, answer) in &given {
        assert_eq!(venue.client(&answer.text("key")).get("/account/keys").status, 200);
    }
    let freed = ann.client.delete(&format!("/account/keys/{}", given[0].1.text("keyId")));
    assert_eq!(freed.status, 204);
    let again = ask(&refused[0].0);
    assert_eq!(again.header("idempotent-replay"), "");
    assert_eq!(venue.client(&again.text("key")).get("/account/keys").status, 200);
}

#[test]
fn the_number_of_keys_created_per_day_is_limited() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let mut id = ann.client.post("/account/keys", &body("read")).text("keyId");
    let rotate = |id: &str| ann.client.post(&format!("/account/keys/{id}/rotate"), &json!({}));
    // The trader's first key and the one above count too.
    for _ in 2..100 {
        id = rotate(&id).text("keyId");
    }
    rotate(&id).refused(422, "KEY_LIMIT");
    ann.client.post("/account/keys", &body("read")).refused(422, "KEY_LIMIT");
    assert_eq!(ann.client.delete(&format!("/account/keys/{id}")).status, 204);
    ann.client.post("/account/keys", &body("read")).refused(422, "KEY_LIMIT");
}

#[test]
fn every_bad_field_is_named() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let post = |body: Value| ann.client.post("/account/keys", &body);
    post(json!({})).bad(&["scope", "label"]);
    post(json!({"scope": "trader", "label": "", "role": 1})).bad(&["scope", "label", "role"]);
    post(json!({"scope": "read", "label": "set at start"})).bad_as("label", "INVALID_VALUE");
    ann.get("/account/keys?limit=1").bad(&["limit"]);
    ann.client.delete("/account/keys/x").bad(&["keyId"]);
    ann.client.post("/account/keys/x/rotate", &json!({})).bad(&["keyId"]);
    ann.client.delete(&format!("/account/keys/{NOBODY}")).refused(404, "KEY_NOT_FOUND");
    let target = "/api/v1/account/keys";
    bare(venue.operator.address, "GET", target, &[], None).refused(401, "MISSING_API_KEY");
    bare(venue.operator.address, "POST", target, &[], None).refused(401, "MISSING_API_KEY");
}

#[test]
fn a_key_may_end_by_itself() {
    let venue = Venue::open();
    let ann = venue.trader("ann").client;
    let far = "2999-01-01T00:00:00.000Z";
    let made = json!({ "scope": "trade", "label": "for a while", "expiresAt": far });
    let made = ann.post("/account/keys", &made);
    made.created(&shapes::new_own_key());
    assert_eq!(made.json["expiresAt"], far);
    let key = venue.client(&made.text("key"));
    assert_eq!(key.get("/session").json["expiresAt"], far);
    let place = format!("/account/keys/{}/rotate", made.text("keyId"));
    let next = key.send("POST", &place, &[], None).json;
    assert_eq!(next["expiresAt"], far, "its successor ends with it");
    let past = json!({ "scope": "read", "label": "late", "expiresAt": "2020-01-01T00:00:00Z" });
    ann.post("/account/keys", &past).refused(400, "INVALID_REQUEST");
    let past = json!({ "role": "trader", "label": "late", "expiresAt": "2020-01-01T00:00:00Z" });
    let user = ann.get("/session").json["user"]["id"].as_str().unwrap().to_owned();
    let keys = format!("/admin/users/{user}/keys");
    venue.operator.post(&keys, &past).refused(400, "INVALID_REQUEST");
    let lasts = json!({ "role": "trader", "label": "lasts" });
    assert_eq!(venue.operator.post(&keys, &lasts).json["expiresAt"], Value::Null);
}
