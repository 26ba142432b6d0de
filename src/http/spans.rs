//! Spans: what a trace (OpenTelemetry) is told of each request. They wait in a queue for whoever
//! sends them on. What finds no room there is lost and counted: no request waits for a collector.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use data_encoding::HEXLOWER;
use hyper::Method;
use hyper::header::HeaderMap;

use exchange::units::TimeMs;

/// Spans that wait at most; some 2 MiB.
const WAITING_MAX: usize = 8_192;

/// The trace and the span in it that a client's request belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    /// The trace.
    pub trace: [u8; 16],
    /// The span.
    pub span: [u8; 8],
    /// Whether the client keeps this trace.
    pub sampled: bool,
}

impl Parent {
    /// What the header `traceparent` says (W3C Trace Context, 3.2), if there is a good one.
    pub fn of(headers: &HeaderMap) -> Option<Parent> {
        let mut parts = headers.get("traceparent")?.to_str().ok()?.split('-');
        let mut bytes = || HEXLOWER.decode(parts.next()?.as_bytes()).ok();
        let (version, trace, span, flags) = (bytes()?, bytes()?, bytes()?, bytes()?);
        let ([version], [flags]) = (version.as_slice(), flags.as_slice()) else { return None };
        let parent = Parent {
            trace: trace.try_into().ok()?,
            span: span.try_into().ok()?,
            sampled: flags & 1 == 1,
        };
        let good = *version != 0xff && parent.trace != [0; 16] && parent.span != [0; 8];
        good.then_some(parent)
    }
}

/// One request, answered.
#[derive(Debug)]
pub struct Span {
    /// Its trace, drawn if the client named none.
    pub trace: [u8; 16],
    /// Its own id, drawn.
    pub id: [u8; 8],
    /// The client's span, if it named one.
    pub parent: Option<[u8; 8]>,
    /// Method.
    pub method: Method,
    /// The route's template.
    pub route: &'static str,
    /// HTTP status.
    pub status: u16,
    /// When it was answered.
    pub ended: TimeMs,
    /// Microseconds until then.
    pub us: u64,
    /// Its id in the log and for the client.
    pub request_id: String,
    /// The caller's id, if a good key was shown.
    pub user: Option<String>,
    /// The record of a write, the last record that a read shows.
    pub sequence: Option<u64>,
}

/// Where spans are told. Clones share the queue.
#[derive(Debug, Clone)]
pub struct Spans {
    queue: Sender<Span>,
    lost: Arc<AtomicU64>,
}

/// The other end of the queue.
#[derive(Debug)]
pub struct Waiting {
    queue: Receiver<Span>,
    lost: Arc<AtomicU64>,
}

impl Spans {
    /// An empty queue.
    pub fn queue() -> (Spans, Waiting) {
        let (sender, receiver) = bounded(WAITING_MAX);
        let lost = Arc::new(AtomicU64::new(0));
        (Spans { queue: sender, lost: Arc::clone(&lost) }, Waiting { queue: receiver, lost })
    }

    /// Tells a span that belongs to its client's, or to none. One whose client keeps no trace is
    /// left out.
    pub fn tell(&self, parent: Option<Parent>, span: impl FnOnce() -> Span) {
        if parent.is_some_and(|parent| !parent.sampled) {
            return;
        }
        let mut drawn = [0; 24];
        let (true, false) = (getrandom::fill(&mut drawn).is_ok(), self.queue.is_full()) else {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let mut span = span();
        for (to, from) in span.trace.iter_mut().chain(&mut span.id).zip(drawn) {
            *to = from;
        }
        if let Some(parent) = parent {
            (span.trace, span.parent) = (parent.trace, Some(parent.span));
        }
        if self.queue.try_send(span).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many were lost.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Waiting {
    /// Waits for a span, and then for as many others as come within a time; `None` when no more can
    /// come.
    pub fn next(&self, most: usize, within: Duration) -> Option<Vec<Span>> {
        let mut spans = vec![self.queue.recv().ok()?];
        let until = Instant::now().checked_add(within)?;
        while spans.len() < most
            && let Ok(span) = self.queue.recv_deadline(until)
        {
            spans.push(span);
        }
        Some(spans)
    }

    /// Notes that so many could not be sent on.
    pub fn lose(&self, count: usize) {
        self.lost.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/spans.rs"]
mod tests;
