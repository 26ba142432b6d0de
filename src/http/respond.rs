//! From what an endpoint found to an answer: its status, headers and body.
//!
//! Must not know: how it was found.

use std::num::NonZeroU32;

use bytes::Bytes;
use hyper::Response;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::cors;
use super::listed::Content;
use super::packing;
use super::problem::Problem;
use super::rates::Allowance;
use super::reply::Reply;
use super::request_id::REQUEST_ID;
use super::site::Site;
use super::wire;
use exchange::decimal::DecimalText;
use exchange::units::Sequence;

const SEQUENCE: HeaderName = HeaderName::from_static("sequence");
const IDEMPOTENT_REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");
/// Says that the connection ends with this answer.
pub const CLOSE: HeaderValue = HeaderValue::from_static("close");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const RATE_REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RATE_RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// What never changes under its name.
const LASTING: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// What the page may load and do: files of the venue's, not inside another's frame.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src \
     'none'",
);

/// A browser that was here over TLS comes back over TLS, for a year.
const STRICT: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Initial capacity for an answer's headers, including those that hyper adds.
const HEADERS_USUAL: usize = 12;
/// Largest header capacity reused for the next request: a connection that sent many headers must
/// not hold the memory for ever.
const HEADERS_KEPT_MAX: usize = 32;

/// Adds the headers that all answers have.
pub fn complete<B>(
    mut response: Response<B>,
    allowance: Option<Allowance>,
    request_id: &str,
) -> Response<B> {
    let headers = response.headers_mut();
    put(headers, REQUEST_ID, request_id);
    if let Some(allowance) = allowance {
        put_allowance(headers, allowance);
    }
    let fleeting = HeaderValue::from_static("no-store");
    headers.entry(header::CACHE_CONTROL).or_insert(fleeting);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// Sets the headers with the state of the bucket that was charged.
fn put_allowance(headers: &mut HeaderMap, allowance: Allowance) {
    headers.insert(RATE_LIMIT, number(allowance.limit.into()));
    headers.insert(RATE_REMAINING, number(allowance.remaining.into()));
    headers.insert(RATE_RESET, number(allowance.reset_seconds));
    if let Some(wait) = allowance.wait_seconds {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(wait));
    }
}

/// A number as a header value, without excess capacity.
fn number(value: u64) -> HeaderValue {
    const ZERO: HeaderValue = HeaderValue::from_static("0");
    match value {
        0 => ZERO,
        1 => HeaderValue::from_static("1"),
        _ => {
            let digits = DecimalText::of_integer(value);
            HeaderValue::from_bytes(digits.as_bytes()).unwrap_or(ZERO)
        }
    }
}

/// Empties a request's headers and reserves space for those of its answer. hyper reuses the map for
/// the next request, so nothing is allocated for either.
pub fn reuse_headers(mut headers: HeaderMap) -> HeaderMap {
    if headers.capacity() > HEADERS_KEPT_MAX {
        return HeaderMap::with_capacity(HEADERS_USUAL);
    }
    headers.clear();
    headers.reserve(HEADERS_USUAL);
    headers
}

/// Adds what browsers must know of the site: to come back over TLS, that a page of this origin may
/// read the answer, and whose pictures a page may show.
pub fn tell_browsers(headers: &mut HeaderMap, origin: Option<&HeaderValue>, site: &Site) {
    if let Some(origin) = origin {
        cors::allow(headers, origin.clone());
    }
    if site.is_strict() {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, STRICT);
    }
    if !site.images.is_empty()
        && let Some(policy) = headers.get(header::CONTENT_SECURITY_POLICY)
    {
        let policy = policy.to_str().unwrap_or_default();
        let policy = format!("{policy}; img-src 'self' {}", site.images.join(" "));
        put(headers, header::CONTENT_SECURITY_POLICY, &policy);
    }
}

/// The answer of an endpoint. `to_caller`: whether a key was shown, so that the sequence may be
/// told.
pub fn success(reply: Reply, to_caller: bool, headers: HeaderMap) -> Response<Content> {
    let Reply { status, sequence, replayed, location, tag, media, gzipped, accepted, .. } = reply;
    let Reply { lasting, cookie, body, .. } = reply;
    let has_content = !body.is_empty();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    let headers = response.headers_mut();
    if has_content {
        headers.insert(header::CONTENT_TYPE, media.map_or(JSON, HeaderValue::from_static));
    }
    if gzipped {
        headers.insert(header::CONTENT_ENCODING, packing::GZIP);
    }
    if to_caller {
        headers.insert(SEQUENCE, number(sequence.get()));
    }
    if media.is_some_and(|media| media.starts_with("text/html")) {
        headers.insert(header::CONTENT_SECURITY_POLICY, PAGE_POLICY);
    }
    if replayed {
        headers.insert(IDEMPOTENT_REPLAY, HeaderValue::from_static("true"));
    }
    if let Some(accepted) = accepted {
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        put(headers, header::SEC_WEBSOCKET_ACCEPT, &accepted.accept);
        if let Some(protocol) = accepted.protocol {
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
        }
    }
    if lasting {
        headers.insert(header::CACHE_CONTROL, LASTING);
    }
    if let Some(cookie) = cookie {
        headers.insert(header::SET_COOKIE, cookie);
    }
    if let Some(location) = location {
        put(headers, header::LOCATION, &location);
    }
    if let Some(tag) = tag {
        put(headers, header::ETAG, &tag);
    }
    response
}

/// The answer that says what was wrong.
pub fn failure(
    problem: &Problem,
    sequence: Option<Sequence>,
    request_id: &str,
    headers: HeaderMap,
) -> Response<Bytes> {
    let body = wire::problem::print(problem, request_id).unwrap_or_else(|error| {
        tracing::error!(%error, request_id, "a problem could not be printed");
        Vec::new()
    });
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = problem.kind.status();
    *response.headers_mut() = headers;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, PROBLEM_JSON);
    if let Some(sequence) = sequence {
        headers.insert(SEQUENCE, HeaderValue::from(sequence.get()));
    }
    if problem.coded {
        // The only coding that a body may have (RFC 9110, 15.5.16).
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    if let Some(allow) = &problem.allow {
        put(headers, header::ALLOW, allow);
    }
    if let Some(seconds) = problem.wait.map(NonZeroU32::get).or(problem.kind.retry_after()) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if problem.kind.lacks_good_key() {
        let challenge = HeaderValue::from_static("ApiKey header=\"X-API-Key\"");
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    if problem.kind.closes() {
        headers.insert(header::CONNECTION, CLOSE);
    }
    response
}

/// Sets a header built from our own ids, paths and methods.
pub fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    } else {
        tracing::error!(%name, "a header could not be set");
    }
}
