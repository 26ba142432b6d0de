//! Unit tests of `src/http/cookies.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use super::*;

fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(*name, HeaderValue::from_static(value));
    }
    headers
}

#[test]
fn a_session_is_one_cookie_of_its_name() {
    let site = Site::default();
    let one = headers(&[("cookie", "a=b; openoutcry_session=ook_1; c=d")]);
    assert_eq!(session_of(&one, &site), Some("ook_1"));
    let two = headers(&[("cookie", "openoutcry_session=1"), ("cookie", "openoutcry_session=2")]);
    assert_eq!(session_of(&two, &site), None);
    assert_eq!(session_of(&headers(&[("cookie", "xopenoutcry_session=1")]), &site), None);
    // Over TLS another name counts, which a browser takes from this host alone.
    let url = Some("https://venue.example".to_owned());
    let secure = Site { public_url: url, ..Site::default() };
    assert_eq!(session_of(&one, &secure), None);
    let kept = set("ook_1", 60, &secure).unwrap();
    let rules = "HttpOnly; SameSite=Strict; Path=/; Secure";
    assert_eq!(
        kept.to_str().unwrap(),
        format!("__Host-openoutcry_session=ook_1; Max-Age=60; {rules}")
    );
}

#[test]
fn a_write_must_come_from_a_page_of_the_venues_own() {
    let host = ("host", "localhost:8080");
    let own = ("origin", "http://localhost:8080");
    let foreign = ("origin", "http://evil.example");
    let named = ("x-requested-by", "openoutcry");
    let post = |lines: &[(&'static str, &'static str)]| {
        check_origin(&Method::POST, &headers(lines), false).is_ok()
    };
    assert!(post(&[host, own, named]));
    assert!(!post(&[host, own]), "any form can send this");
    assert!(!post(&[host, named]), "no origin");
    assert!(!post(&[host, foreign, named]));
    assert!(!post(&[host, ("origin", "null"), named]));
    let get = |lines: &[(&'static str, &'static str)], opens| {
        check_origin(&Method::GET, &headers(lines), opens).is_ok()
    };
    assert!(get(&[host], false) && get(&[host, own], true));
    assert!(!get(&[host, foreign], false), "a read that names another site");
    assert!(!get(&[host], true), "a stream of no page");
    let named = ("x-requested-by", "openoutcry");
    assert!(
        get(&[host, named], true)
            && !get(&[host, named, ("origin", "https://elsewhere.invalid")], true)
    );
}
