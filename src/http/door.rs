//! The door: the checks that every request passes before its endpoint, in order, and the headers
//! that every answer gets.
//!
//! The key is checked before anything that would reveal which paths exist (semantics 7).

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::Body;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response, Version};
use matchit::InsertError;

use super::answer_log::{self, Answered, Record};
use super::answering::answer;
use super::auth::{self, Caller};
use super::body::{BodyError, BodyRule, IncomingBody, take_body};
use super::call::{Call, Origin, SharedState};
use super::caught::caught;
use super::connection_slots::ConnectionSlot;
use super::cors;
use super::dashboard;
use super::entrance;
use super::grounds;
use super::head;
use super::idempotency;
use super::limits::Limits;
use super::listed::Content;
use super::media;
use super::packing;
use super::preconditions::Preconditions;
use super::problem::{Kind, Problem};
use super::proxies;
use super::rates::{Allowance, RequestClass};
use super::reply::Reply;
use super::request_id::{RequestId, RequestIds};
use super::respond::{CLOSE, complete, failure, reuse_headers, success, tell_browsers};
use super::route::{Access, Endpoint, Route};
use super::routes::{self, PathParts, Routes};
use super::sign_in;
use super::site::Site;
use super::slugs;
use super::spans::Parent;
use super::stream::entry::Entry;
use super::stream::events;
use super::stream::session::Session;
use super::stream::upgrade::{self, Handover, Opening};
use super::tokens;
use super::traffic::Traffic;
use super::venue::Venue;
use super::visit::receive;
use exchange::ids::UserNo;
use exchange::reject::Reject;
use exchange::units::Sequence;

/// Checks requests, calls their endpoints and completes their answers.
pub struct Door {
    routes: Routes,
    limits: Limits,
    shared: Arc<SharedState>,
    request_ids: RequestIds,
    entry: Entry,
}

/// What is known of a request, however far it got.
#[derive(Default)]
struct Known<'a> {
    connection: Option<&'a ConnectionSlot>,
    /// Of a page of another site's that may ask.
    origin: Option<HeaderValue>,
    route: Option<&'a Route>,
    allowance: Option<Allowance>,
    /// Who has shown a key. Others are not told how far the journal is: it grows with what
    /// everybody does.
    caller: Option<Caller>,
}

impl Door {
    /// A door for this venue, whose pages are those of a default site.
    pub fn new(venue: impl Into<Venue>, limits: Limits) -> Result<Door, InsertError> {
        Door::of_site(venue, limits, Site::default())
    }

    /// A door for this venue and site.
    pub fn of_site(
        venue: impl Into<Venue>,
        limits: Limits,
        site: Site,
    ) -> Result<Door, InsertError> {
        let table = routes::table().into_iter();
        let names = table.map(|route| (route.method, route.template, route.class));
        let traffic = Traffic::new(names.collect());
        let shared = Arc::new(SharedState::new(venue.into(), traffic, &limits, site));
        let (routes, request_ids) = (Routes::new()?, RequestIds::from_now());
        Ok(Door { routes, limits, shared, request_ids, entry: Entry::of(routes::table()) })
    }

    /// State shared by all requests.
    pub const fn shared(&self) -> &Arc<SharedState> {
        &self.shared
    }

    /// Ids of requests.
    pub const fn request_ids(&self) -> &RequestIds {
        &self.request_ids
    }

    /// The way in for commands that come on streams.
    pub const fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Counts of requests and connections.
    pub fn traffic(&self) -> &Traffic {
        &self.shared.traffic
    }

    /// The venue.
    pub fn venue(&self) -> &Venue {
        &self.shared.venue
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
        let origin = cors::allowed(&head.headers, &self.shared.site);
        let spans = self.shared.site.spans.as_ref();
        let parent = spans.and_then(|_| Parent::of(&head.headers));
        let mut known = Known { connection, origin, ..Known::default() };
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
            if problem.kind == Kind::InvalidApiKey {
                let address = self.address(&head.headers, Some(connection));
                self.shared.wrong_keys.came(address).await;
            }
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
        self.shared.traffic.count(known.route.map(|route| route.number), status, began);
        let us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let answered = Answered {
            method: &method,
            route: known.route,
            status,
            us,
            request_id: id.as_str(),
            caller: known.caller.as_ref(),
            record: Record::In(response.headers()),
            parent,
        };
        answer_log::log(&answered, self.venue(), spans);
        response
    }

    /// Has reads that wait for a change answered: the server stops.
    pub fn stop_waiting(&self) {
        self.shared.waiting.stop();
    }

    /// Where a request comes from, if that is known.
    fn address(&self, headers: &HeaderMap, on: Option<&ConnectionSlot>) -> Option<IpAddr> {
        let peer = on.and_then(ConnectionSlot::address)?;
        Some(proxies::client(peer, headers, &self.shared.site.proxies))
    }

    /// The answer to a connection for which no slot is free.
    pub fn no_slot(&self) -> Response<Bytes> {
        self.shared.traffic.turn_away();
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
        if known.origin.is_some() && cors::is_preflight(head) {
            return Ok(Reply::no_content(Sequence::ZERO));
        }
        let found = self.routes.find(&head.method, &head::unescaped(head.uri.path()));
        known.route = found.as_ref().ok().map(|(route, _)| *route);
        head::check_form(head)?;
        if let Some(answered) = self.for_everybody(head, known.route) {
            return answered;
        }
        match known.route {
            Some(Route { endpoint: Endpoint::Stream, .. }) => {
                return self.open_stream(head, known, began);
            }
            Some(Route { endpoint: Endpoint::Visit(visit), body: rule, .. }) => {
                let address = self.address(&head.headers, known.connection);
                return receive((visit, *rule), (head, body), address, &self.shared, &self.limits)
                    .await;
            }
            _ => {}
        }
        let engine = self.shared.venue.engine()?;
        let SharedState { site, caches, .. } = &*self.shared;
        let caller = auth::identify(head, engine, site, &caches.holders)?;
        if let Some(session) = caller.session() {
            sign_in::extend(engine, caller.user, session);
        }
        known.caller = Some(caller);
        entrance::check(known.route, known.connection, &self.shared.site)?;
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
            let presence = known.connection.map(|slot| slot.presence.clone());
            let elsewhere = entrance::is_elsewhere(known.connection, &self.shared.site);
            let origin = Origin { request_id: id, presence, elsewhere };
            let answered = self.ask(caller, found, head, body, origin, drew).await;
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
        asked.await.map_err(|problem| self.explained(problem, &caller))
    }

    /// The answer that everybody gets, even before the venue is open.
    fn for_everybody(&self, head: &Parts, route: Option<&Route>) -> Option<Result<Reply, Problem>> {
        match route {
            Some(Route { access: Access::Everybody, endpoint: Endpoint::Probe(probe), .. }) => {
                Some(probe(&self.shared, head))
            }
            Some(_) => None,
            None => dashboard::nothing(&self.shared, head).map(Ok),
        }
    }

    /// A problem of a caller with what belongs to every one.
    pub fn explained(&self, problem: Problem, caller: &Caller) -> Problem {
        Problem {
            sequence: problem.sequence.or(Some(caller.as_of)),
            wait: problem.wait.or_else(|| self.wait_for_names(&problem, caller.user)),
            ..problem
        }
    }

    /// Opens a stream. A WebSocket's client may show its key afterwards.
    fn open_stream(
        &self,
        head: &Parts,
        known: &mut Known<'_>,
        began: Instant,
    ) -> Result<Reply, Problem> {
        let engine = self.shared.venue.engine()?;
        let is_socket = upgrade::is_asked(&head.headers);
        let session = match auth::shown_by(head, &self.shared.site, true) {
            Ok(key) => Some(Session::open(key, engine, &self.shared, known.connection)?),
            Err(problem) if problem.kind == Kind::MissingApiKey && is_socket => None,
            Err(problem) => return Err(problem),
        };
        if let Some(session) = &session {
            known.caller = Some(session.caller);
            if known.connection.is_some_and(|slot| !slot.hold(&session.caller, began, engine)) {
                let detail = "this connection gave way to another; nothing was accepted";
                return Err(Problem::new(Kind::Overloaded, detail));
            }
        }
        match (is_socket, session) {
            (true, session) => {
                let accepted = upgrade::accept(head)?;
                let handover = head.extensions.get::<Handover>();
                handover.ok_or_else(Problem::no_stream)?.give(Opening { session });
                Ok(Reply::switching(engine.watermark(), accepted))
            }
            (false, Some(session)) if events::is_asked(head) => {
                events::open(&self.shared, engine, session, head)
            }
            (false, _) => Err(Problem::no_stream()),
        }
    }

    /// Seconds until a user who was refused a name has room for one again.
    fn wait_for_names(&self, problem: &Problem, user: UserNo) -> Option<NonZeroU32> {
        if problem.kind != Kind::Refused(Reject::TooManyNames) {
            return None;
        }
        let engine = self.shared.venue.engine().ok()?;
        let ms = engine.name_free_at(user)?.get().saturating_sub(engine.now().get()).max(1);
        u32::try_from(ms.unsigned_abs().div_ceil(1_000)).ok().and_then(NonZeroU32::new)
    }

    async fn ask<B>(
        &self,
        mut caller: Caller,
        found: Result<(&Route, PathParts), Problem>,
        head: &Parts,
        body: &mut IncomingBody<'_, B>,
        origin: Origin,
        drew: RequestClass,
    ) -> Result<Reply, Problem>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BodyError>,
    {
        let (route, path) = found?;
        route.access.check(caller.role)?;
        if let Endpoint::Probe(probe) = route.endpoint {
            return probe(&self.shared, head);
        }
        let engine = self.shared.venue.engine()?;
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
                let SharedState { site, caches, .. } = &*self.shared;
                caller = auth::recheck(caller, head, engine, site, &caches.holders)?;
                body
            }
        };
        let query = head.uri.query().map(str::to_owned);
        let mut path = path;
        let query = slugs::replace(engine, &caller, &mut path, query);
        let once = key.map(|key| Box::new(idempotency::once(caller.user, key, route.names())));
        let act = route.acts().then(|| grounds::act(caller.acts_as(), &body, query.as_deref()));
        let bare = Call::bare(engine, caller, &self.shared, drew, origin);
        answer(Call { path, query, body, once, act, conditions, ..bare }, route).await
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
            Ok(reply) => success(reply, known.caller.is_some(), headers),
            Err(problem) => {
                if let Some(cause) = problem.cause {
                    tracing::error!(cause, request_id, "a request got a 500");
                }
                // A key may be revoked while its request is read.
                let told = known.caller.is_some() && problem.kind != Kind::InvalidApiKey;
                let sequence = problem.sequence.unwrap_or_else(|| self.shared.venue.sequence());
                let sequence = Some(sequence).filter(|_| told);
                allowance = problem.allowance.as_deref().copied().or(allowance);
                failure(&problem, sequence, request_id, headers).map(Content::Whole)
            }
        };
        let mut response = complete(response, allowance, request_id);
        tell_browsers(response.headers_mut(), known.origin.as_ref(), &self.shared.site);
        response
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/door.rs"]
mod tests;
