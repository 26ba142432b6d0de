//! Unit tests of `src/cli/openid/signature.rs`. `signed.txt` has a set of keys and a text signed by
//! each, as node's crypto writes them.

#![allow(clippy::unwrap_used)] // a test may stop

use serde_json::json;

use super::*;

const SIGNED: &str = include_str!("signed.txt");

fn keys_and_texts() -> (Value, Vec<&'static str>) {
    let (keys, texts) = SIGNED.split_once('\n').unwrap();
    (serde_json::from_str(keys).unwrap(), texts.lines().collect())
}

fn encoded(json: &Value) -> String {
    BASE64URL_NOPAD.encode(json.to_string().as_bytes())
}

#[test]
fn each_kind_of_key_signs_its_own_text_alone() {
    let (set, texts) = keys_and_texts();
    let keys = keys_of(&set);
    assert_eq!((keys.len(), texts.len()), (4, 4));
    for text in &texts {
        let claims = content(text, &keys).unwrap();
        assert!(["RS256", "PS256", "ES256", "EdDSA"].contains(&claims["sub"].as_str().unwrap()));
        let parts: Vec<&str> = text.split('.').collect();
        let other = format!("{}.{}.{}", parts[0], encoded(&json!({"sub": "eve"})), parts[2]);
        assert_eq!(content(&other, &keys), Err(Unsigned::Signature));
        // A text that names another algorithm, or none, is not signed by the key of this one.
        let kid = claims["sub"].clone();
        for alg in ["none", "HS256", "RS512", "ES384"] {
            let head = encoded(&json!({ "alg": alg, "kid": kid }));
            for signature in [parts[2], ""] {
                let forged = format!("{head}.{}.{signature}", parts[1]);
                assert_eq!(content(&forged, &keys), Err(Unsigned::Signature), "{alg}");
            }
        }
        let critical = encoded(&json!({ "alg": kid, "kid": kid, "crit": ["exp"] }));
        let critical = format!("{critical}.{}.{}", parts[1], parts[2]);
        assert_eq!(content(&critical, &keys), Err(Unsigned::Form));
        assert_eq!(content(text, &[]), Err(Unsigned::Key));
        assert_eq!(content(&format!("{text}.x"), &keys), Err(Unsigned::Form));
        assert_eq!(content(parts[0], &keys), Err(Unsigned::Form));
    }
}

#[test]
fn keys_that_do_not_sign_are_left_out() {
    let (mut set, _) = keys_and_texts();
    set["keys"][0]["use"] = json!("enc");
    set["keys"][1]["kty"] = json!("oct");
    set["keys"][2]["x"] = json!("AA");
    let kept = keys_of(&set);
    assert_eq!(kept.iter().map(|key| key.id.as_deref()).collect::<Vec<_>>(), [Some("EdDSA")]);
    assert!(keys_of(&json!({})).is_empty());
}

#[test]
fn lengths_of_der_are_shortest() {
    assert_eq!(integer(&[0, 0, 1]), [2, 1, 1]);
    assert_eq!(integer(&[0x80]), [2, 2, 0, 0x80]);
    assert_eq!(integer(&[]), [2, 1, 0]);
    let long = sequence(&[7; 300]);
    assert_eq!((&long[..4], long.len()), (&[0x30, 0x82, 1, 44][..], 304));
    assert_eq!(sequence(&[7; 128])[..3], [0x30, 0x81, 128]);
}
