//! Bodies that arrive when the answer is already decided: the client must be able to continue.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::sleep;
use std::time::Duration;

use super::venue::{Venue, order};

/// Long enough for the server to read what was sent and prepare its answer.
const PAUSE: Duration = Duration::from_millis(50);

/// Sends the parts of a request one after the other, then a balance request on the same connection,
/// and closes; returns everything received.
fn asked_in_parts(address: SocketAddr, key: &str, parts: &[&[u8]]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let next = format!(
        "GET /api/v1/trading/balance HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\nconnection: close\r\n\r\n"
    );
    for part in parts.iter().copied().chain([next.as_bytes()]) {
        sleep(PAUSE);
        // A server that has closed may have sent the reason.
        if stream.write_all(part).is_err() {
            break;
        }
    }
    let mut came = Vec::new();
    drop(stream.read_to_end(&mut came));
    String::from_utf8(came).unwrap()
}

/// The statuses of the answers received, and which of them close the connection.
fn statuses(came: &str) -> Vec<(u16, bool)> {
    let answers = came.split("HTTP/1.1 ").skip(1);
    answers
        .map(|answer| {
            let head = answer.split("\r\n\r\n").next().unwrap().to_ascii_lowercase();
            (answer[..3].parse().unwrap(), head.contains("\r\nconnection: close"))
        })
        .collect()
}

fn head(line: &str, more: &str) -> String {
    format!("{line} HTTP/1.1\r\nhost: x\r\n{more}\r\n")
}

#[test]
fn a_refusal_before_the_body_keeps_the_connection() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let (address, key) = (ann.client.address, ann.client.key.as_str());
    let own = format!("x-api-key: {key}\r\n");
    let orders = "POST /api/v1/trading/orders";
    for (line, more, expected) in [
        (orders, "x-api-key: zzz\r\n".to_owned(), 401),
        (orders, String::new(), 401),
        ("POST /api/v1/no/such/path", own.clone(), 404),
        ("PUT /api/v1/trading/orders", own.clone(), 405),
        ("POST /api/v1/admin/users", own.clone(), 403),
        (orders, format!("{own}accept: text/html\r\n"), 406),
        (orders, format!("{own}content-type: text/plain\r\n"), 415),
        (orders, format!("{own}idempotency-key: \r\n"), 400),
        ("GET /api/v1/trading/balance", own.clone(), 200),
    ] {
        let sized = head(line, &format!("{more}content-length: 4\r\n"));
        let chunked = head(line, &format!("{more}transfer-encoding: chunked\r\n"));
        let bodies: [(&str, &[&[u8]]); 2] =
            [(&sized, &[b"{\"", b"a\""]), (&chunked, &[b"2\r\n{}\r\n", b"0\r\n\r\n"])];
        for (head, body) in bodies {
            let parts = [&[head.as_bytes()], body].concat();
            let came = asked_in_parts(address, key, &parts);
            assert_eq!(statuses(&came), [(expected, false), (200, true)], "{head}{came}");
        }
    }
}

#[test]
fn a_connection_that_cannot_continue_is_announced_to_close() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let (address, key) = (ann.client.address, ann.client.key.as_str());
    let (path, own) = ("POST /api/v1/no/such/path", format!("x-api-key: {key}\r\n"));
    let long = "x".repeat(70_000);
    let chunk = format!("{:x}\r\n{long}\r\n0\r\n\r\n", long.len());
    for (line, more, body, expected) in [
        // Larger than any accepted body.
        (path, "content-length: 70000\r\n", long.as_str(), 404),
        (path, "transfer-encoding: chunked\r\n", &chunk, 404),
        ("POST /api/v1/trading/orders", "content-length: 70000\r\n", &long, 413),
        ("POST /api/v1/trading/orders", "transfer-encoding: chunked\r\n", &chunk, 413),
        // A client that waits for 100 Continue before it sends the body.
        (path, "content-length: 2\r\nexpect: 100-continue\r\n", "", 404),
        // A client that never sends the body.
        (path, "content-length: 2000\r\n", "", 404),
        (path, "transfer-encoding: chunked\r\n", "2\r\n", 404),
        // Broken bodies: nothing after them is read, let alone taken for a request.
        (path, "transfer-encoding: chunked\r\n", "zz\r\n{}\r\n0\r\n\r\n", 404),
        ("POST /api/v1/trading/orders", "transfer-encoding: chunked\r\n", "zz\r\n", 400),
    ] {
        let head = head(line, &format!("{own}{more}"));
        let came = asked_in_parts(address, key, &[head.as_bytes(), body.as_bytes()]);
        assert_eq!(statuses(&came), [(expected, true)], "{line} {more} {came}");
    }
}

/// A client that waited for 100 Continue and then sent its body has sent all of it.
#[test]
fn a_body_that_was_read_to_its_end_leaves_the_connection_open() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let (address, key) = (ann.client.address, ann.client.key.as_str());
    let body = order(&venue.market(), "BUY", "yes", "0.10", "1").to_string();
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let sized = format!("content-length: {}\r\n", body.len());
    for (more, body) in [("transfer-encoding: chunked\r\n", &chunked), (sized.as_str(), &body)] {
        for expect in ["", "expect: 100-continue\r\n"] {
            let own = format!("x-api-key: {key}\r\n{more}{expect}");
            let head = head("POST /api/v1/trading/orders", &own);
            let came = asked_in_parts(address, key, &[head.as_bytes(), body.as_bytes()]);
            let interim = (!expect.is_empty()).then_some((100, false));
            let expected = interim.into_iter().chain([(200, false), (200, true)]);
            assert!(statuses(&came).into_iter().eq(expected), "{head}{came}");
        }
    }
}
