//! The open-loop load: one thread sends requests when due and reads answers, leaving the rest of
//! the machine to the server. A request due while its connection waits for an answer is sent after
//! that answer, and its latency counts from when it was due.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::thread::set_current_timer_slack;

use super::load::{self, Measured, Requests};

/// How late the system may wake the load thread.
const TIMER_SLACK_NS: NonZeroU64 = NonZeroU64::new(1_000).expect("more than zero");
/// Bytes read at once: more than any answer to a placement.
const READ_BYTES: usize = 64 << 10;

/// One connection.
struct Caller {
    stream: TcpStream,
    /// Sent in a cycle.
    requests: Arc<[Vec<u8>]>,
    sent: usize,
    /// Due times of requests not sent yet.
    due: VecDeque<Instant>,
    /// Due time of the request in flight.
    asked: Option<Instant>,
    answer: Vec<u8>,
}

/// Sends `per_second` requests a second for `duration`, evenly spread over time and connections,
/// and waits for the last answer. Any answer but 200 ends the run.
pub fn run(
    address: SocketAddr,
    requests: &Requests,
    duration: Duration,
    per_second: f64,
) -> Measured {
    set_current_timer_slack(Some(TIMER_SLACK_NS)).expect("a timer slack");
    let poll = epoll::create(CreateFlags::CLOEXEC).expect("epoll");
    let mut callers: Vec<Caller> =
        requests.iter().map(|requests| Caller::connect(address, requests)).collect();
    for (number, caller) in (0..).zip(&callers) {
        epoll::add(&poll, &caller.stream, EventData::new_u64(number), EventFlags::IN)
            .expect("a connection to wait for");
    }
    let mut latency = load::histogram();
    let mut events = Vec::with_capacity(callers.len());
    let mut read = vec![0; READ_BYTES];
    let began = Instant::now();
    let due_at = |number: usize| began + Duration::from_secs_f64(number as f64 / per_second);
    let (mut number, mut open) = (0, 0);
    loop {
        let now = Instant::now();
        while due_at(number) <= now.min(began + duration) {
            let caller = number % callers.len();
            callers[caller].owe(due_at(number));
            number += 1;
            open += 1;
        }
        let over = due_at(number) > began + duration;
        if over && open == 0 {
            break;
        }
        let wait = due_at(number).saturating_duration_since(Instant::now());
        let wait = (!over).then(|| Timespec::try_from(wait).expect("a short time"));
        events.clear();
        epoll::wait(&poll, spare_capacity(&mut events), wait.as_ref()).expect("waiting");
        for event in &events {
            let caller = usize::try_from(event.data.u64()).expect("a connection's number");
            if let Some(due) = callers[caller].take(&mut read) {
                latency.saturating_record(load::micros(due.elapsed()));
                open -= 1;
            }
        }
    }
    Measured { latency, elapsed: began.elapsed() }
}

impl Caller {
    /// Connects and sends one request: its answer shows that the server has accepted the
    /// connection.
    fn connect(address: SocketAddr, requests: &Arc<[Vec<u8>]>) -> Caller {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        let (requests, due, answer) = (Arc::clone(requests), VecDeque::new(), Vec::new());
        let mut caller = Caller { stream, requests, sent: 0, due, asked: None, answer };
        caller.owe(Instant::now());
        while caller.take(&mut vec![0; READ_BYTES]).is_none() {}
        caller.stream.set_nonblocking(true).expect("a connection that is not waited for");
        caller
    }

    /// Queues a due request; sends it unless one is in flight.
    fn owe(&mut self, due: Instant) {
        self.due.push_back(due);
        if self.asked.is_none() {
            self.send();
        }
    }

    /// Sends the oldest due request.
    fn send(&mut self) {
        self.asked = self.due.pop_front();
        if self.asked.is_some() {
            let request = &self.requests[self.sent % self.requests.len()];
            self.stream.write_all(request).expect("sending");
            self.sent += 1;
        }
    }

    /// Reads what has arrived. If that completes an answer, sends the next due request and returns
    /// when the answered one was due.
    fn take(&mut self, read: &mut [u8]) -> Option<Instant> {
        let count = match self.stream.read(read) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
            count => count.expect("reading"),
        };
        assert!(count > 0, "the server closed the connection");
        self.answer.extend_from_slice(&read[..count]);
        load::head_of_whole(&self.answer)?;
        self.answer.clear();
        let due = self.asked.take();
        self.send();
        due
    }
}
