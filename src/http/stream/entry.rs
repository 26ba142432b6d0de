//! Order entry over a WebSocket: commands run through the endpoints of HTTP, with the same checks.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use hyper::Method;
use hyper::header::{HeaderMap, HeaderValue, IF_MATCH};

use super::control::{Order, OrderOp};
use crate::auth::Caller;
use crate::call::{Call, Origin, SharedState};
use crate::idempotency;
use crate::preconditions::Preconditions;
use crate::problem::{FieldCode, FieldError, Kind, Problem};
use crate::request_id::RequestId;
use crate::route::{Endpoint, EndpointFuture, Route};
use crate::tokens;
use engine::Engine;

/// The routes of HTTP that commands take.
pub struct Entry(Vec<(Way, Route)>);

/// Which route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Place,
    Batch,
    Cancel,
    CancelNamed,
    CancelAll,
    Amend,
    Heartbeat,
    Convert,
}

const WAYS: [(Way, Method, &str); 8] = [
    (Way::Place, Method::POST, "/trading/orders"),
    (Way::Batch, Method::POST, "/trading/orders/batch"),
    (Way::Cancel, Method::DELETE, "/trading/orders/{orderId}"),
    (Way::CancelNamed, Method::DELETE, "/trading/orders/by-client-id/{clientOrderId}"),
    (Way::CancelAll, Method::DELETE, "/trading/orders"),
    (Way::Amend, Method::PATCH, "/trading/orders/{orderId}"),
    (Way::Heartbeat, Method::POST, "/trading/heartbeat"),
    (Way::Convert, Method::POST, "/trading/events/{eventId}/convert"),
];

/// A command that was begun: its route's endpoint at work, and the route to count it by.
pub struct Begun<'a> {
    /// The route.
    pub route: &'a Route,
    /// Its answer to come, or the refusal.
    pub answer: Result<EndpointFuture, Problem>,
}

impl Entry {
    /// Takes the routes out of the table.
    pub fn of(table: Vec<Route>) -> Entry {
        let way = |route: &Route| {
            let is_it = |(_, method, template): &&(Way, Method, &str)| {
                *method == route.method && *template == route.template
            };
            WAYS.iter().find(is_it).map(|(way, _, _)| *way)
        };
        Entry(table.into_iter().filter_map(|route| way(&route).map(|way| (way, route))).collect())
    }

    fn route(&self, order: &Order) -> Option<&Route> {
        let way = match order.op {
            OrderOp::Place => Way::Place,
            OrderOp::Batch => Way::Batch,
            OrderOp::Cancel if order.name.is_some() => Way::CancelNamed,
            OrderOp::Cancel => Way::Cancel,
            OrderOp::CancelAll => Way::CancelAll,
            OrderOp::Amend => Way::Amend,
            OrderOp::Heartbeat => Way::Heartbeat,
            OrderOp::Convert => Way::Convert,
        };
        self.0.iter().find(|(of, _)| *of == way).map(|(_, route)| route)
    }

    /// The route with this number, if commands take it.
    pub fn numbered(&self, number: usize) -> Option<&Route> {
        self.0.iter().map(|(_, route)| route).find(|route| route.number == number)
    }

    /// Checks a command as the door checks a request, and begins it. `None` if it has no route.
    pub fn begin(
        &self,
        order: Box<Order>,
        caller: Caller,
        engine: &Engine,
        shared: &Arc<SharedState>,
        request_id: RequestId,
        now: Instant,
    ) -> Option<Begun<'_>> {
        let route = self.route(&order)?;
        let answer = begin(route, *order, caller, engine, shared, request_id, now);
        Some(Begun { route, answer })
    }
}

fn begin(
    route: &Route,
    order: Order,
    caller: Caller,
    engine: &Engine,
    shared: &Arc<SharedState>,
    request_id: RequestId,
    now: Instant,
) -> Result<EndpointFuture, Problem> {
    let several = route.draws_itself();
    let (drew, _) = tokens::take(&shared.keyring, &caller, route.class, several, now)?;
    if !route.access.admits(caller.role) {
        return Err(Problem::new(Kind::Forbidden, "this key only reads"));
    }
    let conditions = conditions(route, order.if_match.as_deref())?;
    let once = order.once.as_deref();
    let once = once.map(|key| Box::new(idempotency::once(caller.user, *key, route.names())));
    let query = query(&order);
    let mut path = Vec::new();
    let order_id = order.order.map(|id| ("orderId", id.to_string()));
    // A path has it percent-encoded.
    let name = order.name.map(|name| ("clientOrderId", name.as_str().replace('%', "%25")));
    let event = order.event.map(|id| ("eventId", id.to_string()));
    for (part, text) in [order_id, name, event].into_iter().flatten() {
        path.push((part.to_owned(), text));
    }
    let body = order.body;
    let origin = Origin { request_id, presence: None, elsewhere: false };
    let bare = Call::bare(engine, caller, shared, drew, origin);
    let call = Call { path, query, body, once, conditions, ..bare };
    match &route.endpoint {
        Endpoint::Write(endpoint) | Endpoint::Several(endpoint) => Ok(endpoint(call)),
        Endpoint::Probe(_)
        | Endpoint::Read(_)
        | Endpoint::Long(_)
        | Endpoint::Past(_)
        | Endpoint::Visit(_)
        | Endpoint::Stream => Err(Problem::internal("a command's route only reads")),
    }
}

/// What stands in the query of HTTP.
fn query(order: &Order) -> Option<String> {
    let dry_run = order.dry_run.map(|dry_run| ("dryRun", dry_run.to_string()));
    let market = order.market.map(|id| ("marketId", id.to_string()));
    let group = order.group.map(|group| ("group", group.as_str().to_owned()));
    let key = order.key_id.map(|id| ("keyId", id.to_string()));
    let all: Vec<_> = [dry_run, market, group, key].into_iter().flatten().collect();
    let mut query = form_urlencoded::Serializer::new(String::new());
    (!all.is_empty()).then(|| query.extend_pairs(all).finish())
}

fn conditions(route: &Route, if_match: Option<&str>) -> Result<Preconditions, Problem> {
    let Some(tag) = if_match else { return Ok(Preconditions::default()) };
    let value = HeaderValue::from_str(tag).map_err(|_| {
        let (field, code) = ("ifMatch".to_owned(), FieldCode::InvalidValue);
        Problem::invalid(vec![FieldError { field, code, detail: "is not an entity tag".into() }])
    })?;
    let mut headers = HeaderMap::new();
    headers.insert(IF_MATCH, value);
    Preconditions::read(&route.method, &headers, route.tagged)
}

/// Whether a batch may be about an order by its client's name, in any spelling.
pub fn may_end_named(body: &Bytes) -> bool {
    let has = |word: &[u8]| memchr::memmem::find(body, word).is_some();
    has(b"\\") || has(b"\"clientOrderId\"") && (has(b"\"cancel\"") || has(b"\"amend\""))
}

/// Whether a body may name this order, in any spelling: `name` stands in it, or an escape that
/// could stand for it.
pub fn may_name(body: &Bytes, name: &[u8]) -> bool {
    memchr::memchr(b'\\', body).is_some() || memchr::memmem::find(body, name).is_some()
}
