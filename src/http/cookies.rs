//! The session's cookie, and what a request by cookie must show besides: that a page of the venue's
//! own sent it.

use hyper::Method;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::problem::{Kind, Problem};
use super::site::Site;

/// Says that a page of the venue's own sent the request: other sites' pages cannot.
const REQUESTED_BY: HeaderName = HeaderName::from_static("x-requested-by");
/// What it says.
pub const US: &str = "openoutcry";
/// The cookie.
pub const NAME: &str = "openoutcry_session";
/// The browser takes it over TLS only, and of this host only.
const SECURE_NAME: &str = "__Host-openoutcry_session";

/// What is carried to the identity provider and back, over another site.
const WAY: &str = "openoutcry_way";
const SECURE_WAY: &str = "__Host-openoutcry_way";

/// The session that a request carries; `None` if it carries none, or several.
pub fn session_of<'a>(headers: &'a HeaderMap, site: &Site) -> Option<&'a str> {
    only(headers, if site.secure() { SECURE_NAME } else { NAME })
}

/// The way to the identity provider that a request carries; `None` as of a session.
pub fn way_of<'a>(headers: &'a HeaderMap, site: &Site) -> Option<&'a str> {
    only(headers, if site.secure() { SECURE_WAY } else { WAY })
}

fn only<'a>(headers: &'a HeaderMap, wanted: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).iter();
    let pairs = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(';'));
    let mut found = pairs
        .filter_map(|pair| pair.trim().split_once('='))
        .filter_map(|(name, value)| (name == wanted).then_some(value));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The header that gives a session to the browser for this many seconds; it takes it away after
/// none.
pub fn set(session: &str, seconds: i64, site: &Site) -> Option<HeaderValue> {
    let (name, secure) = if site.secure() { (SECURE_NAME, "; Secure") } else { (NAME, "") };
    let rules = "HttpOnly; SameSite=Strict; Path=/";
    let text = format!("{name}={session}; Max-Age={seconds}; {rules}{secure}");
    HeaderValue::from_str(&text).ok()
}

/// The header that gives a way to the identity provider to the browser for this many seconds.
pub fn set_way(way: &str, seconds: i64, site: &Site) -> Option<HeaderValue> {
    let (name, secure) = if site.secure() { (SECURE_WAY, "; Secure") } else { (WAY, "") };
    // Strict ones do not come back from another site.
    let rules = "HttpOnly; SameSite=Lax; Path=/";
    HeaderValue::from_str(&format!("{name}={way}; Max-Age={seconds}; {rules}{secure}")).ok()
}

/// Refuses what comes under a foreign name.
///
/// # Errors
/// The request's host is no name of the venue's.
pub fn check_host(headers: &HeaderMap, site: &Site) -> Result<(), Problem> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    if host.is_some_and(|host| site.is_host(host)) {
        return Ok(());
    }
    let detail = "browsers reach this venue under another name (--public-url)";
    Err(Problem::new(Kind::Forbidden, detail))
}

/// Refuses what a page of another site may have sent: a write without the header that only pages of
/// the venue's own can send, a stream that `opens` without it or an origin, and whatever names
/// another origin.
///
/// # Errors
/// The request may be forged.
pub fn check_origin(method: &Method, headers: &HeaderMap, opens: bool) -> Result<(), Problem> {
    let forged = || Problem::new(Kind::Forbidden, "this looks like another site's request");
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let origin = headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or_default());
    let reads = matches!(*method, Method::GET | Method::HEAD);
    let same = origin.map(|origin| {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        authority.zip(host).is_some_and(|(one, other)| one.eq_ignore_ascii_case(other))
    });
    let named = headers.get(REQUESTED_BY).is_some_and(|by| by.as_bytes() == US.as_bytes());
    match same {
        Some(false) => return Err(forged()),
        // A browser names no origin where a page reads its own: the header says as much.
        None if !reads || (opens && !named) => return Err(forged()),
        Some(true) | None => {}
    }
    if reads || named { Ok(()) } else { Err(forged()) }
}

#[cfg(test)]
#[path = "../../tests/unit/http/cookies.rs"]
mod tests;
