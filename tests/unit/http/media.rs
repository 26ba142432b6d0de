//! Unit tests of `src/http/media.rs`.

use super::*;

fn headers(name: &hyper::header::HeaderName, values: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(name, HeaderValue::from_str(value).unwrap());
    }
    headers
}

#[test]
fn accept_is_read_as_a_list_of_ranges() {
    let takes = |values: &[&str]| takes_json(&headers(&ACCEPT, values));
    assert!(takes(&[]));
    assert!(takes(&["*/*"]) && takes(&["application/*;q=0.5"]));
    assert!(takes(&["text/html, application/json;q=0.9"]));
    assert!(takes(&["application/problem+json"]) && takes(&["text/html", "Application/JSON"]));
    assert!(!takes(&["text/html"]) && !takes(&[""]));
    assert!(!takes(&["application/json;q=0"]) && !takes(&["*/*; q=0.000"]));
    assert!(takes(&["application/json;q=0.001"]));
}

#[test]
fn gzip_is_taken_only_where_it_is_asked_for() {
    let takes = |values: &[&str]| takes_gzip(&headers(&ACCEPT_ENCODING, values));
    assert!(takes(&["gzip"]) && takes(&["br, GZIP;q=0.5"]) && takes(&["br", "gzip"]));
    assert!(!takes(&[]) && !takes(&["*"]) && !takes(&["identity, br"]));
    assert!(!takes(&["gzip;q=0"]) && !takes(&["gzip; q=0.0, deflate"]));
}

#[test]
fn only_utf_8_json_is_read() {
    let sends = |values: &[&str]| sends_json(&headers(&CONTENT_TYPE, values));
    assert!(sends(&[]) && sends(&["application/json"]));
    assert!(sends(&["Application/Json; charset=UTF-8"]));
    assert!(!sends(&["application/json; charset=latin1"]));
    assert!(!sends(&["text/plain"]) && !sends(&[""]) && !sends(&["application/jsonx"]));
    assert!(!sends(&["application/json", "text/plain"]));
    assert!(sends_json(&headers(&CONTENT_ENCODING, &["identity"])));
    assert!(!sends_json(&headers(&CONTENT_ENCODING, &["gzip"])));
    assert!(sends_json(&headers(&TRANSFER_ENCODING, &["Chunked"])));
    assert!(!sends_json(&headers(&TRANSFER_ENCODING, &["gzip, chunked"])));
}
