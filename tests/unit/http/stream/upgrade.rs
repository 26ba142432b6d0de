//! Unit tests of `src/http/stream/upgrade.rs`.

use super::*;
use hyper::Request;

const HEADERS: [(&str, &str); 5] = [
    ("host", "venue.example"),
    ("connection", "keep-alive, Upgrade"),
    ("upgrade", "WebSocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

/// The answer to the handshake with these headers instead of the usual ones.
fn shaken(others: &[(&str, &str)]) -> Result<Accepted, Problem> {
    let mut request = Request::new(());
    for (name, value) in HEADERS.iter().chain(others) {
        let name: HeaderName = name.parse().unwrap();
        request.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
    }
    accept(&request.into_parts().0)
}

#[test]
fn the_handshake_of_the_standard_is_answered_as_there() {
    let accepted = shaken(&[]).unwrap();
    assert_eq!(accepted.accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_eq!(accepted.protocol, None);
    let ours = shaken(&[("sec-websocket-protocol", "other, openoutcry.v1")]).unwrap();
    assert_eq!(ours.protocol, Some(PROTOCOL));
}

#[test]
fn what_is_wrong_is_named() {
    for (name, value, field) in [
        ("connection", "close", "Connection"),
        ("sec-websocket-version", "8", "Sec-WebSocket-Version"),
        ("sec-websocket-key", "c2hvcnQ=", "Sec-WebSocket-Key"),
    ] {
        assert_eq!(shaken(&[(name, value)]).unwrap_err().errors[0].field, field);
    }
}
