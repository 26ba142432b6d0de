//! The door: what every request passes on its way to an endpoint, in the order in which it may be
//! turned back, and what every answer carries on its way out.
//!
//! The key comes before anything that would tell a stranger which paths exist (semantics 7).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response};
use matchit::InsertError;

use super::Limits;
use super::auth::{self, Caller};
use super::call::Call;
use super::media;
use super::once;
use super::problem::{FieldCode, FieldError, Kind, Problem, RETRY_AFTER_SECONDS};
use super::reply::Reply;
use super::routes::{BodyRule, Endpoint, Routes};
use super::wire;
use crate::engine::{Engine, clock};
use crate::exchange::command::Role;
use crate::exchange::units::Sequence;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SEQUENCE: HeaderName = HeaderName::from_static("sequence");
const IDEMPOTENT_REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// What reading a body may fail with.
type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// Takes requests in and lets answers out.
pub struct Door {
    engine: Engine,
    routes: Routes,
    limits: Limits,
    /// When this process began to serve, ms since 1970: with the count, what makes request ids
    /// unique beyond one run.
    opened_ms: i64,
    requests: AtomicU64,
}

impl Door {
    /// A door to this engine.
    pub fn new(engine: Engine, limits: Limits) -> Result<Door, InsertError> {
        let routes = Routes::new()?;
        let opened_ms = clock::now().get();
        Ok(Door { engine, routes, limits, opened_ms, requests: AtomicU64::new(0) })
    }

    /// Answers a request, whatever happens.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Bytes>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BodyError>,
    {
        let id = self.next_id();
        let attended = caught(self.attend(request, &id)).await;
        let outcome = attended.unwrap_or_else(|| Err(Problem::internal("an endpoint panicked")));
        self.respond(outcome, &id)
    }

    /// What a connection is told for which there is no place.
    pub fn no_place(&self) -> Response<Bytes> {
        let detail = "too many connections are open; nothing was accepted";
        self.respond(Err(Problem::new(Kind::Overloaded, detail)), &self.next_id())
    }

    fn next_id(&self) -> String {
        format!("{:x}-{:x}", self.opened_ms, self.requests.fetch_add(1, Ordering::Relaxed))
    }

    async fn attend<B>(&self, request: Request<B>, id: &str) -> Result<Reply, Problem>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BodyError>,
    {
        check_size(&request, &self.limits)?;
        let caller = auth::identify(request.headers(), &self.engine)?;
        let asked = self.ask(caller, request, id).await;
        asked.map_err(|problem| Problem {
            sequence: problem.sequence.or(Some(caller.as_of)),
            ..problem
        })
    }

    async fn ask<B>(
        &self,
        caller: Caller,
        request: Request<B>,
        request_id: &str,
    ) -> Result<Reply, Problem>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BodyError>,
    {
        let (head, body) = request.into_parts();
        let (route, path) = self.routes.find(&head.method, head.uri.path())?;
        if route.role == Role::Operator && !caller.is_operator() {
            return Err(Problem::new(Kind::Forbidden, "this path is for operators only"));
        }
        let key = once::key(&head.method, &head.headers)?;
        if !media::takes_json(&head.headers) {
            return Err(Problem::new(Kind::NotAcceptable, "answers are JSON"));
        }
        let body = match route.body {
            BodyRule::Ignored => Bytes::new(),
            rule => take_body(&head.headers, rule, body, &self.limits).await?,
        };
        let query = head.uri.query().map(str::to_owned);
        let target = head.uri.path_and_query().map_or("", |target| target.as_str());
        let once = key.map(|key| Box::new(once::once(caller.user, key, target, &body)));
        let (engine, request_id) = (self.engine.clone(), request_id.to_owned());
        let call = Call { engine, caller, path, query, body, once, request_id };
        match route.endpoint {
            Endpoint::Read(endpoint) => endpoint(&call),
            Endpoint::Write(endpoint) | Endpoint::Past(endpoint) => endpoint(call).await,
        }
    }

    fn respond(&self, outcome: Result<Reply, Problem>, request_id: &str) -> Response<Bytes> {
        let mut response = match outcome {
            Ok(reply) => success(reply),
            Err(problem) => {
                if let Some(cause) = problem.cause {
                    tracing::error!(cause, request_id, "a request got a 500");
                }
                let sequence = problem.sequence.unwrap_or_else(|| self.engine.read().watermark());
                failure(&problem, sequence, request_id)
            }
        };
        let headers = response.headers_mut();
        put(headers, REQUEST_ID, request_id);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

/// The result of a future, or `None` if it panicked.
async fn caught<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    std::future::poll_fn(|cx| {
        // After a panic the future is never polled again, so nothing sees it half changed.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(poll) => poll.map(Some),
            Err(_) => Poll::Ready(None),
        }
    })
    .await
}

/// Refuses a head that is larger than any that a client needs.
fn check_size<B>(request: &Request<B>, limits: &Limits) -> Result<(), Problem> {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if target > limits.uri_bytes_max {
        let detail = format!("an address may have {} bytes", limits.uri_bytes_max);
        return Err(Problem::new(Kind::UriTooLong, detail));
    }
    let headers = request.headers();
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if headers.len() > limits.headers_max || bytes > limits.headers_bytes_max {
        let (count, bytes) = (limits.headers_max, limits.headers_bytes_max);
        let detail = format!("a request may have {count} headers of together {bytes} bytes");
        return Err(Problem::new(Kind::HeadersTooLarge, detail));
    }
    Ok(())
}

/// Reads a body under the bounds of its size and time.
async fn take_body<B>(
    headers: &HeaderMap,
    rule: BodyRule,
    body: B,
    limits: &Limits,
) -> Result<Bytes, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BodyError>,
{
    if !media::sends_json(headers) {
        let detail = "send the body as application/json";
        return Err(Problem::new(Kind::UnsupportedMediaType, detail));
    }
    let announced = headers.contains_key(header::CONTENT_LENGTH)
        || headers.contains_key(header::TRANSFER_ENCODING);
    if rule == BodyRule::Required && !announced {
        let detail = "a body is needed; announce its length or send it in chunks";
        return Err(Problem::new(Kind::LengthRequired, detail));
    }
    let max = limits.body_bytes_max;
    let too_large = || Problem::new(Kind::ContentTooLarge, format!("a body may have {max} bytes"));
    if body.size_hint().lower() > u64::try_from(max).unwrap_or(u64::MAX) {
        return Err(too_large());
    }
    match collected(Limited::new(body, max), limits.body_wait).await {
        None => Err(Problem::new(Kind::RequestTimeout, "the body took too long to arrive")),
        Some(Ok(bytes)) => Ok(bytes),
        Some(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Some(Err(_)) => Err(Problem::invalid(vec![FieldError {
            field: "body".to_owned(),
            code: FieldCode::Malformed,
            detail: "did not arrive whole".into(),
        }])),
    }
}

/// A whole body, or `None` when its time is over.
async fn collected<B>(body: Limited<B>, wait: Duration) -> Option<Result<Bytes, BodyError>>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BodyError>,
{
    let collected = tokio::time::timeout(wait, body.collect()).await.ok()?;
    Some(collected.map(http_body_util::Collected::to_bytes))
}

fn success(reply: Reply) -> Response<Bytes> {
    let Reply { status, sequence, replayed, location, body } = reply;
    let has_content = !body.is_empty();
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if has_content {
        headers.insert(header::CONTENT_TYPE, JSON);
    }
    headers.insert(SEQUENCE, HeaderValue::from(sequence.get()));
    if replayed {
        headers.insert(IDEMPOTENT_REPLAY, HeaderValue::from_static("true"));
    }
    if let Some(location) = location {
        put(headers, header::LOCATION, &location);
    }
    response
}

fn failure(problem: &Problem, sequence: Sequence, request_id: &str) -> Response<Bytes> {
    let body = wire::problem::print(problem, request_id).unwrap_or_else(|error| {
        tracing::error!(%error, request_id, "a problem could not be printed");
        Vec::new()
    });
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = problem.kind.status();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, PROBLEM_JSON);
    headers.insert(SEQUENCE, HeaderValue::from(sequence.get()));
    if let Some(allow) = &problem.allow {
        put(headers, header::ALLOW, allow);
    }
    if problem.kind.retry() {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS));
    }
    if matches!(problem.kind, Kind::MissingApiKey | Kind::InvalidApiKey) {
        let challenge = HeaderValue::from_static("ApiKey header=\"X-API-Key\"");
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    if problem.kind.closes() {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
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

    #[tokio::test]
    async fn a_panic_becomes_an_answer() {
        assert_eq!(caught(async { 1 }).await, Some(1));
        assert_eq!(caught(async { panic!("expected by this test") }).await, None::<u8>);
    }
}
