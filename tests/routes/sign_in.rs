//! Signing in: invitations, passwords, sessions in cookies, and what a forged request gets.

use std::thread::{scope, sleep};
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Answer, bare};
use super::faults::Faulty;
use super::venue::Venue;
use journal::memory::MemoryStore;
use journal::store::StoredJournal;

pub const PASSWORD: &str = "a password of length";
pub const OWN: [(&str, &str); 2] = [("origin", "http://x"), ("x-requested-by", "openoutcry")];

/// A browser: what it keeps, and where the venue is.
pub struct Browser<'a> {
    pub venue: &'a Venue,
    pub cookie: String,
}

impl<'a> Browser<'a> {
    pub fn new(venue: &'a Venue) -> Browser<'a> {
        Browser { venue, cookie: String::new() }
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let cookie = [("cookie", self.cookie.as_str())];
        let mut all = headers.to_vec();
        if !self.cookie.is_empty() {
            all.extend(cookie);
        }
        let text = body.to_string();
        let sent = (!body.is_null()).then(|| {
            all.push(("content-type", "application/json"));
            text.as_bytes()
        });
        let target = format!("/api/v1{path}");
        bare(self.venue.operator.address, method, &target, &all, sent)
    }

    /// Loses all play money.
    fn poor(&self) {
        let user = self.get("/session").json["user"]["id"].as_str().unwrap().to_owned();
        let path = format!("/admin/users/{user}/withdrawals");
        let taken = self.venue.operator.post(&path, &json!({ "amount": "1000.00" }));
        assert_eq!(taken.status, 200, "{taken:?}");
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], &Value::Null)
    }

    pub fn post(&mut self, path: &str, body: &Value) -> Answer {
        let answer = self.send("POST", path, &OWN, body);
        if let Some((_, cookie)) = answer.headers.iter().find(|(name, _)| name == "set-cookie") {
            let kept = cookie.split(';').next().unwrap();
            let rules: Vec<&str> = cookie.split("; ").skip(1).collect();
            assert!(rules.contains(&"HttpOnly") && rules.contains(&"SameSite=Strict"), "{cookie}");
            kept.clone_into(&mut self.cookie);
        }
        answer
    }
}

pub fn credentials(name: &str, password: &str) -> Value {
    json!({ "profileName": name, "password": password })
}

#[test]
fn whoever_is_invited_sets_a_password_once_and_trades_by_session() {
    let venue = Venue::open();
    let ann = venue.trader("Ann").id;
    let invite = format!("/admin/users/{ann}/invitations");
    let token = venue.operator.post(&invite, &json!({})).text("token");
    let mut browser = Browser::new(&venue);
    let invited = browser.post("/invitations/open", &json!({ "token": token }));
    assert_eq!(invited.json["profileName"], "Ann");
    let accept =
        |token: &str| json!({ "token": token, "profileName": "ann", "password": PASSWORD });
    let entered = browser.post("/invitations/accept", &accept(&token));
    assert_eq!((entered.status, &entered.json["user"]["id"]), (200, &json!(ann)));
    assert_eq!(browser.get("/session").json["scope"], "trade");
    assert_eq!(browser.get("/trading/balance").json["available"], "100.00");
    // The link works once, in any browser.
    let mut thief = Browser::new(&venue);
    thief.post("/invitations/accept", &accept(&token)).refused(404, "INVITATION_NOT_FOUND");
    thief
        .post("/invitations/open", &json!({ "token": token }))
        .refused(404, "INVITATION_NOT_FOUND");
    assert!(thief.cookie.is_empty());
    // The session is in the list of keys, and is no key.
    let keys = browser.get("/account/keys").json;
    let sessions = keys["keys"].as_array().unwrap().iter().filter(|key| key["session"] == true);
    assert_eq!(sessions.clone().count(), 1);
    assert!(sessions.into_iter().all(|key| key["current"] == true));
    let value = browser.cookie.split_once('=').unwrap().1;
    venue.client(value).get("/session").refused(401, "INVALID_API_KEY");
}

#[test]
fn no_new_name_differs_from_anothers_in_capital_letters_alone() {
    let venue = Venue::open();
    let mut browser = Browser::new(&venue);
    assert_eq!(browser.post("/signup", &credentials("Eve-1", PASSWORD)).status, 200);
    let before = venue.operator.get("/admin/audit/head").json["sequence"].clone();
    for name in ["eve-1", "EVE-1", "eVe-1"] {
        browser.post("/signup", &credentials(name, PASSWORD)).refused(409, "NAME_TAKEN");
    }
    let head = venue.operator.get("/admin/audit/head").json["sequence"].clone();
    assert_eq!(head, before, "nothing was journaled");
    let user = venue.trader("Ann").id;
    let mut accept = |name: &str| {
        let invite = format!("/admin/users/{user}/invitations");
        let token = venue.operator.post(&invite, &json!({})).text("token");
        let body = json!({ "token": token, "profileName": name, "password": PASSWORD });
        browser.post("/invitations/accept", &body)
    };
    accept("eve-1").refused(409, "NAME_TAKEN");
    // Somebody's own name may be written in another way.
    assert_eq!(["eve", "Eve", "Eve"].map(|name| accept(name).status), [200; 3]);
}

#[test]
fn of_two_such_names_that_come_at_once_one_is_given() {
    let (store, faults) = Faulty::new(MemoryStore::new());
    let (journal, _) = StoredJournal::over(store).unwrap();
    let venue = Venue::over(journal);
    // Nothing is journaled until both have been looked at, which takes as long as hashing does.
    let held = faults.lock().unwrap();
    let sign_up =
        |name: &str| Browser::new(&venue).post("/signup", &credentials(name, PASSWORD)).status;
    let mut statuses = scope(|threads| {
        let coming = ["eve", "Eve"].map(|name| threads.spawn(move || sign_up(name)));
        sleep(Duration::from_secs(1));
        drop(held);
        coming.map(|one| one.join().unwrap())
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
}

#[test]
fn a_wrong_name_and_a_wrong_password_get_one_answer_and_then_a_wait() {
    let venue = Venue::open();
    let mut browser = Browser::new(&venue);
    browser.post("/signup", &credentials("eve", "short")).refused(400, "INVALID_REQUEST");
    assert_eq!(browser.post("/signup", &credentials("eve", PASSWORD)).status, 200);
    browser.post("/signup", &credentials("eve", PASSWORD)).refused(409, "NAME_TAKEN");
    let wrong = browser.post("/session", &credentials("eve", "another password"));
    let unknown = browser.post("/session", &credentials("nobody", PASSWORD));
    assert_eq!((wrong.status, unknown.status), (401, 401));
    assert_eq!(wrong.json["detail"], unknown.json["detail"]);
    for _ in 0..8 {
        browser.post("/session", &credentials("eve", "another password"));
    }
    let waits = browser.post("/session", &credentials("eve", PASSWORD));
    waits.refused(429, "TOO_MANY_TRIES");
    assert!(waits.headers.iter().any(|(name, _)| name == "retry-after"));
    assert_eq!(browser.get("/session").status, 200, "whoever is in stays in");
}

#[test]
fn a_new_password_ends_every_session() {
    let venue = Venue::open();
    let (mut one, mut other) = (Browser::new(&venue), Browser::new(&venue));
    one.post("/signup", &credentials("eve", PASSWORD));
    assert_eq!(other.post("/session", &credentials("eve", PASSWORD)).status, 200);
    let body = json!({ "current": "not this one", "password": "a newer password" });
    one.post("/account/password", &body).refused(401, "CREDENTIALS_REFUSED");
    let body = json!({ "current": PASSWORD, "password": "a newer password" });
    assert_eq!(one.post("/account/password", &body).status, 200);
    assert_eq!(one.get("/session").status, 200);
    other.get("/session").refused(401, "INVALID_API_KEY");
    other.post("/session", &credentials("eve", PASSWORD)).refused(401, "CREDENTIALS_REFUSED");
    assert_eq!(one.send("DELETE", "/session", &OWN, &Value::Null).status, 204);
    one.get("/session").refused(401, "INVALID_API_KEY");
}

#[test]
fn a_forged_request_gets_nothing() {
    let venue = Venue::open();
    let mut browser = Browser::new(&venue);
    browser.post("/signup", &credentials("eve", PASSWORD));
    browser.poor();
    let order = json!({});
    for headers in [
        &[][..],
        &[("origin", "http://x")],
        &[("x-requested-by", "openoutcry")],
        &[("origin", "http://evil.example"), ("x-requested-by", "openoutcry")],
    ] {
        browser.send("POST", "/account/faucet", headers, &order).refused(403, "FORBIDDEN");
        let signs_in = credentials("eve", PASSWORD);
        browser.send("POST", "/session", headers, &signs_in).refused(403, "FORBIDDEN");
    }
    assert_eq!(browser.get("/trading/balance").json["available"], "0.00");
    let foreign = [("origin", "http://evil.example")];
    browser.send("GET", "/session", &foreign, &Value::Null).refused(403, "FORBIDDEN");
    let made_up = Browser { venue: &venue, cookie: "openoutcry_session=ook_0".to_owned() };
    made_up.get("/session").refused(401, "INVALID_API_KEY");
}

#[test]
fn play_money_is_for_whoever_has_less_than_there_is_for_one() {
    let venue = Venue::open();
    let mut browser = Browser::new(&venue);
    browser.post("/signup", &credentials("eve", PASSWORD));
    assert_eq!(browser.get("/trading/balance").json["available"], "1000.00");
    browser.post("/account/faucet", &json!({})).refused(403, "FORBIDDEN");
    browser.poor();
    let given = browser.post("/account/faucet", &json!({}));
    assert_eq!(given.json["available"], "1000.00");
    browser.post("/account/faucet", &json!({})).refused(403, "FORBIDDEN");
    // Nor has anybody less who asks for it to be paid out, and may take that back.
    let asked = browser.post("/account/withdrawals", &json!({ "amount": "1000.00" }));
    assert_eq!(browser.get("/trading/balance").json["available"], "0.00");
    browser.post("/account/faucet", &json!({})).refused(403, "FORBIDDEN");
    let back = format!("/account/transfers/{}", asked.json["transfer"]);
    assert_eq!(browser.send("DELETE", &back, &OWN, &Value::Null).status, 204);
    // Nor who has bought contracts with it, but for the fee.
    let (ann, market) = (venue.trader("Ann"), venue.market());
    ann.place(&market, "SELL", "yes", "0.50", "10");
    let buys = json!({ "marketId": market, "outcomeId": "yes", "side": "BUY",
        "orderType": "LIMIT", "price": "0.50", "quantity": "10" });
    assert_eq!(browser.post("/trading/orders", &buys).json["status"], "FILLED");
    browser.post("/account/faucet", &json!({})).refused(403, "FORBIDDEN");
}

#[test]
fn every_address_of_the_dashboard_is_one_page_with_files_that_last() {
    let venue = Venue::open();
    let address = venue.operator.address;
    let page = bare(address, "GET", "/", &[], None);
    let text = String::from_utf8(page.body.clone()).unwrap();
    let policy = page.headers.iter().find(|(name, _)| name == "content-security-policy").unwrap();
    assert!(policy.1.starts_with("default-src 'self'; frame-ancestors 'none'"));
    assert_eq!(bare(address, "GET", "/portfolio", &[], None).body, page.body);
    let script = text.split('"').find(|part| part.ends_with("/js/app.js")).unwrap();
    let script = bare(address, "GET", script, &[], None);
    assert_eq!(script.status, 200);
    let cache = script.headers.iter().find(|(name, _)| name == "cache-control").unwrap();
    assert!(cache.1.contains("immutable"));
    assert_eq!(bare(address, "GET", "/assets/0/js/app.js", &[], None).status, 404);
    // A person who goes astray gets it, too; a program gets what it can read.
    let browser = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
    let astray = bare(address, "GET", "/nothing", &browser, None);
    assert_eq!((astray.status, &astray.body), (404, &page.body));
    let program = [("accept", "application/json"), ("x-api-key", venue.operator.key.as_str())];
    bare(address, "GET", "/nothing", &program, None).refused(404, "NOT_FOUND");
    for path in ["/api/v1/nothing", "/api/nothing"] {
        bare(address, "GET", path, &browser, None).refused(401, "MISSING_API_KEY");
    }
}
