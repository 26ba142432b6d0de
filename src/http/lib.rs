//! The HTTP API: serves requests with hyper, over the engine and its read model.
//!
//! Must not know: the disk format, the inside of an order book, trading rules, who started the
//! engine.

pub mod server;
pub mod connection_slots;
pub mod workers;
mod cores;
mod future_pool;
pub mod members;
pub mod venue;
pub mod asking;
pub mod mailbox;
pub mod past;
pub mod directory;
pub mod write_timeout;
mod framing;
pub mod door;
pub mod head;
pub mod body;
pub mod traffic;
pub mod auth;
pub mod keys;
pub mod rates;
pub mod response_cache;
pub mod keyring;
pub mod tokens;
pub mod media;
pub mod packing;
pub mod idempotency;
pub mod preconditions;
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
mod respond;
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

/// Serves the API on `listener` until `shutdown` resolves, then drains for at most
/// [`Limits::drain_wait`]. While the venue is opening, only health checks are answered; everything
/// else is refused.
///
/// # Errors
/// The table of routes is inconsistent, or a worker cannot be started. Errors of single connections
/// are only logged.
pub async fn serve(
    listener: TcpListener,
    venue: impl Into<Venue>,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    server::run(listener, venue.into(), limits, shutdown).await
}

/// The limits of the HTTP server. None of them changes what a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most open connections. A further one evicts the oldest that has never sent a valid key, or
    /// is answered 503 and closed. Each costs about 20 KiB and a file descriptor.
    pub connections_max: usize,
    /// Longest wait for a request's head, from the opening of the connection or the previous
    /// answer. It is also the longest idle time of a connection, since hyper has one timer for
    /// both. Longer than the usual minute of the pools in front of a server, so that they close
    /// first: a request that meets the server's close is lost.
    pub head_wait: Duration,
    /// Longest wait for a request's body, from the end of its head.
    pub body_wait: Duration,
    /// Longest time that an answer may make no progress because its client does not read.
    pub write_wait: Duration,
    /// Longest drain at shutdown; requests that are unanswered then are aborted.
    pub drain_wait: Duration,
    /// Largest body.
    pub body_bytes_max: usize,
    /// Largest request target: path and query.
    pub uri_bytes_max: usize,
    /// Largest sum of a request's header names and values.
    pub headers_bytes_max: usize,
    /// Most headers. hyper answers requests beyond its own bound of 100, which it checks without
    /// allocating.
    pub headers_max: usize,
    /// Whether workers are pinned to a core each, if there is exactly one core per worker; only on
    /// Linux.
    pub workers_pinned: bool,
    /// Rate limits and daily allowance per user; operators' keys have none.
    pub rates: Rates,
    /// Limits on rows of long lists that wait for their readers.
    pub unread: UnreadLimits,
    /// Largest read buffer of a connection; the largest request head must fit.
    pub buffer_bytes_max: usize,
}

impl Limits {
    /// The limits of a production server.
    pub const STANDARD: Limits = Limits {
        connections_max: 4096,
        head_wait: Duration::from_secs(75),
        body_wait: Duration::from_secs(10),
        write_wait: Duration::from_secs(30),
        drain_wait: Duration::from_secs(10),
        body_bytes_max: 64 * 1024,
        uri_bytes_max: 8 * 1024,
        headers_bytes_max: 16 * 1024,
        headers_max: 64,
        workers_pinned: false,
        rates: Rates::NONE,
        unread: UnreadLimits::STANDARD,
        buffer_bytes_max: 64 * 1024,
    };
}

const _: () = assert!(
    Limits::STANDARD.uri_bytes_max + Limits::STANDARD.headers_bytes_max
        < Limits::STANDARD.buffer_bytes_max
);
