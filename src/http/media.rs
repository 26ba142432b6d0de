//! Media types: whether a client takes JSON, and whether what it sends is JSON.

use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue,
    TRANSFER_ENCODING,
};

/// The type of server-sent events.
pub const EVENT_STREAM: &str = "text/event-stream";

/// Whether the client accepts one of the JSON types of answers. Without `Accept` it accepts
/// everything.
pub fn takes_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(ACCEPT).iter().peekable();
    values.peek().is_none() || values.any(|value| value.to_str().is_ok_and(lists_json))
}

fn lists_json(accept: &str) -> bool {
    lists(accept, &["*/*", "application/*", "application/json", "application/problem+json"])
}

/// Whether the client asks for pages by name, as browsers do where a person goes.
pub fn takes_html(headers: &HeaderMap) -> bool {
    let lists_html = |value: &HeaderValue| value.to_str().is_ok_and(|v| lists(v, &["text/html"]));
    headers.get_all(ACCEPT).iter().any(lists_html)
}

/// Whether one of these is accepted.
fn lists(accept: &str, wanted: &[&str]) -> bool {
    accept.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        wanted.iter().any(|one| media.eq_ignore_ascii_case(one)) && !parts.any(refuses)
    })
}

/// Whether a parameter is a weight of zero, which means "not this".
fn refuses(parameter: &str) -> bool {
    let weight = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="));
    weight.is_some_and(|weight| {
        weight.starts_with('0') && weight.bytes().all(|byte| matches!(byte, b'0' | b'.'))
    })
}

/// Whether the client accepts gzip: only if it asks for it by name.
pub fn takes_gzip(headers: &HeaderMap) -> bool {
    let named = |coding: &str| {
        let mut parts = coding.split(';').map(str::trim);
        let gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        gzip && !parts.any(refuses)
    };
    let lists_gzip = |value: &HeaderValue| value.to_str().is_ok_and(|v| v.split(',').any(named));
    headers.get_all(ACCEPT_ENCODING).iter().any(lists_gzip)
}

/// Whether a body may be read as JSON: announced as such, or not announced as anything, and not
/// compressed.
pub fn sends_json(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_TYPE).iter().all(is_json) && !is_coded(headers)
}

/// Whether a body is compressed or coded otherwise than in chunks.
pub fn is_coded(headers: &HeaderMap) -> bool {
    let plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    let chunked = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"chunked");
    !headers.get_all(CONTENT_ENCODING).iter().all(plain)
        // hyper takes the chunks apart and leaves any other coding in the body.
        || !headers.get_all(TRANSFER_ENCODING).iter().all(chunked)
}

fn is_json(value: &HeaderValue) -> bool {
    let Ok(value) = value.to_str() else { return false };
    let mut parts = value.split(';').map(str::trim);
    let json = parts.next().is_some_and(|media| media.eq_ignore_ascii_case("application/json"));
    // JSON is UTF-8; a body in another charset would be misread.
    json && parts.all(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        !name.eq_ignore_ascii_case("charset")
            || value.trim_matches('"').eq_ignore_ascii_case("utf-8")
    })
}

#[cfg(test)]
#[path = "../../tests/unit/http/media.rs"]
mod tests;
