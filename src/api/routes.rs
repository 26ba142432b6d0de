//! Every path, method and endpoint, in one table.

use std::pin::Pin;

use hyper::Method;
use matchit::{InsertError, Router};

use super::call::Call;
use super::problem::{Kind, Problem};
use super::reply::Reply;
use super::{
    account, admin_audit, admin_catalogue, admin_keys, admin_markets, admin_users, books,
    categories, events, leaderboard, markets, orders, positions, statement, tape,
};
use crate::exchange::command::Role;

/// What every path begins with (interface 9).
pub const BASE: &str = "/api/v1";

/// The answer of an endpoint that has to wait for the exchange.
pub type Pending = Pin<Box<dyn Future<Output = Result<Reply, Problem>> + Send>>;

/// The varying parts of a path, by name.
pub type PathParts = Vec<(String, String)>;

/// What answers a request.
#[derive(Clone, Copy)]
pub enum Endpoint {
    /// Only looks at the read model.
    Read(fn(&Call) -> Result<Reply, Problem>),
    /// Asks the exchange.
    Write(fn(Call) -> Pending),
    /// May look into the past, which takes a while.
    Past(fn(Call) -> Pending),
}

/// Whether a request carries a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyRule {
    /// It is not looked at.
    Ignored,
    /// It may be left out.
    Optional,
    /// It must be there.
    Required,
}

/// One line of the table.
pub struct Route {
    /// Method.
    pub method: Method,
    /// Path after [`BASE`]; parts in braces are named and vary.
    pub template: &'static str,
    /// The least role that may ask; an operator may ask everything.
    pub role: Role,
    /// Whether a body is read.
    pub body: BodyRule,
    /// What answers.
    pub endpoint: Endpoint,
}

/// The table, part by part.
fn table() -> Vec<Route> {
    let parts =
        [public(), trading(), account(), admin_catalogue(), admin_accounts(), admin_audit()];
    parts.into_iter().flatten().collect()
}

fn public() -> Vec<Route> {
    vec![
        read("/markets/public/list", markets::list),
        read("/markets/{marketId}", markets::one),
        read("/markets/search", markets::search),
        read("/markets/{marketId}/activity", markets::activity),
        read("/markets/{marketId}/trades", tape::trades),
        read("/markets/{marketId}/stats", tape::stats),
        read("/markets/{marketId}/candles", tape::candles),
        read("/leaderboard", leaderboard::list),
        read("/events/public/list", events::list),
        read("/events/{eventId}", events::one),
        read("/categories/public/list", categories::list),
        read("/categories/{categoryId}", categories::one),
        past("/trading/books/{marketId}/depth", |call| Box::pin(books::depth(call))),
    ]
}

fn trading() -> Vec<Route> {
    use BodyRule::{Ignored, Required};
    vec![
        read("/trading/orders", orders::list),
        read("/trading/orders/{orderId}", orders::one),
        read("/trading/positions", positions::list),
        read("/trading/fills", account::fills),
        read("/trading/balance", account::balance),
        write(Method::POST, "/trading/orders", Required, |call| Box::pin(orders::place(call))),
        write(Method::DELETE, "/trading/orders", Ignored, |call| {
            Box::pin(orders::cancel_all(call))
        }),
        write(Method::PATCH, "/trading/orders/{orderId}", Required, |call| {
            Box::pin(orders::amend(call))
        }),
        write(Method::DELETE, "/trading/orders/{orderId}", Ignored, |call| {
            Box::pin(orders::cancel(call))
        }),
    ]
}

fn account() -> Vec<Route> {
    vec![
        read("/account/ledger", statement::ledger),
        read("/account/settlements", statement::settlements),
        read("/account/pnl", statement::pnl),
    ]
}

fn admin_catalogue() -> Vec<Route> {
    use BodyRule::{Optional, Required};
    let post = |template, body, endpoint| write(Method::POST, template, body, endpoint);
    let routes = vec![
        read("/admin/markets", admin_markets::list),
        post("/admin/categories", Required, |call| {
            Box::pin(admin_catalogue::create_category(call))
        }),
        post("/admin/events", Required, |call| Box::pin(admin_catalogue::create_event(call))),
        write(Method::PATCH, "/admin/events/{eventId}", Required, |call| {
            Box::pin(admin_catalogue::revise_event(call))
        }),
        post("/admin/markets", Required, |call| Box::pin(admin_catalogue::create_market(call))),
        write(Method::PATCH, "/admin/markets/{marketId}", Required, |call| {
            Box::pin(admin_catalogue::revise_market(call))
        }),
        post("/admin/markets/{marketId}/publish", Optional, |call| {
            Box::pin(admin_markets::publish(call))
        }),
        post("/admin/markets/{marketId}/suspend", Optional, |call| {
            Box::pin(admin_markets::suspend(call))
        }),
        post("/admin/markets/{marketId}/reopen", Optional, |call| {
            Box::pin(admin_markets::reopen(call))
        }),
        post("/admin/markets/{marketId}/close", Optional, |call| {
            Box::pin(admin_markets::close(call))
        }),
        post("/admin/markets/{marketId}/resolve", Required, |call| {
            Box::pin(admin_markets::resolve(call))
        }),
        post("/admin/markets/{marketId}/dispute", Optional, |call| {
            Box::pin(admin_markets::dispute(call))
        }),
        post("/admin/markets/{marketId}/void", Optional, |call| {
            Box::pin(admin_markets::void(call))
        }),
    ];
    routes.into_iter().map(operators_only).collect()
}

fn admin_accounts() -> Vec<Route> {
    use BodyRule::{Ignored, Required};
    let post = |template, endpoint| write(Method::POST, template, Required, endpoint);
    let routes = vec![
        read("/admin/users", admin_users::list),
        read("/admin/users/{userId}", admin_users::one),
        read("/admin/users/{userId}/keys", admin_keys::list),
        read("/admin/users/{userId}/keys/{keyId}", admin_keys::one),
        post("/admin/users", |call| Box::pin(admin_users::create(call))),
        post("/admin/users/{userId}/deposits", |call| Box::pin(admin_users::deposit(call))),
        post("/admin/users/{userId}/withdrawals", |call| Box::pin(admin_users::withdraw(call))),
        post("/admin/users/{userId}/keys", |call| Box::pin(admin_keys::create(call))),
        write(Method::DELETE, "/admin/users/{userId}/keys/{keyId}", Ignored, |call| {
            Box::pin(admin_keys::revoke(call))
        }),
    ];
    routes.into_iter().map(operators_only).collect()
}

fn admin_audit() -> Vec<Route> {
    let routes = vec![
        past("/admin/audit/head", |call| Box::pin(admin_audit::head(call))),
        past("/admin/journal", |call| Box::pin(admin_audit::journal(call))),
    ];
    routes.into_iter().map(operators_only).collect()
}

fn read(template: &'static str, endpoint: fn(&Call) -> Result<Reply, Problem>) -> Route {
    Route {
        method: Method::GET,
        template,
        role: Role::Trader,
        body: BodyRule::Ignored,
        endpoint: Endpoint::Read(endpoint),
    }
}

fn past(template: &'static str, endpoint: fn(Call) -> Pending) -> Route {
    Route {
        method: Method::GET,
        template,
        role: Role::Trader,
        body: BodyRule::Ignored,
        endpoint: Endpoint::Past(endpoint),
    }
}

fn write(
    method: Method,
    template: &'static str,
    body: BodyRule,
    endpoint: fn(Call) -> Pending,
) -> Route {
    Route { method, template, role: Role::Trader, body, endpoint: Endpoint::Write(endpoint) }
}

fn operators_only(route: Route) -> Route {
    Route { role: Role::Operator, ..route }
}

/// The table, ready to be looked up.
pub struct Routes(Router<Vec<Route>>);

impl Routes {
    /// The table. It is an error for two templates to be told apart by the names of their parts
    /// only.
    pub fn new() -> Result<Routes, InsertError> {
        let mut by_template: Vec<(&'static str, Vec<Route>)> = Vec::new();
        for route in table() {
            match by_template.iter_mut().find(|(template, _)| *template == route.template) {
                Some((_, routes)) => routes.push(route),
                None => by_template.push((route.template, vec![route])),
            }
        }
        let mut router = Router::new();
        for (template, routes) in by_template {
            router.insert(format!("{BASE}{template}"), routes)?;
        }
        Ok(Routes(router))
    }

    /// The route of a method on a path, with the varying parts of the path. `HEAD` is `GET`
    /// without the body, which hyper leaves out.
    pub fn find(&self, method: &Method, path: &str) -> Result<(&Route, PathParts), Problem> {
        let found = self.0.at(path).map_err(|_| Problem::new(Kind::NotFound, "no such path"))?;
        let asked = if *method == Method::HEAD { &Method::GET } else { method };
        let route = found.value.iter().find(|route| route.method == *asked);
        let route = route.ok_or_else(|| Problem::method_not_allowed(allow(found.value)))?;
        let parts = found.params.iter().map(|(name, text)| (name.to_owned(), text.to_owned()));
        Ok((route, parts.collect()))
    }
}

/// The methods of a path, for `Allow`.
fn allow(routes: &[Route]) -> String {
    let mut methods: Vec<&str> = routes.iter().map(|route| route.method.as_str()).collect();
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    methods.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_found_by_its_own_path() {
        let routes = Routes::new().unwrap();
        for route in table() {
            let path = format!("{BASE}{}", route.template.replace(['{', '}'], ""));
            let (found, parts) = routes.find(&route.method, &path).unwrap();
            assert_eq!((found.template, &found.method), (route.template, &route.method));
            assert!(parts.iter().all(|(name, text)| name == text));
            assert_eq!(route.role == Role::Operator, route.template.starts_with("/admin/"));
        }
    }

    #[test]
    fn head_is_get_and_other_methods_are_listed() {
        let routes = Routes::new().unwrap();
        let path = format!("{BASE}/trading/orders");
        assert!(routes.find(&Method::HEAD, &path).is_ok());
        let Err(problem) = routes.find(&Method::PUT, &path) else { panic!("no PUT") };
        assert_eq!(problem.allow.as_deref(), Some("GET, POST, DELETE, HEAD"));
        for nowhere in ["/", "", "/api/v1", "/trading/orders", "/api/v1/trading/orders/"] {
            let Err(problem) = routes.find(&Method::GET, nowhere) else { panic!("{nowhere}") };
            assert_eq!(problem.kind, Kind::NotFound);
        }
    }
}
