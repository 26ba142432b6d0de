//! Checks of a request's head that come before everything else.

use hyper::Version;
use hyper::header::HOST;
use hyper::http::request::Parts;

use super::Limits;
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

/// Refuses a request without `Host`, which HTTP/1.1 needs, or with several (RFC 9112, 3.2).
///
/// # Errors
/// The header is missing or repeated.
pub fn check_host(head: &Parts) -> Result<(), Problem> {
    let mut hosts = head.headers.get_all(HOST).iter();
    let (code, detail) = match (hosts.next(), hosts.next()) {
        (Some(_), None) => return Ok(()),
        (None, _) if head.version < Version::HTTP_11 => return Ok(()),
        (None, _) => (FieldCode::Required, "is missing; HTTP/1.1 needs it"),
        (Some(_), Some(_)) => (FieldCode::Repeated, "is sent more than once"),
    };
    let (field, detail) = ("Host".to_owned(), detail.into());
    Err(Problem::invalid(vec![FieldError { field, code, detail }]))
}
