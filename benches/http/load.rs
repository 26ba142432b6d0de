//! The closed-loop load: each connection sends a request, reads its answer, and sends the next.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The requests of each connection, sent in a cycle.
pub type Requests = Vec<Arc<[Vec<u8>]>>;

/// What a run measured.
pub struct Measured {
    /// Microseconds from when a request was due (at a fixed pace) or sent (otherwise) to the last
    /// byte of its answer.
    pub latency: Histogram<u64>,
    /// How long the run took.
    pub elapsed: Duration,
}

impl Measured {
    /// Answers a second.
    pub fn per_second(&self) -> f64 {
        self.latency.len() as f64 / self.elapsed.as_secs_f64()
    }
}

/// Drives one connection per list of requests, for `duration`. Any answer but 200 ends the run,
/// since a figure that includes errors is meaningless.
pub fn run(address: SocketAddr, requests: &Requests, duration: Duration) -> Measured {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        // The first answer on each shows that the server has accepted the connection.
        let (mut streams, mut answer) = (Vec::new(), Vec::new());
        for requests in requests {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            stream.set_nodelay(true).expect("no delay");
            stream.write_all(requests.first().expect("a request")).await.expect("sending");
            read_answer(&mut stream, &mut answer).await;
            streams.push(stream);
        }
        let began = Instant::now();
        let until = began + duration;
        let connections: Vec<_> = streams
            .into_iter()
            .zip(requests)
            .map(|(stream, requests)| tokio::spawn(drive(stream, Arc::clone(requests), until)))
            .collect();
        let mut latency = histogram();
        for connection in connections {
            latency.add(connection.await.expect("a connection")).expect("equal histograms");
        }
        Measured { latency, elapsed: began.elapsed() }
    })
}

/// The body of the answer to one request.
pub fn ask(address: SocketAddr, request: &[u8]) -> Vec<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        stream.write_all(request).await.expect("sending");
        let mut answer = Vec::new();
        let head_bytes = read_answer(&mut stream, &mut answer).await;
        answer.split_off(head_bytes)
    })
}

/// For microseconds, up to a minute.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 3).expect("a histogram")
}

/// Whole microseconds.
pub fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Sends a connection's requests one by one.
async fn drive(mut stream: TcpStream, requests: Arc<[Vec<u8>]>, until: Instant) -> Histogram<u64> {
    let mut latency = histogram();
    let mut answer = Vec::with_capacity(64 * 1024);
    for request in requests.iter().cycle() {
        let sent = Instant::now();
        if sent >= until {
            break;
        }
        stream.write_all(request).await.expect("sending");
        read_answer(&mut stream, &mut answer).await;
        latency.saturating_record(micros(sent.elapsed()));
    }
    // Operations of a batch are refused individually within a 200 answer.
    assert!(error_in(&answer).is_none(), "{}", String::from_utf8_lossy(&answer));
    latency
}

/// The position of an error in an answer, if there is one.
fn error_in(answer: &[u8]) -> Option<usize> {
    const ERROR: &[u8] = b"\"error\":";
    answer.windows(ERROR.len()).position(|window| window == ERROR)
}

/// Reads an answer; returns the length of its head.
async fn read_answer(stream: &mut TcpStream, answer: &mut Vec<u8>) -> usize {
    answer.clear();
    loop {
        let count = stream.read_buf(answer).await.expect("reading");
        assert!(count > 0, "the server closed the connection: {}", String::from_utf8_lossy(answer));
        if let Some(head_bytes) = head_of_whole(answer) {
            return head_bytes;
        }
    }
}

/// The length of an answer's head, once the answer is complete.
pub fn head_of_whole(answer: &[u8]) -> Option<usize> {
    let (head_bytes, body) = read_head(answer)?;
    // Without a content length it is chunked and ends with an empty chunk.
    let whole = match body {
        Some(length) => answer.len() >= head_bytes + length,
        None => answer.ends_with(b"\r\n0\r\n\r\n"),
    };
    whole.then_some(head_bytes)
}

/// The lengths of an answer's head and, if stated, of its body, once the head is complete.
fn read_head(answer: &[u8]) -> Option<(usize, Option<usize>)> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut head = httparse::Response::new(&mut headers);
    let Ok(httparse::Status::Complete(head_bytes)) = head.parse(answer) else { return None };
    assert!(matches!(head.code, Some(200 | 201)), "{}", String::from_utf8_lossy(answer));
    let length = head.headers.iter().find(|h| h.name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|h| std::str::from_utf8(h.value).ok()?.parse::<usize>().ok());
    Some((head_bytes, length))
}
