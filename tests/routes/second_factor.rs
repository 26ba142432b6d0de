//! The second factor: begun with the password, confirmed by a first code, asked for at signing in,
//! good once, gone when it is lost.

use data_encoding::BASE32_NOPAD;
use exchange::units::TimeMs;
use http::totp::{Secret, code_of};
use serde_json::{Value, json};

use super::sign_in::{Browser, PASSWORD, credentials};
use super::venue::Venue;

/// Half a minute.
const STEP_MS: i64 = 30_000;

/// What an authenticator has.
struct Authenticator {
    secret: Secret,
    began: i64,
}

impl Authenticator {
    /// The code of now, or of half minutes later.
    fn code(&self, later: i64) -> String {
        let at = TimeMs::new(self.began + later * STEP_MS).unwrap();
        format!("{:06}", code_of(&self.secret, at).unwrap())
    }
}

/// Turns a second factor on; returns it and the recovery codes.
fn turned_on(browser: &mut Browser<'_>) -> (Authenticator, Vec<String>) {
    let begun = browser.post("/account/second-factor", &json!({ "current": PASSWORD }));
    assert_eq!(begun.status, 200, "{begun:?}");
    let secret = begun.text("secret");
    let qr = &begun.json["qr"];
    let side = qr["size"].as_u64().unwrap();
    assert!((45..=185).contains(&side) && qr["path"].as_str().unwrap().starts_with("M4 4h7v1h-7z"));
    assert!(begun.text("uri").contains(":eve?secret="), "{begun:?}");
    let secret = BASE32_NOPAD.decode(secret.as_bytes()).unwrap().try_into().unwrap();
    assert_eq!(browser.get("/account/second-factor").json["on"], false, "nothing holds yet");
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
    let authenticator = Authenticator { secret, began: i64::try_from(now).unwrap() };
    let confirm = "/account/second-factor/confirm";
    browser.post(confirm, &json!({ "code": "no code" })).refused(401, "SECOND_FACTOR_REFUSED");
    let confirmed = browser.post(confirm, &json!({ "code": authenticator.code(0) }));
    assert_eq!(confirmed.status, 200, "{confirmed:?}");
    let codes = confirmed.json["recoveryCodes"].as_array().unwrap();
    let codes: Vec<String> = codes.iter().map(|code| code.as_str().unwrap().to_owned()).collect();
    assert_eq!(codes.len(), 10);
    let shown = browser.get("/account/second-factor").json;
    assert_eq!(shown, json!({ "on": true, "recoveryCodesLeft": 10 }));
    assert_eq!(browser.get("/session").json["secondFactor"], true);
    (authenticator, codes)
}

fn eve(venue: &Venue) -> Browser<'_> {
    let mut browser = Browser::new(venue);
    assert_eq!(browser.post("/signup", &credentials("eve", PASSWORD)).status, 200);
    browser
}

fn with_code(password: &str, code: &str) -> Value {
    json!({ "profileName": "eve", "password": password, "code": code })
}

#[test]
fn a_code_is_asked_for_and_good_once() {
    let venue = Venue::open();
    let mut browser = eve(&venue);
    let wrong = json!({ "current": "not this one" });
    browser.post("/account/second-factor", &wrong).refused(401, "CREDENTIALS_REFUSED");
    let confirm = "/account/second-factor/confirm";
    let early = browser.post(confirm, &json!({ "code": "123456" }));
    early.refused(404, "SECOND_FACTOR_NOT_FOUND");
    let (authenticator, codes) = turned_on(&mut browser);
    let mut other = Browser::new(&venue);
    let plain = credentials("eve", PASSWORD);
    other.post("/session", &plain).refused(401, "SECOND_FACTOR_REQUIRED");
    // Whoever has the wrong password is not told that there is more.
    other.post("/session", &credentials("eve", "not this one")).refused(401, "CREDENTIALS_REFUSED");
    let used = with_code(PASSWORD, &authenticator.code(0));
    other.post("/session", &used).refused(401, "SECOND_FACTOR_REFUSED");
    assert!(other.cookie.is_empty());
    let next = with_code(PASSWORD, &authenticator.code(1));
    assert_eq!(other.post("/session", &next).status, 200);
    assert_eq!(other.get("/session").json["secondFactor"], true);
    let mut thief = Browser::new(&venue);
    thief.post("/session", &next).refused(401, "SECOND_FACTOR_REFUSED");
    // A recovery code is good once, too, however it is written.
    let written = codes[3].to_ascii_uppercase().replace('-', " ");
    assert_eq!(other.post("/session", &with_code(PASSWORD, &written)).status, 200);
    thief.post("/session", &with_code(PASSWORD, &codes[3])).refused(401, "SECOND_FACTOR_REFUSED");
    assert_eq!(other.get("/account/second-factor").json["recoveryCodesLeft"], 9);
    assert!(thief.cookie.is_empty());
}

#[test]
fn wrong_codes_are_tries_as_wrong_passwords_are() {
    let venue = Venue::open();
    let mut browser = eve(&venue);
    let (_, codes) = turned_on(&mut browser);
    let mut thief = Browser::new(&venue);
    for guess in 0..10 {
        let guess = with_code(PASSWORD, &format!("guess {guess}"));
        thief.post("/session", &guess).refused(401, "SECOND_FACTOR_REFUSED");
    }
    thief.post("/session", &with_code(PASSWORD, &codes[0])).refused(429, "TOO_MANY_TRIES");
}

#[test]
fn a_new_password_keeps_it() {
    let venue = Venue::open();
    let mut browser = eve(&venue);
    let (authenticator, _) = turned_on(&mut browser);
    let newer = "a newer password";
    let change = json!({ "current": PASSWORD, "password": newer });
    let records = |venue: &Venue| venue.operator.get("/admin/audit/head").json["sequence"].as_u64();
    let before = records(&venue).unwrap();
    let changed = browser.post("/account/password", &change);
    assert_eq!((changed.status, browser.get("/session").status), (200, 200), "{changed:?}");
    // One record, so that no crash takes the factor away.
    assert_eq!(records(&venue), Some(before + 1));
    let shown = browser.get("/account/second-factor").json;
    assert_eq!(shown, json!({ "on": true, "recoveryCodesLeft": 10 }));
    let mut other = Browser::new(&venue);
    other.post("/session", &credentials("eve", newer)).refused(401, "SECOND_FACTOR_REQUIRED");
    assert_eq!(other.post("/session", &with_code(newer, &authenticator.code(1))).status, 200);
}

#[test]
fn it_ends_by_its_owner_or_an_operator_and_by_no_key() {
    let venue = Venue::open();
    let mut browser = eve(&venue);
    let user = browser.get("/session").json["user"]["id"].as_str().unwrap().to_owned();
    let key = json!({ "scope": "trade", "label": "bot" });
    let key = browser.post("/account/keys", &key).text("key");
    let off = |browser: &mut Browser<'_>, password: &str, code: &str| {
        browser.post("/account/second-factor/end", &json!({ "current": password, "code": code }))
    };
    off(&mut browser, PASSWORD, "000000").refused(404, "SECOND_FACTOR_NOT_FOUND");
    let (authenticator, codes) = turned_on(&mut browser);
    let bot = venue.client(&key);
    let ends = json!({ "current": PASSWORD, "code": codes[0] });
    bot.post("/account/second-factor/end", &ends).refused(403, "FORBIDDEN");
    // A browser that was left open is not enough, nor is a code that was seen.
    off(&mut browser, PASSWORD, "no code").refused(401, "SECOND_FACTOR_REFUSED");
    off(&mut browser, PASSWORD, &authenticator.code(0)).refused(401, "SECOND_FACTOR_REFUSED");
    off(&mut browser, "not this one", &codes[0]).refused(401, "CREDENTIALS_REFUSED");
    let begins = json!({ "current": PASSWORD });
    bot.post("/account/second-factor", &begins).refused(403, "FORBIDDEN");
    // Nor does another take its place.
    browser.post("/account/second-factor", &begins).refused(403, "FORBIDDEN");
    assert_eq!(off(&mut browser, PASSWORD, &authenticator.code(1)).status, 204);
    let mut other = Browser::new(&venue);
    assert_eq!(other.post("/session", &credentials("eve", PASSWORD)).status, 200);
    let (_, codes) = turned_on(&mut browser);
    assert_eq!(off(&mut browser, PASSWORD, &codes[9]).status, 204, "a recovery code will do");
    turned_on(&mut browser);
    let path = format!("/admin/users/{user}/second-factor");
    bot.delete(&path).refused(403, "FORBIDDEN");
    assert_eq!(venue.operator.delete(&path).status, 204);
    venue.operator.delete(&path).refused(404, "SECOND_FACTOR_NOT_FOUND");
    assert_eq!(other.post("/session", &credentials("eve", PASSWORD)).status, 200);
}
