//! The load: each connection keeps so many requests without an answer, and sends as many as were
//! answered together.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::bodies;
use super::load::{self, Measured, Requests, histogram, micros};
use super::target::Exchange;

/// Before the length of a body.
const LENGTH: &[u8] = b"content-length: ";

/// Orders of each connection's own trader, as frames.
pub fn placements(exchange: &Exchange) -> Requests {
    exchange.requests(|_, number, k| {
        let body = exchange.order(number, k);
        let message = json!({"op": "place", "id": format!("{k}"), "body": body});
        masked(message.to_string().as_bytes())
    })
}

/// Orders of the last trader as frames, of which every fourth takes the others off the book:
/// however many are sent, few rest.
pub fn alone(exchange: &Exchange) -> Vec<Vec<u8>> {
    let body = |k| bodies::alone(&exchange.market, k);
    let message = |k| json!({"op": "place", "id": format!("{k}"), "body": body(k)}).to_string();
    (0..4096).map(|k| masked(message(k).as_bytes())).collect()
}

/// How requests are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By HTTP.
    Http,
    /// By WebSocket.
    Socket,
}

impl Way {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Way::Http => "http",
            Way::Socket => "websocket",
        }
    }

    /// The length of the first answer, if it is whole.
    fn answer(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Way::Http => {
                // Found by the length that is announced; the rest is not read.
                let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
                assert!(bytes.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(bytes));
                let at = bytes[..head].windows(LENGTH.len()).position(|part| part == LENGTH)?;
                let digits = bytes[at + LENGTH.len()..].iter().take_while(|b| b.is_ascii_digit());
                let length = digits.fold(0, |sum, b| sum * 10 + usize::from(b - b'0'));
                (bytes.len() >= head + length).then_some(head + length)
            }
            Way::Socket => frame(bytes).map(|(head, length)| head + length),
        }
    }
}

/// The lengths of a server's frame: its head, and its text; `None` if it is not whole.
pub fn frame(bytes: &[u8]) -> Option<(usize, usize)> {
    let (head, length) = match *bytes.get(1)? {
        126 => (4, usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))),
        127 => {
            let length = u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?);
            (10, usize::try_from(length).expect("a length"))
        }
        length => (2, usize::from(length)),
    };
    (bytes.len() >= head + length).then_some((head, length))
}

/// A client's frame with this text. Its mask is zero, so that the load costs little.
pub fn masked(text: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x81];
    match text.len() {
        short @ 0..=125 => frame.push(0x80 | u8::try_from(short).expect("short")),
        long => {
            frame.push(0x80 | 0x7e);
            frame.extend_from_slice(&u16::try_from(long).expect("a length").to_be_bytes());
        }
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(text);
    frame
}

/// Opens a stream, and reads its welcome.
pub async fn open(address: SocketAddr, key: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.set_nodelay(true).expect("no delay");
    let handshake = format!(
        "GET /api/v1/stream HTTP/1.1\r\nHost: bench\r\nX-API-Key: {key}\r\nConnection: \
         Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: \
         dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(handshake.as_bytes()).await.expect("sending");
    let mut bytes = Vec::new();
    loop {
        stream.read_buf(&mut bytes).await.expect("reading");
        if let Some(head) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            assert!(bytes.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&bytes));
            if frame(&bytes[head + 4..]).is_some() {
                return stream;
            }
        }
    }
}

/// Drives one connection per list of requests, `deep` requests at a time, for `duration`.
pub fn run(
    address: SocketAddr,
    way: Way,
    requests: &Requests,
    keys: &[String],
    deep: usize,
    duration: Duration,
) -> Measured {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let mut streams = Vec::new();
        for key in keys {
            streams.push(match way {
                Way::Socket => open(address, key).await,
                Way::Http => {
                    let stream = TcpStream::connect(address).await.expect("a connection");
                    stream.set_nodelay(true).expect("no delay");
                    stream
                }
            });
        }
        let began = Instant::now();
        let until = began + duration;
        let drives = streams.into_iter().zip(requests).map(|(stream, requests)| {
            tokio::spawn(drive(stream, way, Arc::clone(requests), deep, until))
        });
        let drives: Vec<_> = drives.collect();
        let mut latency = load::histogram();
        for drive in drives {
            latency.add(drive.await.expect("a connection")).expect("equal histograms");
        }
        Measured { latency, elapsed: began.elapsed() }
    })
}

async fn drive(
    mut stream: TcpStream,
    way: Way,
    requests: Arc<[Vec<u8>]>,
    deep: usize,
    until: Instant,
) -> Histogram<u64> {
    let (mut latency, mut sent) = (histogram(), VecDeque::new());
    let (mut out, mut answers) = (Vec::new(), Vec::with_capacity(256 * 1024));
    let mut next = requests.iter().cycle();
    loop {
        let now = Instant::now();
        out.clear();
        while now < until && sent.len() < deep {
            out.extend_from_slice(next.next().expect("a request"));
            sent.push_back(now);
        }
        if sent.is_empty() {
            return latency;
        }
        stream.write_all(&out).await.expect("sending");
        let count = stream.read_buf(&mut answers).await.expect("reading");
        assert!(count > 0, "the server closed: {}", String::from_utf8_lossy(&answers));
        let (now, mut done) = (Instant::now(), 0);
        while let Some(length) = way.answer(&answers[done..]) {
            let answer = &answers[done..done + length];
            done += length;
            if way == Way::Socket && is_heartbeat(answer) {
                continue;
            }
            let begun = sent.pop_front().expect("a request");
            latency.saturating_record(micros(now.duration_since(begun)));
            assert!(way == Way::Http || is_good(answer), "{}", String::from_utf8_lossy(answer));
        }
        answers.drain(..done);
    }
}

fn is_heartbeat(frame: &[u8]) -> bool {
    frame.get(2..).is_some_and(|text| text.starts_with(b"{\"kind\":\"heartbeat\""))
}

fn is_good(frame: &[u8]) -> bool {
    const GOOD: &[u8] = b"\"status\":200";
    frame.iter().take(64).count() >= GOOD.len()
        && frame[..frame.len().min(64)].windows(GOOD.len()).any(|part| part == GOOD)
}
