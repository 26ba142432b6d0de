//! HTTP itself: sizes, types and malformed messages (semantics 7).

use super::client::{Answer, Ending, exchange};
use super::shapes;
use super::venue::{Venue, order};

const ORDERS: &str = "/trading/orders";

/// The order of these tests, padded with white space to this many bytes.
fn padded(market: &str, bytes: usize) -> Vec<u8> {
    let mut body = order(market, "BUY", "yes", "0.10", "1").to_string().into_bytes();
    body.resize(bytes, b' ');
    body
}

#[test]
fn a_body_may_have_at_most_64_kib() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let post = |bytes: usize| ann.client.send("POST", ORDERS, &[], Some(&padded(&market, bytes)));
    post(65536).ok(&shapes::placed());
    post(65537).refused(413, "CONTENT_TOO_LARGE");
    post(1_000_000).refused(413, "CONTENT_TOO_LARGE");
    let huge = [("content-length", "9223372036854775807")];
    ann.client.send("POST", ORDERS, &huge, None).refused(413, "CONTENT_TOO_LARGE");
    assert_eq!(ann.get(ORDERS).json["orders"].as_array().unwrap().len(), 1);
}

/// A refused body that is not read must not cost the client the answer.
#[test]
fn a_large_body_does_not_hide_why_it_was_refused() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let body = vec![b'x'; 8_000_000];
    for _ in 0..5 {
        let send = |method: &str, path: &str, headers: &[(&str, &str)]| {
            ann.client.send(method, path, headers, Some(&body))
        };
        send("POST", "/no/such/path", &[]).refused(404, "NOT_FOUND");
        send("PUT", ORDERS, &[]).refused(405, "METHOD_NOT_ALLOWED");
        send("POST", "/admin/users", &[]).refused(403, "FORBIDDEN");
        send("POST", ORDERS, &[("accept", "text/html")]).refused(406, "NOT_ACCEPTABLE");
        send("POST", ORDERS, &[("content-type", "text/plain")])
            .refused(415, "UNSUPPORTED_MEDIA_TYPE");
        send("POST", ORDERS, &[]).refused(413, "CONTENT_TOO_LARGE");
        assert_eq!(send("GET", "/trading/balance", &[]).status, 200);
    }
}

#[test]
fn heads_are_bounded_in_size() {
    let venue = Venue::open();
    let ask =
        |path: &str, headers: &[(&str, &str)]| venue.operator.send("GET", path, headers, None);
    let long = |bytes: usize| format!("{ORDERS}?x={}", "a".repeat(bytes - ORDERS.len() - 10));
    ask(&long(8192), &[]).bad_as("x", "UNKNOWN_FIELD");
    ask(&long(8193), &[]).refused(414, "URI_TOO_LONG");
    ask(&long(60_000), &[]).refused(414, "URI_TOO_LONG");
    let value = "v".repeat(17_000);
    ask(ORDERS, &[("x-long", &value)]).refused(431, "HEADERS_TOO_LARGE");
    // `host`, `connection` and the key are sent besides these.
    assert_eq!(ask(ORDERS, &[("x-many", "v"); 61]).status, 200);
    ask(ORDERS, &[("x-many", "v"); 62]).refused(431, "HEADERS_TOO_LARGE");
}

#[test]
fn answers_and_bodies_are_json() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    for accept in ["text/html", "application/xml", "application/json;q=0", "", "json"] {
        let answer = ann.client.send("GET", ORDERS, &[("accept", accept)], None);
        answer.refused(406, "NOT_ACCEPTABLE");
    }
    for accept in ["*/*", "application/*", "text/html, */*;q=0.1", "APPLICATION/JSON"] {
        assert_eq!(ann.client.send("GET", ORDERS, &[("accept", accept)], None).status, 200);
    }
    let body = padded(&market, 300);
    for media in
        ["text/plain", "application/x-www-form-urlencoded", "application/json;charset=utf-16", ""]
    {
        let answer = ann.client.send("POST", ORDERS, &[("content-type", media)], Some(&body));
        answer.refused(415, "UNSUPPORTED_MEDIA_TYPE");
    }
    for media in ["application/json", "Application/JSON; charset=UTF-8"] {
        let answer = ann.client.send("POST", ORDERS, &[("content-type", media)], Some(&body));
        answer.ok(&shapes::placed());
    }
    ann.client.send("POST", ORDERS, &[], None).refused(411, "LENGTH_REQUIRED");
    ann.client.send("PATCH", &format!("{ORDERS}/x"), &[], None).refused(411, "LENGTH_REQUIRED");
    ann.client.send("POST", ORDERS, &[], Some(b"")).bad_as("body", "MALFORMED");
}

/// The status of the answer; `None` if there was none.
fn status(bytes: &[u8]) -> Option<u16> {
    let text = String::from_utf8_lossy(bytes);
    let status = text.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse().ok());
    assert!(bytes.is_empty() || status.is_some(), "{text}");
    status
}

#[test]
fn malformed_requests_are_refused_or_cut_off() {
    let venue = Venue::open();
    let key = &venue.operator.key;
    let head = |line: &str, more: &str| {
        format!("{line}\r\nhost: x\r\nconnection: close\r\nx-api-key: {key}\r\n{more}\r\n")
    };
    let get = "GET /api/v1/trading/balance HTTP/1.1";
    let post = "POST /api/v1/trading/orders HTTP/1.1";
    for request in [
        "\0\0\0\0\r\n\r\n".to_owned(),
        "hello\r\n\r\n".to_owned(),
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        head("GET", ""),
        head("GET /api/v1/trading/balance", ""),
        head("GET  /api/v1/trading/balance HTTP/1.1", ""),
        head("GET /api/v1/trading/balance HTTP/9.9", ""),
        head("GET /api/v1/trading balance HTTP/1.1", ""),
        head("GET api/v1/trading/balance HTTP/1.1", ""),
        head("GET /api/v1/trading/balance\0 HTTP/1.1", ""),
        head("G\u{e9}T /api/v1/trading/balance HTTP/1.1", ""),
        head(get, "x y: z\r\n"),
        head(get, "x : z\r\n"),
        head(get, "nocolon\r\n"),
        head(get, ": novalue\r\n"),
        head(get, "x: a\0b\r\n"),
        head(post, "content-length: -1\r\n"),
        head(post, "content-length: 1e3\r\n"),
        head(post, "content-length: 2, 3\r\n{}"),
        head(post, "content-length: 99999999999999999999999\r\n"),
        head(post, "content-length: 2\r\ncontent-length: 3\r\n{}"),
        head(post, "transfer-encoding: gzip\r\n"),
        head(post, "transfer-encoding: chunked\r\n") + "zz\r\n{}\r\n0\r\n\r\n",
        head(post, "transfer-encoding: chunked\r\n") + "-2\r\n{}\r\n0\r\n\r\n",
        head(post, "transfer-encoding: chunked\r\n") + "ffffffffffffffff\r\n{}",
        head(post, "transfer-encoding: chunked\r\n") + "2\r\n{}",
        head(post, "content-length: 9\r\n") + "{}",
        head(get, &"x: y\r\n".repeat(200)),
        head(&format!("GET /{} HTTP/1.1", "a".repeat(70_000)), ""),
        "x".repeat(200_000),
    ] {
        let came = exchange(venue.operator.address, request.as_bytes(), Ending::Shut).unwrap();
        let status = status(&came);
        let shown: String = request.chars().take(200).collect();
        assert!(status.is_none_or(|status| (400..500).contains(&status)), "{status:?} {shown}");
    }
    assert_eq!(venue.operator.get("/trading/balance").status, 200);
}

#[test]
fn other_forms_of_a_request_are_answered_as_usual() {
    let venue = Venue::open();
    let key = &venue.operator.key;
    let rest = format!("x-api-key: {key}\r\nconnection: close\r\n");
    for request in [
        format!("GET http://x/api/v1/trading/balance HTTP/1.1\r\nhost: x\r\n{rest}\r\n"),
        format!("GET /api/v1/trading/balance HTTP/1.0\r\n{rest}\r\n"),
        format!("\r\nGET /api/v1/trading/balance HTTP/1.1\r\nHOST:x\r\n{rest}\r\n"),
        format!("GET /api/v1/trading/balance?# HTTP/1.1\r\nhost: x\r\n{rest}\r\n"),
        format!("GET /api/v1/trading/balance HTTP/1.1\r\nhost: x\r\nExpect: y\r\n{rest}\r\n"),
    ] {
        let came = exchange(venue.operator.address, request.as_bytes(), Ending::Open).unwrap();
        assert_eq!(status(&came), Some(200), "{request} {:?}", String::from_utf8_lossy(&came));
    }
}

/// RFC 9112, 3.2: HTTP/1.1 needs one `Host`, older versions none, and nobody may send two.
#[test]
fn a_request_of_http_1_1_has_one_host() {
    let venue = Venue::open();
    let key = &venue.operator.key;
    let rest = format!("x-api-key: {key}\r\nconnection: close\r\n\r\n");
    for target in ["/api/v1/trading/balance", "http://x/api/v1/trading/balance", "/healthz"] {
        for (version, hosts, code) in [
            ("1.1", "", Some("REQUIRED")),
            ("1.1", "host: x\r\nhost: x\r\n", Some("REPEATED")),
            ("1.0", "host: x\r\nhost: y\r\n", Some("REPEATED")),
            ("1.1", "host:\r\n", None),
            ("1.0", "", None),
        ] {
            let request = format!("GET {target} HTTP/{version}\r\n{hosts}{rest}");
            let came = exchange(venue.operator.address, request.as_bytes(), Ending::Open).unwrap();
            let Some(code) = code else {
                assert_eq!(status(&came), Some(200), "{request}");
                continue;
            };
            // An answer to HTTP/1.0 says its version, which `Answer` does not expect.
            let came = String::from_utf8(came).unwrap().replacen("HTTP/1.0", "HTTP/1.1", 1);
            Answer::read(came.as_bytes(), request, false).unwrap().bad_as("Host", code);
        }
    }
    let keyless = "GET /api/v1/trading/balance HTTP/1.1\r\nconnection: close\r\n\r\n";
    let came = exchange(venue.operator.address, keyless.as_bytes(), Ending::Open).unwrap();
    assert_eq!(status(&came), Some(400), "checked before the key");
}

/// A whole request that places an order.
fn whole_order(key: &str, market: &str) -> String {
    let body = order(market, "BUY", "yes", "0.10", "1").to_string();
    let length = body.len();
    format!(
        "POST /api/v1{ORDERS} HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

#[test]
fn two_lengths_do_not_smuggle_a_request() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let key = &ann.client.key;
    let hidden = whole_order(key, &market);
    let request = format!(
        "GET /api/v1{ORDERS} HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\nconnection: close\r\n\
         content-length: {}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{hidden}",
        hidden.len() + 5
    );
    exchange(ann.client.address, request.as_bytes(), Ending::Shut).unwrap();
    // The client wants to keep the connection, but after two lengths it is closed.
    let request = request.replace("connection: close\r\n", "");
    let came = exchange(ann.client.address, request.as_bytes(), Ending::Open).unwrap();
    assert_eq!(String::from_utf8_lossy(&came).matches("HTTP/1.1 ").count(), 1);
    // The body of a request that needs none must not be taken for a request.
    let request = format!(
        "GET /api/v1{ORDERS} HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n\
         content-length: {}\r\n\r\n{hidden}",
        hidden.len()
    );
    let came = exchange(ann.client.address, request.as_bytes(), Ending::Shut).unwrap();
    if let Some(answer) = Answer::read(&came, request, false) {
        answer.ok(&shapes::orders());
    }
    assert_eq!(ann.get(ORDERS).json["orders"], serde_json::json!([]));
}

/// A body that was refused unread must not be taken for the next request.
#[test]
fn an_unread_body_is_not_executed_as_a_request() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let market = venue.market();
    let key = &ann.client.key;
    let hidden = whole_order(key, &market);
    let next = format!(
        "GET /api/v1/trading/balance HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: {key}\r\n\r\n"
    );
    for (line, more, expected) in [
        ("POST /api/v1/no/such/path", "", 404),
        ("PUT /api/v1/trading/orders", "", 405),
        ("POST /api/v1/admin/users", "", 403),
        ("POST /api/v1/trading/orders", "accept: text/html\r\n", 406),
        ("POST /api/v1/trading/orders", "content-type: text/plain\r\n", 415),
        ("POST /api/v1/trading/orders", "x-api-key: again\r\n", 400),
        ("DELETE /api/v1/trading/orders", "", 400),
        ("GET /api/v1/trading/balance", "", 200),
    ] {
        let large = "x".repeat(70_000);
        for body in [hidden.clone(), format!("{large}{hidden}"), format!("{hidden}{hidden}{large}")]
        {
            let request = format!(
                "{line} HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n{more}content-length: {}\r\n\r\n{body}{next}",
                body.len()
            );
            let came = exchange(ann.client.address, request.as_bytes(), Ending::Open).unwrap();
            // Where no body is allowed it is read, to see whether it is empty.
            let too_large = line.starts_with("DELETE") && body.len() > large.len();
            let expected = if too_large { 413 } else { expected };
            assert_eq!(status(&came), Some(expected), "{line} {more}");
            let answers = String::from_utf8_lossy(&came).matches("HTTP/1.1 ").count();
            assert!(answers <= 2, "{answers} answers to {line} {more} and a balance");
        }
    }
    assert_eq!(ann.get(ORDERS).json["orders"], serde_json::json!([]));
}

#[test]
fn expect_100_continue_is_answered_at_once() {
    let venue = Venue::open();
    let key = &venue.operator.key;
    for (line, more, expected) in [
        ("POST /api/v1/no/such/path", "", 404),
        ("PUT /api/v1/trading/orders", "", 405),
        ("POST /api/v1/trading/orders", "content-type: text/plain\r\n", 415),
    ] {
        let request = format!(
            "{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: {key}\r\n\
             {more}content-length: 10\r\nexpect: 100-continue\r\n\r\n"
        );
        let came = exchange(venue.operator.address, request.as_bytes(), Ending::Open).unwrap();
        assert_eq!(status(&came), Some(expected), "{line}");
    }
}

#[test]
fn chunks_may_have_extensions_and_trailers() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let body = order(&venue.market(), "BUY", "yes", "0.10", "1").to_string();
    let (first, second) = body.split_at(20);
    let request = format!(
        "POST /api/v1{ORDERS} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: {}\r\n\
         transfer-encoding: chunked\r\n\r\n14;a=b\r\n{first}\r\n{:X}\r\n{second}\r\n0\r\n\
         x-api-key: other\r\n\r\n",
        ann.client.key,
        second.len()
    );
    let came = exchange(ann.client.address, request.as_bytes(), Ending::Open).unwrap();
    assert_eq!(status(&came), Some(200), "{:?}", String::from_utf8_lossy(&came));
    assert_eq!(
        ann.get("/trading/orders?active=true").json["orders"].as_array().map(Vec::len),
        Some(1)
    );
}
