//! The table of routes: every path, method and endpoint.

use hyper::Method;
use matchit::{InsertError, Router};

use super::body::BodyRule;
use super::call::Call;
use super::problem::{Kind, Problem};
use super::rates::RequestClass;
use super::reply::Reply;
use super::route::{Access, Endpoint, EndpointFuture, ProbeFn, Route};
use super::{
    account, account_keys, admin_audit, admin_catalogue, admin_keys, admin_markets, admin_users,
    batch, books, categories, conversions, docs, events, leaderboard, markets, metrics, openapi,
    operations, orders, positions, statement, switches, tape,
};

/// The table.
pub fn table() -> Vec<Route> {
    let open = [probes(), public(), trading(), account()];
    let closed = [admin_catalogue(), admin_accounts(), admin_audit()];
    let lines = open.into_iter().chain(closed).flatten().enumerate();
    lines.map(|(number, route)| Route { number, ..route }).collect()
}

fn probes() -> Vec<Route> {
    vec![
        probe("/healthz", Access::Everybody, operations::health),
        probe("/readyz", Access::Everybody, operations::readiness),
        probe("/metrics", Access::Operators, metrics::page),
        probe("/api/v1/openapi.json", Access::Everybody, |shared, head| {
            openapi::describe(table, shared, head)
        }),
        probe("/docs", Access::Everybody, docs::page),
        probe("/docs/start.js", Access::Everybody, docs::start),
        probe("/docs/swagger-ui.css", Access::Everybody, docs::style),
        probe("/docs/swagger-ui-bundle.js", Access::Everybody, docs::script),
    ]
}

fn public() -> Vec<Route> {
    vec![
        read("/markets/public/list", markets::list),
        tagged(read("/markets/{marketId}", markets::one)),
        read("/markets/search", markets::search),
        read("/markets/{marketId}/activity", markets::activity),
        read("/markets/{marketId}/trades", tape::trades),
        read("/markets/{marketId}/stats", tape::stats),
        long("/markets/{marketId}/candles", |call| Box::pin(tape::candles(call))),
        read("/leaderboard", leaderboard::list),
        read("/events/public/list", events::list),
        read("/events/{eventId}", events::one),
        read("/categories/public/list", categories::list),
        read("/categories/{categoryId}", categories::one),
        read("/time", operations::time),
        past("/trading/books/{marketId}/depth", |call| Box::pin(books::depth(call))),
    ]
}

fn trading() -> Vec<Route> {
    use BodyRule::Required;
    vec![
        long("/trading/orders", |call| Box::pin(orders::list(call))),
        tagged(read("/trading/orders/{orderId}", orders::one)),
        tagged(read("/trading/orders/by-client-id/{clientOrderId}", orders::named)),
        read("/trading/positions", positions::list),
        long("/trading/fills", |call| Box::pin(account::fills(call))),
        read("/trading/balance", account::balance),
        read("/trading/heartbeat", switches::heartbeat),
        write(Method::POST, "/trading/heartbeat", Required, |call| Box::pin(switches::beat(call))),
        write(Method::POST, "/trading/orders", Required, |call| Box::pin(orders::place(call))),
        several("/trading/orders/batch", |call| Box::pin(batch::batch(call))),
        write(Method::POST, "/trading/events/{eventId}/convert", Required, |call| {
            Box::pin(conversions::convert(call))
        }),
        cancel("/trading/orders", |call| Box::pin(orders::cancel_all(call))),
        tagged(write(Method::PATCH, "/trading/orders/{orderId}", Required, |call| {
            Box::pin(orders::amend(call))
        })),
        cancel("/trading/orders/{orderId}", |call| Box::pin(orders::cancel(call))),
        cancel("/trading/orders/by-client-id/{clientOrderId}", |call| {
            Box::pin(orders::cancel_named(call))
        }),
    ]
}

fn account() -> Vec<Route> {
    use BodyRule::{Absent, Required};
    vec![
        read("/account/ledger", statement::ledger),
        read("/account/settlements", statement::settlements),
        read("/account/pnl", statement::pnl),
        read("/account/limits", account::limits),
        read("/account/keys", account_keys::list),
        read("/account/keys/{keyId}", account_keys::one),
        write(Method::POST, "/account/keys", Required, |call| Box::pin(account_keys::create(call))),
        write(Method::POST, "/account/keys/{keyId}/rotate", Absent, |call| {
            Box::pin(account_keys::rotate(call))
        }),
        write(Method::DELETE, "/account/keys/{keyId}", Absent, |call| {
            Box::pin(account_keys::revoke(call))
        }),
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
        tagged(write(Method::PATCH, "/admin/markets/{marketId}", Required, |call| {
            Box::pin(admin_catalogue::revise_market(call))
        })),
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
    use BodyRule::{Absent, Required};
    let post = |template, endpoint| write(Method::POST, template, Required, endpoint);
    let routes = vec![
        read("/admin/users", admin_users::list),
        read("/admin/users/{userId}", admin_users::one),
        read("/admin/users/{userId}/keys", admin_keys::list),
        read("/admin/users/{userId}/keys/{keyId}", admin_keys::one),
        read("/admin/venue/mode", switches::venue_mode),
        read("/admin/fees", admin_users::fees),
        post("/admin/fees/withdrawals", |call| Box::pin(admin_users::take_fees(call))),
        post("/admin/venue/mode", |call| Box::pin(switches::set_venue_mode(call))),
        post("/admin/users/{userId}/mode", |call| Box::pin(switches::set_user_mode(call))),
        post("/admin/users/{userId}/exposure-limit", |call| {
            Box::pin(switches::set_exposure_limit(call))
        }),
        write(Method::DELETE, "/admin/users/{userId}/exposure-limit", Absent, |call| {
            Box::pin(switches::lift_exposure_limit(call))
        }),
        post("/admin/users", |call| Box::pin(admin_users::create(call))),
        post("/admin/users/{userId}/deposits", |call| Box::pin(admin_users::deposit(call))),
        post("/admin/users/{userId}/withdrawals", |call| Box::pin(admin_users::withdraw(call))),
        post("/admin/users/{userId}/keys", |call| Box::pin(admin_keys::create(call))),
        write(Method::DELETE, "/admin/users/{userId}/keys/{keyId}", Absent, |call| {
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

/// A `GET` route for any key.
fn get(template: &'static str, endpoint: Endpoint) -> Route {
    Route {
        method: Method::GET,
        template,
        access: Access::Keys,
        body: BodyRule::Ignored,
        tagged: false,
        class: RequestClass::Reads,
        endpoint,
        number: 0,
    }
}

fn read(template: &'static str, endpoint: fn(&Call) -> Result<Reply, Problem>) -> Route {
    get(template, Endpoint::Read(endpoint))
}

fn long(template: &'static str, endpoint: fn(Call) -> EndpointFuture) -> Route {
    get(template, Endpoint::Long(endpoint))
}

fn past(template: &'static str, endpoint: fn(Call) -> EndpointFuture) -> Route {
    get(template, Endpoint::Past(endpoint))
}

fn probe(template: &'static str, access: Access, endpoint: ProbeFn) -> Route {
    Route { access, class: RequestClass::Probes, ..get(template, Endpoint::Probe(endpoint)) }
}

fn write(
    method: Method,
    template: &'static str,
    body: BodyRule,
    endpoint: fn(Call) -> EndpointFuture,
) -> Route {
    Route {
        method,
        template,
        access: Access::Traders,
        body,
        tagged: false,
        class: RequestClass::Writes,
        endpoint: Endpoint::Write(endpoint),
        number: 0,
    }
}

fn several(template: &'static str, endpoint: fn(Call) -> EndpointFuture) -> Route {
    let route = write(Method::POST, template, BodyRule::Required, endpoint);
    Route { endpoint: Endpoint::Several(endpoint), ..route }
}

fn cancel(template: &'static str, endpoint: fn(Call) -> EndpointFuture) -> Route {
    let route = write(Method::DELETE, template, BodyRule::Absent, endpoint);
    Route { class: RequestClass::Cancels, ..route }
}

fn tagged(route: Route) -> Route {
    Route { tagged: true, ..route }
}

fn operators_only(route: Route) -> Route {
    Route { access: Access::Operators, ..route }
}

/// The table, indexed by path.
pub struct Routes {
    router: Router<Vec<Route>>,
}

/// Path parameters by name.
pub type PathParts = Vec<(String, String)>;

impl Routes {
    /// Builds the index. Two templates that differ only in the names of their parameters are an
    /// error.
    pub fn new() -> Result<Routes, InsertError> {
        let mut by_path: Vec<(String, Vec<Route>)> = Vec::new();
        for route in table() {
            let path = format!("{}{}", route.base(), route.template);
            match by_path.iter_mut().find(|(other, _)| *other == path) {
                Some((_, routes)) => routes.push(route),
                None => by_path.push((path, vec![route])),
            }
        }
        let mut router = Router::new();
        for (path, routes) in by_path {
            router.insert(path, routes)?;
        }
        Ok(Routes { router })
    }

    /// The route for a method and a path, with the path parameters. `HEAD` is handled as `GET`;
    /// hyper leaves out the body.
    pub fn find(&self, method: &Method, path: &str) -> Result<(&Route, PathParts), Problem> {
        let found =
            self.router.at(path).map_err(|_| Problem::new(Kind::NotFound, "no such path"))?;
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
#[path = "../../tests/unit/http/routes.rs"]
mod tests;
