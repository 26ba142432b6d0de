//! The limits of the HTTP server.

use std::time::Duration;

use super::rates::Rates;
use super::unread_rows::UnreadLimits;

/// The limits of the HTTP server. None of them changes what a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most open connections. A further one evicts the oldest that has never sent a valid key, or
    /// is answered 503 and closed. Each costs about 20 KiB and a file descriptor.
    pub connections_max: usize,
    /// Longest time that a client may take for the handshake of TLS. How many may be at it is
    /// bounded by the connections.
    pub handshake_wait: Duration,
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
        handshake_wait: Duration::from_secs(10),
        head_wait: Duration::from_secs(75),
        body_wait: Duration::from_secs(10),
        write_wait: Duration::from_secs(30),
        drain_wait: Duration::from_secs(10),
        body_bytes_max: 64 * 1024,
        uri_bytes_max: 8 * 1024,
        headers_bytes_max: 16 * 1024,
        headers_max: 64,
        rates: Rates::NONE,
        unread: UnreadLimits::STANDARD,
        buffer_bytes_max: 64 * 1024,
    };
}

const _: () = assert!(
    Limits::STANDARD.uri_bytes_max + Limits::STANDARD.headers_bytes_max
        < Limits::STANDARD.buffer_bytes_max
);
