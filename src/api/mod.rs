//! The HTTP API: hyper outside, the engine and the read model inside.
//!
//! Must not know: bytes on disk, the inside of a book, the rules of trade, who started the engine.

pub mod server;
pub mod connection_slots;
pub mod workers;
mod cores;
mod future_pool;
pub mod members;
pub mod venue;
pub mod directory;
pub mod write_timeout;
pub mod door;
pub mod body;
pub mod traffic;
pub mod auth;
pub mod keys;
pub mod rates;
pub mod response_cache;
pub mod keyring;
pub mod media;
pub mod packing;
pub mod idempotency;
pub mod routes;
pub mod call;
pub mod lazy_view;
pub mod form;
pub mod parse;
pub mod page;
pub mod cursor;
pub mod bounds;
pub mod problem;
pub mod reply;
pub mod request_id;
pub mod stream;
pub mod unread_rows;
pub mod wire;
pub mod market_cache;
pub mod markets;
pub mod events;
pub mod categories;
pub mod books;
pub mod orders;
pub mod batch;
pub mod trials;
pub mod conversions;
pub mod switches;
pub mod order_form;
pub mod positions;
pub mod account;
pub mod statement;
pub mod tape;
mod leaderboard;
pub mod account_keys;
pub mod operations;
pub mod metrics;
pub mod admin_form;
pub mod admin_catalogue;
pub mod admin_markets;
pub mod admin_users;
pub mod admin_keys;
pub mod admin_audit;
pub mod openapi;
pub mod docs;

use std::io;
use std::time::Duration;

use tokio::net::TcpListener;

use rates::Rates;
use unread_rows::UnreadLimits;
use venue::Venue;

/// Serves the API on `listener` until `shutdown` resolves, then lets what is running end, at most
/// for [`Limits::drain_wait`]. A venue that is still opening answers health checks, and refuses all
/// else until it is open.
///
/// # Errors
/// If the table of routes contradicts itself. Errors of single connections are theirs.
pub async fn serve(
    listener: TcpListener,
    venue: impl Into<Venue>,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    server::run(listener, venue.into(), limits, shutdown).await
}

/// The bounds of the HTTP side. None of them shapes what a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections open at once. The next takes the place of the oldest that has never sent a whole
    /// head, or is answered 503 and closed. Each costs some 20 KiB and a file descriptor.
    pub connections_max: usize,
    /// Longest wait for a request's head, from the connection's opening or the answer before, so
    /// that this is how long a connection may be idle too: hyper has one timer for both.
    pub head_wait: Duration,
    /// Longest wait for a request's body, from the end of its head.
    pub body_wait: Duration,
    /// Longest standstill of an answer that its client does not read.
    pub write_wait: Duration,
    /// Longest drain at the end: what then is unanswered is cut off.
    pub drain_wait: Duration,
    /// Largest body.
    pub body_bytes_max: usize,
    /// Largest target of a request, path and query.
    pub uri_bytes_max: usize,
    /// Largest sum of a request's header names and values.
    pub headers_bytes_max: usize,
    /// Most headers. hyper's own bound of 100, which comes with no allocation, answers beyond it.
    pub headers_max: usize,
    /// Whether the threads that serve connections are held on a core each, where there is one for
    /// each; only on Linux.
    pub workers_pinned: bool,
    /// How much a key may ask; an operator's has no limit.
    pub rates: Rates,
    /// How many rows of long lists may wait for their readers.
    pub untaken: UnreadLimits,
    /// Largest read buffer of a connection: a head of the largest sizes above must fit.
    pub buffer_bytes_max: usize,
}

impl Limits {
    /// The bounds of a server with real clients.
    pub const STANDARD: Limits = Limits {
        connections_max: 4096,
        head_wait: Duration::from_mins(1),
        body_wait: Duration::from_secs(10),
        write_wait: Duration::from_secs(30),
        drain_wait: Duration::from_secs(10),
        body_bytes_max: 64 * 1024,
        uri_bytes_max: 8 * 1024,
        headers_bytes_max: 16 * 1024,
        headers_max: 64,
        workers_pinned: false,
        rates: Rates::NONE,
        untaken: UnreadLimits::STANDARD,
        buffer_bytes_max: 64 * 1024,
    };
}

const _: () = assert!(
    Limits::STANDARD.uri_bytes_max + Limits::STANDARD.headers_bytes_max
        < Limits::STANDARD.buffer_bytes_max
);
