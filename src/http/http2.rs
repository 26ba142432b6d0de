//! HTTP/2, where a client of TLS asks for it: requests on one connection are answered side by side.
//!
//! Its frames leave no doubt where a request ends, so that nothing of it is followed here as
//! `framing.rs` follows HTTP/1.1.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderValue};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::time::sleep;

use super::connection_slots::ConnectionSlot;
use super::door::Door;
use super::limits::Limits;
use super::socket::Socket;

/// Requests of one connection that are answered at once; others wait.
const STREAMS_MAX: u32 = 32;
/// What a header costs beside its name and value (RFC 9113, 6.5.2).
const HEADER_BYTES: usize = 32;
/// How often a client shows that it is there, and how long it may take to.
const PING_EVERY: Duration = Duration::from_secs(20);
const PING_WAIT: Duration = Duration::from_secs(20);

/// Answers requests until the connection ends, has been idle for long, or the server stops.
pub async fn serve(stream: Socket, door: &Arc<Door>, limits: Limits, slot: &Arc<ConnectionSlot>) {
    let asked = Arc::new(AtomicU64::new(0));
    let (answering, slot, counted) = (Arc::clone(door), Arc::clone(slot), Arc::clone(&asked));
    let service = service_fn(move |mut request: Request<Incoming>| {
        counted.fetch_add(1, Ordering::Relaxed);
        let (door, slot) = (Arc::clone(&answering), Arc::clone(&slot));
        name_host(&mut request);
        Box::pin(async move {
            // An evicted connection is about to be closed: its request is not processed.
            if slot.is_evicted() {
                std::future::pending::<()>().await;
            }
            Ok::<_, Infallible>(door.answer_on(request, Some(&slot)).await)
        })
    });
    let heads = limits.headers_max.saturating_mul(HEADER_BYTES);
    let heads = limits.headers_bytes_max.saturating_add(limits.uri_bytes_max).saturating_add(heads);
    let buffer = u32::try_from(limits.buffer_bytes_max).unwrap_or(u32::MAX);
    let mut connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(u32::try_from(heads).unwrap_or(u32::MAX))
        .initial_stream_window_size(buffer)
        .initial_connection_window_size(buffer)
        .max_send_buf_size(limits.buffer_bytes_max)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_WAIT)
        .serve_connection(TokioIo::new(stream), service);
    let mut ends = door.shared().ends.listen();
    let (mut stops, mut seen) = (false, 0);
    let mut idle = Box::pin(sleep(limits.head_wait));
    let ended = loop {
        tokio::select! {
            biased;
            ended = &mut connection => break ended,
            _ = ends.wait_for(|ends| ends.stopping), if !stops => {
                stops = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
            () = &mut idle, if !stops => {
                let now = asked.load(Ordering::Relaxed);
                if now == seen {
                    // What is being answered is answered to its end.
                    stops = true;
                    Pin::new(&mut connection).graceful_shutdown();
                }
                seen = now;
                idle.set(sleep(limits.head_wait));
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
