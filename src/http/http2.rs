//! HTTP/2, where a client of TLS asks for it: requests on one connection are answered side by side.
//!
//! Its frames leave no doubt where a request ends, so that nothing of it is followed here as
//! `framing.rs` follows HTTP/1.1. But a client may give up one request, or take none of one answer,
//! while the connection lives.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{HOST, HeaderValue};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::connection_slots::ConnectionSlot;
use super::door::Door;
use super::limits::Limits;
use super::listed::Content;
use super::socket::Socket;

/// Requests of one connection that are answered at once; others wait.
const STREAMS_MAX: u32 = 32;
/// Of those, requests that may have a body or change something.
const WRITES_MAX: usize = 4;
/// What a header costs beside its name and value (RFC 9113, 6.5.2).
const HEADER_BYTES: usize = 32;
/// How often a client shows that it is there, and how long it may take to.
const PING_EVERY: Duration = Duration::from_secs(20);
const PING_WAIT: Duration = Duration::from_secs(20);

/// What is under way on a connection.
struct Answers {
    door: Arc<Door>,
    slot: Arc<ConnectionSlot>,
    began: Instant,
    /// Requests that came.
    asked: AtomicU64,
    writes: Arc<Semaphore>,
    /// When the client last took something of each answer it is sent.
    taken: Mutex<Vec<Arc<Taken>>>,
    /// Held by whatever is under way.
    open: Arc<()>,
}

/// When something was last taken of an answer, in milliseconds of its connection.
#[derive(Debug)]
struct Taken {
    began: Instant,
    at_ms: AtomicU64,
}

impl Taken {
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Answers {
    /// Answers a request. What changes something is done to its end, also if the client gives up
    /// the request meanwhile: others wait for what it holds, and for what it has begun.
    async fn answer(&self, request: Request<Incoming>) -> Response<Unread> {
        let open = Arc::clone(&self.open);
        // An evicted connection is about to be closed: its request is not processed.
        if self.slot.is_evicted() {
            std::future::pending::<()>().await;
        }
        if is_safe(&request) {
            return self.unread(self.door.answer_on(request, Some(&self.slot)).await, open);
        }
        let (door, slot) = (Arc::clone(&self.door), Arc::clone(&self.slot));
        // It is never closed.
        let place = Arc::clone(&self.writes).acquire_owned().await.ok();
        let answering = tokio::spawn(async move {
            let _place = place;
            door.answer_on(request, Some(&slot)).await
        });
        match answering.await {
            Ok(response) => self.unread(response, open),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The server is ending.
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// An answer whose client is watched, unless it is sent as things happen.
    fn unread(&self, response: Response<Content>, open: Arc<()>) -> Response<Unread> {
        response.map(|content| {
            let taken = match content {
                Content::Events(_) => None,
                Content::Whole(_) | Content::Listed(_) | Content::Packed(_) => {
                    let taken = Taken { began: self.began, at_ms: AtomicU64::new(0) };
                    taken.at_ms.store(taken.now(), Ordering::Relaxed);
                    let taken = Arc::new(taken);
                    let mut all = self.taken.lock();
                    all.retain(|one| Arc::strong_count(one) > 1);
                    all.push(Arc::clone(&taken));
                    Some(taken)
                }
            };
            Unread { content, taken, _open: open }
        })
    }

    /// Whether the client has taken nothing of an answer for so long.
    fn is_stuck(&self, wait: Duration) -> bool {
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let mut all = self.taken.lock();
        all.retain(|one| Arc::strong_count(one) > 1);
        all.iter().any(|one| one.now().saturating_sub(one.at_ms.load(Ordering::Relaxed)) > wait)
    }

    /// Whether nothing is under way.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.open) == 1
    }
}

/// Whether a request may be given up at any moment: it changes nothing.
fn is_safe(request: &Request<Incoming>) -> bool {
    // Whoever comes from an identity provider may be somebody new.
    matches!(*request.method(), Method::GET | Method::HEAD)
        && !request.uri().path().contains("/openid/")
}

/// The body of an answer, and when its client last took some of it.
struct Unread {
    content: Content,
    taken: Option<Arc<Taken>>,
    _open: Arc<()>,
}

impl Body for Unread {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        if let Some(taken) = &self.taken {
            taken.at_ms.store(taken.now(), Ordering::Relaxed);
        }
        Poll::Ready(ready!(Pin::new(&mut self.content).poll_frame(cx)))
    }

    fn is_end_stream(&self) -> bool {
        self.content.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.content.size_hint()
    }
}

fn builder(limits: &Limits) -> http2::Builder<TokioExecutor> {
    let heads = limits.headers_max.saturating_mul(HEADER_BYTES);
    let heads = limits.headers_bytes_max.saturating_add(limits.uri_bytes_max).saturating_add(heads);
    let buffer = u32::try_from(limits.buffer_bytes_max).unwrap_or(u32::MAX);
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(u32::try_from(heads).unwrap_or(u32::MAX))
        .initial_stream_window_size(buffer)
        .initial_connection_window_size(buffer)
        .max_send_buf_size(limits.buffer_bytes_max)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_WAIT);
    builder
}

/// Answers requests until the connection ends, has been idle for long, or the server stops. A
/// client that takes nothing of an answer for long loses its connection.
pub async fn serve(stream: Socket, door: &Arc<Door>, limits: Limits, slot: &Arc<ConnectionSlot>) {
    let answers = Arc::new(Answers {
        door: Arc::clone(door),
        slot: Arc::clone(slot),
        began: Instant::now(),
        asked: AtomicU64::new(0),
        writes: Arc::new(Semaphore::new(WRITES_MAX)),
        taken: Mutex::new(Vec::new()),
        open: Arc::new(()),
    });
    let answering = Arc::clone(&answers);
    let service = service_fn(move |mut request: Request<Incoming>| {
        answering.asked.fetch_add(1, Ordering::Relaxed);
        name_host(&mut request);
        let answers = Arc::clone(&answering);
        Box::pin(async move { Ok::<_, Infallible>(answers.answer(request).await) })
    });
    let mut connection = builder(&limits).serve_connection(TokioIo::new(stream), service);
    let mut ends = door.shared().ends.listen();
    let (mut stops, mut seen, mut last) = (false, 0, Instant::now());
    let tick = limits.head_wait.min(limits.write_wait);
    let mut next = Box::pin(sleep(tick));
    let ended = loop {
        tokio::select! {
            biased;
            ended = &mut connection => break ended,
            _ = ends.wait_for(|ends| ends.stopping), if !stops => {
                stops = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
            () = &mut next => {
                let now = answers.asked.load(Ordering::Relaxed);
                if now != seen {
                    (seen, last) = (now, Instant::now());
                }
                let is_over = stops && answers.is_idle();
                if answers.is_stuck(limits.write_wait) || is_over {
                    tracing::debug!("a client did not take what it was sent");
                    return;
                }
                if last.elapsed() >= limits.head_wait && !stops {
                    // What is being answered is answered to its end.
                    stops = true;
                    Pin::new(&mut connection).graceful_shutdown();
                }
                next.set(sleep(tick));
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Gives a request the header by which it is told which site is asked, from its `:authority`. One
/// that has another is refused for having two.
fn name_host(request: &mut Request<Incoming>) {
    let authority = request.uri().authority().map(hyper::http::uri::Authority::as_str);
    let Some(host) = authority.and_then(|host| HeaderValue::from_str(host).ok()) else { return };
    if request.headers().get(HOST) != Some(&host) {
        request.headers_mut().append(HOST, host);
    }
}
