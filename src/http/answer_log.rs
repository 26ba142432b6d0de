//! What is told of each answer: a line of the log, at `info` for what an operator did and at
//! `debug` for everything else, and a span where traces are collected.

use hyper::Method;
use hyper::header::HeaderMap;
use tracing::Level;

use super::auth::Caller;
use super::route::Route;
use super::spans::{Parent, Span, Spans};
use super::venue::Venue;
use engine::clock;
use exchange::units::Sequence;

/// An answer.
#[derive(Clone, Copy)]
pub struct Answered<'a> {
    /// The request's method.
    pub method: &'a Method,
    /// The route, if there is one.
    pub route: Option<&'a Route>,
    /// Its status.
    pub status: u16,
    /// Microseconds from the request's head.
    pub us: u64,
    /// The request's id.
    pub request_id: &'a str,
    /// Who asked, if a good key was shown.
    pub caller: Option<&'a Caller>,
    /// The record of a write, the last record that a read shows.
    pub record: Record<'a>,
    /// The trace that the client named.
    pub parent: Option<Parent>,
}

impl Answered<'_> {
    /// Whether it is an operator's act: all that is not read, and not traded, by those who run the
    /// venue, and what others tried of theirs.
    fn is_act(&self) -> bool {
        let (Some(route), Some(caller)) = (self.route, self.caller) else { return false };
        let theirs = caller.is_staff() && !route.template.starts_with("/trading/");
        *self.method != Method::GET && (theirs || route.access.is_staffs())
    }
}

/// A record, or the headers of an answer that name it: they are read only if it is told.
#[derive(Clone, Copy)]
pub enum Record<'a> {
    /// This one.
    At(Sequence),
    /// Theirs.
    In(&'a HeaderMap),
}

impl Record<'_> {
    fn number(self) -> Option<u64> {
        match self {
            Record::At(sequence) => Some(sequence.get()),
            Record::In(headers) => headers.get("sequence")?.to_str().ok()?.parse().ok(),
        }
    }
}

/// Tells of an answer.
pub fn log(answered: &Answered<'_>, venue: &Venue, spans: Option<&Spans>) {
    let act = answered.is_act();
    if !act && spans.is_none() && !tracing::enabled!(Level::DEBUG) {
        return;
    }
    let Answered { method, status, us, request_id, caller, record, parent, .. } = *answered;
    let sequence = record.number();
    let route = answered.route.map_or("none", |route| route.template);
    let user = caller.and_then(|caller| {
        let engine = venue.engine().ok()?;
        Some(engine.read().accounts.user(caller.user)?.id.to_string())
    });
    if act {
        tracing::info!(%method, route, status, us, request_id, user, sequence, "an operator acted");
    } else {
        tracing::debug!(%method, route, status, us, request_id, user, sequence, "answered");
    }
    let Some(spans) = spans else { return };
    spans.tell(parent, || Span {
        trace: [0; 16],
        id: [0; 8],
        parent: None,
        method: method.clone(),
        route,
        status,
        ended: clock::now(),
        us,
        request_id: request_id.to_owned(),
        user,
        sequence,
    });
}
