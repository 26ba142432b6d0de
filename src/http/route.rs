//! A route: who may call it, with what body, which endpoint answers it. The table of them is in
//! `routes.rs`.

use std::pin::Pin;

use hyper::Method;
use hyper::http::request::Parts;

use super::body::BodyRule;
use super::call::{Call, SharedState};
use super::problem::{Kind, Problem};
use super::rates::RequestClass;
use super::reply::Reply;
use super::visit::{Visit, VisitFn};
use exchange::command::Role;

/// Prefix of every path of the interface (interface 9).
pub const BASE: &str = "/api/v1";

/// The answer of an asynchronous endpoint.
pub type EndpointFuture = Pin<Box<dyn Future<Output = Result<Reply, Problem>> + Send>>;

/// The endpoint of a probe.
pub type ProbeFn = fn(&SharedState, &Parts) -> Result<Reply, Problem>;

/// An asynchronous endpoint.
pub type AsyncFn = Box<dyn Fn(Call) -> EndpointFuture + Send + Sync>;

/// What answers a request.
pub enum Endpoint {
    /// Reads the server's own state. Has no query and no body.
    Probe(ProbeFn),
    /// Reads the read model only.
    Read(fn(&Call) -> Result<Reply, Problem>),
    /// Reads the read model only, and may read for long.
    Long(AsyncFn),
    /// Submits a command.
    Write(AsyncFn),
    /// Submits several commands, each of which takes a token of its own class: whether there are
    /// enough is known only after parsing.
    Several(AsyncFn),
    /// May query past states, which takes a while.
    Past(AsyncFn),
    /// Is for visitors, who have shown no key.
    Visit(VisitFn),
    /// Goes on for as long as its client likes. Whoever calls it may show a key later.
    Stream,
}

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everybody, without a key, even before the venue is open.
    Everybody,
    /// Any key but one for metrics alone.
    Keys,
    /// Keys of traders and operators.
    Traders,
    /// Operators' keys, and those of these roles.
    Staff(&'static [Role]),
}

impl Access {
    /// Whether a key with this role opens it.
    pub fn admits(self, role: Role) -> bool {
        match (self, role) {
            (Access::Everybody, _) | (_, Role::Operator) => true,
            (Access::Keys, role) => role != Role::Metrics,
            (Access::Traders, role) => role == Role::Trader,
            (Access::Staff(roles), role) => roles.contains(&role),
        }
    }

    /// Refuses a key with a role that it does not admit.
    ///
    /// # Errors
    /// It has one.
    pub fn check(self, role: Role) -> Result<(), Problem> {
        if self.admits(role) {
            return Ok(());
        }
        let detail = match (self, role) {
            (_, Role::Metrics) => "this key only reads metrics",
            (Access::Staff(_), _) => "this path is for operators only",
            _ => "this key only reads",
        };
        Err(Problem::new(Kind::Forbidden, detail))
    }

    /// Whether it is of those who run the venue.
    pub const fn is_staffs(self) -> bool {
        matches!(self, Access::Staff(_))
    }
}

/// One line of the table.
pub struct Route {
    /// Method.
    pub method: Method,
    /// Path after [`Route::base`]; parameters are in braces.
    pub template: &'static str,
    /// Who may call it.
    pub access: Access,
    /// Whether a body is read.
    pub body: BodyRule,
    /// Whether what it names has an entity tag, on which reads and writes may depend.
    pub tagged: bool,
    /// Whether the description for programs tells of it.
    pub told: bool,
    /// Its class.
    pub class: RequestClass,
    /// What answers it.
    pub endpoint: Endpoint,
    /// Its index in the table.
    pub number: usize,
}

impl Route {
    /// Whether the endpoint itself takes the tokens for its operations.
    pub const fn draws_itself(&self) -> bool {
        matches!(self.endpoint, Endpoint::Several(_))
    }

    /// Whether what it does is an operator's act.
    pub fn acts(&self) -> bool {
        self.access.is_staffs() && self.method != Method::GET
    }

    /// What names its endpoint: method, base and template.
    pub fn names(&self) -> [&str; 3] {
        [self.method.as_str(), self.base(), self.template]
    }

    /// The prefix of its path: the interface's base, or nothing for probes, which monitoring
    /// expects at the root.
    pub const fn base(&self) -> &'static str {
        if matches!(self.endpoint, Endpoint::Probe(_)) { "" } else { BASE }
    }

    /// The same, where what it names has an entity tag.
    #[must_use]
    pub fn tagged(self) -> Route {
        Route { tagged: true, ..self }
    }

    /// The same, for browsers' own needs, of which the description for programs does not tell.
    #[must_use]
    pub fn untold(self) -> Route {
        Route { told: false, ..self }
    }
}

/// A `GET` of the server's own state.
pub fn probe(template: &'static str, access: Access, endpoint: ProbeFn) -> Route {
    let class = RequestClass::Probes;
    Route { access, class, ..get(template, Endpoint::Probe(endpoint)) }
}

/// A `GET` for any key.
pub fn read(template: &'static str, endpoint: fn(&Call) -> Result<Reply, Problem>) -> Route {
    get(template, Endpoint::Read(endpoint))
}

/// A `GET` that may read for long.
pub fn long<F: Answer>(template: &'static str, endpoint: fn(Call) -> F) -> Route {
    get(template, Endpoint::Long(boxed(endpoint)))
}

/// A `GET` that may ask for past states.
pub fn past<F: Answer>(template: &'static str, endpoint: fn(Call) -> F) -> Route {
    get(template, Endpoint::Past(boxed(endpoint)))
}

/// A `POST` of a command.
pub fn post<F: Answer>(template: &'static str, body: BodyRule, endpoint: fn(Call) -> F) -> Route {
    write(Method::POST, template, body, Endpoint::Write(boxed(endpoint)))
}

/// A `POST` of several commands.
pub fn several<F: Answer>(template: &'static str, endpoint: fn(Call) -> F) -> Route {
    write(Method::POST, template, BodyRule::Required, Endpoint::Several(boxed(endpoint)))
}

/// A `PATCH`.
pub fn patch<F: Answer>(template: &'static str, endpoint: fn(Call) -> F) -> Route {
    write(Method::PATCH, template, BodyRule::Required, Endpoint::Write(boxed(endpoint)))
}

/// A `DELETE`.
pub fn delete<F: Answer>(template: &'static str, endpoint: fn(Call) -> F) -> Route {
    write(Method::DELETE, template, BodyRule::Absent, Endpoint::Write(boxed(endpoint)))
}

/// A `DELETE` of orders.
pub fn cancel<F: Answer>(template: &'static str, endpoint: fn(Call) -> F) -> Route {
    Route { class: RequestClass::Cancels, ..delete(template, endpoint) }
}

/// A `GET` for visitors.
pub fn look<F: Answer>(template: &'static str, endpoint: fn(Visit) -> F) -> Route {
    let endpoint = Endpoint::Visit(Box::new(move |visit| Box::pin(endpoint(visit))));
    Route { access: Access::Everybody, ..get(template, endpoint) }
}

/// A `POST` of visitors.
pub fn knock<F: Answer>(template: &'static str, endpoint: fn(Visit) -> F) -> Route {
    let (method, body) = (Method::POST, BodyRule::Required);
    Route { method, body, class: RequestClass::Writes, ..look(template, endpoint) }
}

/// The `GET` of the stream.
pub fn stream(template: &'static str) -> Route {
    get(template, Endpoint::Stream)
}

fn get(template: &'static str, endpoint: Endpoint) -> Route {
    Route {
        method: Method::GET,
        template,
        access: Access::Keys,
        body: BodyRule::Ignored,
        tagged: false,
        told: true,
        class: RequestClass::Reads,
        endpoint,
        number: 0,
    }
}

fn write(method: Method, template: &'static str, body: BodyRule, endpoint: Endpoint) -> Route {
    let (access, class) = (Access::Traders, RequestClass::Writes);
    Route { method, access, body, class, ..get(template, endpoint) }
}

/// The future of an asynchronous endpoint.
pub trait Answer: Future<Output = Result<Reply, Problem>> + Send + 'static {}

impl<F: Future<Output = Result<Reply, Problem>> + Send + 'static> Answer for F {}

fn boxed<F: Answer>(endpoint: fn(Call) -> F) -> AsyncFn {
    Box::new(move |call| Box::pin(endpoint(call)))
}
