//! The opening handshake of a WebSocket (RFC 6455, 4.2).

use std::sync::Arc;

use hyper::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::{Method, Version};
use parking_lot::Mutex;
use tungstenite::handshake::derive_accept_key;

use super::session::Session;
use crate::problem::{FieldCode, FieldError, Kind, Problem};
use crate::reply::Accepted;

/// Our subprotocol, which a client may ask for.
pub const PROTOCOL: &str = "openoutcry.v1";
/// The version of the protocol that is spoken.
const VERSION: &str = "13";
/// Bytes of a handshake's key.
const KEY_BYTES: usize = 16;

/// A stream that is to be opened on a connection, handed over by the door to whoever serves it.
#[derive(Debug, Clone, Default)]
pub struct Handover(Arc<Mutex<Option<Opening>>>);

/// A stream that is to be opened.
#[derive(Debug)]
pub struct Opening {
    /// Whose it is, if the request had a key.
    pub session: Option<Session>,
}

impl Handover {
    /// Hands a stream over.
    pub fn give(&self, opening: Opening) {
        *self.0.lock() = Some(opening);
    }

    /// Takes the stream, if there is one.
    pub fn take(&self) -> Option<Opening> {
        self.0.lock().take()
    }
}

/// Whether a request is a handshake, or tries to be one.
pub fn is_asked(headers: &HeaderMap) -> bool {
    names(headers, &UPGRADE, "websocket")
}

/// Reads the handshake.
///
/// # Errors
/// It is not as it must be.
pub fn accept(head: &Parts) -> Result<Accepted, Problem> {
    let headers = &head.headers;
    if head.method != Method::GET || head.version < Version::HTTP_11 {
        return Err(Problem::no_stream());
    }
    if !names(headers, &CONNECTION, "upgrade") {
        return Err(bad("Connection", "must be Upgrade"));
    }
    if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != VERSION) {
        return Err(bad("Sec-WebSocket-Version", "must be 13"));
    }
    let key = headers.get(SEC_WEBSOCKET_KEY).map_or(&b""[..], HeaderValue::as_bytes);
    let decoded = data_encoding::BASE64.decode(key);
    if !decoded.is_ok_and(|key| key.len() == KEY_BYTES) {
        return Err(bad("Sec-WebSocket-Key", "must be 16 bytes in base64"));
    }
    let protocol = names(headers, &SEC_WEBSOCKET_PROTOCOL, PROTOCOL);
    Ok(Accepted { accept: derive_accept_key(key), protocol: protocol.then_some(PROTOCOL) })
}

/// Whether a header lists a word.
fn names(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let listed = |value: &HeaderValue| {
        let value = value.to_str().unwrap_or_default();
        value.split(',').any(|one| one.trim().eq_ignore_ascii_case(word))
    };
    headers.get_all(name).iter().any(listed)
}

fn bad(field: &str, detail: &'static str) -> Problem {
    let (field, code) = (field.to_owned(), FieldCode::InvalidValue);
    Problem::invalid(vec![FieldError { field, code, detail: detail.into() }])
}

impl Problem {
    /// The stream was asked for in a way in which it cannot be sent.
    pub fn no_stream() -> Problem {
        let detail = "this is a stream: open a WebSocket, or accept text/event-stream";
        Problem::new(Kind::NotAcceptable, detail)
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/http/stream/upgrade.rs"]
mod tests;
