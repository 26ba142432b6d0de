//! The load: connections that each send a request, read its answer, and send the next.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What a run measured.
pub struct Measured {
    /// Microseconds from the first byte sent to the last byte read.
    pub latency: Histogram<u64>,
    /// How long the run took.
    pub elapsed: Duration,
    /// Memory of the server's process after the run.
    pub resident_kib: u64,
}

impl Measured {
    /// Answers a second.
    pub fn per_second(&self) -> f64 {
        self.latency.len() as f64 / self.elapsed.as_secs_f64()
    }
}

/// Drives one connection for each list of requests, round and round, for `duration`. Any answer
/// but 200 ends the run: a figure with errors in it says nothing.
pub fn run(address: SocketAddr, requests: &[Arc<[Vec<u8>]>], duration: Duration) -> Measured {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let began = Instant::now();
        let connections = requests
            .iter()
            .map(|requests| tokio::spawn(drive(address, Arc::clone(requests), began + duration)));
        let mut latency = histogram();
        for connection in connections.collect::<Vec<_>>() {
            latency.add(connection.await.expect("a connection")).expect("equal histograms");
        }
        Measured { latency, elapsed: began.elapsed(), resident_kib: 0 }
    })
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 3).expect("a histogram")
}

async fn drive(address: SocketAddr, requests: Arc<[Vec<u8>]>, until: Instant) -> Histogram<u64> {
    let mut latency = histogram();
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.set_nodelay(true).expect("no delay");
    let mut answer = Vec::with_capacity(4096);
    for request in requests.iter().cycle() {
        let sent = Instant::now();
        if sent >= until {
            break;
        }
        stream.write_all(request).await.expect("sending");
        read_answer(&mut stream, &mut answer).await;
        let us = u64::try_from(sent.elapsed().as_micros()).unwrap_or(u64::MAX);
        latency.saturating_record(us);
    }
    latency
}

async fn read_answer(stream: &mut TcpStream, answer: &mut Vec<u8>) {
    answer.clear();
    loop {
        let count = stream.read_buf(answer).await.expect("reading");
        assert!(count > 0, "the server closed the connection: {}", String::from_utf8_lossy(answer));
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut head = httparse::Response::new(&mut headers);
        let Ok(httparse::Status::Complete(head_bytes)) = head.parse(answer) else { continue };
        let length = head.headers.iter().find(|h| h.name.eq_ignore_ascii_case("content-length"));
        let length = length.and_then(|h| std::str::from_utf8(h.value).ok()?.parse::<usize>().ok());
        // Without a length it comes in chunks, the last of which is empty.
        let whole = match length {
            Some(length) => answer.len() >= head_bytes + length,
            None => answer.ends_with(b"\r\n0\r\n\r\n"),
        };
        if whole {
            assert_eq!(head.code, Some(200), "{}", String::from_utf8_lossy(answer));
            return;
        }
    }
}
