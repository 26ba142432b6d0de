//! A request of somebody who has shown no key: to sign in, to use an invitation, to look at the
//! door.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Body;
use hyper::http::HeaderValue;
use hyper::http::request::Parts;

use super::asking::ask;
use super::body::{BodyError, BodyRule, IncomingBody, take_body};
use super::call::{Call, SharedState, accepted};
use super::cookies;
use super::form::Form;
use super::limits::Limits;
use super::members::Given;
use super::preconditions::Preconditions;
use super::problem::Problem;
use super::reply::Reply;
use engine::Engine;
use engine::pending::Answer;
use exchange::command::Command;

/// The answer of an endpoint for visitors.
pub type VisitFuture = Pin<Box<dyn Future<Output = Result<Reply, Problem>> + Send>>;

/// An endpoint for visitors.
pub type VisitFn = Box<dyn Fn(Visit) -> VisitFuture + Send + Sync>;

/// What a visitor asks.
#[derive(Debug, Clone)]
pub struct Visit {
    /// State shared by all requests.
    pub shared: Arc<SharedState>,
    /// Takes commands and gives access to the read model.
    pub engine: Engine,
    /// Where the request comes from, if that is known.
    pub address: Option<IpAddr>,
    /// What the browser carries of a way to the identity provider.
    pub way: Option<String>,
    /// The query string.
    pub query: Option<String>,
    /// The body; empty where none was sent.
    pub body: Bytes,
}

impl Visit {
    /// The visit that somebody who is known makes to sign in anew.
    pub fn of(call: &Call) -> Visit {
        let (shared, engine) = (Arc::clone(&call.shared), call.engine.clone());
        Visit { shared, engine, address: None, way: None, query: None, body: Bytes::new() }
    }

    /// The body, all of it good.
    ///
    /// # Errors
    /// Everything that is bad in it.
    pub fn read<T: Given>(&self) -> Result<T, Problem> {
        let query = self.query.as_deref();
        let mut form = Form::new(&[], query).with_body(&self.body).with_clock(&self.engine);
        let read = form.body();
        form.finish(read)
    }

    /// Checks that nothing is asked besides.
    ///
    /// # Errors
    /// Something is.
    pub fn read_nothing(&self) -> Result<(), Problem> {
        Form::new(&[], self.query.as_deref()).finish(Some(()))
    }

    /// Executes a command. A refusal is a problem.
    ///
    /// # Errors
    /// It was refused.
    pub async fn submit(&self, command: Command) -> Result<Answer, Problem> {
        accepted(ask(&self.engine, command, |_, _| ()).await?.0)
    }

    /// The header that gives a session to the browser for so many seconds.
    ///
    /// # Errors
    /// Never in practice: a session is plain text.
    pub fn cookie(&self, session: &str, seconds: i64) -> Result<HeaderValue, Problem> {
        let cookie = cookies::set(session, seconds, &self.shared.site);
        cookie.ok_or_else(|| Problem::internal("a session is no header"))
    }
}

/// Answers somebody who has shown no key.
///
/// # Errors
/// Another site may have sent the request, its body is bad, or the endpoint refuses it.
pub async fn receive<B>(
    (visit, rule): (&VisitFn, BodyRule),
    (head, body): (&Parts, &mut IncomingBody<'_, B>),
    address: Option<IpAddr>,
    shared: &Arc<SharedState>,
    limits: &Limits,
) -> Result<Reply, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BodyError>,
{
    let engine = shared.venue.engine()?.clone();
    Preconditions::read(&head.method, &head.headers, false)?;
    if rule != BodyRule::Ignored {
        cookies::check_host(&head.headers, &shared.site)?;
        cookies::check_origin(&head.method, &head.headers, true)?;
    }
    let body = match rule {
        BodyRule::Ignored => Bytes::new(),
        rule => take_body(&head.headers, rule, body, limits).await?,
    };
    let query = head.uri.query().map(str::to_owned);
    let way = cookies::way_of(&head.headers, &shared.site).map(str::to_owned);
    visit(Visit { shared: Arc::clone(shared), engine, address, way, query, body }).await
}
