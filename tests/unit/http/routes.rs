//! Unit tests of `src/http/routes.rs`.

use super::*;
use crate::route::{BASE, Endpoint};

#[test]
fn every_route_is_found_by_its_own_path() {
    let routes = Routes::new().unwrap();
    for route in table() {
        let path = format!("{}{}", route.base(), route.template.replace(['{', '}', '*'], ""));
        let (found, parts) = routes.find(&route.method, &path).unwrap();
        assert_eq!((found.template, &found.method), (route.template, &route.method));
        assert!(parts.iter().all(|(name, text)| name == text));
        let operators = route.access.is_staffs();
        // The dashboard's pages show nothing by themselves.
        let admin = route.template.starts_with("/admin/") && !route.base().is_empty();
        let closed = admin || route.template == "/metrics";
        assert_eq!(operators, closed, "{}", route.template);
    }
}

/// What each role may ask of those who run the venue, besides what it may do for its user.
const OF_ROLES: [(Role, &[&str]); 7] = [
    (Role::Reader, &[]),
    (Role::Trader, &[]),
    (Role::Metrics, &["GET /metrics"]),
    (
        Role::Cashier,
        &[
            "GET /admin/users",
            "GET /admin/users/{userId}",
            "POST /admin/users/{userId}/deposits",
            "POST /admin/users/{userId}/withdrawals",
            "GET /admin/transfers",
            "POST /admin/transfers/{transfer}/confirm",
            "POST /admin/transfers/{transfer}/refuse",
            "GET /admin/proposals",
            "POST /admin/proposals/{proposal}/confirm",
            "POST /admin/proposals/{proposal}/reject",
        ],
    ),
    (
        Role::Catalogue,
        &[
            "GET /admin/markets",
            "POST /admin/catalogue/check",
            "POST /admin/categories",
            "POST /admin/events",
            "PATCH /admin/events/{eventId}",
            "POST /admin/markets",
            "PATCH /admin/markets/{marketId}",
            "POST /admin/markets/{marketId}/publish",
        ],
    ),
    (Role::Auditor, &["GET"]),
    (Role::Operator, &["GET", "POST", "PATCH", "DELETE"]),
];

#[test]
fn every_role_opens_what_it_is_for_and_nothing_else() {
    assert_eq!(OF_ROLES.len(), Role::ALL.len());
    for route in table() {
        let name = format!("{} {}", route.method, route.template);
        for (role, listed) in OF_ROLES {
            let listed = listed.iter().any(|one| *one == name || *one == route.method.as_str());
            let expected = match route.access {
                Access::Everybody => true,
                Access::Keys => role != Role::Metrics,
                Access::Traders => matches!(role, Role::Trader | Role::Operator),
                Access::Staff(_) => listed,
            };
            assert_eq!(route.access.admits(role), expected, "{name} by a {}", role.name());
            // Whatever may be done by who may not trade is no write but to one's own sign-in.
            let writes = matches!(route.endpoint, Endpoint::Write(_) | Endpoint::Several(_));
            let own = route.template.starts_with("/account/") || route.template == "/session";
            let audits = role == Role::Auditor && writes && route.access.admits(role);
            assert!(!audits || own, "{name}");
        }
    }
}

#[test]
fn a_role_gives_no_key_that_opens_more() {
    for (role, other) in Role::ALL.into_iter().flat_map(|one| Role::ALL.map(|two| (one, two))) {
        let opens = |role| move |route: &Route| route.access.admits(role);
        let more = table().iter().filter(|route| opens(other)(route)).any(|r| !opens(role)(r));
        assert!(!role.covers(other) || !more, "{} gives {}", role.name(), other.name());
    }
}

#[test]
fn head_is_get_and_other_methods_are_listed() {
    let routes = Routes::new().unwrap();
    let path = format!("{BASE}/trading/orders");
    assert!(routes.find(&Method::HEAD, &path).is_ok());
    let Err(problem) = routes.find(&Method::PUT, &path) else { panic!("no PUT") };
    assert_eq!(problem.allow.as_deref(), Some("GET, POST, DELETE, HEAD"));
    for nowhere in ["/nowhere", "", "/api/v1", "/trading/orders", "/api/v1/trading/orders/"] {
        let Err(problem) = routes.find(&Method::GET, nowhere) else { panic!("{nowhere}") };
        assert_eq!(problem.kind, Kind::NotFound);
    }
}
