//! A route: who may call it, with what body, which endpoint answers it. The table of them is in
//! `routes.rs`.

use std::pin::Pin;

use hyper::Method;
use hyper::http::request::Parts;

use super::body::BodyRule;
use super::call::{Call, SharedState};
use super::problem::Problem;
use super::rates::RequestClass;
use super::reply::Reply;
use exchange::command::Role;

/// Prefix of every path of the interface (interface 9).
pub const BASE: &str = "/api/v1";

/// The answer of an asynchronous endpoint.
pub type EndpointFuture = Pin<Box<dyn Future<Output = Result<Reply, Problem>> + Send>>;

/// The endpoint of a probe.
pub type ProbeFn = fn(&SharedState, &Parts) -> Result<Reply, Problem>;

/// The handler of a request.
#[derive(Clone, Copy)]
pub enum Endpoint {
    /// Reads the server's own state. Has no query and no body.
    Probe(ProbeFn),
    /// Reads the read model only.
    Read(fn(&Call) -> Result<Reply, Problem>),
    /// Reads the read model only, and may read for long.
    Long(fn(Call) -> EndpointFuture),
    /// Submits a command.
    Write(fn(Call) -> EndpointFuture),
    /// Submits several commands, each of which takes a token of its own class: whether there are
    /// enough is known only after parsing.
    Several(fn(Call) -> EndpointFuture),
    /// May query past states, which takes a while.
    Past(fn(Call) -> EndpointFuture),
}

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everybody, without a key, even before the venue is open.
    Everybody,
    /// Any key.
    Keys,
    /// Keys of traders and operators.
    Traders,
    /// Operators' keys.
    Operators,
}

impl Access {
    /// The least role that is allowed.
    pub const fn least(self) -> Role {
        match self {
            Access::Everybody | Access::Keys => Role::Reader,
            Access::Traders => Role::Trader,
            Access::Operators => Role::Operator,
        }
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
    /// Its class.
    pub class: RequestClass,
    /// Its handler.
    pub endpoint: Endpoint,
    /// Its index in the table.
    pub number: usize,
}

impl Route {
    /// Whether the endpoint itself takes the tokens for its operations.
    pub const fn draws_itself(&self) -> bool {
        matches!(self.endpoint, Endpoint::Several(_))
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
}
