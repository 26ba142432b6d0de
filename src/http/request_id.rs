//! Request ids, by which clients and logs refer to a request.

use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use engine::clock;

/// The header with the id, in requests and answers.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest id that a client may choose: a UUID and a trace id fit.
const BYTES_MAX: usize = 64;

/// An id, stored inline.
#[derive(Debug, Clone, Copy)]
pub struct RequestId {
    bytes: [u8; BYTES_MAX],
    length: usize,
}

impl RequestId {
    const EMPTY: RequestId = RequestId { bytes: [0; BYTES_MAX], length: 0 };

    /// The client's id, if it is safe to log.
    fn chosen(headers: &HeaderMap) -> Option<RequestId> {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
        let chosen = headers.get(REQUEST_ID).map(HeaderValue::as_bytes)?;
        let mut id = RequestId { length: chosen.len(), ..RequestId::EMPTY };
        id.bytes.get_mut(..chosen.len())?.copy_from_slice(chosen);
        (!chosen.is_empty() && chosen.iter().all(plain)).then_some(id)
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        let written = self.bytes.get(..self.length).unwrap_or_default();
        // Only ASCII was stored.
        std::str::from_utf8(written).unwrap_or_default()
    }

    /// Adds a number in hexadecimal digits.
    fn with(mut self, number: u64) -> RequestId {
        // There is room.
        write!(self, "{number:x}").unwrap_or_default();
        self
    }
}

impl fmt::Write for RequestId {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length.saturating_add(text.len());
        let room = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// Generates ids: the start time of this process in milliseconds since 1970, and a counter, so that
/// they are unique across restarts.
#[derive(Debug)]
pub struct RequestIds {
    opened: RequestId,
    count: AtomicU64,
}

impl RequestIds {
    /// Ids of a process that starts serving now.
    pub fn from_now() -> RequestIds {
        let mut opened = RequestId::EMPTY.with(clock::now().get().unsigned_abs());
        opened.write_str("-").unwrap_or_default();
        RequestIds { opened, count: AtomicU64::new(0) }
    }

    /// The client's id if it is acceptable, else a new one.
    pub fn of(&self, headers: &HeaderMap) -> RequestId {
        RequestId::chosen(headers).unwrap_or_else(|| self.next())
    }

    /// A new one.
    pub fn next(&self) -> RequestId {
        self.opened.with(self.count.fetch_add(1, Ordering::Relaxed))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/request_id.rs"]
mod tests;
