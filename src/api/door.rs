//! The door: the checks that every request passes before its endpoint, in order, and the headers
//! that every answer gets.
//!
//! The key is checked before anything that would reveal which paths exist (semantics 7).

use std::future::poll_fn;
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::Body;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response, Version};
use matchit::InsertError;

use super::Limits;
use super::auth::{self, Caller};
use super::body::{BodyError, IncomingBody, take_body};
use super::call::{Call, SharedState};
use super::connection_slots::ConnectionSlot;
use super::head;
use super::idempotency;
use super::media;
use super::packing;
use super::preconditions::Preconditions;
use super::problem::{Kind, Problem};
use super::rates::Allowance;
use super::reply::Reply;
use super::request_id::{REQUEST_ID, RequestId, RequestIds};
use super::routes::{Access, BodyRule, Endpoint, PathParts, RequestClass, Route, Routes};
use super::stream::Content;
use super::tokens;
use super::traffic::Traffic;
use super::unread_rows::UnreadRows;
use super::venue::Venue;
use super::wire;
use crate::exchange::decimal::DecimalText;
use crate::exchange::ids::UserNo;
use crate::exchange::reject::Reject;
use crate::exchange::units::Sequence;

const SEQUENCE: HeaderName = HeaderName::from_static("sequence");
const IDEMPOTENT_REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");
const CLOSE: HeaderValue = HeaderValue::from_static("close");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const RATE_REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RATE_RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// What a page of this server's may load and do: its own files, and not inside another's frame.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' \
     data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// Initial capacity for an answer's headers, including those that hyper adds.
const HEADERS_USUAL: usize = 12;
/// Largest header capacity reused for the next request: a connection that sent many headers must
/// not hold the memory for ever.
const HEADERS_KEPT_MAX: usize = 32;

/// Checks requests, calls their endpoints and completes their answers.
pub struct Door {
    venue: Venue,
    routes: Routes,
    limits: Limits,
    shared: Arc<SharedState>,
    traffic: Traffic,
    request_ids: RequestIds,
}

/// What is known of a request, however far it got.
#[derive(Default)]
struct Known<'a> {
    connection: Option<&'a ConnectionSlot>,
    route: Option<&'a Route>,
    allowance: Option<Allowance>,
    /// Whether the caller has shown a key. Others are not told how far the journal is: it grows
    /// with what everybody does.
    caller: bool,
}

impl Door {
    /// A door for this venue.
    pub fn new(venue: impl Into<Venue>, limits: Limits) -> Result<Door, InsertError> {
        let (venue, routes) = (venue.into(), Routes::new()?);
        let traffic = Traffic::new(routes.count());
        let shared = Arc::new(SharedState::new(&limits));
        let request_ids = RequestIds::from_now();
        Ok(Door { venue, routes, limits, shared, traffic, request_ids })
    }

    /// Counts of requests and connections.
    pub const fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// The users with most records since the start, and how many, most first.
    pub fn heaviest(&self) -> Vec<(UserNo, u64)> {
        self.shared.keyring.heaviest()
    }

    /// The table of routes.
    pub const fn routes(&self) -> &Routes {
        &self.routes
    }

    /// The venue.
    pub const fn venue(&self) -> &Venue {
        &self.venue
    }

    /// Answers a request that came on no connection with a slot.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Content>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BodyError>,
    {
        self.answer_on(request, None).await
    }

    /// Answers a request, even if its endpoint panics.
    pub async fn answer_on<B>(
        &self,
        request: Request<B>,
        connection: Option<&ConnectionSlot>,
    ) -> Response<Content>
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
        let mut known = Known { connection, ..Known::default() };
        let dispatched = {
            // Pin it in place: the future is large, and moving it would copy it.
            let dispatching = pin!(self.dispatch(&head, &mut body, &mut known, id, began));
            caught(dispatching).await
        };
        let outcome = dispatched.unwrap_or_else(|| Err(Problem::internal("an endpoint panicked")));
        if let (Some(connection), Err(problem)) = (connection, &outcome)
            && problem.kind.lacks_good_key()
        {
            connection.disown();
        }
        let closes = outcome.as_ref().is_err_and(|problem| problem.kind.closes());
        let (keeps_open, waited) = self.drain_body(closes, &head.headers, body).await;
        let (method, headers) = (head.method, reuse_headers(head.headers));
        let mut response = self.respond(outcome, &known, id.as_str(), headers);
        // HTTP/1.0 has no chunks: an answer of unknown length ends with its connection.
        let ends = head.version < Version::HTTP_11 && response.body().size_hint().exact().is_none();
        if !keeps_open || ends {
            response.headers_mut().insert(header::CONNECTION, CLOSE);
        }
        if head.version < Version::HTTP_11 && response.headers().contains_key(header::CONNECTION) {
            // In an answer of 1.1, hyper would add `keep-alive` beside `close`.
            *response.version_mut() = Version::HTTP_10;
        }
        let response = if takes_gzip { packing::packed(response).await } else { response };
        let status = response.status().as_u16();
        // The time spent on draining an unread body does not count.
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

    /// The answer to a connection for which no slot is free.
    pub fn no_slot(&self) -> Response<Bytes> {
        self.traffic.turn_away();
        let detail = "too many connections are open; nothing was accepted";
        let (problem, id) = (Problem::new(Kind::Overloaded, detail), self.request_ids.next());
        let id = id.as_str();
        complete(failure(&problem, None, id, HeaderMap::new()), None, id)
    }

    /// Drains the unread part of a body; returns whether the connection is kept, and how long it
    /// took.
    async fn drain_body<B>(
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
        let keeps_open = !closes && body.drain(headers, &self.limits).await;
        (keeps_open, began.elapsed())
    }

    async fn dispatch<'a, B>(
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
        head::check_size(head, &self.limits)?;
        let found = self.routes.find(&head.method, &head::unescaped(head.uri.path()));
        known.route = found.as_ref().ok().map(|(route, _)| *route);
        head::check_form(head)?;
        if let Some(Route { access: Access::Everybody, endpoint: Endpoint::Probe(probe), .. }) =
            known.route
        {
            return probe(self, head);
        }
        let engine = self.venue.engine()?;
        let caller = auth::identify(&head.headers, engine, &self.shared.directory)?;
        known.caller = true;
        if known.connection.is_some_and(|slot| !slot.hold(&caller, began, engine)) {
            let detail = "this connection gave way to another; nothing was accepted";
            return Err(Problem::new(Kind::Overloaded, detail));
        }
        let asked = async {
            let class =
                known.route.map_or(RequestClass::of_method(&head.method), |route| route.class);
            let several = known.route.is_some_and(Route::draws_itself);
            let keyring = &self.shared.keyring;
            let drew;
            (drew, known.allowance) = tokens::take(keyring, &caller, class, several, began)?;
            let answered = self.ask(caller, found, head, body, id, drew).await;
            let charged = match &answered {
                Ok(reply) => reply.drew.unwrap_or(class),
                Err(_) => drew,
            };
            if charged != class || class == RequestClass::Writes {
                // The endpoint took more tokens than the request itself did, or others.
                known.allowance = keyring.look(&caller, charged).map(|(_, left)| left);
            }
            answered
        };
        asked.await.map_err(|problem| Problem {
            sequence: problem.sequence.or(Some(caller.as_of)),
            wait: problem.wait.or_else(|| self.wait_for_names(&problem, caller.user)),
            ..problem
        })
    }

    /// Seconds until a user who was refused a name has room for one again.
    fn wait_for_names(&self, problem: &Problem, user: UserNo) -> Option<NonZeroU32> {
        if problem.kind != Kind::Refused(Reject::TooManyNames) {
            return None;
        }
        let engine = self.venue.engine().ok()?;
        let ms = engine.name_free_at(user)?.get().saturating_sub(engine.now().get()).max(1);
        u32::try_from(ms.unsigned_abs().div_ceil(1_000)).ok().and_then(NonZeroU32::new)
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
        let conditions = Preconditions::read(&head.method, &head.headers, route.tagged)?;
        if !media::takes_json(&head.headers) {
            return Err(Problem::new(Kind::NotAcceptable, "answers are JSON"));
        }
        let body = match route.body {
            BodyRule::Ignored => Bytes::new(),
            BodyRule::Absent if body.is_end_stream() => Bytes::new(),
            rule => {
                let body = take_body(&head.headers, rule, body, &self.limits).await?;
                // The body may have taken long: check the key again.
                caller = auth::recheck(caller, &head.headers, &engine, &self.shared.directory)?;
                body
            }
        };
        let query = head.uri.query().map(str::to_owned);
        let once = key.map(|key| Box::new(idempotency::once(caller.user, key, route)));
        let shared = Arc::clone(&self.shared);
        let seen = route.tagged.then(|| conditions.clone());
        let call =
            Call { engine, caller, shared, path, query, body, once, conditions, drew, request_id };
        let mut reply = match route.endpoint {
            Endpoint::Probe(probe) => return probe(self, head),
            // The result of a write must be sent, however long it is.
            Endpoint::Write(endpoint) | Endpoint::Several(endpoint) => {
                return endpoint(call).await;
            }
            Endpoint::Read(endpoint) => endpoint(&call)?,
            Endpoint::Long(endpoint) | Endpoint::Past(endpoint) => endpoint(call).await?,
        };
        if let (Some(conditions), Some(tag)) = (seen, &reply.tag) {
            conditions.check(tag)?;
            if conditions.is_known(tag) {
                return Ok(reply.not_modified());
            }
        }
        if let Some(rows) = reply.body.uncounted() {
            reply.body.count(UnreadRows::reserve(&self.shared.unread, &caller, rows)?);
        }
        Ok(reply)
    }

    fn respond(
        &self,
        outcome: Result<Reply, Problem>,
        known: &Known<'_>,
        request_id: &str,
        headers: HeaderMap,
    ) -> Response<Content> {
        let mut allowance = known.allowance;
        let response = match outcome {
            Ok(reply) => success(reply, known.caller, headers),
            Err(problem) => {
                if let Some(cause) = problem.cause {
                    tracing::error!(cause, request_id, "a request got a 500");
                }
                // A key may be revoked while its request is read.
                let told = known.caller && problem.kind != Kind::InvalidApiKey;
                let sequence = problem.sequence.unwrap_or_else(|| self.venue.sequence());
                let sequence = Some(sequence).filter(|_| told);
                allowance = problem.allowance.as_deref().copied().or(allowance);
                failure(&problem, sequence, request_id, headers).map(Content::Whole)
            }
        };
        complete(response, allowance, request_id)
    }
}

/// Adds the headers that all answers have.
fn complete<B>(
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
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// The result of a future, or `None` if it panicked.
async fn caught<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|cx| {
        // After a panic the future is never polled again, so its broken state is not observed.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(poll) => poll.map(Some),
            Err(_) => Poll::Ready(None),
        }
    })
    .await
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
fn reuse_headers(mut headers: HeaderMap) -> HeaderMap {
    if headers.capacity() > HEADERS_KEPT_MAX {
        return HeaderMap::with_capacity(HEADERS_USUAL);
    }
    headers.clear();
    headers.reserve(HEADERS_USUAL);
    headers
}

fn success(reply: Reply, to_caller: bool, headers: HeaderMap) -> Response<Content> {
    let Reply { status, sequence, replayed, drew: _, location, tag, media, gzipped, body } = reply;
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
    if let Some(location) = location {
        put(headers, header::LOCATION, &location);
    }
    if let Some(tag) = tag {
        put(headers, header::ETAG, &tag);
    }
    response
}

fn failure(
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
    fn retryable_problems_have_retry_after() {
        use crate::exchange::reject::Reject;
        let waits = |kind: Kind| {
            let response = failure(&Problem::new(kind, "x"), None, "id", HeaderMap::new());
            response.headers().get(header::RETRY_AFTER).cloned()
        };
        for reject in Reject::ALL {
            let kind = Kind::Refused(reject);
            // An empty bucket sets `Retry-After` itself.
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
