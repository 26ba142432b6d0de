//! The table of routes: every path, method and endpoint.

use hyper::Method;
use matchit::{InsertError, Router};

use super::body::BodyRule::{Absent, Optional, Required};
use super::problem::{Kind, Problem};
use super::route::{
    Access, Route, cancel, delete, knock, long, look, past, patch, post, probe, read, several,
    stream,
};
use super::{
    account, account_keys, admin_accounts, admin_audit, admin_catalogue, admin_keys, admin_markets,
    admin_users, batch, books, catalogue_check, categories, conversions, dashboard, disputes,
    events, impact, leaderboard, markets, metrics, openapi, openid, operations, order_list, orders,
    pictures, positions, profiles, proposals, second_factor, sign_in, statement, switches, tape,
    transfers,
};
use exchange::command::Role;

/// The table.
pub fn table() -> Vec<Route> {
    use Role::{Auditor, Cashier, Catalogue};
    let staff = [
        with(&[Auditor], reads()),
        with(&[Auditor, Cashier], money_reads()),
        with(&[Auditor, Catalogue], catalogue_reads()),
        with(&[Cashier], money_writes()),
        with(&[Catalogue], catalogue_writes()),
        with(&[], writes()),
    ];
    let all = [probes(), pages(), visitors(), public(), trading(), account()].into_iter();
    let lines = all.chain(staff).flatten().enumerate();
    lines.map(|(number, route)| Route { number, ..route }).collect()
}

/// Routes for operators, and for these roles.
fn with(roles: &'static [Role], routes: Vec<Route>) -> Vec<Route> {
    let access = Access::Staff(roles);
    routes.into_iter().map(|route| Route { access, ..route }).collect()
}

fn probes() -> Vec<Route> {
    use Access::{Everybody, Staff};
    vec![
        probe("/healthz", Everybody, operations::health),
        probe("/readyz", Everybody, operations::readiness),
        probe("/metrics", Staff(&[Role::Auditor, Role::Metrics]), metrics::page),
        probe("/api/v1/openapi.json", Everybody, |shared, head| {
            openapi::describe(table, shared, head)
        }),
        probe("/api/v1/asyncapi.json", Everybody, openapi::asyncapi::describe),
    ]
}

fn public() -> Vec<Route> {
    vec![
        long("/markets/public/list", markets::list),
        read("/markets/{marketId}", markets::one).tagged(),
        read("/markets/search", markets::search),
        long("/markets/{marketId}/activity", markets::activity).tagged(),
        long("/markets/{marketId}/trades", tape::trades).tagged(),
        read("/markets/{marketId}/stats", tape::stats),
        long("/markets/{marketId}/candles", tape::candles),
        read("/leaderboard", leaderboard::list),
        read("/profiles/{userId}", profiles::one),
        long("/profiles/{userId}/trades", profiles::trades),
        read("/events/public/list", events::list),
        read("/events/{eventId}", events::one),
        read("/categories/public/list", categories::list),
        read("/categories/{categoryId}", categories::one),
        read("/time", operations::time),
        stream("/stream"),
        past("/trading/books/{marketId}/depth", books::depth).tagged(),
        read("/trading/books", books::several).tagged(),
    ]
}

fn trading() -> Vec<Route> {
    vec![
        long("/trading/orders", order_list::list).tagged(),
        long("/trading/orders/{orderId}", orders::one).tagged(),
        read("/trading/orders/by-client-id/{clientOrderId}", orders::named).tagged(),
        long("/trading/positions", positions::list),
        long("/trading/fills", account::fills).tagged(),
        long("/trading/balance", account::balance).tagged(),
        read("/trading/heartbeat", switches::heartbeat),
        post("/trading/heartbeat", Required, switches::beat),
        post("/trading/orders", Required, orders::place),
        several("/trading/orders/batch", batch::batch),
        post("/trading/events/{eventId}/convert", Required, conversions::convert),
        cancel("/trading/orders", orders::cancel_all),
        patch("/trading/orders/{orderId}", orders::amend).tagged(),
        cancel("/trading/orders/{orderId}", orders::cancel),
        cancel("/trading/orders/by-client-id/{clientOrderId}", orders::cancel_named),
    ]
}

/// The addresses of the dashboard, which one page answers, and its files.
fn pages() -> Vec<Route> {
    let page = |template| probe(template, Access::Everybody, dashboard::page).untold();
    let mut routes: Vec<Route> = PAGES.into_iter().map(page).collect();
    routes.push(probe("/assets/{hash}/{*path}", Access::Everybody, dashboard::file).untold());
    routes.push(probe("/pictures/{family}/{seed}", Access::Everybody, pictures::draw).untold());
    routes
}

/// Addresses of the dashboard.
const PAGES: [&str; 18] = [
    "/",
    "/markets/{marketId}",
    "/events/{eventId}",
    "/orders/{orderId}",
    "/profiles/{userId}",
    "/portfolio",
    "/keys",
    "/account",
    "/leaderboard",
    "/audit",
    "/docs",
    "/docs/",
    "/sign-in",
    "/sign-up",
    "/invitations",
    "/admin",
    "/admin/catalogue",
    "/admin/users",
];

/// Signing in, for whoever has shown no key.
fn visitors() -> Vec<Route> {
    vec![
        look("/venue", sign_in::venue),
        knock("/session", sign_in::sign_in),
        knock("/signup", sign_in::sign_up),
        knock("/invitations/open", sign_in::invited),
        knock("/invitations/accept", sign_in::accept),
        knock("/session/openid", openid::leave),
        look("/session/openid/back", openid::come_back).untold(),
    ]
}

/// For whoever it is about, who need not trade.
fn own(route: Route) -> Route {
    Route { access: Access::Keys, ..route }
}

fn account() -> Vec<Route> {
    vec![
        read("/session", sign_in::who),
        own(delete("/session", sign_in::sign_out)),
        own(post("/account/password", Required, sign_in::change)),
        read("/account/second-factor", second_factor::one),
        own(post("/account/second-factor", Required, second_factor::begin)),
        own(post("/account/second-factor/confirm", Required, second_factor::confirm)),
        own(post("/account/second-factor/end", Required, second_factor::end)),
        post("/account/faucet", Optional, sign_in::faucet),
        post("/account/deposits", Required, transfers::ask_deposit),
        post("/account/withdrawals", Required, transfers::ask_withdrawal),
        read("/account/transfers", transfers::list),
        read("/account/transfers/{transfer}", transfers::one),
        delete("/account/transfers/{transfer}", transfers::cancel),
        post("/account/disputes", Required, disputes::file),
        read("/account/disputes", disputes::list),
        long("/account/ledger", statement::ledger).tagged(),
        read("/account/settlements", statement::settlements),
        read("/account/pnl", statement::pnl),
        long("/account/limits", account::limits),
        long("/account/equity", statement::equity),
        read("/account/keys", account_keys::list),
        read("/account/keys/{keyId}", account_keys::one),
        post("/account/keys", Required, account_keys::create),
        post("/account/keys/{keyId}/rotate", Absent, account_keys::rotate),
        delete("/account/keys/{keyId}", account_keys::revoke),
    ]
}

/// What auditors read as well as operators.
fn reads() -> Vec<Route> {
    vec![
        long("/admin/markets/{marketId}/impact", impact::of_market),
        long("/admin/users/{userId}/orders", admin_accounts::orders).tagged(),
        long("/admin/users/{userId}/positions", admin_accounts::positions),
        long("/admin/users/{userId}/fills", admin_accounts::fills).tagged(),
        long("/admin/users/{userId}/ledger", admin_accounts::ledger).tagged(),
        read("/admin/users/{userId}/keys", admin_keys::list),
        read("/admin/users/{userId}/keys/{keyId}", admin_keys::one),
        read("/admin/disputes", disputes::list_all),
        read("/admin/venue/mode", switches::venue_mode),
        long("/admin/venue/impact", impact::of_venue),
        read("/admin/fees", admin_users::fees),
        past("/admin/audit/head", admin_audit::head),
        past("/admin/journal", admin_audit::journal),
    ]
}

/// What cashiers need to see, too.
fn money_reads() -> Vec<Route> {
    vec![
        long("/admin/users", admin_users::list),
        read("/admin/users/{userId}", admin_users::one),
        read("/admin/transfers", transfers::list_all),
        read("/admin/proposals", proposals::list),
    ]
}

/// What whoever keeps the catalogue needs to see, too.
fn catalogue_reads() -> Vec<Route> {
    vec![read("/admin/markets", admin_markets::list)]
}

/// Money in and out.
fn money_writes() -> Vec<Route> {
    vec![
        post("/admin/users/{userId}/deposits", Required, admin_users::deposit),
        post("/admin/users/{userId}/withdrawals", Required, admin_users::withdraw),
        post("/admin/transfers/{transfer}/confirm", Optional, transfers::confirm),
        post("/admin/transfers/{transfer}/refuse", Optional, transfers::refuse),
        post("/admin/proposals/{proposal}/confirm", Optional, proposals::confirm),
        post("/admin/proposals/{proposal}/reject", Optional, proposals::reject),
    ]
}

/// What there is to trade.
fn catalogue_writes() -> Vec<Route> {
    vec![
        post("/admin/catalogue/check", Required, catalogue_check::check),
        post("/admin/categories", Required, admin_catalogue::create_category),
        post("/admin/events", Required, admin_catalogue::create_event),
        patch("/admin/events/{eventId}", admin_catalogue::revise_event),
        post("/admin/markets", Required, admin_catalogue::create_market),
        patch("/admin/markets/{marketId}", admin_catalogue::revise_market).tagged(),
        post("/admin/markets/{marketId}/publish", Optional, admin_markets::publish),
    ]
}

/// What only operators do.
fn writes() -> Vec<Route> {
    vec![
        post("/admin/markets/{marketId}/suspend", Optional, admin_markets::suspend),
        post("/admin/markets/{marketId}/reopen", Optional, admin_markets::reopen),
        post("/admin/markets/{marketId}/close", Optional, admin_markets::close),
        post("/admin/markets/{marketId}/resolve", Required, admin_markets::resolve),
        post("/admin/markets/{marketId}/dispute", Optional, admin_markets::dispute),
        post("/admin/markets/{marketId}/void", Optional, admin_markets::void),
        cancel("/admin/users/{userId}/orders", admin_accounts::cancel_orders),
        post("/admin/fees/withdrawals", Required, admin_users::take_fees),
        post("/admin/venue/mode", Required, switches::set_venue_mode),
        post("/admin/users/{userId}/mode", Required, switches::set_user_mode),
        post("/admin/users/{userId}/exposure-limit", Required, switches::set_exposure_limit),
        delete("/admin/users/{userId}/exposure-limit", switches::lift_exposure_limit),
        post("/admin/users", Required, admin_users::create),
        patch("/admin/users/{userId}", admin_users::rename),
        post("/admin/users/{userId}/keys", Required, admin_keys::create),
        post("/admin/users/{userId}/invitations", Required, sign_in::invite),
        delete("/admin/users/{userId}/second-factor", second_factor::clear_of),
        delete("/admin/users/{userId}/keys/{keyId}", admin_keys::revoke),
    ]
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
