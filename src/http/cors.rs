//! Which other sites' pages may ask, with a key of their own (CORS): those whose origin is listed,
//! and nobody by default. A cookie never counts for them (`cookies.rs`).

use hyper::Method;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::request::Parts;

use super::site::Site;

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PATCH, DELETE");
/// Headers of requests that clients of the interface send.
const ASKED: HeaderValue = HeaderValue::from_static(
    "content-type, idempotency-key, if-match, if-none-match, last-event-id, x-api-key, \
     x-request-id",
);
/// Headers of answers that a page may read.
const SHOWN: HeaderValue = HeaderValue::from_static(
    "etag, idempotent-replay, location, ratelimit-limit, ratelimit-remaining, ratelimit-reset, \
     retry-after, sequence, x-request-id",
);
/// Seconds for which a browser need not ask again what it may ask.
const KNOWN_SECONDS: HeaderValue = HeaderValue::from_static("7200");

/// The origin of a page that may ask.
pub fn allowed(headers: &HeaderMap, site: &Site) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN).filter(|_| !site.origins.is_empty())?;
    site.origins.iter().any(|one| one.as_bytes() == origin.as_bytes()).then(|| origin.clone())
}

/// Whether a browser asks what a page may ask.
pub fn is_preflight(head: &Parts) -> bool {
    head.method == Method::OPTIONS
        && head.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Says in an answer that a page of this origin may ask, and read it.
pub fn allow(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, ASKED);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, SHOWN);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, KNOWN_SECONDS);
}

#[cfg(test)]
#[path = "../../tests/unit/http/cors.rs"]
mod tests;
