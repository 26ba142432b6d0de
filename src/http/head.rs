//! Checks of a request's head that come before everything else.

use std::borrow::Cow;
use std::net::Ipv6Addr;

use hyper::Version;
use hyper::header::HOST;
use hyper::http::request::Parts;

use super::limits::Limits;
use super::problem::{FieldCode, FieldError, Kind, Problem};

/// Refuses a head that exceeds the limits.
///
/// # Errors
/// The target is too long, or the headers are too many or too large.
pub fn check_size(head: &Parts, limits: &Limits) -> Result<(), Problem> {
    let target = head.uri.path_and_query().map_or(0, |target| target.as_str().len());
    if target > limits.uri_bytes_max {
        let detail = format!("an address may have {} bytes", limits.uri_bytes_max);
        return Err(Problem::new(Kind::UriTooLong, detail));
    }
    let headers = &head.headers;
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if headers.len() > limits.headers_max || bytes > limits.headers_bytes_max {
        let (count, bytes) = (limits.headers_max, limits.headers_bytes_max);
        let detail = format!("a request may have {count} headers of together {bytes} bytes");
        return Err(Problem::new(Kind::HeadersTooLarge, detail));
    }
    Ok(())
}

/// Longest method; the longest that is registered has 17 letters.
const METHOD_BYTES_MAX: usize = 32;

/// Refuses a head that a proxy may read differently (RFC 9112, 3.2): one without `Host`, which
/// HTTP/1.1 needs, with several or one that names no host, with an absolute target that is not of
/// this server's schemes, or with a method of any length.
///
/// # Errors
/// The field that is not as it must be.
pub fn check_form(head: &Parts) -> Result<(), Problem> {
    let mut hosts = head.headers.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) if is_host(host.as_bytes()) => Ok(()),
        (Some(_), None) => Err((FieldCode::InvalidValue, "is not a host and perhaps a port")),
        (None, _) if head.version < Version::HTTP_11 => Ok(()),
        (None, _) => Err((FieldCode::Required, "is missing; HTTP/1.1 needs it")),
        (Some(_), Some(_)) => Err((FieldCode::Repeated, "is sent more than once")),
    };
    let ours = head.uri.scheme_str().is_none_or(|scheme| matches!(scheme, "http" | "https"));
    let authority = head.uri.authority().map_or("", |authority| authority.as_str());
    let long = head.method.as_str().len() > METHOD_BYTES_MAX;
    let (field, (code, detail)) = match host {
        Err(wrong) => ("Host", wrong),
        Ok(()) if !ours || !is_host(authority.as_bytes()) => {
            ("target", (FieldCode::InvalidValue, "is not an http or https address"))
        }
        Ok(()) if long => ("method", (FieldCode::OutOfBounds, "is longer than any method")),
        Ok(()) => return Ok(()),
    };
    let (field, detail) = (field.to_owned(), detail.into());
    Err(Problem::invalid(vec![FieldError { field, code, detail }]))
}

/// Whether this is `uri-host [ ":" port ]` (RFC 9112, 3.2; RFC 3986, 3.2.2), which may be empty.
fn is_host(text: &[u8]) -> bool {
    // Most are of these bytes only.
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(byte);
    let (host, port) = match text.iter().rposition(|byte| *byte == b':') {
        Some(colon) if !text.ends_with(b"]") => text.split_at(colon),
        _ => (text, &b""[..]),
    };
    if !port.iter().skip(1).all(u8::is_ascii_digit) {
        return false;
    }
    if let Some(literal) = host.strip_prefix(b"[") {
        let literal = literal.strip_suffix(b"]").and_then(|text| str::from_utf8(text).ok());
        return literal.is_some_and(|text| text.parse::<Ipv6Addr>().is_ok());
    }
    host.iter().all(plain) || {
        // Escapes are whole ones of two digits.
        let mut parts = host.split(|byte| *byte == b'%');
        let first = parts.next().is_some_and(|part| part.iter().all(plain));
        let escaped = |part: &[u8]| match part {
            [high, low, rest @ ..] => {
                high.is_ascii_hexdigit() && low.is_ascii_hexdigit() && rest.iter().all(plain)
            }
            _ => false,
        };
        first && parts.all(escaped)
    }
}

/// A path with those escapes undone that mean nothing: of letters, digits and `-._~` (RFC 3986,
/// 6.2.2.2). Others stay, so that an escaped slash never becomes one. A path with a broken escape
/// stays as it is.
pub fn unescaped(path: &str) -> Cow<'_, str> {
    let mut parts = path.split('%');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    if plain.len() == path.len() {
        return Cow::Borrowed(path);
    }
    for part in parts {
        let digits = part.get(..2).filter(|two| two.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(byte) = digits.and_then(|two| u8::from_str_radix(two, 16).ok()) else {
            return Cow::Borrowed(path);
        };
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            plain.push(byte.into());
            plain.push_str(part.get(2..).unwrap_or_default());
        } else {
            plain.push('%');
            plain.push_str(part);
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
#[path = "../../tests/unit/http/head.rs"]
mod tests;
