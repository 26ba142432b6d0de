//! Unit tests of `src/cli/openid/word.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use serde_json::json;

use super::*;

const ISSUER: &str = "https://id.example";
const NOW_SECONDS: i64 = 1_900_000_000;

fn good() -> Value {
    json!({ "iss": ISSUER, "aud": "venue", "sub": "ann", "nonce": "n", "iat": NOW_SECONDS - 5,
        "exp": NOW_SECONDS + 60, "preferred_username": "anna", "name": "Ann A." })
}

fn said(claims: &Value) -> Result<Vouched, Bad> {
    let now = TimeMs::new(NOW_SECONDS * 1_000).unwrap();
    vouched(claims, &Wanted { issuer: ISSUER, client: "venue", nonce: "n", now })
}

fn changed(name: &str, value: Value) -> Result<Vouched, Bad> {
    let mut claims = good();
    claims[name] = value;
    said(&claims)
}

#[test]
fn a_good_word_names_somebody_of_this_issuer() {
    let ann = said(&good()).unwrap();
    assert_eq!(ann.identity, keys::hash(b"https://id.example\0ann"));
    assert_eq!(ann.name.as_deref(), Some("anna"));
    assert_eq!(changed("preferred_username", json!("")).unwrap().name.as_deref(), Some("Ann A."));
    assert_ne!(changed("sub", json!("ben")).unwrap().identity, ann.identity);
    assert!(changed("aud", json!(["venue"])).is_ok());
    let mut several = good();
    several["aud"] = json!(["other", "venue"]);
    several["azp"] = json!("venue");
    assert_eq!(said(&several).unwrap().identity, ann.identity);
}

#[test]
fn each_claim_that_is_not_as_it_must_be_is_refused() {
    for (name, value, bad) in [
        ("iss", json!("https://id.example/"), Bad::Issuer),
        ("iss", json!(null), Bad::Issuer),
        ("aud", json!("other"), Bad::Audience),
        ("aud", json!([]), Bad::Audience),
        ("aud", json!(null), Bad::Audience),
        // Of several audiences nobody says who has asked, or another has.
        ("aud", json!(["venue", "other"]), Bad::Audience),
        ("azp", json!("other"), Bad::Audience),
        ("exp", json!(NOW_SECONDS - 60), Bad::Time),
        ("exp", json!(null), Bad::Time),
        ("exp", json!("1900000060"), Bad::Time),
        ("iat", json!(NOW_SECONDS + 61), Bad::Time),
        ("iat", json!(null), Bad::Time),
        ("nbf", json!(NOW_SECONDS + 61), Bad::Time),
        ("nonce", json!("m"), Bad::Nonce),
        ("nonce", json!(null), Bad::Nonce),
        ("sub", json!(""), Bad::Subject),
        ("sub", json!("a".repeat(256)), Bad::Subject),
        ("sub", json!(7), Bad::Subject),
    ] {
        assert_eq!(changed(name, value.clone()), Err(bad), "{name}: {value}");
    }
    // A clock that differs by a little is no reason.
    assert!(changed("exp", json!(NOW_SECONDS - 59)).is_ok());
    assert!(changed("iat", json!(NOW_SECONDS + 60)).is_ok());
}
