//! The door: what every request passes on its way to an endpoint, in the order in which it may be
//! turned back, and what every answer carries on its way out.
//!
//! The key comes before anything that would tell a stranger which paths exist (semantics 7).

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::Body;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use matchit::InsertError;

use super::Limits;
use super::auth::{self, Caller};
use super::body::{BodyError, IncomingBody, take_body};
use super::call::{Call, SharedState};
use super::connection_slots::ConnectionSlot;
use super::directory::Directory;
use super::idempotency;
use super::keyring::Keyring;
use super::media;
use super::packing;
use super::problem::{Kind, Problem};
use super::rates::Allowance;
use super::reply::Reply;
use super::request_id::{REQUEST_ID, RequestId, RequestIds};
use super::response_cache::ResponseCaches;
use super::routes::{Access, BodyRule, Endpoint, PathParts, RequestClass, Route, Routes};
use super::stream::Content;
use super::traffic::Traffic;
use super::unread_rows::UnreadRows;
use super::venue::Venue;
use super::wire;
use crate::exchange::decimal::DecimalText;
use crate::exchange::units::Sequence;

const SEQUENCE: HeaderName = HeaderName::from_static("sequence");
const IDEMPOTENT_REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");
const CLOSE: HeaderValue = HeaderValue::from_static("close");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const RATE_REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RATE_RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// Headers that an answer usually has, those that hyper adds among them: room for them is taken at
/// once.
const HEADERS_USUAL: usize = 10;
/// Room for headers that is kept from a request to the next: a connection that once sent many must
/// not hold it for ever.
const HEADERS_KEPT_MAX: usize = 32;

/// Takes requests in and lets answers out.
pub struct Door {
    venue: Venue,
    routes: Routes,
    limits: Limits,
    shared: Arc<SharedState>,
    traffic: Traffic,
    request_ids: RequestIds,
}

/// What is known of a request by the time it is answered, however far it came.
#[derive(Default)]
struct Known<'a> {
    route: Option<&'a Route>,
    allowance: Option<Allowance>,
}

impl Door {
    /// A door to this venue.
    pub fn new(venue: impl Into<Venue>, limits: Limits) -> Result<Door, InsertError> {
        let (venue, routes) = (venue.into(), Routes::new()?);
        let traffic = Traffic::new(routes.count());
        let (keyring, untaken) = (Keyring::new(limits.rates), UnreadRows::new(limits.untaken));
        let (printed, directory) = (ResponseCaches::default(), Directory::default());
        let behind = Arc::new(SharedState {
            keyring,
            caches: printed,
            directory,
            unread: Arc::new(untaken),
        });
        let request_ids = RequestIds::from_now();
        Ok(Door { venue, routes, limits, shared: behind, traffic, request_ids })
    }

    /// What passed.
    pub const fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// What may be asked.
    pub const fn routes(&self) -> &Routes {
        &self.routes
    }

    /// The venue behind it.
    pub const fn venue(&self) -> &Venue {
        &self.venue
    }

    /// Answers a request, whatever happens.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Content>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BodyError>,
    {
        let mut began = Instant::now();
        let (head, body) = request.into_parts();
        let body = pin!(body);
        let mut body = IncomingBody::new(body);
        let id = self.request_ids.of(&head.headers);
        let takes_gzip = media::takes_gzip(&head.headers);
        let mut known = Known::default();
        let attended = {
            // Pinned here: it is large, and would be copied to wherever it went.
            let attending = pin!(self.attend(&head, &mut body, &mut known, id, began));
            caught(attending).await
        };
        let outcome = attended.unwrap_or_else(|| Err(Problem::internal("an endpoint panicked")));
        let closes = outcome.as_ref().is_err_and(|problem| problem.kind.closes());
        let (goes_on, waited) = self.go_on(closes, &head.headers, body).await;
        let (method, headers) = (head.method, emptied(head.headers));
        let mut response = self.respond(outcome, known.allowance, id.as_str(), headers);
        if !goes_on {
            response.headers_mut().insert(header::CONNECTION, CLOSE);
        }
        let response = if takes_gzip { packing::packed(response).await } else { response };
        let status = response.status().as_u16();
        // How long a client is waited for to no end is not how long an answer takes.
        began = began.checked_add(waited).unwrap_or(began);
        self.traffic.count(known.route, status, began);
        tracing::debug!(
            %method,
            route = known.route.map_or("none", |route| route.template),
            status,
            us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
            request_id = id.as_str(),
            "answered"
        );
        response
    }

    /// What a connection is told for which there is no place.
    pub fn no_place(&self) -> Response<Bytes> {
        self.traffic.turn_away();
        let detail = "too many connections are open; nothing was accepted";
        let (problem, id) = (Problem::new(Kind::Overloaded, detail), self.request_ids.next());
        let id = id.as_str();
        marked(failure(&problem, self.venue.sequence(), id, HeaderMap::new()), None, id)
    }

    /// Sees to what nobody read of a body; whether the connection goes on, and how long that took.
    async fn go_on<B>(
        &self,
        closes: bool,
        headers: &HeaderMap,
        mut body: IncomingBody<'_, B>,
    ) -> (bool, Duration)
    where
        B: Body<Data = Bytes>,
    {
        if body.is_whole() {
            return (true, Duration::ZERO);
        }
        let began = Instant::now();
        let goes_on = !closes && body.drain(headers, &self.limits).await;
        (goes_on, began.elapsed())
    }

    async fn attend<'a, B>(
        &'a self,
        head: &Parts,
        body: &mut IncomingBody<'_, B>,
        known: &mut Known<'a>,
        id: RequestId,
        began: Instant,
    ) -> Result<Reply, Problem>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BodyError>,
    {
        check_size(head, &self.limits)?;
        let found = self.routes.find(&head.method, head.uri.path());
        known.route = found.as_ref().ok().map(|(route, _)| *route);
        if let Some(Route { access: Access::Everybody, endpoint: Endpoint::Probe(probe), .. }) =
            known.route
        {
            return probe(self, head);
        }
        let engine = self.venue.engine()?;
        let caller = auth::identify(&head.headers, engine, &self.shared.directory)?;
        if head.extensions.get::<Arc<ConnectionSlot>>().is_some_and(|place| !place.authenticate()) {
            let detail = "this connection gave way to another; nothing was accepted";
            return Err(Problem::new(Kind::Overloaded, detail));
        }
        let asked = async {
            let class =
                known.route.map_or(RequestClass::of_method(&head.method), |route| route.class);
            known.allowance = self.shared.keyring.admit(&caller, class, began);
            let mut drew = class;
            if let Err(refused) = refuse_beyond(known.allowance, class) {
                let several = matches!(known.route, Some(route) if route.draws_itself());
                drew = RequestClass::Cancels;
                let left = several.then(|| self.shared.keyring.admit(&caller, drew, began));
                if left.is_none_or(|left| refuse_beyond(left, drew).is_err()) {
                    return Err(refused);
                }
            }
            let answered = self.ask(caller, found, head, body, id, drew).await;
            let drew = answered.as_ref().ok().and_then(|reply| reply.drew);
            if drew.is_some() || class == RequestClass::Writes && known.allowance.is_some() {
                // Several commands in one request draw more than it was admitted for.
                let left = self.shared.keyring.look(&caller, drew.unwrap_or(class));
                known.allowance = left.map(|(_, left)| left);
            }
            answered
        };
        asked.await.map_err(|problem| Problem {
            sequence: problem.sequence.or(Some(caller.as_of)),
            ..problem
        })
    }

    async fn ask<B>(
        &self,
        mut caller: Caller,
        found: Result<(&Route, PathParts), Problem>,
        head: &Parts,
        body: &mut IncomingBody<'_, B>,
        request_id: RequestId,
        drew: RequestClass,
    ) -> Result<Reply, Problem>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BodyError>,
    {
        let (route, path) = found?;
        if caller.role < route.access.least() {
            let detail = match route.access {
                Access::Operators => "this path is for operators only",
                _ => "this key only reads",
            };
            return Err(Problem::new(Kind::Forbidden, detail));
        }
        if let Endpoint::Probe(probe) = route.endpoint {
            return probe(self, head);
        }
        let engine = self.venue.engine()?.clone();
        let key = idempotency::key(&head.method, &head.headers)?;
        if !media::takes_json(&head.headers) {
            return Err(Problem::new(Kind::NotAcceptable, "answers are JSON"));
        }
        let body = match route.body {
            BodyRule::Ignored => Bytes::new(),
            BodyRule::Absent if body.is_end_stream() => Bytes::new(),
            rule => {
                let body = take_body(&head.headers, rule, body, &self.limits).await?;
                // It may have been long in coming.
                caller = auth::still(caller, &head.headers, &engine, &self.shared.directory)?;
                body
            }
        };
        let query = head.uri.query().map(str::to_owned);
        let target = head.uri.path_and_query().map_or("", |target| target.as_str());
        let once = key.map(|key| Box::new(idempotency::once(caller.user, key, target, &body)));
        let (user, shared) = (caller.user, Arc::clone(&self.shared));
        let call = Call { engine, caller, shared, path, query, body, once, drew, request_id };
        let mut reply = match route.endpoint {
            Endpoint::Probe(probe) => return probe(self, head),
            // What was done must be told, however long it is.
            Endpoint::Write(endpoint) | Endpoint::Several(endpoint) => {
                return endpoint(call).await;
            }
            Endpoint::Read(endpoint) => endpoint(&call)?,
            Endpoint::Long(endpoint) | Endpoint::Past(endpoint) => endpoint(call).await?,
        };
        if let Some(rows) = reply.body.uncounted() {
            reply.body.count(UnreadRows::hold(&self.shared.unread, user, rows)?);
        }
        Ok(reply)
    }

    fn respond(
        &self,
        outcome: Result<Reply, Problem>,
        mut allowance: Option<Allowance>,
        request_id: &str,
        headers: HeaderMap,
    ) -> Response<Content> {
        let response = match outcome {
            Ok(reply) => success(reply, headers),
            Err(problem) => {
                if let Some(cause) = problem.cause {
                    tracing::error!(cause, request_id, "a request got a 500");
                }
                let sequence = problem.sequence.unwrap_or_else(|| self.venue.sequence());
                allowance = problem.allowance.as_deref().copied().or(allowance);
                failure(&problem, sequence, request_id, headers).map(Content::Whole)
            }
        };
        marked(response, allowance, request_id)
    }
}

/// The answer with what all answers carry.
fn marked<B>(
    mut response: Response<B>,
    allowance: Option<Allowance>,
    request_id: &str,
) -> Response<B> {
    let headers = response.headers_mut();
    put(headers, REQUEST_ID, request_id);
    if let Some(allowance) = allowance {
        put_allowance(headers, allowance);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The result of a future, or `None` if it panicked.
async fn caught<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|cx| {
        // After a panic the future is never polled again, so nothing sees it half changed.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(poll) => poll.map(Some),
            Err(_) => Poll::Ready(None),
        }
    })
    .await
}

/// Refuses a request for which the key's bucket held nothing.
fn refuse_beyond(allowance: Option<Allowance>, class: RequestClass) -> Result<(), Problem> {
    let refused = allowance.filter(|allowance| allowance.wait_seconds.is_some());
    refused.map_or(Ok(()), |allowance| Err(Problem::beyond(class.name(), allowance)))
}

/// Says what is left of the bucket that the request drew on.
fn put_allowance(headers: &mut HeaderMap, allowance: Allowance) {
    headers.insert(RATE_LIMIT, number(allowance.limit.into()));
    headers.insert(RATE_REMAINING, number(allowance.remaining.into()));
    headers.insert(RATE_RESET, number(allowance.reset_seconds));
    if let Some(wait) = allowance.wait_seconds {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(wait));
    }
}

/// A number as a header, in no more memory than it takes.
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

/// Refuses a head that is larger than any that a client needs.
fn check_size(head: &Parts, limits: &Limits) -> Result<(), Problem> {
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

/// A request's headers as room for those of its answer, which hyper uses for the next request: so
/// nothing is allocated for either.
fn emptied(mut headers: HeaderMap) -> HeaderMap {
    if headers.capacity() > HEADERS_KEPT_MAX {
        return HeaderMap::with_capacity(HEADERS_USUAL);
    }
    headers.clear();
    headers.reserve(HEADERS_USUAL);
    headers
}

fn success(reply: Reply, headers: HeaderMap) -> Response<Content> {
    let Reply { status, sequence, replayed, drew: _, location, media, gzipped, body } = reply;
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
    headers.insert(SEQUENCE, number(sequence.get()));
    if replayed {
        headers.insert(IDEMPOTENT_REPLAY, HeaderValue::from_static("true"));
    }
    if let Some(location) = location {
        put(headers, header::LOCATION, &location);
    }
    response
}

fn failure(
    problem: &Problem,
    sequence: Sequence,
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
    headers.insert(SEQUENCE, HeaderValue::from(sequence.get()));
    if let Some(allow) = &problem.allow {
        put(headers, header::ALLOW, allow);
    }
    if let Some(seconds) = problem.kind.retry_after() {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if matches!(problem.kind, Kind::MissingApiKey | Kind::InvalidApiKey) {
        let challenge = HeaderValue::from_static("ApiKey header=\"X-API-Key\"");
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    if problem.kind.closes() {
        headers.insert(header::CONNECTION, CLOSE);
    }
    response
}

/// Sets a header that is made of our own ids, paths and methods.
fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    } else {
        tracing::error!(%name, "a header could not be set");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_should_try_again_is_told_when() {
        use crate::exchange::reject::Reject;
        let waits = |kind: Kind| {
            let response =
                failure(&Problem::new(kind, "x"), Sequence::ZERO, "id", HeaderMap::new());
            response.headers().get(header::RETRY_AFTER).cloned()
        };
        for reject in Reject::ALL {
            let kind = Kind::Refused(reject);
            // A bucket that is empty says of itself when it is not.
            let expected = kind.status() == hyper::StatusCode::TOO_MANY_REQUESTS;
            assert_eq!(waits(kind).is_some(), expected, "{kind:?}");
        }
        let own = Kind::OWN.into_iter().filter(|kind| waits(*kind).is_some());
        let expected = [Kind::Overloaded, Kind::Stopping, Kind::Starting];
        assert_eq!(own.collect::<Vec<_>>(), expected);
    }

    #[tokio::test]
    async fn a_panic_becomes_an_answer() {
        assert_eq!(caught(pin!(async { 1 })).await, Some(1));
        let panics = pin!(async { panic!("expected by this test") });
        assert_eq!(caught(panics).await, None::<u8>);
    }
}
