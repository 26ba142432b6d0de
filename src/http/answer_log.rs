//! The log's line of an answer: whatever an operator did at `info`, everything else at `debug`.

use hyper::Method;
use hyper::header::HeaderMap;
use tracing::Level;

use super::auth::Caller;
use super::route::Route;
use super::venue::Venue;

/// What is told of an answer besides what its head shows.
#[derive(Debug)]
pub struct Answered<'a> {
    /// The request's method.
    pub method: &'a Method,
    /// Its status.
    pub status: u16,
    /// Microseconds from the request's head.
    pub us: u64,
    /// The request's id.
    pub request_id: &'a str,
}

/// Logs an answer with these headers, asked for by this caller, if it was known who asked.
pub fn log(
    answered: &Answered<'_>,
    route: Option<&Route>,
    headers: &HeaderMap,
    caller: Option<&Caller>,
    venue: &Venue,
) {
    let acts = |route: &Route| {
        route.access.is_staffs() && *answered.method != Method::GET && caller.is_some()
    };
    let act = route.is_some_and(acts);
    if !act && !tracing::enabled!(Level::DEBUG) {
        return;
    }
    let Answered { method, status, us, request_id } = *answered;
    let route = route.map_or("none", |route| route.template);
    // The record of a write, the last record that a read shows.
    let sequence = headers.get("sequence").and_then(|text| text.to_str().ok()?.parse::<u64>().ok());
    let user = caller.and_then(|caller| {
        let engine = venue.engine().ok()?;
        Some(engine.read().accounts.user(caller.user)?.id.to_string())
    });
    if act {
        tracing::info!(%method, route, status, us, request_id, user, sequence, "an operator acted");
    } else {
        tracing::debug!(%method, route, status, us, request_id, user, sequence, "answered");
    }
}
