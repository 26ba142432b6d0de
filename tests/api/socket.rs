//! The API over real sockets: limits of connections, and how connections end.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use exchange::command::Command;
use exchange::ids::{KeyNo, UserNo};
use http::{Limits, serve};

use super::Venue;

/// A server on a free port; `stop` ends it.
pub struct Served {
    pub venue: Venue,
    pub address: std::net::SocketAddr,
    pub stop: oneshot::Sender<()>,
    pub ended: JoinHandle<std::io::Result<()>>,
}

pub async fn served(limits: Limits) -> Served {
    let venue = Venue::open().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let engine = venue.running.engine();
    let ended = tokio::spawn(serve(listener, engine, limits, async {
        drop(stopped.await);
    }));
    Served { venue, address, stop, ended }
}

impl Served {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// The head of an operator's request, without a body.
    fn request(&self, line: &str, headers: &str) -> String {
        let key = &self.venue.operator;
        format!("{line} HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n{headers}\r\n")
    }

    /// Sends bytes and reads until the server closes.
    async fn exchange(&self, bytes: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes.as_bytes()).await.unwrap();
        rest(&mut stream).await
    }
}

async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Reads one answer that has a `content-length`.
async fn one(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        bytes.push(stream.read_u8().await.unwrap());
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.unwrap().parse::<usize>().unwrap() {
                return text.into_owned();
            }
        }
    }
}

const LAST: &str = "connection: close\r\n";

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let served = served(Limits::STANDARD).await;
    let first = served.request("GET /api/v1/trading/balance", "");
    let second = served.request("HEAD /api/v1/trading/balance", "");
    let third = served.request("GET /api/v1/none", LAST);
    let answers = served.exchange(&format!("{first}{second}{third}")).await;
    let starts: Vec<&str> = answers.matches("HTTP/1.1 200").collect();
    assert_eq!(starts.len(), 2);
    assert_eq!(answers.matches("\"available\"").count(), 1, "HEAD has no body");
    assert!(answers.contains("HTTP/1.1 404") && answers.contains("NOT_FOUND"));
    for header in ["x-request-id: ", "sequence: 3", "cache-control: no-store"] {
        assert_eq!(answers.matches(header).count(), 3, "{header}");
    }
}

/// An answer must not wait for the bytes that follow its request: the client may be waiting for the
/// answer before it sends them.
#[tokio::test]
async fn a_partial_next_request_does_not_delay_the_answer() {
    let served = served(Limits::STANDARD).await;
    for beginning in ["\r\n", "GET /api/v1/tra", "GET /api/v1/trading/balance HTTP/1.1\r\nho"] {
        let mut stream = served.connect().await;
        let request = served.request("GET /api/v1/trading/balance", "");
        stream.write_all(format!("{request}{beginning}").as_bytes()).await.unwrap();
        let answer = tokio::time::timeout(Duration::from_secs(20), one(&mut stream)).await;
        let answer = answer.unwrap_or_else(|_| panic!("no answer before {beginning:?}"));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

#[tokio::test]
async fn a_client_that_closes_its_sending_side_is_still_answered() {
    let served = served(Limits::STANDARD).await;
    for round in 0..20 {
        let mut stream = served.connect().await;
        let body = format!(r#"{{"name":"Rain","slug":"rain-{round}"}}"#);
        let headers = format!("content-length: {}\r\n", body.len());
        let request = served.request("POST /api/v1/admin/categories", &headers);
        stream.write_all(format!("{request}{body}").as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let answer = rest(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    }
}

#[tokio::test]
async fn an_idempotency_key_on_a_cancel_is_ignored() {
    let served = served(Limits::STANDARD).await;
    let headers = format!("idempotency-key: cancel-1\r\n{LAST}");
    let answer = served.exchange(&served.request("DELETE /api/v1/trading/orders", &headers)).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(r#""cancelled":[]"#), "{answer}");
}

#[tokio::test]
async fn chunked_bodies_are_read_and_bounded() {
    let served = served(Limits::STANDARD).await;
    let headers = format!("transfer-encoding: chunked\r\n{LAST}");
    let request = served.request("POST /api/v1/admin/categories", &headers);
    let body = r#"{"name":"Rain","slug":"rain"}"#;
    let answer =
        served.exchange(&format!("{request}{:x}\r\n{body}\r\n0\r\n\r\n", body.len())).await;
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert!(answer.contains("location: /api/v1/categories/"));

    let mut stream = served.connect().await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let chunk = format!("8000\r\n{}\r\n", "x".repeat(0x8000));
    for _ in 0..3 {
        // The server may already have answered and closed.
        drop(stream.write_all(chunk.as_bytes()).await);
    }
    let answer = one(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("CONTENT_TOO_LARGE"), "{answer}");
}

#[tokio::test]
async fn a_body_that_does_not_arrive_times_out() {
    let limits = Limits { body_wait: Duration::from_millis(5), ..Limits::STANDARD };
    let served = served(limits).await;
    let request = served.request("POST /api/v1/admin/categories", "content-length: 20\r\n");
    let answer = served.exchange(&format!("{request}{{")).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("REQUEST_TIMEOUT"), "{answer}");
}

/// A key is checked when the request begins, and may be revoked before the body arrives: it must be
/// checked again before the command is submitted.
#[tokio::test]
async fn a_key_revoked_before_the_body_arrives_is_refused() {
    let served = served(Limits::STANDARD).await;
    let body = r#"{"name":"Rain","slug":"rain"}"#;
    let headers = format!("content-length: {}\r\n{LAST}", body.len());
    let request = served.request("POST /api/v1/admin/categories", &headers);
    let mut slow = served.connect().await;
    slow.write_all(request.as_bytes()).await.unwrap();
    let engine = served.venue.running.engine();
    // Whether the server has read the head by now or only checks the key after the revocation, the
    // answer is the same.
    tokio::time::sleep(Duration::from_millis(50)).await;
    engine.ask(Command::RevokeKey { user: UserNo(0), key: KeyNo(0) }).unwrap();
    slow.write_all(body.as_bytes()).await.unwrap();
    let answer = one(&mut slow).await;
    assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("INVALID_API_KEY"), "{answer}");
    assert_eq!(engine.read().catalogue.categories().len(), 0);
}

#[tokio::test]
async fn a_head_that_does_not_arrive_closes_the_connection() {
    let limits = Limits { head_wait: Duration::from_millis(5), ..Limits::STANDARD };
    let served = served(limits).await;
    assert_eq!(served.exchange("GET /api/v1/trading/bal").await, "");
    assert_eq!(served.exchange("").await, "");
}

#[tokio::test]
async fn a_connection_beyond_the_limit_is_refused_with_503() {
    let served = served(Limits { connections_max: 1, ..Limits::STANDARD }).await;
    let mut first = served.connect().await;
    let request = served.request("GET /api/v1/trading/balance", "");
    first.write_all(request.as_bytes()).await.unwrap();
    assert!(one(&mut first).await.starts_with("HTTP/1.1 200"));
    let mut second = served.connect().await;
    let answer = one(&mut second).await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("OVERLOADED"), "{answer}");
    assert!(answer.contains("retry-after: 1") && answer.contains("connection: close"));
    first.write_all(request.as_bytes()).await.unwrap();
    assert!(one(&mut first).await.starts_with("HTTP/1.1 200"), "the first goes on");
}

/// Connections that send nothing, or not a whole request, must not keep others out.
#[tokio::test]
async fn a_connection_without_a_whole_request_gives_its_slot_to_a_new_one() {
    let served = served(Limits { connections_max: 2, ..Limits::STANDARD }).await;
    let (mut silent, mut slow) = (served.connect().await, served.connect().await);
    let request = served.request("GET /api/v1/trading/balance", "");
    let (begun, rest_of_it) = request.split_at(20);
    slow.write_all(begun.as_bytes()).await.unwrap();
    let mut third = served.connect().await;
    third.write_all(request.as_bytes()).await.unwrap();
    assert!(one(&mut third).await.starts_with("HTTP/1.1 200"));
    let closed = tokio::time::timeout(Duration::from_secs(20), rest(&mut silent)).await;
    assert_eq!(closed.expect("the oldest is closed"), "");
    slow.write_all(rest_of_it.as_bytes()).await.unwrap();
    assert!(one(&mut slow).await.starts_with("HTTP/1.1 200"), "the other goes on");
    // Both have shown the key of one user, whose share is one of two slots.
    let mut fourth = served.connect().await;
    fourth.write_all(request.as_bytes()).await.unwrap();
    assert!(one(&mut fourth).await.starts_with("HTTP/1.1 200"));
    let closed = tokio::time::timeout(Duration::from_secs(20), rest(&mut third)).await;
    assert_eq!(closed.expect("the least recently used is closed"), "");
    slow.write_all(request.as_bytes()).await.unwrap();
    assert!(one(&mut slow).await.starts_with("HTTP/1.1 200"), "the user's other goes on");
}

/// Requests without a valid key must not keep others out either, whatever they are answered.
#[tokio::test]
async fn a_connection_without_a_valid_key_gives_its_slot_to_a_new_one() {
    let served = served(Limits { connections_max: 3, ..Limits::STANDARD }).await;
    let request = served.request("GET /api/v1/trading/balance", "");
    let health = "GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n".to_owned();
    let keyless = "GET /api/v1/trading/balance HTTP/1.1\r\nhost: h\r\n\r\n".to_owned();
    let wrong = keyless.replace("host: h", "host: h\r\nx-api-key: ook_wrong");
    let mut strangers = Vec::new();
    for (asked, status) in [(health, "200"), (keyless, "401"), (wrong, "401")] {
        let mut stranger = served.connect().await;
        stranger.write_all(asked.as_bytes()).await.unwrap();
        assert!(one(&mut stranger).await.starts_with(&format!("HTTP/1.1 {status}")));
        strangers.push(stranger);
    }
    let mut known = Vec::new();
    for mut stranger in strangers {
        let mut trader = served.connect().await;
        trader.write_all(request.as_bytes()).await.unwrap();
        assert!(one(&mut trader).await.starts_with("HTTP/1.1 200"));
        let closed = tokio::time::timeout(Duration::from_secs(20), rest(&mut stranger)).await;
        assert_eq!(closed.expect("the oldest is closed"), "");
        known.push(trader);
    }
    known[0].write_all(request.as_bytes()).await.unwrap();
    assert!(one(&mut known[0]).await.starts_with("HTTP/1.1 200"), "it keeps its slot");
}

/// The status of an answer to a request with this key, or 0 if the connection is closed.
async fn status(stream: &mut TcpStream, key: &str) -> u16 {
    let request =
        format!("GET /api/v1/trading/balance HTTP/1.1\r\nhost: h\r\nx-api-key: {key}\r\n\r\n");
    if stream.write_all(request.as_bytes()).await.is_err() {
        return 0;
    }
    let mut bytes = vec![0; 4096];
    let read = stream.read(&mut bytes).await.unwrap_or(0);
    let answer = String::from_utf8_lossy(&bytes[..read]).into_owned();
    answer.split(' ').nth(1).map_or(0, |status| status.parse().unwrap())
}

/// A few users must not be able to keep out the others, the operator and health checks.
#[tokio::test]
async fn users_with_many_connections_keep_nobody_out() {
    let served = served(Limits { connections_max: 64, ..Limits::STANDARD }).await;
    let (_, light) = served.venue.trader("light").await;
    let mut heavy = Vec::new();
    for name in ["ann", "bob", "cid", "dan"] {
        let (id, key) = served.venue.trader(name).await;
        let mut own = Vec::new();
        for _ in 0..20 {
            let mut stream = served.connect().await;
            assert_eq!(status(&mut stream, &key).await, 200);
            own.push(stream);
        }
        heavy.push((id, key, own));
    }
    let (mut mine, mut operator) = (served.connect().await, served.connect().await);
    let key = served.venue.operator.clone();
    for _ in 0..3 {
        assert_eq!(status(&mut mine, &light).await, 200);
        assert_eq!(status(&mut operator, &key).await, 200);
        let mut check = served.connect().await;
        check.write_all(b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
        assert!(one(&mut check).await.starts_with("HTTP/1.1 200"));
    }
    // Each of the four holds a quarter of what traders may hold, the last ones that came.
    let (id, key, mut own) = heavy.remove(0);
    let mut answered = 0;
    for stream in &mut own[..10] {
        answered += usize::from(status(stream, &key).await == 200);
    }
    assert_eq!(answered, 5, "of ten");
    // Once the key is revoked, they give way to anybody.
    let keys = served.venue.get(&served.venue.operator, &format!("/admin/users/{id}/keys")).await;
    let key_id = keys.json["keys"][0]["keyId"].as_str().unwrap().to_owned();
    let path = format!("/admin/users/{id}/keys/{key_id}");
    let operator_key = &served.venue.operator;
    let revoked = served.venue.call(operator_key, hyper::Method::DELETE, &path, None).await;
    assert_eq!(revoked.status, 204);
    let mut strangers = Vec::new();
    for _ in 0..40 {
        let mut stranger = served.connect().await;
        stranger.write_all(b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
        assert!(one(&mut stranger).await.starts_with("HTTP/1.1 200"));
        strangers.push(stranger);
    }
    for stream in &mut own {
        assert_eq!(status(stream, &key).await, 0, "closed");
    }
    assert_eq!(status(&mut mine, &light).await, 200, "others keep theirs");
}

/// Resetting a connection that is being refused with 503 would lose the client that answer.
#[tokio::test]
async fn a_stop_waits_for_connections_being_refused() {
    let served = served(Limits { connections_max: 1, ..Limits::STANDARD }).await;
    let mut first = served.connect().await;
    let request = served.request("GET /api/v1/trading/balance", "");
    first.write_all(request.as_bytes()).await.unwrap();
    one(&mut first).await;
    let mut second = served.connect().await;
    assert!(one(&mut second).await.starts_with("HTTP/1.1 503"));
    served.stop.send(()).unwrap();
    assert_eq!(rest(&mut first).await, "");
    // What the client sends now is read and dropped, not answered with a reset.
    for _ in 0..20 {
        second.write_all(request.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    second.shutdown().await.unwrap();
    assert_eq!(rest(&mut second).await, "");
    served.ended.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_stop_answers_requests_in_progress_and_closes_idle_connections() {
    let served = served(Limits::STANDARD).await;
    let (mut idle, mut busy) = (served.connect().await, served.connect().await);
    let request = served.request("GET /api/v1/trading/balance", "");
    idle.write_all(request.as_bytes()).await.unwrap();
    one(&mut idle).await;
    let body = r#"{"name":"Rain","slug":"rain"}"#;
    let headers = format!("content-length: {}\r\nexpect: 100-continue\r\n", body.len());
    let request = served.request("POST /api/v1/admin/categories", &headers);
    busy.write_all(request.as_bytes()).await.unwrap();
    // The server has the request in progress once it answers 100 Continue.
    let mut asked = [0_u8; 25];
    busy.read_exact(&mut asked).await.unwrap();
    assert!(asked.starts_with(b"HTTP/1.1 100"));
    served.stop.send(()).unwrap();
    assert_eq!(rest(&mut idle).await, "");
    busy.write_all(body.as_bytes()).await.unwrap();
    let answer = rest(&mut busy).await;
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    served.ended.await.unwrap().unwrap();
    assert!(TcpStream::connect(served.address).await.is_err());
}

#[tokio::test]
async fn a_drain_beyond_its_time_limit_is_cut_off() {
    let limits = Limits { drain_wait: Duration::from_millis(5), ..Limits::STANDARD };
    let served = served(limits).await;
    let mut stuck = served.connect().await;
    let headers = "content-length: 9\r\nexpect: 100-continue\r\n";
    let request = served.request("POST /api/v1/admin/categories", headers);
    stuck.write_all(request.as_bytes()).await.unwrap();
    let mut asked = [0_u8; 25];
    stuck.read_exact(&mut asked).await.unwrap();
    served.stop.send(()).unwrap();
    served.ended.await.unwrap().unwrap();
    assert_eq!(rest(&mut stuck).await, "");
}

/// The statuses of the answers to these bytes, sent at once or byte by byte, until the server
/// closes.
async fn statuses(served: &Served, bytes: &str, at_once: bool) -> Vec<u16> {
    let mut stream = served.connect().await;
    stream.set_nodelay(true).unwrap();
    for part in bytes.as_bytes().chunks(if at_once { bytes.len() } else { 1 }) {
        // The server may have answered and closed.
        if stream.write_all(part).await.is_err() {
            break;
        }
    }
    let came = tokio::time::timeout(Duration::from_secs(20), rest(&mut stream)).await;
    let came = came.unwrap_or_else(|_| panic!("it stays open: {bytes:?}"));
    let answers = came.split("HTTP/1.1 ").skip(1);
    answers.map(|answer| answer[..3].parse().unwrap()).collect()
}

/// A proxy in front may read such bytes as other requests than the server does. Whatever follows
/// them is not answered.
#[tokio::test]
async fn what_two_parsers_may_read_differently_gets_400_and_an_end() {
    let served = served(Limits::STANDARD).await;
    let post = served.request("POST /api/v1/admin/categories", "");
    let post = post.strip_suffix("\r\n").unwrap();
    let next = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    let chunked = "transfer-encoding: chunked\r\n";
    for refused in [
        next.replace("\r\n", "\n"),
        "GET /healthz HTTP/1.1\r\nhost: x\na: b\r\n\r\n".to_owned(),
        "GET /healthz HTTP/1.1\r\nhost: x\r\n\n".to_owned(),
        format!("\n{next}"),
        format!("{}{next}", "\r\n".repeat(1000)),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        format!("{post}{chunked}{chunked}\r\n2\r\n{{}}\r\n0\r\n\r\n"),
        format!("{post}transfer-encoding: chunked, chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"),
        format!("{post}{chunked}\r\n2\n{{}}\r\n0\r\n\r\n"),
    ] {
        for at_once in [true, false] {
            let came = statuses(&served, &format!("{next}{refused}{next}"), at_once).await;
            assert_eq!(came, [200, 400], "{refused:?} {at_once}");
        }
    }
}

#[tokio::test]
async fn what_is_sound_is_answered_on_one_connection() {
    let served = served(Limits::STANDARD).await;
    let (next, last) = ("\r\nGET /healthz HTTP/1.1\r\nhost: x\r\n\r\n", LAST);
    let chunked = served.request("POST /api/v1/admin/categories", "transfer-encoding: chunked\r\n");
    let sized = served.request("POST /api/v1/admin/categories", "content-length: 4\r\n");
    let all = format!(
        "{next}{chunked}2;a=b\r\n{{}}\r\n0\r\nx: y\r\n\r\n{next}{sized}{{\n\n}}{next}{}",
        served.request("GET /api/v1/time", last)
    );
    for at_once in [true, false] {
        assert_eq!(statuses(&served, &all, at_once).await, [200, 400, 200, 400, 200, 200]);
    }
    let newer = format!("GET /healthz HTTP/1.3\r\nhost: x\r\n{last}\r\n");
    assert_eq!(statuses(&served, &newer, true).await, [200]);
}

/// The answer does not wait for the bytes of a chunk that is too large.
#[tokio::test]
async fn a_chunk_announced_beyond_the_bound_gets_413_at_once() {
    let served = served(Limits { body_bytes_max: 100, ..Limits::STANDARD }).await;
    let request = served.request("POST /api/v1/admin/categories", "transfer-encoding: chunked\r\n");
    for chunks in ["65\r\n", "ffffffffffffffffff\r\n", "2\r\n{}\r\n63\r\n"] {
        for at_once in [true, false] {
            let came = statuses(&served, &format!("{request}{chunks}"), at_once).await;
            assert_eq!(came, [413], "{chunks:?}");
        }
    }
}

#[tokio::test]
async fn hosts_and_targets_that_are_none_get_400() {
    let served = served(Limits::STANDARD).await;
    let get =
        |target: &str, host: &str| format!("GET {target} HTTP/1.1\r\nhost: {host}\r\n{LAST}\r\n");
    for host in ["x y", "a/b", "u@h", "x:ab", "h?q", "[::1", "<x>", "\"x\"", "x:1:2"] {
        let answer = served.exchange(&get("/healthz", host)).await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("\"Host\""), "{answer}");
    }
    for target in ["ftp://x/healthz", "ws://x/healthz", "http://u@x/healthz"] {
        let answer = served.exchange(&get(target, "x")).await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("\"target\""), "{answer}");
    }
    for target in ["http://x:80/healthz", "HTTPS://[::1]/healthz", "/healthz"] {
        assert!(served.exchange(&get(target, "x:")).await.starts_with("HTTP/1.1 200"), "{target}");
    }
}

/// HTTP/1.0 has no chunks: an answer without a length ends with its connection, and says so.
#[tokio::test]
async fn an_old_client_keeps_its_connection_only_where_the_length_is_known() {
    let served = served(Limits::STANDARD).await;
    let old = |target: &str| {
        let request = served.request(&format!("GET {target}"), "connection: keep-alive\r\n");
        request.replace("HTTP/1.1", "HTTP/1.0")
    };
    let mut stream = served.connect().await;
    stream.write_all(old("/api/v1/time").as_bytes()).await.unwrap();
    let short = one(&mut stream).await.to_ascii_lowercase();
    assert!(short.contains("connection: keep-alive"), "{short}");
    for round in 0..200 {
        let body = format!(r#"{{"name":"{}","slug":"rain-{round}"}}"#, "r".repeat(100));
        let headers = format!("content-length: {}\r\n{LAST}", body.len());
        let request = served.request("POST /api/v1/admin/categories", &headers);
        let made = served.exchange(&format!("{request}{body}")).await;
        assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    }
    let long = served.exchange(&old("/api/v1/categories/public/list")).await.to_ascii_lowercase();
    let (head, body) = long.split_once("\r\n\r\n").unwrap();
    assert!(body.len() > 16 * 1024 && !head.contains("content-length"), "{head}");
    assert!(head.contains("connection: close") && !head.contains("keep-alive"), "{head}");
}

/// RFC 9110, 15.5.16: only where the coding was the reason.
#[tokio::test]
async fn a_coded_body_is_refused_with_the_coding_that_is_taken() {
    let served = served(Limits::STANDARD).await;
    for (header, names_it) in [
        ("content-encoding: gzip", true),
        ("transfer-encoding: gzip, chunked", true),
        ("content-type: text/plain", false),
    ] {
        let length = if header.starts_with("transfer") { "" } else { "content-length: 5\r\n" };
        let headers = format!("{header}\r\n{length}{LAST}");
        let request = served.request("POST /api/v1/admin/categories", &headers);
        let answer = served.exchange(&format!("{request}0\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 415"), "{answer}");
        assert_eq!(answer.contains("accept-encoding: identity\r\n"), names_it, "{answer}");
    }
}

/// The status of a read that waits for a change after `after`, for a second.
async fn waited(served: &Served, key: &str, after: u64) -> String {
    let path = format!("/api/v1/trading/balance?waitAfter={after}&timeoutSeconds=1");
    let head = format!("host: x\r\nx-api-key: {key}\r\nconnection: close\r\n\r\n");
    let answer = served.exchange(&format!("GET {path} HTTP/1.1\r\n{head}")).await;
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_that_wait_end_with_their_connection() {
    let served = served(Limits::STANDARD).await;
    let (_, key) = served.venue.trader("ann").await;
    let after = served.venue.running.engine().watermark().get();
    let path = format!("/api/v1/trading/balance?waitAfter={after}&timeoutSeconds=60");
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n\r\n");
    let mut waiting = Vec::new();
    // Until there is no room for another.
    while waiting.len() < 16 || waited(&served, &key, after).await != "503" {
        assert!(waiting.len() < 32);
        let mut stream = served.connect().await;
        // What is sent behind the first is no sign of life.
        stream.write_all(request.repeat(2).as_bytes()).await.unwrap();
        waiting.push(stream);
    }
    // One that only sends nothing more gets what there is.
    let mut half = waiting.remove(0);
    half.shutdown().await.unwrap();
    assert!(one(&mut half).await.starts_with("HTTP/1.1 200"));
    drop(waiting);
    let began = std::time::Instant::now();
    while waited(&served, &key, after).await != "200" {
        assert!(began.elapsed() < Duration::from_secs(30), "they wait for nobody");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
