//! The load: connections that send a request, read its answer, and send the next; at once, or at a
//! pace.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The requests of each connection, sent round and round.
pub type Requests = Vec<Arc<[Vec<u8>]>>;

/// What a run measured.
pub struct Measured {
    /// Microseconds from when a request was due, or sent where there is no pace, to the last byte
    /// of its answer.
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

/// Drives a connection for each list of requests, for `duration`; at `per_second` requests a second
/// in all, or as fast as answers come. Any answer but 200 ends the run: a figure with errors in it
/// says nothing.
pub fn run(
    address: SocketAddr,
    requests: &Requests,
    duration: Duration,
    per_second: Option<f64>,
) -> Measured {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        // The first answer on each says that the server has taken the connection.
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
        let (mut tell, mut connections) = (Vec::new(), Vec::new());
        for (stream, requests) in streams.into_iter().zip(requests) {
            let (tells, told) = unbounded_channel();
            let due = per_second.map(|_| told);
            connections.push(tokio::spawn(Drive { stream, due, until }.run(Arc::clone(requests))));
            tell.push(tells);
        }
        let pace = per_second.map(|rate| std::thread::spawn(move || pace(&tell, rate, until)));
        let mut latency = histogram();
        for connection in connections {
            latency.add(connection.await.expect("a connection")).expect("equal histograms");
        }
        if let Some(pace) = pace {
            pace.join().expect("the pace");
        }
        Measured { latency, elapsed: began.elapsed() }
    })
}

/// Tells connections in turn when a request is due, evenly spread. On a thread of its own, because
/// the runtime's timers go by whole milliseconds.
fn pace(connections: &[UnboundedSender<Instant>], per_second: f64, until: Instant) {
    let began = Instant::now();
    for (number, connection) in connections.iter().cycle().enumerate() {
        let due = began + Duration::from_secs_f64(number as f64 / per_second);
        if due >= until {
            return;
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        if connection.send(due).is_err() {
            // It says itself what it has failed over.
            return;
        }
    }
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

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 3).expect("a histogram")
}

/// One connection.
struct Drive {
    stream: TcpStream,
    /// When to send, unless as fast as answers come.
    due: Option<UnboundedReceiver<Instant>>,
    until: Instant,
}

impl Drive {
    async fn run(mut self, requests: Arc<[Vec<u8>]>) -> Histogram<u64> {
        let mut latency = histogram();
        let mut answer = Vec::with_capacity(64 * 1024);
        for request in requests.iter().cycle() {
            let Some(due) = self.due().await.filter(|due| *due < self.until) else { break };
            self.stream.write_all(request).await.expect("sending");
            read_answer(&mut self.stream, &mut answer).await;
            let us = u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX);
            latency.saturating_record(us);
        }
        // Operations of a batch are refused one by one, in an answer of status 200.
        assert!(error_in(&answer).is_none(), "{}", String::from_utf8_lossy(&answer));
        latency
    }

    /// When the next request is due; `None` once there will be none.
    async fn due(&mut self) -> Option<Instant> {
        match &mut self.due {
            Some(due) => due.recv().await,
            None => Some(Instant::now()),
        }
    }
}

/// Where an answer tells of an error, if it does.
fn error_in(answer: &[u8]) -> Option<usize> {
    const ERROR: &[u8] = b"\"error\":";
    answer.windows(ERROR.len()).position(|window| window == ERROR)
}

/// Reads an answer; the length of its head.
async fn read_answer(stream: &mut TcpStream, answer: &mut Vec<u8>) -> usize {
    answer.clear();
    let mut whole = None;
    loop {
        let count = stream.read_buf(answer).await.expect("reading");
        assert!(count > 0, "the server closed the connection: {}", String::from_utf8_lossy(answer));
        if whole.is_none() {
            whole = read_head(answer);
        }
        let Some((head_bytes, body)) = whole else { continue };
        // Without a length it comes in chunks, the last of which is empty.
        let done = match body {
            Some(length) => answer.len() >= head_bytes + length,
            None => answer.ends_with(b"\r\n0\r\n\r\n"),
        };
        if done {
            return head_bytes;
        }
    }
}

/// How long an answer's head is, and its body where that is said, once the head is there.
fn read_head(answer: &[u8]) -> Option<(usize, Option<usize>)> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut head = httparse::Response::new(&mut headers);
    let Ok(httparse::Status::Complete(head_bytes)) = head.parse(answer) else { return None };
    assert!(matches!(head.code, Some(200 | 201)), "{}", String::from_utf8_lossy(answer));
    let length = head.headers.iter().find(|h| h.name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|h| std::str::from_utf8(h.value).ok()?.parse::<usize>().ok());
    Some((head_bytes, length))
}
